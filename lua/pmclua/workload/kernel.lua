--- kernel.lua: a kernel as a workload: a function of a shared object, compiled from C or built by the user,
--- that the runner calls between two reads.

local compile = require "pmclua.workload.compile"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local kinds = require "pmclua.workload.kinds"
local lists = require "pmclua.base.lists"
local paths = require "pmclua.host.paths"
local pinning = require("pmclua.base.lazy").module "pmclua.workload.pinning"
local shellwords = require "pmclua.workload.shellwords"

---@class pmclua.Kernel
---@field name string shown
---@field symbol string
---@field source? string path of a source file, from the script's folder
---@field code? string the source itself
---@field library? string path of a shared object, from the script's folder
---@field params? table<string, string|number> constants for NAME_setup
---@field generate? fun(session: pmclua.Session, unit: table, levels: table): string its source for them
---@field copies? fun(levels: table, look: fun(): pmclua.Copies): pmclua.Copies? a snippet's machine code
local Kernel = kinds.class "kernel"
Kernel.filled = { "source", "library", "symbol", "cc", "cpus", "threads" }
Kernel.may_be_filled = { "cflags", "libs", "params" }
Kernel.__tostring = function(self) return "kernel: " .. self.name end

local kernel = { Kernel = Kernel }

--- A kernel.
---@param spec table source= | code= | library=, symbol=, params=, cc=, cflags=, libs=, threads=, cpus=, name=
---@return pmclua.Kernel
function kernel.new(spec)
  local origins = (spec.source and 1 or 0) + (spec.code and 1 or 0) + (spec.library and 1 or 0)
  if origins ~= 1 then
    explain.misuse(
      "pmc.kernel needs one of source = (a C file), code = (C text) and library = (a shared object)", 3)
  end
  local self = lists.deep_copy(spec)
  self.name = spec.name or spec.symbol
  self.cflags, self.libs = shellwords.list(self.cflags), shellwords.list(self.libs)
  self.folder, self.has_script = paths.script_folder or ".", paths.script_folder ~= nil
  return setmetatable(self, Kernel)
end

--- Fixes it at levels, as parameters.
---@param levels table
function Kernel:fix(levels)
  self.params = lists.copy(self.params or {})
  for factor, level in pairs(levels) do self.params[factor] = level end
end

--- Has its files be looked for in a folder.
---@param folder string absolute
function Kernel:move(folder) self.folder = folder end

-- ---- the shared object ----

local function source_unit(self, levels)
  local path = paths.from(self.folder, shellwords.fill(self.source, levels))
  local text, why, code = core.read_plain(path)
  if not text then
    error(explain.problem { code = code, operation = "compile",
      message = ("cannot read the kernel's source: %s"):format(why),
      hint = "paths are relative to the script's folder" }, 0)
  end
  return { text = text, label = path, folder = paths.directory(path), extension = path:match "%.(%w+)$" }
end

-- By file extension: how to declare a function with C linkage. Other languages are not checked.
local LINKAGE = { c = "", C = 'extern "C" ', cc = 'extern "C" ', cpp = 'extern "C" ', cxx = 'extern "C" ' }

local IN_C = "%%f[%%w_]void%%s+%s%%s*%%(%%s*void%%s*%%*%%s*[%%w_]*%%s*,%%s*uint64_t%%s*[%%w_]*%%s*%%)"

-- How the runner calls the function; nil where the source is not C or C++. Nor where C says it word by word:
-- so functions of one source are compiled at once.
local function declaration_of(symbol, unit)
  local linkage = LINKAGE[unit.extension or "c"]
  if not linkage or not symbol:find "^[%a_][%w_]*$" then return nil end
  if linkage == "" and unit.text:find(IN_C:format(symbol)) then return nil end
  -- The type of uint64_t: a header here would decide what the source's feature macros do.
  return ("%svoid %s(void *state, __UINT64_TYPE__ iterations);"):format(linkage, symbol)
end

