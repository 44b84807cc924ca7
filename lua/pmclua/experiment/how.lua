--- how.lua: what a stored result needs to say so that its experiment can be made again, by whoever reads it.
--
-- Stored are the script with its arguments, and of each workload what was run: sources, compiler and flags,
-- programs and libraries by hash. Of the environment only what a script sets itself, and the few variables that
-- change what programs do. What looks like a secret is left out by its name.

local compile = require("pmclua.base.lazy").module "pmclua.workload.compile"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local paths = require "pmclua.host.paths"

local M = {}

local MOST_TEXT = 2 ^ 18            -- bytes of a source that is stored whole; of a longer one its hash is
local MOST_HASHED = 2 ^ 26          -- bytes of a file that is hashed; of a larger one its size is said

-- Variables that change what a program does or how fast it is.
local LOOKED_AT = { "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_BIND_NOW", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX",
  "LC_ALL", "LANG", "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "GOMAXPROCS" }

local HIDDEN = "(not stored: its name says that it is secret)"
local SECRET = { "PASS", "SECRET", "TOKEN", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", "APIKEY", "API_KEY",
  "ACCESS_KEY", "SESSION" }

-- ---- texts and files ---------------------------------------------------------------------------------------

local function is_secret(name)
  local plain = name:upper():gsub("-", "_")
  for _, sign in ipairs(SECRET) do
    if plain:find(sign, 1, true) then return true end
  end
  return false
end

-- The words of a command line, without the values of options whose names tell of secrets.
local function without_secrets(list)
  local out, is_next = {}, false
  for i, word in ipairs(list or {}) do
    local name, value = word:match "^([%w_-]+)=(.*)$"
    local option = word:match "^%-%-?([%w_-]+)$"
    if is_next and not option then out[i] = HIDDEN
    elseif name and value ~= "" and is_secret(name) then out[i] = name .. "=" .. HIDDEN
    else out[i] = word end
    is_next = option ~= nil and is_secret(option)
  end
  return out
end

local function read_file(path)
  local facts = core.stat(path)
  if not facts or facts.bytes > MOST_HASHED then return nil, facts end
  local file = io.open(path, "rb")
  local text = file and file:read "*a"
  if file then file:close() end
  return text, facts
end

-- A file by its content; by its size and time where it cannot be read, or is too large.
local function identity_of(path)
  local text, facts = read_file(path)
  if text then return core.hash(text) end
  return facts and ("%d bytes of %s"):format(facts.bytes, core.decimal(facts.mtime_ns)) or nil
end

local function short_text(text) return text and #text <= MOST_TEXT and text or nil end

-- ---- workloads ---------------------------------------------------------------------------------------------

local describe = {}

function describe.command(command, levels)
  local words = require "pmclua.workload.words"
  local program = command:program(levels)
  local made = { argv = without_secrets(words.fill_all(command.argv, levels)), program = program,
    program_hash = program and identity_of(program), cwd = command.cwd and words.fill(command.cwd, levels),
    stdin = command.stdin and words.fill(command.stdin, levels), shell = command.shell }
  for name, value in pairs(command.env or {}) do
    made.env = made.env or {}
    made.env[name] = value == false and "(removed)" or is_secret(name) and HIDDEN
      or words.fill(tostring(value), levels)
  end
  return made
end

-- The hash of a source with all that it includes, whatever the folders are called.
local function hash_with_headers(session, unit, known)
  local key = table.concat({ unit.text, unpack(compile.words(unit)) }, "\0")
  known[key] = known[key] or core.hash((compile.ask(session, unit, { "-E", "-P" })))
  return known[key]
end

local function compiled(kernel, session, levels, made, known)
  local unit = kernel:unit(session, levels)
  made.compiler, made.command = compile.version(session, unit), compile.words(unit)
  made.source = kernel.source and unit.label or nil
  made.source_text = short_text(kernel.generate and kernel.code or unit.text)
  made.source_hash, made.included_hash = core.hash(unit.text), hash_with_headers(session, unit, known)
end

function describe.kernel(kernel, levels, session, known)
  local words = require "pmclua.workload.words"
  local made = { symbol = words.fill(kernel.symbol, levels),
    threads = kernel.threads and tostring(kernel.threads),
    cpus = kernel.cpus and words.fill(kernel.cpus, levels) }
  for name, value in pairs(kernel.params or {}) do
    made.params = made.params or {}
    made.params[name] = words.fill(tostring(value), levels)
  end
  if kernel.library then
    made.library = kernel:object(session, levels)
    made.library_hash = identity_of(made.library)
  else
    compiled(kernel, session, levels, made, known)
  end
  return made
end

describe["function"] = function(workload)
  local about = debug.getinfo(workload.fn, "S")
  local is_file = about.source:sub(1, 1) == "@"
  return { defined = is_file and ("%s:%d"):format(about.source:sub(2), about.linedefined) or nil }
end

-- ---- the whole ---------------------------------------------------------------------------------------------

local function script_of()
  local script = require("pmclua.host.running").script
  if not script or not script.path then return script and { args = without_secrets(script.words) } or nil end
  local text = read_file(script.path)
  return { path = paths.from(core.real_path "." or ".", script.path), hash = text and core.hash(text),
    text = short_text(text), args = without_secrets(script.words) }
end

local function environment()
  local made
  for _, name in ipairs(LOOKED_AT) do
    local value = os.getenv(name)
    if value then
      made = made or {}
      made[name] = value
    end
  end
  return made
end

local function label_of(levels)
  local parts = {}
  for name, level in pairs(levels) do parts[#parts + 1] = ("%s=%s"):format(name, tostring(level)) end
  table.sort(parts)
  return table.concat(parts, " ")
end

-- A text that is the same for the same facts.
local function fingerprint(value)
  return require("pmclua.base.json").encode(value)
end

-- What is known of a workload; where the machine refuses to say, why.
local function described(workload, levels, session, known)
  local ok, made = pcall(describe[workload.kind], workload, levels, session, known)
  if ok then return made end
  if not explain.is(made) then error(made, 0) end
  return { unknown = tostring(made) }
end

-- Each workload once for all cells in which it is the same.
local function workloads_of(cells, session)
  local list, seen, known = {}, {}, {}
  for _, cell in ipairs(cells) do
    local workload = cell.workload
    local made = described(workload, cell.levels, session, known)
    made.workload, made.kind = workload.name, workload.kind
    local key = fingerprint(made)
    if not seen[key] then
      made.cells = {}
      seen[key], list[#list + 1] = made, made
    end
    table.insert(seen[key].cells, label_of(cell.levels))
  end
  return list
end

--- How the experiment of a plan is made again.
---@param made table of plan.make
---@return table store/README.md, "The header"
function M.of(made)
  local session
  for _, cell in ipairs(made.cells) do
    if cell.workload.kind == "kernel" and not session then
      session = require("pmclua.workload.session").new()
    end
  end
  local ok, workloads = pcall(workloads_of, made.cells, session)
  if session then session:close() end
  if not ok then error(workloads, 0) end
  return { script = script_of(), folder = core.real_path ".", environment = environment(),
    workloads = workloads }
end

-- ---- what differs ------------------------------------------------------------------------------------------

-- In the order of what explains most. Paths may differ with the folder that pmclua is run from; hashes do not.
local COMPARED = { { "kind", "kind" }, { "source_hash", "source" }, { "compiler", "compiler" },
  { "command", "compiler's command" }, { "included_hash", "source's headers" },
  { "library_hash", "library" }, { "symbol", "symbol" },
  { "params", "parameters" }, { "threads", "threads" }, { "cpus", "CPUs" }, { "argv", "command" },
  { "program_hash", "program" }, { "cwd", "folder" },
  { "env", "environment" }, { "stdin", "standard input" } }

-- Folders of headers stand for what is in them.
local function compared(value, field)
  if field ~= "command" or type(value) ~= "table" then return value end
  local words = {}
  for _, word in ipairs(value) do
    if not word:find "^%-I" then words[#words + 1] = word end
  end
  return words
end

local function said(value)
  if value == nil then return "nothing" end
  if type(value) ~= "table" then return "'" .. tostring(value) .. "'" end
  return fingerprint(value)
end

local function by_place(how)
  local map = {}
  for _, workload in ipairs(how.workloads or {}) do
    for _, cell in ipairs(workload.cells or {}) do map[workload.workload .. "\0" .. cell] = workload end
  end
  return map
end

--- What differs between how two results were made, in words; nil where nothing does that is known of both.
---@param stored? table
---@param here table
---@return string?
function M.difference(stored, here)
  if not stored then return nil end
  local before = by_place(stored)
  for place, workload in pairs(by_place(here)) do
    local old = before[place]
    for _, field in ipairs(old and COMPARED or {}) do
      local was, is = compared(old[field[1]], field[1]), compared(workload[field[1]], field[1])
      if fingerprint(was or "") ~= fingerprint(is or "") then
        return ("the %s of %s was %s and is %s"):format(field[2], workload.workload, said(was), said(is))
      end
    end
  end
end

--- Which variable that changes what programs do is another, in words; nil: none that is known of both.
---@param stored? table
---@param here table
---@return string?
function M.other_environment(stored, here)
  if not stored then return nil end
  local was, is = stored.environment or {}, here.environment or {}
  for _, name in ipairs(LOOKED_AT) do
    if was[name] ~= is[name] then
      local form = "resumed in another environment: %s was %s and is %s"
      return form:format(name, said(was[name]), said(is[name]))
    end
  end
end

return M
