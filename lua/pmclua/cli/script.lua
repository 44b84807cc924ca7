--- script.lua: scripts: where they are, what their header says, and the one that runs.
--
-- A script's name is its file's without folder and ".lua". The first folder that has it wins, in the
-- order of `folders`.
local exists = require("pmclua.cli.modules").exists
local running = require "pmclua.host.running"

local M = {}

-- Folder and name.
local function split(path)
  local folder, file = path:match "^(.*)/([^/]*)$"
  folder, file = folder or ".", file or path
  return folder == "" and "/" or folder, (file:gsub("%.lua$", ""))
end

-- True for a word of the command line that is a path, false for a script's name.
local function is_path(word) return word:find("/", 1, true) ~= nil or word:find "%.lua$" ~= nil end

--- The folders in which reusable scripts are looked for, in order; some may not exist. Relative ones of
--- PMCLUA_PATH depend on the working directory, and are left out, as are those of other users for root.
---@return string[]
function M.folders()
  local paths, folders = require "pmclua.host.paths", {}
  for folder in (os.getenv "PMCLUA_PATH" or ""):gmatch "[^:]+" do
    if folder:sub(1, 1) == "/" and paths.may_run_from(folder, "PMCLUA_PATH") then
      folders[#folders + 1] = folder
    end
  end
  local data = paths.data()
  local own = data and data .. "/scripts"
  if own and paths.accept(own, "XDG_DATA_HOME") then folders[#folders + 1] = own end
  folders[#folders + 1] = paths.scripts()
  return folders
end

--- Every reusable script, sorted by name.
---@return { name: string, path: string }[]
function M.all()
  local list, seen = {}, {}
  for _, folder in ipairs(M.folders()) do
    for _, file in ipairs(require("pmclua.host.machine").entries(folder)) do
      local name = file:match "^(.*)%.lua$"
      if name and not seen[name] then
        seen[name], list[#list + 1] = true, { name = name, path = folder .. "/" .. file }
      end
    end
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

local function unknown(name)
  local names = require("pmclua.base.lists").column(M.all(), "name")
  local here = exists(name .. ".lua") and name .. ".lua"
  local nearest = here or require("pmclua.base.text").nearest(name, names)
  local hint = nearest and (": did you mean '%s'?"):format(nearest)
    or name == "help" and ": pmclua --help, and pmclua NAME --help" or ""
  local left_out = (os.getenv "PMCLUA_PATH" or ""):match "%f[^%z:][^/:][^:]*"
  if left_out then
    hint = ("%s: the folder '%s' in PMCLUA_PATH is relative, so it is not searched"):format(hint, left_out)
  end
  return ("no script is called '%s'%s (`pmclua --list` lists them; a path has a '/' or ends in .lua; "
    .. "to count a command: `pmclua stat -- COMMAND`)"):format(name, hint)
end

--- The path that a word of the command line means; or nil and why not.
---@param word string a path, or a script's name
---@return string? path, string? why
function M.find(word)
  if is_path(word) then
    local file, why = io.open(word)
    if not file then return nil, "cannot open " .. why end
    file:close()
    return word
  end
  for _, folder in ipairs(M.folders()) do
    local path = folder .. "/" .. word .. ".lua"
    if exists(path) then return path end
  end
  return nil, unknown(word)
end

-- Whatever the script makes the working directory, its modules stay beside it.
local function from_root(folder)
  return folder:sub(1, 1) == "/" and folder or require("pmclua.core").real_path(folder) or folder
end

--- Makes `path` the running script: `require` finds modules beside it first (cli/modules.lua), and sources
--- and libraries of kernels are looked for there.
---@param word string as the command line has it
---@param path string
---@param args string[]
---@return pmclua.Script
function M.enter(word, path, args)
  local folder, name = split(path)
  require("pmclua.host.paths").script_folder = folder
  running.script = { word = word, path = path, name = name, folder = folder, modules = from_root(folder),
    args = args, words = { unpack(args) } }
  return running.script
end

--- Makes standard input the running script: it has arguments, and no file.
---@param args string[]
function M.enter_stdin(args)
  running.script = { word = "-", name = "stdin", folder = ".", args = args, words = { unpack(args) } }
end

--- The experiment that was declared and has not been run yet.
---@return pmclua.Experiment?
function M.waiting()
  local experiment = package.loaded["pmclua.experiment"]
  return experiment and experiment.waiting()
end

--- A remark if an experiment was declared and neither run nor returned; nil if none was.
---@param before? pmclua.Experiment one that was waiting already, which the caller may run later
---@return string?
function M.forgotten(before)
  local waiting = M.waiting()
  if not waiting or waiting == before then return nil end
  return "an experiment was declared and never run: end the script with `return pmc.experiment { … }`, "
    .. "or call its :run()"
end

--- A remark if several experiments were returned: running the first would lose the others unsaid.
---@param ... any what a script returned
---@return string?
function M.several(...)
  local is = require("pmclua.experiment").is
  local count = #require("pmclua.base.lists").where({ ... }, is)
  return count > 1 and ("%d experiments were returned, and a script runs one: call the :run() of each")
    :format(count) or nil
end

-- ---- the header ----

-- The header's parts, each begun by its name and a colon; what is before the first is the question.
local PARTS = { method = true, usage = true, example = true, reading = true, caveats = true }

---@class pmclua.Header
---@field text string the whole comment, without its marks
---@field question string its first paragraph, in one line; "" where there is none
---@field purpose? string what people want who run it, of the line "for: …" in that paragraph
---@field parts table<string, string> by name: method, usage, example, reading, caveats

--- The comment that `path` begins with, after a "#!" line. A script without one, or that has gone, has an empty header.
local function header_text(path)
  local file, lines = io.open(path), {}
  if not file then return "" end
  for line in file:lines() do
    local text = line:match "^%-%-+%s?(.*)$"
    local first = #lines == 0 and (line:find "^#" or line == "")
    if not text and not first then break end
    if text then lines[#lines + 1] = text end
  end
  file:close()
  return (table.concat(lines, "\n"):gsub("%s+$", ""))
end

--- A script's header.
---@param path? string nil has an empty header
---@return pmclua.Header
function M.header(path)
  local text, purpose = path and header_text(path) or "", nil
  text = text:gsub("\nfor: ([^\n]*)", function(words)
    purpose = words
    return ""
  end, 1)
  local header = { text = text, purpose = purpose, parts = {} }
  local name, lines = "question", {}
  local function finish()
    local part = table.concat(lines, "\n"):gsub("%s+$", "")
    if name == "question" then header.question = part:match("^(.-)\n%s*\n") or part
    else header.parts[name] = part end
    lines = {}
  end
  for _, line in ipairs(require("pmclua.base.text").lines(header.text)) do
    local word, rest = line:match "^(%l+):%s*(.*)$"
    if word and PARTS[word] then
      finish()
      name, line = word, rest
    end
    lines[#lines + 1] = line
  end
  finish()
  header.question = header.question:gsub("%s*\n%s*", " ")
  return header
end

--- True where a script's code (its comments apart) reads options, its arguments, or makes an experiment:
--- then `--help` is for it to answer.
---@param path string
function M.takes_arguments(path)
  for line in io.lines(path) do
    local code = line:find "^%s*%-%-" and "" or line
    for _, sign in ipairs { "options", "experiment", "%.%.%.", "%f[%w]arg%f[%W]" } do
      if code:find(sign) then return true end
    end
  end
  return false
end

--- The options that a script's text declares, "--name", sorted; it is not run. For completion: what
--- --help says is exact.
---@param path string
---@return string[]
function M.options(path)
  local text, names, lists = require("pmclua.host.machine").text(path) or "", {}, require "pmclua.base.lists"
  local block = text:match "options%s*%(?%s*(%b{})"
  for name in (block or ""):gmatch '{%s*"(%a[%w-]*)"' do names["--" .. name] = true end
  if text:find "experiment%s*{" and not (block and block:find "experiment%s*=%s*false") then
    for _, option in ipairs(require("pmclua.cli.experiment_options").list) do
      names["--" .. option[1]] = true
    end
  end
  return lists.keys(names)
end

return M