--- The unit that is compiled for these levels.
---@return table unit of compile.build
function Kernel:unit(session, levels)
  local unit = self.source and source_unit(self, levels)
    or { text = self.code, folder = self.folder, quoted_only = not self.has_script,
      label = (self.name:match "^[%w_.-]+$" or self.symbol) .. ".c" }
  unit.declaration = declaration_of(shellwords.fill(self.symbol, levels), unit)
  unit.cc, unit.cflags = self.cc and shellwords.fill(self.cc, levels),
    shellwords.fill_all(self.cflags, levels)
  unit.libs = shellwords.fill_all(self.libs, levels)
  if self.generate then unit.text = self.generate(session, unit, levels) end
  return unit
end

-- The object of a unit whose code lies elsewhere.
local function placed_object(session, unit, object, code)
  unit.script = require("pmclua.workload.placement").script(object, code)
  local ok, built = pcall(compile.build, session, unit)
  if ok then return built end
  if explain.is(built) and built.code == "ECOMPILE" then
    built.hint = 'its linker cannot place code (GNU ld and lld can): layout = "fixed" leaves it where it is'
  end
  error(built, 0)
end

--- Whether its code can be placed elsewhere: it is compiled here.
function Kernel:can_place() return self.library == nil end

--- The unit compiled when the experiment was checked: it runs, whatever became of its source since.
---@class pmclua.Compiled
---@field object string path
---@field unit? table of compile.build; nil of a library

---@return pmclua.Compiled
local function compiled(self, session, levels, built)
  if self.library then return { object = paths.from(self.folder, shellwords.fill(self.library, levels)) } end
  local unit = self:unit(session, levels)
  return { object = compile.build(session, unit, built), unit = unit }
end

--- The shared object for these levels, compiled if need be. Raises an error object.
---@param code? integer the seed of where its code lies; nil or 0: as it is compiled
---@param known? pmclua.Compiled
---@return string path
function Kernel:object(session, levels, code, known)
  known = known or compiled(self, session, levels)
  if not known.unit or (code or 0) == 0 then return known.object end
  return placed_object(session, lists.copy(known.unit), known.object, code)
end

--- The machine code of a snippet at these levels; nil for any other kernel.
---@return pmclua.Copies?
function Kernel:machine_code(session, levels)
  return self.copies and self.copies(levels, function()
    local unit = self:unit(session, levels)
    return require("pmclua.workload.snippet_c").machine_code(session, unit, compile.build(session, unit))
  end)
end

--- A problem that is visible before running: an error object, or nil and what was compiled.
---@param built? table as of compile.build
---@return pmclua.Problem? problem, pmclua.Compiled? known
function Kernel:problem(levels, session, built)
  local ok, known = pcall(function()
    local threads = self:thread_count(levels or {})
    if self.cpus then
      pinning.list(shellwords.fill(tostring(self.cpus), levels or {}), math.max(1, threads))
    end
    return compiled(self, session, levels or {}, built)
  end)
  if not ok then
    if explain.is(known) then return known end
    error(known, 0)
  end
  if self.library and not core.stat(known.object) then return explain.system(2, "load", known.object) end
  return nil, known
end

--- Its identity when resuming: the source text, not the file's name.
function Kernel:identity()
  local text = self.code
  if self.source and not self.source:find "{" then text = source_unit(self, {}).text end
  return { text, self.library, self.symbol, self.params, self.cc, self.cflags, self.libs, self.threads,
    self.cpus }
end

--- Whether it may ask for a factor's level by name: always true where its whole source is not at hand.
---@param name string
---@return boolean
function Kernel:may_ask(name)
  if self.threads == name then return true end
  local ok, identity = pcall(self.identity, self)
  local source = ok and identity[1]
  if not source or source:find '#%s*include%s*"' then return true end
  return source:find('"' .. name .. '"', 1, true) ~= nil
end

-- The hash of a source with all that it includes, whatever the folders are called.
local function hash_with_headers(session, unit, known)
  local key = table.concat({ unit.text, unpack(compile.argv(unit)) }, "\0")
  known[key] = known[key] or core.hash((compile.ask(session, unit, { "-E", "-P" })))
  return known[key]
end

