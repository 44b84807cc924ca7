--- why.lua: pairs of programs that differ in one known way, and the line of the ledger that says so.

local support = require "tests.support"

local M = {}

local LIBRARIES = 24

local programs = {}

local function plain()
  programs.folder = programs.folder or support.folder()
  programs.plain = programs.plain or support.build(programs.folder .. "/why", "cc", "-O2", "-pthread",
    support.fixture "why/why.c")
  return programs.plain
end

-- The same with libraries that do nothing.
local function with_many()
  if programs.many then return programs.many end
  local folder, names = programs.folder, {}
  for i = 1, LIBRARIES do
    local file = support.write(("%s/part%d.c"):format(folder, i),
      ("int part%d(void) { return %d; }\n"):format(i, i))
    support.build(("%s/libpart%d.so"):format(folder, i), "cc", "-shared", "-fPIC", file)
    names[i] = ("-lpart%d"):format(i)
  end
  programs.many = support.build(folder .. "/whymany", "cc", "-O2", "-pthread", support.fixture "why/why.c",
    "-L" .. folder, "-Wl,-rpath," .. folder, "-Wl,--no-as-needed", unpack(names))
  return programs.many
end

-- Megabytes on a disk, as far as there is one: in the folder of the build, clean.
local function cold_file()
  if not programs.file then
    programs.file = support.root .. "/build/cold." .. require("pmclua.core").pid()
    support.run { "sh", "-c", 'head -c 4000000 /dev/urandom > "$1"; sync "$1"', "sh", programs.file }
  end
  return programs.file
end

--- Removes what was put elsewhere.
function M.clean_up()
  if programs.file then os.remove(programs.file) end
  programs.file = nil
end

local function is_function(name)
  return function(line) return line.kind == "code" and line.name == name end
end

local function is_call(name) return function(line) return line.call == name end end
-- On some CPUs much of a short call's time is sampled at the instruction that makes it, in the C library.
local function is_call_or_stub(name)
  local of_call, of_stub = is_call(name), is_function "syscall"
  return function(line) return of_call(line) or of_stub(line) end
end
local function is_kind(kind) return function(line) return line.kind == kind end end
local function is_key(key) return function(line) return line.key == key end end

--- The pairs, by name: which line must be named first; nil: none.
M.pairs = {
  instructions = is_function "mix", branches = is_function "decide", strides = is_function "walk",
  faults = is_kind "faults", calls = is_call_or_stub "getppid", sleep = is_call "clock_nanosleep",
    lock = is_call "futex",
  hogs = is_kind "wait", file = is_call "read", libraries = is_key "libraries", threads = is_key "threads",
  nothing = false,
}

M.names = { "instructions", "branches", "strides", "faults", "calls", "sleep", "lock", "hogs", "file",
  "libraries",
  "threads", "nothing" }

local function command_of(name, side, scale)
  local program = plain()
  if name == "libraries" and side == "b" then program = with_many() end
  local words = { program, name, side, tostring(scale) }
  if name == "file" then words[5] = cold_file() end
  return table.concat(words, " ")
end

-- Runs `fn` beside programs that keep CPU 0 busy, which end by themselves after a while.
local function beside_hogs(fn)
  local run = support.run { "sh", "-c",
    "for i in 1 2; do timeout 120 taskset -c 0 sh -c 'while :; do :; done' >/dev/null 2>&1 & echo $!; done" }
  local ok, found = pcall(fn)
  for pid in run.out:gmatch "%d+" do support.run { "kill", pid } end
  if not ok then error(found, 0) end
  return found
end

--- What pmc.why finds of a pair.
---@param name string
---@param options table of pmc.why, and `scale`
---@return pmclua.Why
function M.find(name, options)
  local pmc = require "pmclua"
  local scale = options.scale or 100
  local own = support.merged(options, {})
  own.scale = nil
  own.quiet, own.simulate = true, options.simulate or false
  local a, b = command_of(name, "a", scale), command_of(name, "b", scale)
  if name ~= "hogs" then
    return pmc.why(pmc.command { a, name = "a" }, pmc.command { b, name = "b" }, own)
  end
  return beside_hogs(function()
    return pmc.why(pmc.command { "taskset -c 1 " .. a, name = "a" }, pmc.command { "taskset -c 0 " .. b,
      name = "b" },
      own)
  end)
end

--- Whether the right line is named first; where nothing was planted, whether none is.
---@param name string
---@param why pmclua.Why
---@return boolean
function M.is_right(name, why)
  local first = why.ledger.conclusion.names[1]
  if not M.pairs[name] then return first == nil end
  return first ~= nil and M.pairs[name](first.line)
end

return M
