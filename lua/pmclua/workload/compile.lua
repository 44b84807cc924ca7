--- compile.lua: compiles C to shared objects and caches what the compiler made.
--
-- Fast compilations are done each time. Of slow ones the object is kept, named by the hash of its preprocessed
-- source and of all else that decides on it (inputs.lua); later that source is preprocessed again. What the linker finds
-- decides, too, and is not looked into: it is run each time. Kernels are named by their contents. The cache is a private
-- folder; a file appears in it whole, by rename, or not at all.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local read_file = require("pmclua.host.machine").text
local paths = require "pmclua.host.paths"
local tool = require "pmclua.host.tools"
local inputs = require "pmclua.workload.inputs"
local shellwords = require "pmclua.workload.shellwords"
local temporary_folders = require "pmclua.host.temporary"

local compile = {}

--- Creates a temporary file beside `path`. Raises an error object.
local function temporary_for(path)
  local temporary, _, errnum = core.write_temporary(path .. ".XXXXXX", "")
  return temporary or error(explain.system(errnum, "write", path), 0)
end

local function write_private(path, text)
  local ok, _, errnum = core.replace(path, text)
  if not ok then error(explain.system(errnum, "write", path), 0) end
end

local stand_in                          -- for the folder of compiled kernels; goes with this process

-- Makes it, and says once why the user's own folder cannot be used.
local function use_stand_in(why)
  stand_in = temporary_folders.make("kernels", { for_code = true })
  require("pmclua.host.output").note("compiled kernels are not kept: %s; set XDG_CACHE_HOME to a folder of "
    .. "yours", why)
  return stand_in
end

-- The private folder of compiled kernels. One that belongs to others, or that others may write, is not used: what is
-- loaded from it runs as the user. Raises a problem where there can be none at all.
local function cache_folder()
  if stand_in then return stand_in end
  local base = paths.cache()
  if not base then return use_stand_in "neither XDG_CACHE_HOME nor HOME is set" end
  local folder = base .. "/kernels"
  local ok, _, errnum = paths.make(folder)
  return ok and paths.private(folder) or use_stand_in(("%s: %s"):format(folder,
    errnum and core.errno_text(errnum):lower() or "others may open or replace it"))
end

-- The same where an entry can be made: what is there can be taken from a full or read-only one, too.
local function writable_folder()
  local folder = cache_folder()
  local ok, _, errnum = core.check_place(folder, true)
  return ok and folder or use_stand_in(("%s: %s"):format(folder, core.errno_text(errnum):lower()))
end

-- Calls `run(folder)` with a new folder for a compiler's own temporary files: one that is killed leaves them.
-- Returns what it returns.
local function with_folder(run)
  local folder = temporary_folders.make "compile"
  local ok, result = pcall(run, folder)
  temporary_folders.remove(folder)
  return ok and result or error(result, 0)
end

-- ---- compiling ----

local function extension_of(unit) return unit.extension or "c" end

-- The file name that the compiler shows for a unit's declaration.
local DECLARED_IN = "pmclua"

-- A source after the declaration of the function that is called: the compiler reports a definition that
-- differs.
local function text_of(unit)
  local text = ('#line 1 "%s"\n'):format(unit.label) .. unit.text
  return unit.declaration and ('#line 1 "%s"\n%s\n'):format(DECLARED_IN, unit.declaration) .. text or text
end

-- The compiler's messages, each line once: copies of a snippet repeat the same mistake.
local function complaints(errors)
  return table.concat(lists.unique(lists.collect(errors:gmatch "[^\n]+")), "\n")
end

local ENOENT = 2

local function failed(unit, result, cc)
  if result.outcome == "not-started" and result.errnum == ENOENT then
    return explain.problem {
      code = "ENOENT", operation = "compile",
      message = ("cannot compile %s: there is no C compiler '%s'"):format(unit.label, cc),
      hint = "apt-get install gcc, or name another with cc = or in the environment variable CC",
    }
  end
  if result.outcome ~= "done" or result.errors == "" then
    local complaint = require("pmclua.workload.command").new({ cc }):complaint(result)
    return explain.problem { code = "ECOMPILE", operation = "compile",
      message = ("cannot compile %s: %s"):format(unit.label, complaint) }
  end
  return explain.problem {
    code = "ECOMPILE", operation = "compile",
    message = ("%s does not compile:\n%s"):format(unit.label, complaints(result.errors)),
    hint = unit.declaration and result.errors:find(DECLARED_IN .. ":", 1, true)
      and "pmclua calls it as " .. unit.declaration:gsub("__UINT64_TYPE__", "uint64_t") or nil,
  }
end

-- The compiler's environment; `temporaries`: the folder of its temporary files.
local function environment(temporaries)
  local changes = tool.changes()
  changes.TMPDIR = temporaries
  return shellwords.environment(changes, {})
