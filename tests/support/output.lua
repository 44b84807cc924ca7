--- output.lua: what a run of specs prints: a line for each file with its time and its CPU time, every failure, every
-- test that took long, every skip with its reason, and last `[label] passed N, failed N, skipped N`, which
-- tests/run.lua adds up. It also reads the lines of files, and tries those again that failed.

local busted = require "busted"
local base = require "busted.outputHandlers.base"
local ffi = require "ffi"
local core = require "pmclua.core"
local pretty = require "pl.pretty"

ffi.cdef [[
struct specs_tms { long user, system, children_user, children_system; };
long times(struct specs_tms *);
]]
local TICKS_PER_S = 100                           -- USER_HZ, the same on every Linux
local LONG_S = 4                                  -- of CPU: such a test is named

--- Seconds of CPU of this process and of the children that it has waited for.
local function cpu_s()
  local used = ffi.new "struct specs_tms"
  ffi.C.times(used)
  return tonumber(used.user + used.system + used.children_user + used.children_system) / TICKS_PER_S
end

local function place(entry)
  local trace = entry.element.trace or entry.trace
  return trace and trace.short_src and ("%s:%s: "):format(trace.short_src, trace.currentline) or ""
end

local function message_of(message)
  if message == nil then return "no reason given" end
  local meta = getmetatable(message)
  if type(message) == "string" or meta and meta.__tostring then return tostring(message) end
  return pretty.write(message)
end

local function indented(text) return (("\n" .. text):gsub("\n", "\n    "):sub(2)) end

local function print_failure(entry)
  io.write("\nFAILED ", place(entry), entry.name, "\n", indented(message_of(entry.message)), "\n")
  local traceback = entry.isError and entry.trace and entry.trace.traceback
  if traceback then io.write(indented(traceback:gsub("^\n", "")), "\n") end
  if entry.randomseed then io.write("    in the order of --seed=", entry.randomseed, "\n") end
  io.write("\n")
end

local function print_skip(entry)
  local reason = message_of(entry.message):gsub("^%S+%.lua:%d+: ", "")
  io.write("skipped: ", entry.name, ": ", reason, "\n")
end

--- Leaves the name of the test that runs where tests/run.lua finds it, should it never end.
local function note_running(name)
  local path = os.getenv "PMCLUA_TEST_RUNNING"
  local file = path and io.open(path, "w")
  if not file then return end
  file:write(name)
  file:close()
end

local PRINTERS = { failures = print_failure, errors = print_failure, pendings = print_skip }

--- Lets go of what a file's tests hold, their modules too: the specs' own process would grow to the end, and
-- each collection of garbage takes as long as what is kept is large.
local function forget(element)
  for _, child in ipairs(busted.children(element)) do
    child.run, child.env = nil, nil
    forget(child)
  end
end

return function(options)
  local handler = base()
  local printed = { failures = 0, errors = 0, pendings = 0 }
  local passed_before, failed_before, file_start_ns, file_start_cpu_s = 0, 0, nil, nil
  local test_start_cpu_s

  local function print_new()
    for kind, print_entry in pairs(PRINTERS) do
      local list = handler[kind]
      for i = printed[kind] + 1, #list do print_entry(list[i]) end
      printed[kind] = #list
    end
    return nil, true
  end

  local function file_start()
    file_start_ns, file_start_cpu_s = core.now_ns(), cpu_s()
    return nil, true
  end

  local function file_end(file)
    print_new()
    local all_failed = handler.failuresCount + handler.errorsCount
    local passed, failed = handler.successesCount - passed_before, all_failed - failed_before
    io.write(("%-26s %4d passed%s %6.1f s, %.1f s of CPU\n"):format(file.name:match "[^/]*$", passed,
      failed > 0 and (", %d failed"):format(failed) or "", (core.now_ns() - file_start_ns) / 1e9,
      cpu_s() - file_start_cpu_s))
    passed_before, failed_before = handler.successesCount, all_failed
    handler.successes = {}
    forget(file)
    io.flush()
    return nil, true
  end

  local function suite_end()
    print_new()
    io.write(("[%s] passed %d, failed %d, skipped %d\n"):format(options.arguments[1] or "specs",
      handler.successesCount, handler.failuresCount + handler.errorsCount, handler.pendingsCount))
    io.flush()
    return nil, true
  end

  local function test_start(element)
    note_running(handler.getFullName(element))
    test_start_cpu_s = cpu_s()
    return nil, true
  end

  local function test_end(element)
    print_new()
    local used_s = cpu_s() - test_start_cpu_s
    if used_s >= LONG_S then
      io.write(("long: %.1f s of CPU: %s\n"):format(used_s, handler.getFullName(element)))
    end
    return nil, true
  end

  --- A setup that skips: busted leaves its tests out without a word.
  local function setup_skips(element, parent, message, trace)
    local entry = handler.format(element, parent, message, trace)
    table.insert(handler.pendings, entry)
    handler.pendingsCount = handler.pendingsCount + 1
    print_new()
    return nil, false                   -- the handler's own looks for the test that runs: there is none
  end

  for _, setup in ipairs { "lazy_setup", "strict_setup", "setup", "before_each" } do
    busted.subscribe({ "pending", setup }, setup_skips)
  end
  busted.subscribe({ "test", "start" }, test_start, { priority = 2 })
  busted.subscribe({ "test", "end" }, test_end, { priority = 2 })
  busted.subscribe({ "file", "start" }, file_start)
  busted.subscribe({ "file", "end" }, file_end)
  busted.subscribe({ "suite", "end" }, suite_end, { priority = 2 })
  return handler
end
