--- support: shared by all specs: running pmclua as a user would, temporary folders, what this machine has.

local ffi = require "ffi"
local lfs = require "lfs"
local path = require "pl.path"

local M = {}

--- The top of the source tree, and the executable under test.
M.root = path.normpath(path.abspath(debug.getinfo(1, "S").source:sub(2)) .. "/../../..")
M.program = M.root .. "/build/pmclua"

--- The watcher that everything runs under here, "asan" or "valgrind" (tests/check), and how many times slower it is.
M.watcher = os.getenv "PMCLUA_WATCHER"
M.slower = ({ asan = 4, valgrind = 20 })[M.watcher] or 1

--- The absolute path of a file in tests/fixtures.
---@param name string
function M.fixture(name) return M.root .. "/tests/fixtures/" .. name end

-- ---- files ----

ffi.cdef [[
char *mkdtemp(char *name);
int chmod(const char *path, unsigned mode);
]]

---@param file string path
function M.exists(file) return lfs.attributes(file) ~= nil end

---@param file string path
---@return string
function M.read(file)
  local handle = assert(io.open(file, "rb"))
  local text = handle:read "*a"
  handle:close()
  return text
end

--- The lines of a file that are not empty; none where it is not there.
---@param file string path
---@return string[]
function M.lines_of(file)
  local lines = {}
  for line in (M.exists(file) and M.read(file) or ""):gmatch "[^\n]+" do lines[#lines + 1] = line end
  return lines
end

---@param file string path; its folders are made
---@param text string
---@return string path
function M.write(file, text)
  local folder = path.dirname(file)
  if not path.isdir(folder) then require("pl.dir").makepath(folder) end
  local handle = assert(io.open(file, "wb"))
  handle:write(text)
  handle:close()
  return file
end

--- An empty folder that is removed at the end of the run (support/specs.lua). Everybody may read and
--- search it.
---@return string path
function M.folder()
  local name = (os.getenv "TMPDIR" or "/tmp") .. "/tmp.XXXXXX"
  local place = ffi.new("char[?]", #name + 1, name)
  if ffi.C.mkdtemp(place) == nil or ffi.C.chmod(place, tonumber("755", 8)) ~= 0 then
    error(("no folder %s: errno %d"):format(name, ffi.errno()), 2)
  end
  return ffi.string(place)
end

--- A chunk that has os.tmpname make its files in TMPDIR: LuaJIT's are in /tmp, whatever that says.
M.TMPNAME_IN_TMPDIR = [[
  local made = 0
  function os.tmpname()
    made = made + 1
    local path = ("%s/lua_%s_%d"):format(os.getenv "TMPDIR" or "/tmp", tostring({}):match "%w+$", made)
    assert(io.open(path, "w")):close()
    return path
  end
]]

-- ---- programs ----

--- A word for sh(1).
---@param word string
function M.quote(word) return "'" .. tostring(word):gsub("'", [['\'']]) .. "'" end

local function quoted(words)
  local list = {}
  for i, word in ipairs(words) do list[i] = M.quote(word) end
  return table.concat(list, " ")
end

local function environment(variables)
  if not variables then return {} end
  local words = { "env" }
  for name, value in pairs(variables) do
    if value then
      table.insert(words, name .. "=" .. value)
    else
      table.insert(words, 2, "-u")
      table.insert(words, 3, name)
    end
  end
  return words
end

local ORDINARY_USER = "setpriv --reuid=65534 --regid=65534 --clear-groups"

---@class support.Run
---@field env? table<string, string|false> variables to set, or with false to unset
---@field stdin? string what it reads; nothing by default
---@field folder? string where it runs
---@field user? boolean as an ordinary user (root alone can ask for it)
---@field limit_s? number 60 by default, more under a watcher; past it the status is 124

--- Runs a program to its end.
---@param words string[] argv
---@param options? support.Run
---@return { status: integer, out: string, err: string } result status is 128+n for signal n
function M.run(words, options)
  options = options or {}
  local place = M.folder()
  M.write(place .. "/in", options.stdin or "")
  local command = ("cd %s && %s timeout --kill-after=5 %d %s %s <%s/in >%s/out 2>%s/err; echo $? >%s/status")
    :format(M.quote(options.folder or "."), quoted(environment(options.env)),
      (options.limit_s or 60) * M.slower,
      options.user and ORDINARY_USER or "", quoted(words), place, place, place, place)
  os.execute(command)
  local result = { status = tonumber(M.read(place .. "/status")), out = M.read(place .. "/out"),
    err = M.read(place .. "/err") }
  for _, name in ipairs { "/in", "/out", "/err", "/status", "" } do os.remove(place .. name) end
  return result
end

--- Runs a compiler; raises with what it says where it fails.
---@param output string path of what is made
---@param compiler string
---@param ... string its other words
---@return string output
function M.build(output, compiler, ...)
  local made = M.run { compiler, "-o", output, ... }
  if made.status ~= 0 then error(made.err, 2) end
  return output
end

--- What a command for sh(1) prints.
---@param command string
---@return string
function M.output_of(command)
  local pipe = assert(io.popen(command))
  local text = pipe:read "*a"
  pipe:close()
  return text
end

local WAIT_S = 10 * M.slower

--- Looks until there is what is awaited, or a limit passes.
---@generic Found
---@param look fun(): Found? false or nil: not yet
---@param what string for the message where it never comes
---@param limit_s? number default: 10, and more where everything is slower
---@return Found
function M.await(look, what, limit_s)
  limit_s = limit_s or WAIT_S
  local deadline = os.time() + limit_s
  repeat
    local found = look()
    if found then return found end
    require("pmclua.core").pause(5e6)
  until os.time() > deadline
  error(("waited %d s for %s"):format(limit_s, what), 2)
end

--- Waits until a file has what a pattern finds.
---@param file string path
---@param pattern string
---@param limit_s? number as of M.await
---@return string found
function M.await_text(file, pattern, limit_s)
  local function look() return M.exists(file) and M.read(file):match(pattern) end
  return M.await(look, pattern .. " in " .. file, limit_s)
end

--- Waits until a process is gone.
---@param pid integer
function M.await_end(pid)
  local is_alive = require("pmclua.host.tasks").is_alive
  M.await(function() return not is_alive(pid) end, "the end of process " .. pid)
end

--- Runs pmclua with these arguments.
---@param args string[]
---@param options? support.Run
function M.pmclua(args, options) return M.run({ M.program, unpack(args) }, options) end

--- Runs an experiment here, without a word, stored nowhere unless told.
---@param spec table
---@param options? table of Experiment:run
---@return pmclua.Result
function M.experiment(spec, options)
  options = options or {}
  options.quiet = true
  if options.store == nil and not options.resume then options.store = false end
  return require("pmclua").experiment(spec):run(options)
end

-- ---- values ----

--- What fn is refused with; raises where it is not refused.
---@param fn function
---@param ... any its arguments
---@return string
function M.message_of(fn, ...)
  local ok, problem = pcall(fn, ...)
  if ok then error("this was expected to be refused", 2) end
  return tostring(problem)
end

--- value(1) … value(n).
---@generic Value
---@param n integer
---@param value fun(i: integer): Value
---@return Value[]
function M.sequence(n, value)
  local list = {}
  for i = 1, n do list[i] = value(i) end
  return list
end

--- A copy of a table with these fields added or replaced.
---@param fields table
---@param more? table
---@return table
function M.merged(fields, more)
  local all = {}
  for name, value in pairs(fields) do all[name] = value end
  for name, value in pairs(more or {}) do all[name] = value end
  return all
end

--- The columns of the widest line of a text.
---@param text string
---@return integer
function M.widest(text)
  local most = 0
  for line in text:gmatch "[^\n]+" do most = math.max(most, require("pmclua.base.text").width(line)) end
  return most
end

--- The attr of a software event that an ordinary user may count: page faults and clocks without the OS kernel
--- are the same.
---@param config integer
---@return pmclua.Attr
function M.software(config)
  return { type = 1, config = config, inherit = 1, exclude_kernel = M.have_root() and 0 or 1 }
end

-- ---- page faults ----

ffi.cdef [[
void *mmap(void *, size_t, int, int, int, int64_t);
int munmap(void *, size_t);
int madvise(void *, size_t, int);
]]

local PAGE, READ_WRITE, PRIVATE_ANONYMOUS, NO_HUGE_PAGES = 4096, 3, 0x22, 15

--- Writes to n fresh pages: n page faults. Memory of an allocator may be reused and have none.
---@param n integer
function M.touch_pages(n)
  local bytes = n * PAGE
  local memory = ffi.C.mmap(nil, bytes, READ_WRITE, PRIVATE_ANONYMOUS, -1, 0)
  ffi.C.madvise(memory, bytes, NO_HUGE_PAGES)
  local pages = ffi.cast("volatile char *", memory)
  for page = 0, n - 1 do pages[page * PAGE] = 1 end
  ffi.C.munmap(memory, bytes)
end

-- ---- this process's environment ----

ffi.cdef [[
int setenv(const char *name, const char *value, int overwrite);
int unsetenv(const char *name);
]]

local function set(name, value)
  if value then ffi.C.setenv(name, value, 1) else ffi.C.unsetenv(name) end
end

--- Calls fn with environment variables set (false: unset) and puts them back, whatever happens.
---@param variables table<string, string|false>
---@param fn fun(): any
function M.with_env(variables, fn)
  local before = {}
  for name, value in pairs(variables) do
    before[name] = os.getenv(name) or false
    set(name, value)
  end
  local results = { pcall(fn) }
  for name, value in pairs(before) do set(name, value) end
  if not results[1] then error(results[2], 0) end
  return unpack(results, 2)
end

--- The words of a command that begins with its standard descriptors alone: files that other specs have left to
--- the collector are inherited, and count where descriptors are few.
---@param words string[]
---@return string[]
function M.with_few_descriptors(words)
  local script = 'for fd in /proc/self/fd/*; do fd=${fd##*/}; [ "$fd" -le 2 ] || eval "exec $fd>&-"; done\n'
    .. 'exec "$@"'
  return { "bash", "-c", script, "bash", unpack(words) }
end

--- Calls fn with nothing compiled: C may then call back into Lua, which compiled code does not survive.
---@param fn fun()
---@return boolean ok, any why as pcall
function M.interpreted(fn)
  local was_on = jit.status()
  jit.flush()
  jit.off()
  local ok, why = pcall(fn)
  if was_on then jit.on() end
  return ok, why
end

--- Calls fn while a call of the core's table of system calls is `replacement(real, …)`.
---@param name string of a member of struct pmclua_system
---@param replacement function
---@param fn fun()
function M.with_system(name, replacement, fn)
  local system = ffi.C.pmclua_system
  local real = system[name]
  local callback = ffi.cast(ffi.typeof(real), function(...) return replacement(real, ...) end)
  system[name] = callback
  local ok, why = M.interpreted(fn)
  system[name] = real
  callback:free()
  if not ok then error(why, 0) end
end

-- ---- what is here ----

function M.have_root() return require("pmclua.core").uid() == 0 end

--- True where a breakpoint that can be set counts.
function M.have_breakpoints() return require("pmclua.core").breakpoints_fire() == true end

--- True where tracepoints can be opened: tracefs is mounted and readable.
function M.have_tracefs()
  for _, folder in ipairs { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" } do
    if path.isdir(folder .. "/events/syscalls") then return true end
  end
  return false
end

--- True where a PMU counts hardware events (the lab, most real machines; few VMs).
function M.have_pmu()
  for _, pmu in ipairs { "cpu", "cpu_core", "armv8_pmuv3", "armv8_pmuv3_0" } do
    if path.isdir("/sys/bus/event_source/devices/" .. pmu) then return true end
  end
  return false
end

--- True where a program of that name can be run.
---@param name string
function M.have(name)
  for folder in (os.getenv "PATH" or ""):gmatch "[^:]+" do
    if lfs.attributes(folder .. "/" .. name, "mode") == "file" then return true end
  end
  return false
end

--- Skips the test that calls it, or those whose setup does, with the reason, unless `condition` holds.
---@param condition any
---@param reason string
function M.need(condition, reason)
  if condition then return end
  require("busted.core")().pending(reason)        -- the one that a test has as a global is refused in a setup
end

--- Skips the test that calls it under a watcher, or under this one, whose own doing is in what the test looks at.
---@param reason string
---@param watcher? string
function M.need_unwatched(reason, watcher)
  M.need(not M.watcher or watcher and watcher ~= M.watcher, ("%s (%s)"):format(reason, M.watcher))
end

return M