end

-- Runs a command; its result. how: { temporaries?: a folder for its own; meanwhile?: called once it runs }
local function run_command(session, argv, how)
  how = how or {}
  return session:run_only(function(message)
    for _, word in ipairs(argv) do message:text("argument", word) end
    for _, entry in ipairs(environment(how.temporaries)) do message:text("environment", entry) end
    message:number("output", core.OUTPUT.capture):number("errors", core.OUTPUT.capture)
  end, { timeout_ns = 300e9, meanwhile = how.meanwhile })
end

local function is_well(result) return result.outcome == "done" and result.exit == 0 end

---@class pmclua.Unit
---@field text string the source
---@field label string its name in messages
---@field declaration? string what it must agree with
---@field extension? string of its language's files
---@field folder? string searched for headers
---@field quoted_only? boolean that folder is for headers between quotes: no system header is taken from there
---@field cc? string
---@field cflags? string[]
---@field libs? string[]
---@field script? string for the linker, which places functions by it (placement.lua)

local function flags_of(unit)
  local flags = { "-O2", "-g", "-Wall", "-fPIC", "-shared", "-I" .. paths.include() }
  if unit.quoted_only then flags[#flags + 1], flags[#flags + 2] = "-iquote", unit.folder
  elseif unit.folder then flags[#flags + 1] = "-I" .. unit.folder end
  lists.append(flags, unit.cflags or {})
  if unit.script then flags[#flags + 1] = "-ffunction-sections" end
  return flags
end

--- The compiler of a unit with the options in its name; the first word is its path if it was found.
---@param unit { cc?: string }
---@return string[]
function compile.compiler(unit)
  local cc = shellwords.split(unit.cc or os.getenv "CC" or "cc")
  if not cc or not cc[1] then cc = { "cc" } end
  if not cc[1]:find("/", 1, true) then cc[1] = tool.find(cc[1]) or cc[1] end
  return cc
end

--- The command line that compiles a unit, without file names.
---@param unit table as compile.build takes it
---@return string[]
function compile.argv(unit)
  return lists.joined { compile.compiler(unit), flags_of(unit), unit.libs or {} }
end

local versions = {}

--- The first line of the compiler's --version.
---@param unit table as compile.build takes it
---@return string? nil: it does not say
function compile.version(session, unit)
  local cc = compile.compiler(unit)[1]
  local key = ("%s %s"):format(cc, core.signature(cc) or "?")
  if versions[key] == nil then
    local result = run_command(session, { cc, "--version" })
    versions[key] = result.outcome == "done" and result.output:match "^[^\n]+" or false
  end
  return versions[key] or nil
end

--- Compiles a unit with additional arguments. Nothing is cached; a failure is no error.
---@param unit table as compile.build takes it
---@param more string[] arguments after the flags: "-S"
---@return string written the output file; "" if there is none
---@return string output its messages
function compile.ask(session, unit, more)
  local stem = temporary_for(writable_folder() .. "/question")
  local source, answer = stem .. "." .. extension_of(unit), stem .. ".out"
  local function ask()
    write_private(source, text_of(unit))
    return run_command(session, lists.joined { compile.compiler(unit), flags_of(unit), more,
      { "-o", answer, source } })
  end
  local ok, result = pcall(ask)
  local written = read_file(answer) or ""
  for _, path in ipairs { stem, source, answer } do os.remove(path) end
  if not ok then error(result, 0) end
  return written, result.errors
end

-- Hash of all that decides on an object, except what its source includes and the linker finds.
local function request_of(unit)
  local words = compile.compiler(unit)
  return core.hash(table.concat({ table.concat(words, "\0"), inputs.programs(words),
    table.concat(flags_of(unit), "\0"), extension_of(unit), unit.label, unit.declaration or "", unit.text,
    inputs.surroundings(environment()) }, "\1"))
end

-- A build: its unit, session and folder of temporary files; `source`: our copy, which is compiled under
-- the user's name for it; `name` and `stem`: how the names and paths of its kept files begin; `began_ns`: when it began,
-- by the clock of that folder's file system; `text`, `key`: the preprocessed source and its hash.
local Build = {}
Build.__index = Build

-- Writes a file that is kept; its path.
function Build:keep(ending, contents)
  local path = writable_folder() .. self.name .. ending
  write_private(path, contents)
  return path
end

-- A race with an editor cannot make the object differ from the request: our copy is compiled.
local function new_build(session, unit, request, temporaries)
  local name, text, ending = "/" .. request, text_of(unit), "." .. extension_of(unit)
  local clock = temporaries .. "/clock"
  write_private(clock, "")
  local self = setmetatable({ session = session, unit = unit, temporaries = temporaries, name = name,
    stem = cache_folder() .. name, words = lists.joined { compile.compiler(unit), flags_of(unit) },
    began_ns = core.stat(clock).mtime_ns }, Build)
  local source = self.stem .. ending
  self.source = read_file(source) == text and source or self:keep(ending, text)
  return self
end

-- The object that was kept of a preprocessed text; nil: none was.
function Build:kept(key)
  local path = key and ("%s-%s.o"):format(self.stem, key)
  return path and core.signature(path) and path or nil
end

-- Preprocesses the source.
function Build:look()
  self.text = inputs.preprocessed(self.words, self.source, self.temporaries)
  self.key = self.text and core.hash(self.text):sub(1, 16)
end

-- Runs the compiler to make `out`; its result.
function Build:run(out, arguments, meanwhile)
  local argv = lists.joined { self.words, arguments, { "-o", out } }
  return run_command(self.session, argv, { temporaries = self.temporaries, meanwhile = meanwhile })
end

-- Linker flags that place functions; none where they stay.
function Build:script()
  if not self.unit.script then return {} end
  local path = self.temporaries .. "/script.ld"
  write_private(path, self.unit.script)
  return { "-Wl,-T," .. path }
end

-- Links an object, or compiles and links a source: the contents of the shared object, or nil and the failing result.
function Build:link(input, meanwhile)
  local out = self.temporaries .. "/linked.so"
  local result = self:run(out, lists.joined { self:script(), input, self.unit.libs or {} }, meanwhile)
  return is_well(result) and read_file(out) or nil, result
end

local function names_language(word) return word:find "^%-x" or word:find "^%-%-language" end

-- Flags may say of which language files are: an object is of none. Where they do not, g++ must not be told, either: it
-- links the C++ library only for a file of which it was not.
function Build:link_object(path, meanwhile)
  local language = lists.any(self.words, names_language) and { "-x", "none" } or {}
  return path and self:link(lists.joined { language, { path } }, meanwhile)
end

-- Preprocessing takes a third of the time that a small source takes to compile.
local WORTH_KEEPING_NS = 100e6

-- Keeps an object if it may be used again; its path.
function Build:keep_object(object)
  if not self.text then self:look() end
  local is_known = self.text
    and inputs.is_known(self.unit, self.words, self.text, self.source, object, self.began_ns)
  if not is_known then return object end
  self:keep(".last", self.key)
  return self:keep(("-%s.o"):format(self.key), read_file(object))
end

-- Compiles the source to an object: its path; nil: it fails. -pipe: the assembler begins beside the compiler.
function Build:compile()
  local object, start_ns = self.temporaries .. "/unit.o", core.now_ns()
  local result = self:run(object, { "-c", "-pipe", "-MMD", "-MF", object .. ".d", self.source },
    function() self.session:use_wait() end)
  if not is_well(result) then return nil end
  return core.now_ns() - start_ns < WORTH_KEEPING_NS and object or self:keep_object(object)
end

-- The contents of the shared object. Mostly an object that was kept is the one that is needed: it is linked while the
-- source is preprocessed. What fails in steps is made in one, as the user would: that says what is wrong.
function Build:contents()
  local last = read_file(self.stem .. ".last")
  local linked = self:link_object(self:kept(last), function() self:look() end)
  if linked and self.key == last then return linked end
  linked = self:link_object(self:kept(self.key) or self:compile())
  if linked then return linked end
  local contents, result = self:link { self.source }
  return contents or error(failed(self.unit, result, self.words[1]), 0)
end

local function build_anew(session, unit, request)
  return with_folder(function(temporaries)
    local build = new_build(session, unit, request, temporaries)
    local contents = build:contents()
    local ending = ("-%s.so"):format(core.hash(contents):sub(1, 16))
    local path = build.stem .. ending
    return core.signature(path) and path or build:keep(ending, contents)
  end)
end

--- Builds one unit of C; returns the path of its shared object. Raises an error object with what the
--- compiler wrote.
---@param session pmclua.Session runs the compiler
---@param unit pmclua.Unit
---@param built? table<string, string> what was built for the same experiment; what is built now is added
---@return string path
function compile.build(session, unit, built)
  built = built or {}
  local request = request_of(unit)
  local key = table.concat({ request, unit.script or "", unpack(unit.libs or {}) }, "\0")
  built[key] = built[key] or build_anew(session, unit, request)
  return built[key]
end

--- A fact about an object, stored beside it: the text that `find` returned the first time.
---@param object string path that compile.build gave
---@param ending string
---@param find fun(): string
---@return string
function compile.beside(object, ending, find)
  local path = object .. "." .. ending
  local text = read_file(path)
  if not text then
    text = find()
    write_private(path, text)
  end
  return text
end

return compile
