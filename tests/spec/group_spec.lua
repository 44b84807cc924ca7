-- The typed group: fields are the events that were asked for; absent is nil and a reason, never 0.

local core = require "pmclua.core"
local ffi = require "ffi"
local pmc = require "pmclua"
local support = require "tests.support"

ffi.cdef "int64_t time(int64_t *place);"

local message_of = support.message_of

--- Calls fn while every perf read gives these words after the group's header: enabled, running, values.
local function with_read(enabled, running, values, fn)
  support.with_system("read", function(real, fd, buffer, bytes)
    local got = real(fd, buffer, bytes)
    local words = ffi.cast("uint64_t *", buffer)
    words[1], words[2] = enabled, running
    for i, value in ipairs(values) do words[3 + 2 * (i - 1)] = value end
    return got
  end, fn)
end

describe("counts of both kinds of cores", function()
  -- Enabled, running and the count of each kind, as two perf groups have them.
  local function of(atom, core_)
    local group, words = { slots = {}, list = {}, fields = {}, was_started = true }, {}
    for i, kind in ipairs { { "cpu_atom_cycles", "16-23", atom }, { "cpu_core_cycles", "0-15", core_ } } do
      local event = { name = kind[1], field = kind[1], core_cpus = kind[2], part_of = "cycles",
        scale = 1 }
      group.list[i] = { event = event, times = #words + 1, word = #words + 3 }
      group.slots[kind[1]], group.fields[i] = group.list[i], kind[1]
      for _, word in ipairs(kind[3]) do words[#words + 1] = word end
    end
    return require("pmclua.counting.counts").new(group, ffi.new("uint64_t[6]", words))
  end

  it("are not scaled by where the thread ran", function()
    local counts = of({ 1000, 250, 40 }, { 1000, 750, 900 })
    assert.same({ 40, 900 }, { counts.cpu_atom_cycles, counts.cpu_core_cycles })
    assert.equal("placed", (counts:status "cpu_atom_cycles"))
  end)

  it("are 0 on the kind where it never was, if it was on the other all the time", function()
    local counts = of({ 1000, 0, 0 }, { 1000, 1000, 900 })
    assert.same({ 0, 900 }, { counts.cpu_atom_cycles, counts.cpu_core_cycles })
    assert.equal("placed", (counts:status "cpu_atom_cycles"))
    assert.equal("counted", (counts:status "cpu_core_cycles"))
  end)

  it("are unknown on the kind that never ran, if the other did not run all the time", function()
    local counts = of({ 1000, 0, 0 }, { 1000, 600, 900 })
    assert.is_nil(counts.cpu_atom_cycles)
    local status, why = counts:status "cpu_atom_cycles"
    assert.equal("not-counted", status)
    assert.match("not on CPUs 16-23, or the PMU had no free counter", why, 1, true)
  end)
end)

describe("pmc.group", function()
  it("gives a field to each event that was asked for, with _ for -", function()
    local g = pmc.group { "page-faults", "task-clock", "faults = minor-faults" }
    local c = g:start():read()
    assert.equal("number", type(c.page_faults))
    assert.equal(c.page_faults, c["page-faults"])
    assert.equal("number", type(c.faults))
    assert.equal("cdata", type(c.raw.page_faults))
    g:close()
  end)

  it("raises on a misspelt or unasked name, with the nearest one", function()
    local g = pmc.group { "page-faults", "task-clock" }
    local c = g:read()
    assert.matches("no event 'page_fautls', did you mean 'page_faults'%?",
      message_of(function() return c.page_fautls end))
    assert.matches("no event 'cycles'", message_of(function() return c.cycles end))
    assert.matches("no event 'cycles'", message_of(function() return c.raw.cycles end))
    assert.matches("no event 'cycles'", message_of(function() return c:status "cycles" end))
    assert.matches("counts are read%-only", message_of(function() c.page_faults = 1 end))
    g:close()
  end)

  it("puts its messages at the caller's line", function()
    local g = pmc.group { "page-faults" }
    assert.matches("group_spec%.lua:%d+: ", message_of(function() return g:read().cycles end))
    g:close()
  end)

  it("refuses duplicates and names that would be one field", function()
    assert.matches("would both be called page_faults", message_of(pmc.group, { "page-faults",
      "page-faults" }))
    assert.matches("would both be called x", message_of(pmc.group, { "x = page-faults",
      "x = task-clock" }))
  end)

  it("refuses what is no event, with the nearest one", function()
    assert.matches("page%-fautls.*did you mean 'page%-faults'", message_of(pmc.group, { "page-fautls" }))
    assert.matches("pmc.group: item 2 must be a name, not 3", message_of(pmc.group, { "page-faults", 3 }))
    assert.matches("page%-fautls.*\n.*tsk%-clock", message_of(pmc.group, { "page-fautls", "tsk-clock" }))
    assert.matches("no option 'targt'", message_of(pmc.group, { "page-faults", targt = 1 }))
  end)

  it("refuses labels that its methods would hide, and what is no list of events or no counts", function()
    for _, name in ipairs { "raw", "status", "enabled_ns", "running_ns" } do
      assert.matches("cannot be an event's label", message_of(pmc.group, { name .. " = page-faults" }))
    end
    assert.matches("events must be a name or a table, not nil", message_of(pmc.group))
    local g = pmc.group { "page-faults" }
    assert.matches("only be subtracted from counts", message_of(function() return g:read() - 5 end))
    g:close()
  end)

  it("stops again when the function it counts raises, and passes the error on", function()
    local g = pmc.group { "page-faults" }
    assert.matches("oops", message_of(g.count, g, function() error "oops" end))
    assert.is_false(g.started)
    g:close()
  end)

  it("counts a function's region and passes on what it returns", function()
    local g = pmc.group { "page-faults" }
    local c, a, b = g:count(function(x) return x, "two" end, 1)
    assert.equal(1, a)
    assert.equal("two", b)
    assert.equal("counted", (c:status "page_faults"))
    g:close()
  end)

  -- The faults that the interpreter adds are few.
  local function assert_faults(expected, count, name)
    assert.is_true(count >= expected and count < expected + 200,
      ("%s: %d for %d"):format(name, count, expected))
  end

  it("counts a call within a call, each for itself, however often", function()
    for _, start in ipairs { false, true } do
      local group = pmc.group { "page-faults" }
      if start then group:start() end
      for _ = 1, 3 do
        local inner
        local outer = group:count(function()
          support.touch_pages(600)
          inner = group:count(support.touch_pages, 300)
          support.touch_pages(300)
        end)
        assert_faults(300, inner.page_faults, "inner")
        assert_faults(1200, outer.page_faults, "outer")
      end
      group:close()
    end
  end)

  it("counts what comes after a call within a call, one that raises, and one in another coroutine", function()
    local group = pmc.group { "page-faults" }
    local function touch() support.touch_pages(300) end
    local function again(depth)
      touch()
      if depth > 0 then group:count(again, depth - 1) end
    end
    -- Each has the faults that it adds to those after it.
    local between = {
      nested = { 300, function() group:count(touch) end },
      raising = { 300, function() pcall(group.count, group, function() touch() error "x" end) end },
      ["raising nothing"] = { 300, function() pcall(group.count, group, function() touch() error() end) end },
      recursive = { 1200, function() group:count(again, 3) end },
      coroutine = { 0, function()
        local other = coroutine.wrap(function() group:count(function() coroutine.yield() end) end)
        other()
        other()
      end },
    }
    for name, inner in pairs(between) do
      local outer = group:count(function()
        inner[2]()
        touch()
        touch()
      end)
      assert_faults(inner[1] + 600, outer.page_faults, name)
      assert.equal("toggle", group:method())
      local before = group:read()
      touch()
      assert.equal(0, (group:read() - before):enabled_ns(), name .. ": it counts on")
    end
    group:close()
  end)

  it("counts overlapping coroutines each for itself, whichever ends first", function()
    local group = pmc.group { "page-faults" }
    local function counted()
      return group:count(function()
        coroutine.yield()
        support.touch_pages(300)
        coroutine.yield()
        support.touch_pages(300)
      end)
    end
    local first, second = coroutine.wrap(counted), coroutine.wrap(counted)
    first()
    second()
    first()
    second()
    local a, b = first(), second()
    -- The first ends before the second's last pages.
    assert_faults(900, a.page_faults, "first")
    assert_faults(1200, b.page_faults, "second")
    group:close()
  end)

  it("gives no count of a call in which the group was stopped, started anew or not", function()
    local group = pmc.group { "page-faults" }
    local stops = {
      function() group:stop() end,
      function() group:start():stop() end,
      function() group:stop():start() end,
      function() group:count(function() group:stop() end) end,
    }
    for _, stop in ipairs(stops) do
      assert.matches("was stopped during the call", message_of(group.count, group, stop))
      group:stop()
      assert_faults(300, group:count(support.touch_pages, 300).page_faults, "afterwards")
    end
    group:close()
  end)

  it("says that it was closed, or that there is nothing to call", function()
    local group = pmc.group { "page-faults" }
    assert.matches("group_spec.lua:%d+: group:count: fn must be a function, not nil",
      message_of(function() group:count(nil) end))
    assert.equal(7, group:count(setmetatable({}, { __call = function() return 7 end })) and 7)
    local function close() group:close() end
    assert.matches("this group is closed", message_of(function() group:count(close) end))
  end)

  it("counts N of a system call's tracepoint for N calls", function()
    support.need(support.have_tracefs(), "tracefs is not mounted")
    ffi.cdef "int getppid(void);"
    local g = pmc.group { "syscalls:sys_enter_getppid" }
    g:start()
    for _, n in ipairs { 0, 1, 1000 } do
      local c = g:count(function() for _ = 1, n do ffi.C.getppid() end end)
      assert.equal(n, c["syscalls:sys_enter_getppid"])
    end
    g:close()
  end)

  it("gives no difference of readings the wrong way round", function()
    local g = pmc.group("page-faults"):start()
    local before = g:read()
    local after = g:read()
    assert.matches("only earlier counts", message_of(function() return before - after end))
    assert.is_true((after - before):enabled_ns() > 0)
    g:close()
  end)

  it("passes on all that a function returns where nothing can be opened", function()
    -- Nothing has this tracepoint's number.
    local g = pmc.group "2:99999"
    assert.equal("unsupported", (g:read():status "2:99999"))
    assert.equal(4, select("#", g:count(function() return nil, nil, 3 end)))
    assert.equal(3, (select(4, g:count(function() return nil, nil, 3 end))))
    g:close()
  end)

  it("subtracts two readings exactly", function()
    local g = pmc.group { "page-faults", "task-clock" }
    g:start()
    local a = g:read()
    for _ = 1, 1e5 do end
    local b = g:read()
    local d = b - a
    assert.equal(tonumber(b.raw.task_clock) - tonumber(a.raw.task_clock), tonumber(d.raw.task_clock))
    assert.equal(b:enabled_ns() - a:enabled_ns(), d:enabled_ns())
    local other = pmc.group { "page-faults" }
    assert.matches("two different groups", message_of(function() return b - other:read() end))
    g:close()
    other:close()
  end)

  it("keeps counts readable after it is closed, and refuses to be used", function()
    local g = pmc.group { "page-faults" }
    local c = g:start():read()
    g:close()
    g:close()
    assert.equal("number", type(c.page_faults))
    assert.matches("this group is closed", message_of(g.read, g))
    assert.matches("this group is closed", message_of(g.start, g))
  end)

  it("says not-counted before it was started, and gives no number", function()
    local g = pmc.group { "page-faults" }
    local c = g:read()
    local status, why = c:status "page_faults"
    assert.equal("not-counted", status)
    assert.is_string(why)
    g:close()
  end)

  it("scales what ran part of the time, and keeps the raw count", function()
    local g = pmc.group { "page-faults" }
    g:start()
    with_read(1000, 250, { 10ULL }, function()
      local c = g:read()
      assert.equal("scaled", (c:status "page_faults"))
      assert.equal(40, c.page_faults)
      assert.equal("10", core.decimal(c.raw.page_faults))
      assert.matches("~.*40.*page%-faults.*scaled", tostring(c))
    end)
    g:close()
  end)

  it("gives nil and a status, not 0, for what was never on the PMU", function()
    local g = pmc.group { "page-faults" }
    g:start()
    with_read(1000, 0, { 0ULL }, function()
      local c = g:read()
      assert.is_nil(c.page_faults)
      assert.is_nil(c.raw.page_faults)
      assert.equal("not-counted", (c:status "page_faults"))
    end)
    g:close()
  end)

  it("keeps counts exact to 2^64-1", function()
    local g = pmc.group { "page-faults" }
    g:start()
    with_read(1000, 1000, { 18446744073709551615ULL }, function()
      assert.equal("18446744073709551615", core.decimal(g:read().raw.page_faults))
    end)
    g:close()
  end)

  it("names an event that this machine does not have unsupported, with why, and counts the others", function()
    support.need(not support.have_pmu(), "this machine has a PMU")
    local g = pmc.group { "page-faults", "cycles" }
    local c = g:count(function() end)
    assert.is_nil(c.cycles)
    local status, why = c:status "cycles"
    assert.equal("unsupported", status)
    assert.matches("no PMU", why)
    assert.equal("counted", (c:status "page_faults"))
    g:close()
  end)

  it("never lets an event be opened that would always read 0 (K)", function()
    local g = pmc.group { "context-switches:u", "page-faults:u" }
    local c = g:count(function() end)
    assert.equal("constant-zero", (c:status "context-switches:u"))
    assert.is_nil(c["context-switches:u"])
    assert.equal("counted", (c:status "page-faults:u"))
    g:close()
  end)
end)

describe("pmc.open", function()
  it("opens what the ABI says, by the ABI's names, and reaches every ioctl", function()
    local e = pmc.open { type = 1, config = 2, disabled = true, read_format = 4, exclude_kernel = true }
    assert.equal(0, e:ioctl "ENABLE")
    assert.equal(0, e:ioctl "DISABLE")
    assert.equal(0, e:ioctl "RESET")
    local id = e:ioctl "ID"
    local words = e:read()
    assert.equal(2, #words)
    assert.equal(id, words[2])
    assert.matches("REFRESH", message_of(e.ioctl, e, "REFRESH", 1))       -- EINVAL on a counting event (R)
    assert.matches("no ioctl 'ENABEL'", message_of(e.ioctl, e, "ENABEL"))
    local sampling = pmc.open { type = 1, config = 1, sample_period = 1000, disabled = 1,
      exclude_kernel = true }
    assert.equal(0, sampling:ioctl("PERIOD", 2000))
    sampling:close()
    e:close()
    e:close()
  end)

  it("changes a breakpoint by MODIFY_ATTRIBUTES, and says why others refuse it (R)", function()
    local place = ffi.new "uint64_t[2]"
    local address = tonumber(ffi.cast("uintptr_t", place))
    local attr = { type = 5, bp_type = 2, bp_addr = address, bp_len = 8, exclude_kernel = true }
    local ok, e = pcall(pmc.open, attr)
    support.need(ok, "no breakpoint slots here")
    attr.bp_addr = address + 8
    local changed, why = pcall(e.ioctl, e, "MODIFY_ATTRIBUTES", attr)
    assert.is_true(changed, tostring(why))
    place[1] = 1
    e:close()
  end)

  it("counts N writes at a watched address", function()
    support.need_unwatched("without a vDSO the OS kernel stores what time(2) says", "valgrind")
    local place = ffi.new "volatile uint64_t[1]"
    local ok, e = pcall(pmc.open, { type = 5, bp_type = 2, bp_len = 8, exclude_kernel = true,
      bp_addr = tonumber(ffi.cast("uintptr_t", place)) })
    support.need(ok, "no breakpoint slots here")
    support.need(support.have_breakpoints(), "breakpoints open here and never count")
    -- time(2)'s one store: how Lua itself stores is the interpreter's business.
    local before = e:read()[1]
    for _ = 1, 100 do ffi.C.time(ffi.cast("int64_t *", place)) end
    assert.equal(100, e:read()[1] - before)
    e:close()
  end)

  it("refuses unknown fields at the caller's line, and explains refusals", function()
    assert.matches("group_spec%.lua:%d+: no attr field is called 'tipe'",
      message_of(function() pmc.open { tipe = 1 } end))
    assert.matches("no such software event", message_of(function() pmc.open { type = 1, config = 999,
      exclude_kernel = true } end))
  end)
end)