local function add_compiled(facts, self, levels, how)
  local evidence, unit = require "pmclua.workload.evidence", self:unit(how.session, levels)
  facts.compiler, facts.command = compile.version(how.session, unit), compile.argv(unit)
  facts.source = self.source and unit.label or nil
  facts.source_text = evidence.text(self.generate and self.code or unit.text)
  facts.source_hash = core.hash(unit.text)
  facts.included_hash = hash_with_headers(how.session, unit, how.known)
end

--- What a result stores of it, so that others can run it again.
---@param levels table
---@param how { pin?: string, session: pmclua.Session, known: table<string, string> } known: hashes with headers
---@return table
function Kernel:facts(levels, how)
  local evidence = require "pmclua.workload.evidence"
  local facts = { symbol = shellwords.fill(self.symbol, levels),
    arguments = self.arguments, threads = self.threads and tostring(self.threads),
    cpus = evidence.cpus(self.cpus or how.pin, levels, math.max(1, self:thread_count(levels))) }
  for name, value in pairs(self.params or {}) do
    facts.params = facts.params or {}
    facts.params[name] = shellwords.fill(tostring(value), levels)
  end
  local brought = not how.is_alone and require("pmclua.workload.libraries").of_environment(paths.runner())
  facts.libraries = evidence.hashes(brought or {})
  if self.library then
    facts.library = self:object(how.session, levels)
    facts.library_hash = evidence.identity(facts.library)
  else add_compiled(facts, self, levels, how) end
  return facts
end

-- ---- running ----

local function parameters(self, levels)
  local values = {}
  for name, value in pairs(self.params or {}) do values[name] = shellwords.fill(tostring(value), levels) end
  for name, value in pairs(levels) do values[name] = tostring(value) end
  return lists.assignments(values)
end

--- The number of threads for these levels; 0: the runner's own. Raises an error object if the script gives
--- something else.
function Kernel:thread_count(levels)
  local asked = self.threads
  if asked == nil then return 0 end
  local threads = levels[asked] or shellwords.fill(tostring(asked), levels)
  local count = tonumber(threads)
  if count and count >= 1 and count % 1 == 0 then return count end
  error(explain.problem { code = "EINVAL", operation = "prepare",
    message = ("%s: threads must be a number or a factor's name, not '%s'"):format(self.name,
      tostring(threads)) }, 0)
end

--- Adds this kernel to a definition.
function Kernel:define(message, levels, options)
  message:text("library", self:object(options.session, levels, options.code, options.compiled))
  message:text("symbol", shellwords.fill(self.symbol, levels))
  for _, parameter in ipairs(parameters(self, levels)) do message:text("parameter", parameter) end
  local threads = self:thread_count(levels)
  message:number("threads", threads)
  message:number("output", core.OUTPUT[self.stdout or "null"])
  message:number("errors", core.OUTPUT[self.stderr or "null"])
  local cpus = self.cpus or options.pin
  if cpus then
    message:text("cpus", (pinning.list(shellwords.fill(tostring(cpus), levels), math.max(1, threads))))
  end
end

--- Its parameters that are numbers, which formulae name; nil: none.
---@return table<string, number>?
function Kernel:constants()
  local constants
  for name, value in pairs(self.params or {}) do
    if tonumber(value) then
      constants = constants or {}
      constants[name] = tonumber(value)
    end
  end
  return constants
end

--- How a repetition failed, in words; nil: it did not.
function Kernel:complaint(result)
  local what = "the kernel " .. self.name
  if result.lost then return ("%s was cut off: %s"):format(what, result.lost) end
  if result.outcome == "signalled" then
    local where = result.crash and require("pmclua.workload.crash").words(result.crash) or ""
    return ("%s was ended by %s%s"):format(what, core.signal_name(result.signal), where)
  elseif result.outcome == "quit" then return ("%s called exit(%d)"):format(what, result.exit)
  elseif result.outcome == "timed-out" then return what .. " reached its time limit"
  elseif result.outcome == "not-started" then
    return ("%s cannot be run: %s"):format(what, result.output ~= "" and result.output
      or result.stage == "node" and "no memory from that NUMA node: " .. core.errno_text(result.errnum)
      or core.errno_text(result.errnum))
  end
end

return kernel
