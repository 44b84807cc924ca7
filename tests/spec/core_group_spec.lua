-- Groups of the core: KERNEL's traps by letter, the protocol, refusals played by a replaced system call.

local core = require "pmclua.core"
local ffi = require "ffi"
local profile = require "pmclua.core.profile"
local support = require "tests.support"

local SOFTWARE = 1
local TASK_CLOCK, FAULTS, SWITCHES, MIGRATIONS, DUMMY = 1, 2, 3, 4, 9

ffi.cdef "int getppid(void);"

-- An ordinary user may count without the OS kernel only; of these events most are the same.
local function software(config)
  return { type = SOFTWARE, config = config, exclude_kernel = support.have_root() and 0 or 1 }
end

--- Differences of one region: { enabled, running, values… }.
local function region(group, fn, ...)
  local before, after = group:buffer(), group:buffer()
  group:read_into(before)
  fn(...)
  group:read_into(after)
  group:subtract(before, after, after)
  local words = {}
  for i = 1, 2 + group.count do words[i] = core.number(after, i) end
  return words
end

--- The least page faults of some regions that support.touch_pages n pages: the interpreter's own heap may add to one.
local function least_faults(group, n)
  local least = math.huge
  for _ = 1, 5 do least = math.min(least, region(group, support.touch_pages, n)[3]) end
  return least
end

local function open_descriptors()
  collectgarbage()                               -- what other specs left to the collector is closed first
  collectgarbage()
  local count = 0
  for _ in require("lfs").dir "/proc/self/fd" do count = count + 1 end
  return count
end

-- Fewer may be: what other specs left is closed when no stale slot of a stack refers to it any more.
local function assert_none_left(before)
  local now = open_descriptors()
  assert.is_true(now <= before, ("%d are open, %d were"):format(now, before))
end

--- Calls fn while perf_event_open is `replacement(real, attr, pid, cpu, group_fd, flags)`.
local function with_open(replacement, fn) support.with_system("perf_event_open", replacement, fn) end

