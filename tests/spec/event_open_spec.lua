-- What a spec asks for beyond its attr, once it is opened: filters, the best precision, groups that are kept
-- together or may be split.

local core = require "pmclua.core"
local ffi = require "ffi"
local event = require "pmclua.event"
local passes = require "pmclua.counting.passes"
local pmc = require "pmclua"
local pmu = require "tests.support.pmu"
local support = require "tests.support"
local try = require "pmclua.event.try"

ffi.cdef "long pmclua_spec_syscall(long, ...) __asm__(\"syscall\");"

local BY_FD = "%s = syscalls:sys_enter_write/filter='%s'/"

local function need_tracepoints()
  support.need(support.have_tracefs() and support.have_root(),
    "tracepoints need tracefs and the right to use them")
end


local WRITE = ({ x64 = 1, arm64 = 64 })[jit.arch]

-- A system call write of some bytes to a descriptor that is none.
local function write_nowhere(bytes)
  ffi.C.pmclua_spec_syscall(WRITE, ffi.cast("long", 1000001), "x", ffi.cast("long", bytes))
end

local function need_such_writes()
  support.need_unwatched("such a write is refused before it comes to the OS kernel", "valgrind")
end

-- The descriptor that the next file gets.
local function next_fd()
  local file = assert(io.open "/dev/null")
  for name in require("lfs").dir "/proc/self/fd" do
    local target = require("lfs").symlinkattributes("/proc/self/fd/" .. name, "target")
    if target == "/dev/null" then
      file:close()
      return tonumber(name)
    end
  end
end

describe("a tracepoint's filter", function()
  it("has a group count exactly the writes that it lets through", function()
    need_such_writes()
    need_tracepoints()
    local g = pmc.group { BY_FD:format("one", "fd == 1000001"),
      BY_FD:format("big", "fd == 1000001 && count > 8"), BY_FD:format("never", "fd == 1000002") }
    local counts = g:count(function()
      for i = 1, 100 do write_nowhere(i % 4 == 0 and 9 or 1) end
    end)
    g:close()
    assert.same({ 100, 25, 0 }, { counts.one, counts.big, counts.never })
  end)

  it("goes to the runner, for commands with their children and for kernels", function()
    need_tracepoints()
    local script = "for i in 1 2 3 4 5; do echo x; done >/dev/null; (echo y; echo z) >/dev/null"
    local kernel = pmc.kernel { symbol = "writes", code = [[
      #include <unistd.h>
      #include <pmclua_kernel.h>
      void writes(void *state, uint64_t n) { while (n--) if (write(1000001, "x", 2) > 0) break; }]] }
    local events = { BY_FD:format("two", "count == 2"), BY_FD:format("none", "fd == 12345") }
    local function measure(workload, iterations)
      local options = { repetitions = 3, store = false, quiet = true, events = events,
        iterations = iterations }
      local cell = pmc.measure(workload, options):cells()()
      return { cell.two.min, cell.two.max, cell.none.min, cell.none.max }
    end
    assert.same({ 7, 7, 0, 0 }, measure(pmc.command { script, shell = true }))
    need_such_writes()
    support.need(support.have "cc", "no C compiler for a kernel")
    assert.same({ 1, 1, 0, 0 }, measure(kernel, 7))
  end)

  it("is refused with the reason, and nothing is counted in its stead", function()
    need_tracepoints()
    for filter, why in pairs {
      ["fdd == 1"] = "no field 'fdd'; did you mean 'fd'",
      ["(fd == 1"] = "'%(' is not closed",
      ["fd == 1 and count == 2"] = "'and' does not join conditions; write && or ||",
      ["fd = 1"] = "'=' does not compare; write ==",
      ["fd == x"] = "'x' is neither a number nor a text",
      ["fd =="] = "does not understand it",
    } do
      local tried = try.event(event.encode(BY_FD:format("w", filter))[1])
      assert.equal("unsupported", tried.status)
      assert.match(why, tostring(tried.why))
    end
  end)

  it("is a failure of its own in the core, which leaves nothing open", function()
    need_tracepoints()
    local id = event.encode("syscalls:sys_enter_write")[1].attr.config
    local bad = { type = 2, config = id, filter = "nonsense ==" }
    local before = next_fd()
    local one, failure = core.open(bad)
    assert.is_nil(one)
    assert.is_true(failure.filter)
    local group, of_group = core.group { { type = 1, config = 2 }, bad }
    assert.is_nil(group)
    assert.same({ true, 2 }, { of_group.filter, of_group.index })
    assert.equal(before, next_fd())
  end)

  it("is printed back as it was asked", function()
    need_tracepoints()
    local spec = BY_FD:format("w", "fd == 1 && count > 8"):gsub("^w = ", "")
    assert.equal(spec, event.format(event.encode(spec)[1]))
  end)
end)

describe("the modifier P", function()
  local function precision(pmu_has, spec)
    local tried
    pmu.with({ counters = 4, precise = pmu_has }, function() tried = try.event(event.encode(spec)[1]) end)
    return tried
  end

  it("opens with the highest precise_ip that the PMU has, and says which", function()
    for highest = 0, 3 do
      local tried = precision(highest, "cycles:P")
      assert.equal("counted", tried.status)
      assert.equal(highest > 0 and highest or nil, tried.attr.precise_ip)
      assert.match("precise_ip " .. highest, tried.note)
    end
  end)

  it("is not what p is: that is refused where the PMU has less", function()
    assert.equal("counted", precision(2, "cycles:pp").status)
    local refused = precision(1, "cycles:pp")
    assert.equal("unsupported", refused.status)
    assert.match("precise", tostring(refused.why))
  end)
end)

