--- help.lua: texts that explain: the command line, a script by its header and options, the public names.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

M.COMMAND_LINE = [[
usage: pmclua [options] [SCRIPT.lua | NAME] [ARGS]
  SCRIPT.lua   run a script; an experiment that it returns is run and reported
  NAME         the same for a reusable script (`pmclua NAME --help` explains it)
  (nothing)    the REPL on a terminal; otherwise the script on standard input
  -            the script on standard input
  -e CHUNK     run a piece of Lua, `pmc` at hand; several run in order
  -l MODULE    require a module first, under its own name: from the folders of
               LUA_PATH and the system's, never from the working directory
  -i           the REPL after the script or the chunks
  -v           the version
  --list       the reusable scripts, with one line each
  -h, --help   this
  --           what follows is no option
]]

local WIDTH = 80
local MARGIN = 26      -- column in which explanations begin

--- Prints a text on standard output, in the characters that it can show.
---@param shown string
function M.write(shown)
  io.write(require("pmclua.host.terminal").spelled(shown, { stream = 1 }))
end

-- ---- a script ----

-- Parts that stand as they are written.
local VERBATIM = { usage = true, example = true }

--- A header's text in lines of 80 columns: parts are filled, but for usage and examples.
---@param header pmclua.Header
---@return string
function M.header(header)
  local lines, words, indent = {}, {}, ""
  local verbatim = false
  local function finish()
    local filled = text.wrap(table.concat(words, " "), WIDTH - 2)
    for i, line in ipairs(#words > 0 and filled or {}) do
      lines[#lines + 1] = (i > 1 and indent or "") .. line
    end
    words = {}
  end
  for _, line in ipairs(text.lines(header.text)) do
    local part = line:match "^(%l+):"
    if part and not header.parts[part] then part = nil end
    if part or line == "" then finish() end
    if part then verbatim, indent = VERBATIM[part], "  " end
    if line == "" or verbatim then lines[#lines + 1] = line
    else words[#words + 1] = line:match "^%s*(.*)$" end
  end
  finish()
  return table.concat(lines, "\n")
end

local VALUES = { string = "TEXT", number = "NUMBER", integer = "N", list = "LIST" }

--- "-r, --repeat N", or the name of an argument.
local function label_of(option)
  if option.argument then return option[1] end
  if option.rest then return option[1] .. " ..." end
  local label = (option.short and "-%s, " or "    "):format(option.short) .. "--" .. option[1]
  local value = M.value_of(option)
  return value and label .. " " .. value or label
end

--- What the value of an option is called; nil for a flag.
---@param option pmclua.Option with `kind` filled in
---@return string?
function M.value_of(option)
  if option.kind ~= "flag" then return option.value or VALUES[option.kind] end
end

--- What an option does, its choices and its default, in one line.
---@param option pmclua.Option
---@return string
function M.explanation(option)
  local words = { option.help }
  if option.choices then
    words[#words + 1] = "(" .. text.list(lists.map(option.choices, tostring), "or") .. ")"
  end
  local default = option[2]
  if type(default) == "table" then default = #default > 0 and table.concat(default, ",") or nil end
  if default then words[#words + 1] = ("(default: %s)"):format(tostring(default)) end
  if option.many then words[#words + 1] = "(may be repeated)" end
  return table.concat(words, " ")
end

--- The lines of a list of options: label, explanation.
---@param options pmclua.Option[] with `kind` filled in
---@return string
function M.options(options)
  local lines = {}
  for _, option in ipairs(options) do
    local label = "  " .. label_of(option)
    local explained = text.wrap(M.explanation(option), WIDTH - MARGIN)
    if text.width(label) > MARGIN - 2 and #explained > 0 then
      lines[#lines + 1] = label
      label = ""
    end
    for _, line in ipairs(#explained > 0 and explained or { "" }) do
      lines[#lines + 1] = (text.pad(label, MARGIN) .. line):gsub("%s+$", "")
      label = ""
    end
  end
  return table.concat(lines, "\n")
end

--- How a script is called, a line each way: its header's usage, else made of its options.
---@param name string
---@param header? pmclua.Header
---@param own pmclua.Option[]
function M.usage(name, header, own)
  local written = header and header.parts.usage
  if written then return "usage: " .. written:gsub("\n%s*", "\n       ") end
  local words = { "usage: pmclua", name, "[options]" }
  for _, option in ipairs(own) do
    local label = (option.argument or option.rest) and label_of(option)
    local needed = option.argument and option[2] == nil
    if label then words[#words + 1] = needed and label or ("[%s]"):format(label) end
  end
  return table.concat(words, " ")
end

--- What `pmclua NAME --help` prints.
---@param name string
---@param header? pmclua.Header
---@param own pmclua.Option[] the script's
---@param common pmclua.Option[] those of every experiment that it takes too
function M.script(name, header, own, common)
  local blocks = {}
  if header and header.text ~= "" then blocks[1] = M.header(header) end
  if not (header and header.parts.usage) then blocks[#blocks + 1] = M.usage(name, header, own) end
  if #own > 0 then blocks[#blocks + 1] = "options:\n" .. M.options(own) end
  if #common > 0 then blocks[#blocks + 1] = "options of every experiment:\n" .. M.options(common) end
  return table.concat(blocks, "\n\n") .. "\n"
end

-- Where the keys are that a public name takes: module and field.
local KEYS = {
  experiment = { "pmclua.experiment.keys", "check" }, measure = { "pmclua.experiment.keys", "check" },
  compare = { "pmclua.experiment.keys", "check" }, command = { "pmclua.workload.command", "OPTIONS" },
  kernel = { "pmclua.workload.kernel", "OPTIONS" }, call = { "pmclua.workload.call", "OPTIONS" },
  buffer = { "pmclua.workload.call", "BUFFER" }, snippet = { "pmclua.workload.snippet", "OPTIONS" },
  group = { "pmclua.counting.group", "OPTIONS" }, monitor = { "pmclua.monitor", "OPTIONS" },
  regions = { "pmclua.experiment.regions", "OPTIONS" },
}

--- The keys that a public name takes in its table, sorted; nil where it takes none.
---@param name string "kernel"
---@return string[]?
function M.keys(name)
  local module, field = unpack(KEYS[name] or {})
  return module and lists.keys(require("pmclua.base.arguments").named(require(module)[field]))
end

-- The public name that a value is: pmc.kernel itself, for pmc.help(pmc.kernel).
local function name_of(value)
  if type(value) == "string" then return (value:gsub("^pmc%.", "")) end
  local pmc = require "pmclua"
  for _, name in ipairs(getmetatable(pmc).__fields()) do
    if rawequal(rawget(pmc, name), value) then return name end
  end
  return tostring(value)
end

local function topic(name)
  local topics = require "pmclua.cli.help.topics"
  local found = lists.find(topics, function(entry) return entry[1] == name end)
  if found then return found end
  local near = text.meant(name, lists.column(topics, 1))
  local hint = near and ", " .. near or "; pmc.help() lists them all"
  require("pmclua.explain").misuse(("there is no help on '%s'%s"):format(name, hint), 3)
end

local function indented(lines) return "  " .. lines:gsub("\n", "\n  ") end

-- Where what a topic leaves out stands: keys, options, methods of results.
local function print_reference()
  local path = require("pmclua.host.paths").reference()
  if path then M.write("all keys, options and methods: " .. path .. "\n") end
end

local function print_list()
  for _, entry in ipairs(require "pmclua.cli.help.topics") do
    local name = ("pmc.%-12s"):format(entry[1])
    local margin = "\n" .. (" "):rep(#name)
    M.write(name .. table.concat(text.wrap(entry[2], WIDTH - #name), margin) .. "\n")
  end
  print_reference()
end

--- Prints what a public name of pmc is, with an example; without a name, all of them.
---@param name? any "kernel", "pmc.kernel", or pmc.kernel itself; one that is not there raises
function M.print_topic(name)
  if name == nil then return print_list() end
  local entry = topic(name_of(name))
  local lines = text.wrap(("pmc.%s: %s. For example:"):format(entry[1], entry[2]), WIDTH)
  M.write(("%s\n%s\n"):format(table.concat(lines, "\n"), indented(entry[3])))
  local keys = M.keys(entry[1])
  local listed = keys and text.wrap("keys: " .. table.concat(keys, ", "), WIDTH - 2)
  if listed then M.write(table.concat(listed, "\n  ") .. "\n") end
  print_reference()
end

return M
