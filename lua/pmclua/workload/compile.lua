--- compile.lua: compiles C to shared objects and caches them.
--
-- The key of an entry is the request: compiler, flags, source, environment and working directory. The entry
-- also lists every file that the compiler, the assembler and the linker looked for, found or not
-- (dependencies.lua): if any of them changed, the source is compiled again. An entry without a complete list
-- is never used. The cache is a private folder; an entry appears whole, by rename, or not at all.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local read_file = require("pmclua.host.machine").text
local paths = require "pmclua.host.paths"
local lines_of = require("pmclua.base.text").lines
local tool = require "pmclua.host.tools"
local dependencies = require "pmclua.workload.dependencies"
local shellwords = require "pmclua.workload.shellwords"
local temporary_folders = require "pmclua.host.temporary"

local compile = {}

-- Before the source's name in a listing: the entry is never taken.
local UNKNOWN = "unknown "

--- Creates a temporary file beside `path`. Raises an error object.
local function temporary_for(path)
  local temporary, _, errnum = core.write_temporary(path .. ".XXXXXX", "")
  return temporary or error(explain.system(errnum, "write", path), 0)
end

--- Renames a temporary file to `path`. On failure removes it and raises an error object.
local function move_to(temporary, path)
  local ok, _, errnum = core.rename(temporary, path)
  if ok then return end
  os.remove(temporary)
  error(explain.system(errnum, "write", path), 0)
end

local function write_private(path, text)
  local ok, _, errnum = core.replace(path, text)
  if not ok then error(explain.system(errnum, "write", path), 0) end
end

local stand_in                          -- for the folder of compiled kernels; goes with this process

-- Makes it, and says once why the user's own is none.
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
-- Returns the folder's path.
local function with_folder(run)
  local folder = temporary_folders.make "compile"
  local ok, problem = pcall(run, folder)
  temporary_folders.remove(folder)
  if not ok then error(problem, 0) end
  return folder
end

-- ---- what decides ----