describe("a plan", function()
  -- The passes of a list on a machine whose groups hold `counters` hardware events: the names of each group.
  local function plan(counters, specs, mode)
    local events, names = {}, {}
    for _, spec in ipairs(specs) do event.append(events, event.encode(spec)) end
    pmu.with({ counters = counters }, function()
      for i, pass in ipairs((passes.plan(events, mode or "rerun"))) do
        names[i] = {}
        for k, group in ipairs(pass.groups) do
          local members = {}
          for m, index in ipairs(group.events) do members[m] = events[index].name end
          names[i][k] = table.concat(members, " ")
        end
      end
    end)
    return names, events
  end

  it("keeps a group in one pass, whatever stands before it", function()
    local names = plan(2, { "page-faults", "branches", "{cache-misses,cache-references}", "branch-misses" })
    assert.same({ { "branches branch-misses page-faults" },
      { "cache-misses cache-references page-faults" } }, names)
  end)

  it("keeps what is counted in software with its group where events are multiplexed", function()
    local specs = { "{page-faults,branches}", "{cache-misses,cache-references}", "task-clock" }
    local names = plan(2, specs, "multiplex")
    assert.same({ { "task-clock", "page-faults branches", "cache-misses cache-references" } }, names)
  end)

  it("refuses a group that does not fit, and takes a weak one apart", function()
    local names, events = plan(2, { "{branches,cache-misses,bus-cycles}" })
    assert.same({ {} }, names)
    for _, one in ipairs(events) do
      assert.same({ "unsupported", "its group does not fit the PMU" }, { one.status, one.why })
    end
    names, events = plan(2, { "{branches,cache-misses,bus-cycles}:W" })
    assert.same({ { "branches cache-misses" }, { "bus-cycles" } }, names)
    for _, one in ipairs(events) do
      assert.is_nil(one.status)
      assert.match("counted apart from its group, which does not fit", one.note)
    end
  end)

  it("leaves a weak group that fits together, without a word", function()
    local names, events = plan(3, { "{branches,cache-misses,bus-cycles}:W" })
    assert.same({ { "branches cache-misses bus-cycles" } }, names)
    assert.is_nil((events[1].note or ""):find "apart from its group")
  end)

  it("repeats anchors in each pass and loses no member of a group that one leads", function()
    local names = plan(3, { "{cycles,branches,bus-cycles}", "cache-misses", "cache-references" })
    local text = ""
    for _, pass in ipairs(names) do text = text .. table.concat(pass, " ") .. "\n" end
    assert.equal("cycles branches bus-cycles\ncycles cache-misses cache-references\n", text)
  end)

  it("gives what is pinned or exclusive a perf group of its own, since only a leader can be", function()
    local names = plan(4, { "page-faults", "branches", "bus-cycles:D", "{cache-misses,cache-references}:e" })
    assert.same({ { "branches page-faults", "bus-cycles:D", "cache-misses cache-references" } }, names)
  end)
end)

describe("a group of this thread", function()
  it("counts the members of a weak group apart where they do not fit", function()
    pmu.with({ counters = 2 }, function()
      local g = pmc.group { "page-faults", "{branches,cache-misses,bus-cycles}:W" }
      local c = g:start():read()
      for _, name in ipairs { "page_faults", "branches", "cache_misses", "bus_cycles" } do
        assert.equal("counted", c:status(name))
      end
      g:close()
      local ok, why = pcall(pmc.group, { "{branches,cache-misses,bus-cycles}" })
      assert.is_false(ok)
      assert.match("does not fit into this group", tostring(why))
    end)
  end)

  it("has what is pinned in a perf group of its own, as an experiment has", function()
    pmu.with({ counters = 4 }, function()
      local events = assert(event.parse "page-faults,branches,bus-cycles:D,{cache-misses,cache-references}")
      local groups = passes.at_once(events)
      assert.same({ { 1, 2, 4, 5 }, { 3 } }, { groups[1].events, groups[2].events })
      assert.same({ 1, 0 }, { groups[2].attrs[1].pinned, groups[2].attrs[1].inherit })
      local planned = passes.plan(events, "rerun")[1].groups
      assert.same({ { 2, 4, 5, 1 }, { 3 } }, { planned[1].events, planned[2].events })
    end)
  end)
end)

describe("a breakpoint", function()
  local fire

  before_each(function() fire = core.breakpoints_fire end)
  after_each(function()
    core.breakpoints_fire, package.loaded["pmclua.event.try"] = fire, try
  end)

  -- Where a breakpoint that is tried fires, does not, or cannot be set.
  local function tried(fires, why)
    core.breakpoints_fire, package.loaded["pmclua.event.try"] = function() return fires, why end, nil
    return require("pmclua.event.try").event { name = "mem:0x1000/8:w:u", spec = "mem:0x1000/8:w:u",
      attr = { type = 5, bp_type = 2, bp_addr = 0x1000, bp_len = 8, exclude_kernel = 1 } }
  end

  it("is never a 0 where the machine's debug exceptions do not arrive", function()
    local trial = tried(false)
    support.need(trial.status ~= "unsupported", "no breakpoint slots here")
    assert.equal("constant-zero", trial.status)
    assert.matches("exceptions never arrive", trial.why)
  end)

  it("counts where they arrive, and where that could not be tried", function()
    support.need(tried(true).status ~= "unsupported", "no breakpoint slots here")
    assert.equal("counted", tried(true).status)
    assert.equal("counted", tried(nil).status)
  end)

  it("is not believed to count where one that was set cannot be read", function()
    local trial = tried(nil, "one was set, and reading it failed")
    support.need(trial.status ~= "unsupported", "no breakpoint slots here")
    assert.matches("not known: one was set, and reading it failed", trial.why)
  end)
end)
