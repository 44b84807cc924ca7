--- provenance.lua: everything that a stored result must contain so that others can repeat its experiment.
--
-- These are the script with its arguments, what is checked out where it runs, and for each workload what was run: sources, compiler and flags,
-- hashes of programs and libraries, those that LD_PRELOAD and LD_LIBRARY_PATH bring in among them. Of the
-- environment it has what the script sets, and the few variables that change what programs do. Values whose
-- names look secret are left out.

local compile = require("pmclua.base.lazy").module "pmclua.workload.compile"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local libraries = require("pmclua.base.lazy").module "pmclua.experiment.libraries"
local paths = require "pmclua.host.paths"
local shellwords = require("pmclua.base.lazy").module "pmclua.workload.shellwords"

local M = {}

local MOST_TEXT = 2 ^ 18            -- bytes; of a longer source only the hash is stored
local MOST_HASHED = 2 ^ 26          -- bytes; of a larger file only the size is stored

-- Variables that change what a program does or how fast it is.
local VARIABLES = { "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_BIND_NOW", "GLIBC_TUNABLES", "MALLOC_ARENA_MAX",
  "LC_ALL", "LANG", "OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "GOMAXPROCS" }

M.HIDDEN, M.REMOVED = "(not stored: its name says that it is secret)", "(removed)"
local SECRET = { "PASS", "SECRET", "TOKEN", "CREDENTIAL", "AUTH", "COOKIE", "PRIVATE", "APIKEY", "API_KEY",
  "ACCESS_KEY", "SESSION" }

-- ---- texts and files ---------------------------------------------------------------------------------------

local function is_secret(name)
  local plain = name:upper():gsub("-", "_")
  return lists.any(SECRET, function(sign) return plain:find(sign, 1, true) end)
end

-- The arguments of a command line, without the values of options whose names look secret.
local function without_secrets(list)
  local out, is_next = {}, false
  for i, word in ipairs(list or {}) do
    local name, value = word:match "^([%w_-]+)=(.*)$"
    local option = word:match "^%-%-?([%w_-]+)$"
    if is_next and not option then out[i] = M.HIDDEN
    elseif name and value ~= "" and is_secret(name) then out[i] = name .. "=" .. M.HIDDEN
    else out[i] = word end
    is_next = option ~= nil and is_secret(option)
  end
  return out
end

local function read_file(path)
  local facts = core.stat(path)
  if not facts or facts.bytes > MOST_HASHED then return nil, facts end
  return (require("pmclua.host.machine").text(path)), facts
end

--- The hash of a file; its size and time if it cannot be read or is too large.
---@param path string
---@return string? nil: there is no such file
function M.identity(path)
  local text, facts = read_file(path)
  if text then return core.hash(text) end
  return facts and ("%d bytes of %s"):format(facts.bytes, core.decimal(facts.mtime_ns)) or nil
end

-- Hashes of files by path; nil: there are no files.
local function hashes_of(files)
  local hashes
  for _, path in ipairs(files) do
    hashes = hashes or {}
    hashes[path] = M.identity(path)
  end
  return hashes
end

local function short_text(text) return text and #text <= MOST_TEXT and text or nil end

-- ---- workloads ---------------------------------------------------------------------------------------------

local describe = {}

-- Where the threads of a workload were put; nil: nowhere in particular.
local function said_cpus(asked, levels, threads)
  return asked and require("pmclua.workload.pinning").said(shellwords.fill(tostring(asked), levels), threads)
end

function describe.command(command, levels, pin)
  local program = command:program(levels)
  local facts = { argv = without_secrets(shellwords.fill_all(command.argv, levels)), program = program,
    program_hash = program and M.identity(program),
    cwd = command.cwd and shellwords.fill(command.cwd, levels),
    stdin = command.stdin and shellwords.fill(command.stdin, levels), shell = command.shell,
    cpus = said_cpus(pin, levels),
    libraries = hashes_of(libraries.of_command(command, levels)) }
  if command.launch then
    facts.launch = without_secrets(shellwords.fill_all(command.launch, levels))
    -- "mpirun" is a link to that of Open MPI or MPICH.
    local launcher = facts.launch[1] and require("pmclua.workload.command").new(facts.launch):program()
    facts.launcher = launcher and core.real_path(launcher)
  end
  for name, value in pairs(command.env or {}) do
    facts.env = facts.env or {}
    facts.env[name] = value == false and M.REMOVED or is_secret(name) and M.HIDDEN
      or shellwords.fill(tostring(value), levels)
  end
  return facts
end

-- The hash of a source with all that it includes, whatever the folders are called.
local function hash_with_headers(session, unit, known)
  local key = table.concat({ unit.text, unpack(compile.argv(unit)) }, "\0")
  known[key] = known[key] or core.hash((compile.ask(session, unit, { "-E", "-P" })))
  return known[key]
end

local function compiled(kernel, session, levels, facts, known)
  local unit = kernel:unit(session, levels)
  facts.compiler, facts.command = compile.version(session, unit), compile.argv(unit)
  facts.source = kernel.source and unit.label or nil
  facts.source_text = short_text(kernel.generate and kernel.code or unit.text)
  facts.source_hash, facts.included_hash = core.hash(unit.text), hash_with_headers(session, unit, known)
end

function describe.kernel(kernel, levels, pin, session, known)
  local facts = { symbol = shellwords.fill(kernel.symbol, levels),
    arguments = kernel.arguments, threads = kernel.threads and tostring(kernel.threads),
    cpus = said_cpus(kernel.cpus or pin, levels, math.max(1, kernel:thread_count(levels))) }
  for name, value in pairs(kernel.params or {}) do
    facts.params = facts.params or {}
    facts.params[name] = shellwords.fill(tostring(value), levels)
  end
  facts.libraries = hashes_of(libraries.brought(paths.runner(), { LD_PRELOAD = os.getenv "LD_PRELOAD",
    LD_LIBRARY_PATH = os.getenv "LD_LIBRARY_PATH" }))
  if kernel.library then
    facts.library = kernel:object(session, levels)
    facts.library_hash = M.identity(facts.library)
  else
    compiled(kernel, session, levels, facts, known)
  end
  return facts
end

describe["function"] = function(workload)
  local about = debug.getinfo(workload.fn, "S")
  local is_file = about.source:sub(1, 1) == "@"
  return { defined = is_file and ("%s:%d"):format(about.source:sub(2), about.linedefined) or nil }
end

function describe.process(workload)
  local program = workload.image.program
  return { program = program, program_hash = M.identity(program) }
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
  local values
  for _, name in ipairs(VARIABLES) do
    local value = os.getenv(name)
    if value then
      values = values or {}
      values[name] = value
    end
  end
  return values
end

-- Equal facts have equal fingerprints.
local function fingerprint(value)
  return require("pmclua.base.json").encode(value)
end

-- The facts about a workload; if the machine withholds them, why.
local function described(workload, levels, pin, session, known)
  local ok, facts = pcall(describe[workload.kind], workload, levels, pin, session, known)
  if ok then return facts end
  if not explain.is(facts) then error(facts, 0) end
  return { unknown = tostring(facts) }
end

-- One entry for all cells in which a workload is the same.
local function workloads_of(cells, pin, session)
  local known = {}
  local all = lists.map(cells, function(cell)
    local facts = described(cell.workload, cell.levels, pin, session, known)
    facts.workload, facts.kind = cell.workload.name, cell.workload.kind
    return { facts = facts, cell = table.concat(lists.assignments(cell.levels), " ") }
  end)
  local groups = lists.groups(all, function(entry) return fingerprint(entry.facts) end)
  return lists.map(groups, function(same)
    same[1].facts.cells = lists.column(same, "cell")
    return same[1].facts
  end)
end

--- How the experiment of a plan can be repeated.
---@param plan pmclua.Plan
---@param pin? string on which CPUs
---@return table store/README.md, "The header"
function M.of(plan, pin)
  local has_kernel = lists.any(plan.cells, function(cell) return cell.workload.in_runner end)
  local session = has_kernel and require("pmclua.workload.session").new() or nil
  local ok, workloads = pcall(workloads_of, plan.cells, pin, session)
  if session then session:close() end
  if not ok then error(workloads, 0) end
  local checkout = require("pmclua.host.git").checkout() or {}
  return { script = script_of(), folder = core.real_path ".", environment = environment(),
    workloads = workloads, commit = checkout.commit, branch = checkout.branch, changes = checkout.changes }
end

-- ---- what differs ------------------------------------------------------------------------------------------

-- Best explanations first. Hashes, not paths: paths depend on the folder that pmclua runs in.
local COMPARED = { { "kind", "kind" }, { "source_hash", "source" }, { "compiler", "compiler" },
  { "command", "compiler's command" }, { "included_hash", "source's headers" },
  { "library_hash", "library" }, { "symbol", "symbol" },
  { "params", "parameters" }, { "threads", "threads" }, { "cpus", "CPUs" }, { "argv", "command" },
  { "launch", "launch" }, { "launcher", "launcher" },
  { "program_hash", "program" }, { "libraries", "preloaded libraries (LD_PRELOAD, LD_LIBRARY_PATH)" },
  { "cwd", "folder" },
  { "env", "environment" }, { "stdin", "standard input" } }

-- Folders of headers are left out: the hash with all headers covers them.
local function compared(value, field)
  if field ~= "command" or type(value) ~= "table" then return value end
  return lists.where(value, function(word) return not word:find "^%-I" end)
end

local function shown(value)
  if value == nil then return "nothing" end
  if type(value) ~= "table" then return "'" .. tostring(value) .. "'" end
  return fingerprint(value)
end

local function by_cell(how)
  local map = {}
  for _, workload in ipairs(how.workloads or {}) do
    for _, cell in ipairs(workload.cells or {}) do map[workload.workload .. "\0" .. cell] = workload end
  end
  return map
end

--- The first difference between how two results were made, as text; nil if what is known of both agrees.
---@param stored? table
---@param here table
---@return string?
function M.difference(stored, here)
  if not stored then return nil end
  local before = by_cell(stored)
  for cell, workload in pairs(by_cell(here)) do
    local old = before[cell]
    for _, field in ipairs(old and COMPARED or {}) do
      local was, is = compared(old[field[1]], field[1]), compared(workload[field[1]], field[1])
      if fingerprint(was or "") ~= fingerprint(is or "") then
        return ("the %s of %s was %s and is now %s"):format(field[2], workload.workload, shown(was),
          shown(is))
      end
    end
  end
end

--- The first variable that differs between two results, as text; nil if none that is known of both does.
---@param stored? table
---@param here table
---@return string?
function M.other_environment(stored, here)
  if not stored then return nil end
  local was, is = stored.environment or {}, here.environment or {}
  for _, name in ipairs(VARIABLES) do
    if was[name] ~= is[name] then
      local form = "resumed in another environment: %s was %s and is now %s"
      return form:format(name, shown(was[name]), shown(is[name]))
    end
  end
end

return M