describe("a group", function()
  it("counts nothing in an empty region and N faults for N fresh pages", function()
    local group = assert(core.group { software(FAULTS), software(TASK_CLOCK) })
    group:start()
    region(group, support.touch_pages, 1)                      -- compiles and faults in what reading needs
    local ok = 0
    for _ = 1, 5 do
      if region(group, function() end)[3] == 0 then ok = ok + 1 end
    end
    assert.is_true(ok >= 4)                      -- the interpreter may grow its heap once
    jit.off(support.touch_pages)
    for _, n in ipairs { 1, 10, 100, 1000 } do
      assert.equal(n, least_faults(group, n))
    end
    group:close()
  end)

  it("opens all members or none, and says which one failed with the attr as passed", function()
    local before = open_descriptors()
    for place = 1, 3 do
      local attrs = { software(FAULTS), software(TASK_CLOCK), software(SWITCHES) }
      attrs[place] = software(1000)
      local group, failure = core.group(attrs)
      assert.is_nil(group)
      assert.equal("ENOENT", failure.code)
      assert.equal(place, failure.index)
      assert.equal(1000, failure.attr.config)
      assert_none_left(before)
    end
  end)

  it("opens the leader disabled and its siblings not, so that the leader alone governs (A, B)", function()
    local seen = {}
    with_open(function(real, attr, pid, cpu, group_fd, flags)
      local value = ffi.new "uint64_t[1]"
      ffi.C.pmclua_attr_get(attr, "disabled", value)
      seen[#seen + 1] = { disabled = tonumber(value[0]), leader = group_fd == -1 }
      return real(attr, pid, cpu, group_fd, flags)
    end, function() assert(core.group { software(FAULTS), software(TASK_CLOCK),
      software(DUMMY) }):close() end)
    assert.same({ { disabled = 1, leader = true }, { disabled = 0, leader = false }, { disabled = 0,
      leader = false } }, seen)
  end)

  it("counts in each of many starts and stops when its members belong to several PMUs (A)", function()
    support.need(support.have_tracefs(), "tracefs is not mounted")
    support.need(support.have_root(), "tracepoints need root")
    local id = tonumber(support.read "/sys/kernel/tracing/events/syscalls/sys_enter_getppid/id")
    local group = assert(core.group { software(TASK_CLOCK), software(FAULTS), { type = 2, config = id },
      software(DUMMY) })
    for _ = 1, 200 do
      group:start()
      local words = region(group, function() for _ = 1, 10 do ffi.C.getppid() end end)
      group:stop()
      assert.equal(10, words[5])
      assert.equal(words[1], words[2])
    end
    group:close()
  end)

  it("takes differences instead of resetting (D): a stopped stretch adds nothing", function()
    support.need_unwatched "a watcher has page faults of its own"
    local group = assert(core.group { software(FAULTS) })
    jit.off(support.touch_pages)
    group:start()
    assert.equal(10, least_faults(group, 10))
    group:stop()
    assert.equal(0, region(group, support.touch_pages, 10)[3])
    group:start()
    assert.equal(10, least_faults(group, 10))
    group:close()
  end)

  it("closes siblings before the leader (H)", function()
    local order = {}
    local group = assert(core.group { software(FAULTS), software(TASK_CLOCK), software(SWITCHES) })
    local wanted = { group:fd(3), group:fd(2), group:fd(1) }
    support.with_system("close", function(real, fd)
      order[#order + 1] = fd
      return real(fd)
    end, function() group:close() end)
    assert.same(wanted, order)
  end)

  it("closes once however often it is asked, and raises when used afterwards", function()
    local before = open_descriptors()
    local group = assert(core.group { software(FAULTS) })
    group:close()
    group:close()
    assert_none_left(before)
    assert.has_error(function() group:start() end, "this group is closed")
  end)

  it("retries an open that a signal interrupted (I)", function()
    local calls = 0
    with_open(function(real, attr, pid, cpu, group_fd, flags)
      calls = calls + 1
      if calls % 2 == 1 then return -4 end       -- EINTR
      return real(attr, pid, cpu, group_fd, flags)
    end, function() assert(core.group { software(FAULTS), software(TASK_CLOCK) }):close() end)
    assert.equal(4, calls)
  end)

  it("passes on every refusal of the OS kernel at every member, and leaves nothing open", function()
    local before = open_descriptors()
    local refusals = { EPERM = 1, ENOENT = 2, ESRCH = 3, E2BIG = 7, EBADF = 9, ENOMEM = 12, EACCES = 13,
      EBUSY = 16,
      ENODEV = 19, EINVAL = 22, EMFILE = 24, ENOSPC = 28, EOPNOTSUPP = 95, ENOSYS = 38, EOVERFLOW = 75 }
    for name, number in pairs(refusals) do
      for place = 1, 3 do
        local calls = 0
        -- A leader begins a group anew: where descriptors lack, one is opened once more after collecting.
        with_open(function(real, attr, pid, cpu, leader, flags)
          calls = leader < 0 and 1 or calls + 1
          if calls == place then return -number end
          return real(attr, pid, cpu, leader, flags)
        end, function()
          local group, failure = core.group { software(FAULTS), software(TASK_CLOCK), software(SWITCHES) }
          assert.is_nil(group)
          assert.equal(name, failure.code)
          assert.equal(place, failure.index)
        end)
      end
    end
    assert_none_left(before)
  end)

  it("holds as many members as the OS kernel allows, and says E2BIG to one more (I)", function()
    local attrs = {}
    for i = 1, 512 do attrs[i] = software(DUMMY) end
    local group = assert(core.group(attrs))
    group:start()
    assert.equal(512, #region(group, function() end) - 2)
    group:close()
  end)

  it("shows an event bound to another CPU as enabled but not running (G)", function()
    support.need(support.read "/sys/devices/system/cpu/online" ~= "0\n", "needs two CPUs")
    local list = support.read "/proc/self/status":match "Cpus_allowed_list:%s*(%S+)"
    assert(core.pin "0")
    local group = assert(core.group({ software(TASK_CLOCK) }, { cpu = 1 }))
    group:start()
    local words = region(group, function() for _ = 1, 1e6 do end end)
    assert.is_true(words[1] > 0)
    assert.equal(0, words[2])
    core.pin "1"
    words = region(group, function() for _ = 1, 1e6 do end end)
    assert.is_true(words[2] > 0)
    group:close()
    core.pin(list)
  end)

  it("counts N cpu-migrations for N hops between two CPUs", function()
    support.need(support.have_root(), "migrations happen inside Linux: needs root")
    support.need(support.read "/sys/devices/system/cpu/online" ~= "0\n", "needs two CPUs")
    local list = support.read "/proc/self/status":match "Cpus_allowed_list:%s*(%S+)"
    core.pin "0"
    local group = assert(core.group { software(MIGRATIONS) })
    group:start()
    local words = region(group, function()
      for i = 1, 100 do core.pin(i % 2 == 1 and "1" or "0") end
    end)
    assert.equal(100, words[3])
    group:close()
    core.pin(list)
  end)
end)

describe("a sampler", function()
  it("opens its event with every field that was asked for, newer ones than libc knows, too", function()
    local asked = software(DUMMY)
    asked.config3, asked.config4 = 3, 4
    local words = {}
    with_open(function(_, attr)
      if attr.words[2] == 1000 then words = { tonumber(attr.words[16]), tonumber(attr.words[17]) } end
      return -13
    end, function()
      profile.open { attr = asked, period = 1000, cpus = { 0 }, tasks = { core.pid() } }
    end)
    assert.same({ 3, 4 }, words)
  end)
end)

describe("numbers", function()
  it("are Lua numbers to 2^53 and exact u64 beyond", function()
    assert.equal(9007199254740992, core.exact(9007199254740992ULL))
    assert.equal("number", type(core.exact(9007199254740992ULL)))
    assert.equal("cdata", type(core.exact(9007199254740993ULL)))
    assert.equal("18446744073709551615", core.decimal(core.exact(18446744073709551615ULL)))
  end)

  it("are read from text exactly, or not at all", function()
    assert.equal(255, core.u64 "0xff")
    assert.equal("18446744073709551615", core.decimal(core.u64 "18446744073709551615"))
    for _, text in ipairs { "", "-1", " 1", "1 ", "0x", "18446744073709551616", "1e3", "+1" } do
      assert.is_nil(core.u64(text))
    end
  end)
end)