-- The user's files that the compiler says it read, in make's format; nil if the text is incomplete.
local function dependencies_of(text)
  local list = text and text:gsub("\\\n", " "):match "^[^:]*:(.*)\n$"
  if not list then return nil end
  local needed = {}
  for path in list:gsub("\\ ", "\1"):gmatch "%S+" do
    needed[#needed + 1] = path:gsub("\1", " "):gsub("%$%$", "$")
  end
  return needed
end

-- Where the script for the linker is, beside the source.
local function script_of(source) return (source:gsub("%.[^./]*$", ".ld")) end

-- What an object depends on, as dependencies.lua lists it. If the object is older than its source, the clock
-- was set and times mean nothing. `temporaries`: the folder of the compiler's own files.
local function list_reads(unit, source, object, list, temporaries)
  local built, written = core.stat(object), core.stat(source)
  local is_ordered = built and written and built.mtime_ns >= written.mtime_ns
  local needed, text = dependencies_of(read_file(object .. ".d")), read_file(list)
  local is_known = is_ordered and needed and text and not dependencies.has_time(unit.text)
  if not is_known then return UNKNOWN .. source .. "\n" end
  local own = { [source] = true, [script_of(source)] = true, [list] = true, [object] = true,
    [object .. ".d"] = true, [temporaries] = true }
  return dependencies.listing(text, own, tonumber(written.mtime_ns), needed)
end

-- The end of an object's name says what it was made of, so that the list of one and the object of another,
-- which two that compile at once may leave, do not meet. `object`: its path, where that is not known. The
-- compiler and the assembler ask at the same time, now one first and now the other.
local function ending_of(listing, object)
  local contents = listing:find("^" .. UNKNOWN) and read_file(object)
  local lines = lists.map(contents and {} or lines_of(listing), function(line)
    return (line:gsub("^file %S+ (%x%x+) ", "file %1 "))   -- a file of the same contents is the same
  end)
  table.sort(lines)
  return core.hash(contents or table.concat(lines, "\n")):sub(1, 16)
end

local function object_of(stem, ending) return ("%s-%s.so"):format(stem, ending) end

--- The object of an entry that is still valid; nil if there is none.
local function find_entry(stem)
  local ending, listing = (read_file(stem .. ".reads") or ""):match "^(%x+)\n(.*)$"
  local object = ending and object_of(stem, ending)
  return object and core.signature(object) and dependencies.hold(listing) and object or nil
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

-- What the compiler is run in; `more`: changes, by name; `temporaries`: the folder of its temporary files.
local function environment(more, temporaries)
  local changes = tool.changes()
  changes.TMPDIR = temporaries
  for name, value in pairs(more or {}) do changes[name] = value end
  return shellwords.environment(changes, {})
end

-- Runs a command; its result. how: { environment?: changes, by name; temporaries?: a folder for its own;
-- reads?: a path, where the files that it looks for are listed; meanwhile?: called once it runs }
local function run_command(session, argv, how)
  how = how or {}
  return session:run_only(function(message)
    for _, word in ipairs(argv) do message:text("argument", word) end
    if how.reads then message:text("reads", how.reads) end
    for _, entry in ipairs(environment(how.environment, how.temporaries)) do
      message:text("environment", entry)
    end
    message:number("output", core.OUTPUT.capture):number("errors", core.OUTPUT.capture)
  end, { timeout_ns = 300e9, meanwhile = how.meanwhile })
end

local function is_well(result) return result.outcome == "done" and result.exit == 0 end

-- Runs the compiler and lists the files that it looks for. Where that is impossible, as where somebody else
-- watches us in the same way, it runs without the list.
local function run_listed(session, list, temporaries, argv, unit)
  if argv[1]:find("/", 1, true) and core.signature(argv[1]) then
    local watched, changes = dependencies.watched(argv)
    local result = run_command(session, watched, { environment = changes, temporaries = temporaries,
      reads = list, meanwhile = function() session:use_wait() end })
    if is_well(result) then return end
    os.remove(list)
  end
  local result = run_command(session, argv, { temporaries = temporaries })
  if not is_well(result) then error(failed(unit, result, argv[1]), 0) end
end

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
---@return string said its messages
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

-- What decides on the object of a unit, hashed.
local function key_of(unit)
  return core.hash(table.concat({ table.concat(compile.compiler(unit), " "),
    table.concat(flags_of(unit), "\0"), table.concat(unit.libs or {}, "\0"), extension_of(unit), unit.label,
    unit.declaration or "", unit.text, dependencies.surroundings(environment()), unit.script }, "\1"))
end

-- What tells the linker where functions go; nothing where they stay.
local function linker_script(unit, source)
  if not unit.script then return {} end
  write_private(script_of(source), unit.script)
  return { "-Wl,-T," .. script_of(source) }
end

-- Compiles a source to an object; the listing of what that depended on.
local function compile_to(object, source, session, unit)
  local list, needed = object .. ".list", object .. ".d"
  local ok, listing = pcall(function()
    local argv = lists.joined { compile.compiler(unit), flags_of(unit), linker_script(unit, source),
      { "-MMD", "-MF", needed, "-o", object, source }, unit.libs or {} }
    local temporaries = with_folder(function(folder) run_listed(session, list, folder, argv, unit) end)
    return list_reads(unit, source, object, list, temporaries)
  end)
  os.remove(needed)
  os.remove(list)
  if ok then return listing end
  os.remove(object)
  error(listing, 0)
end

--- Builds one unit of C; returns the path of its shared object. Raises an error object with what the
--- compiler wrote.
---@param session pmclua.Session runs the compiler
---@param unit pmclua.Unit
---@return string path
function compile.build(session, unit)
  local key = key_of(unit)
  local known = find_entry(cache_folder() .. "/" .. key)
  if known then return known end

  -- The source is compiled from our copy, under the user's name for it: a race with an editor cannot
  -- make the object differ from the key.
  local stem = writable_folder() .. "/" .. key
  local source = stem .. "." .. extension_of(unit)
  write_private(source, text_of(unit))
  local object = temporary_for(stem .. ".so")
  local listing = compile_to(object, source, session, unit)
  local ending = ending_of(listing, object)
  local path = object_of(stem, ending)
  move_to(object, path)
  write_private(stem .. ".reads", ending .. "\n" .. listing)
  return path
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
