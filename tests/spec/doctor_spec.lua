-- The doctor: findings on machines of files, what counts on this one, ground truths, what measuring costs.

local doctor = require "pmclua.doctor"
local machine_of = require "pmclua.doctor.machine"
local pmu = require "tests.support.pmu"
local support = require "tests.support"

-- ---- machines of files ----

local PERFMON, NONE = "0000004000000000", "0000000000000000"

-- Files of a machine on which nothing stands in the way, but for what `changes` says (false: no such file).
local function machine(changes, plays)
  local root = support.folder()
  local files = {
    ["/proc/sys/kernel/perf_event_paranoid"] = "2",
    ["/proc/sys/kernel/kptr_restrict"] = "0",
    ["/proc/sys/kernel/perf_event_mlock_kb"] = "516",
    ["/proc/sys/kernel/nmi_watchdog"] = "0",
    ["/proc/self/status"] = "Name:\tx\nCapEff:\t" .. PERFMON .. "\nSeccomp:\t0\n",
    ["/proc/self/limits"] = "Limit      Soft      Hard\nMax open files      1024      524288      files",
    ["/sys/devices/system/cpu/smt/active"] = "0",
    ["/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"] = "performance",
    ["/sys/devices/system/cpu/intel_pstate/no_turbo"] = "1",
    ["/sys/kernel/tracing/events/sched/enable"] = "0",
    ["/sys/kernel/tracing/uprobe_events"] = "",
  }
  for path, text in pairs(changes or {}) do files[path] = text end
  for path, text in pairs(files) do
    if text then support.write(root .. path, text .. "\n") end
  end
  local made = machine_of.new(root)
  function made.opens() return true end
  function made.loads() return true end
  function made.has_program() return true end
  for name, answer in pairs(plays or {}) do made[name] = answer end
  return made
end

local function finding(name, changes, plays, has_pmu)
  for _, found in ipairs(doctor.findings(machine(changes, plays), { has_pmu = has_pmu ~= false })) do
    if found.name == name then return found end
  end
end

local ORDINARY = { ["/proc/self/status"] = "CapEff:\t" .. NONE .. "\nSeccomp:\t0" }

local with = support.merged

describe("on a machine where nothing stands in the way, the doctor", function()
  it("finds nothing to do", function()
    for _, found in ipairs(doctor.findings(machine(), { has_pmu = true })) do
      assert.equal("good", found.state, found.name .. ": " .. found.said)
      assert.is_nil(found.commands)
      assert.is_string(found.brief)
    end
  end)
end)

describe("the doctor", function()
  it("says what perf_event_paranoid forbids this user, and how it is lowered", function()
    local function at(level) return with(ORDINARY, { ["/proc/sys/kernel/perf_event_paranoid"] = level }) end
    assert.equal("good", finding("perf_event_paranoid").state)
    assert.match("does not bind this user %(CAP_PERFMON%)", finding("perf_event_paranoid").said)
    for level, expected in pairs { ["-1"] = "good", ["0"] = "good", ["1"] = "limits", ["2"] = "limits",
        ["3"] = "blocks", ["4"] = "blocks" } do
      local found = finding("perf_event_paranoid", at(level), { opens = function() return "EACCES" end })
      assert.equal(expected, found.state, level)
      if expected ~= "good" then
        assert.same({ "sudo sysctl kernel.perf_event_paranoid=0" }, found.commands)
      end
    end
    assert.equal("blocks", finding("perf_event_paranoid", at(false)).state)
  end)

  it("takes a level above 2 for 2 where ordinary users can count all the same", function()
    for _, level in ipairs { "3", "4" } do
      local found = finding("perf_event_paranoid",
        with(ORDINARY, { ["/proc/sys/kernel/perf_event_paranoid"] = level }))
      assert.equal("limits", found.state)
      assert.match("is " .. level .. ", which Linux treats as 2: ordinary users may count only user space",
        found.said)
    end
  end)

  it("does not take root of a user namespace for root", function()
    local found = finding("perf_event_paranoid", nil, { is_in_user_namespace = function() return true end })
    assert.equal("limits", found.state)
    assert.match("ordinary users may count only user space", found.said)
    assert.match("outside this user namespace", found.help)
    local run = support.run { "unshare", "-r", support.program, "doctor" }
    support.need(not run.err:find "unshare", "no user namespaces here")
    assert.is_nil(run.out:find("with CAP_PERFMON;", 1, true), run.out)
    run = support.run { "unshare", "-r", support.program, "stat", "-a", "-e", "page-faults", "true" }
    local level = tonumber((support.read "/proc/sys/kernel/perf_event_paranoid"))
    support.need(level > 0, "everybody may count CPUs here")
    assert.match("run as root or with CAP_PERFMON outside this user namespace", run.err)
  end)

  it("tells a filtered system call from one that is not there and from another refusal", function()
    local filtered = { ["/proc/self/status"] = "CapEff:\t" .. NONE .. "\nSeccomp:\t2" }
    local function refusing(errno, changes)
      return finding("perf_event_open", changes, { opens = function() return errno end })
    end
    assert.match("seccomp", refusing("EPERM", filtered).said)
    assert.match("docker run %-%-cap%-add PERFMON", refusing("EPERM", filtered).commands[1])
    assert.match("has no perf_event_open", refusing("ENOSYS").said)
    assert.match("refuses even an event that counts nothing %(EPERM%)", refusing("EPERM").said)
  end)

  it("says what is wrong with tracefs, and whether probes can be defined there", function()
    local none = { ["/sys/kernel/tracing/events/sched/enable"] = false,
      ["/sys/kernel/tracing/uprobe_events"] = false }
    local unmounted = finding("tracefs", none)
    assert.same({ "sudo mount -t tracefs nodev /sys/kernel/tracing" }, unmounted.commands)
    local unreadable = finding("tracefs", with(none, {
      ["/proc/self/mounts"] = "proc /proc proc rw 0 0\ntracefs /sys/kernel/tracing tracefs rw 0 0" }))
    assert.same({ "sudo mount -o remount,mode=755 /sys/kernel/tracing" }, unreadable.commands)
    assert.match("probes defined there", finding("tracefs").said)
    local read_only = finding("tracefs", { ["/sys/kernel/tracing/uprobe_events"] = false })
    assert.same({ "good", nil }, { read_only.state, read_only.commands })
    assert.match("count the first thread only", read_only.said)
  end)

  it("knows who may see the OS kernel's addresses", function()
    local function at(level, more)
      return finding("kptr_restrict", with({ ["/proc/sys/kernel/kptr_restrict"] = level }, more or {})).state
    end
    assert.same({ "good", "limits", "limits" }, { at "0", at("1", ORDINARY), at("2", ORDINARY) })
    assert.equal("good", at("1", { ["/proc/self/status"] = "CapEff:\t0000000400000000" }))
  end)

  it("looks at memory for rings and at descriptors", function()
    local small = with(ORDINARY, { ["/proc/sys/kernel/perf_event_mlock_kb"] = "64" })
    assert.same({ "sudo sysctl kernel.perf_event_mlock_kb=516" },
      finding("perf_event_mlock_kb", small).commands)
    local few = { ["/proc/self/limits"] = "Max open files            256      1024      files" }
    local found = finding("RLIMIT_NOFILE", few)
    assert.same({ "limits", 1024 }, { found.state, found.value })
    local unlimited = { ["/proc/self/limits"] = "Max open files     1024      unlimited      files" }
    assert.match("up to any number", finding("RLIMIT_NOFILE", unlimited).said)
  end)

  it("names the hypervisor and how it passes a PMU on, where there is none", function()
    local makers = { VMware = "vpmc.enable", Xen = "vpmu=true", QEMU = "pmu=on", innotek = "VirtualBox",
      ["Microsoft Corporation"] = "Set%-VMProcessor", ["Amazon EC2"] = "metal",
      Google = "performance%-monitoring" }
    for maker, help in pairs(makers) do
      local found = finding("virtual machine", { ["/sys/class/dmi/id/sys_vendor"] = maker }, nil, false)
      assert.equal("blocks", found.state)
      assert.match(help, found.help)
    end
    local unnamed = { ["/proc/cpuinfo"] = "flags\t\t: fpu sse hypervisor lahf_lm" }
    assert.match("^a virtual machine without a PMU", finding("virtual machine", unnamed, nil, false).said)
    assert.equal("limits", finding("virtual machine", unnamed, nil, true).state)
    assert.is_nil(finding("virtual machine", {}, nil, false))
    assert.match("sees no PMU here", finding("PMU", {}, nil, false).said)
    assert.is_nil(finding("PMU", unnamed, nil, false))
  end)

  it("sees containers", function()
    assert.match("Docker", finding("container", { ["/.dockerenv"] = "" }).said)
    assert.match("Podman", finding("container", { ["/run/.containerenv"] = "" }).said)
    assert.match("lxc", finding("container", { ["/run/systemd/container"] = "lxc" }).said)
    assert.is_nil(finding "container")
  end)

  it("sees what shares counters and what changes the clock, each with its switch", function()
    local cases = {
      { "NMI watchdog", "/proc/sys/kernel/nmi_watchdog", "1", "sudo sysctl kernel.nmi_watchdog=0" },
      { "SMT", "/sys/devices/system/cpu/smt/active", "1",
        "echo off | sudo tee /sys/devices/system/cpu/smt/control" },
      { "governor", "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "powersave",
        "sudo cpupower frequency-set -g performance" },
      { "turbo", "/sys/devices/system/cpu/intel_pstate/no_turbo", "0",
        "echo 1 | sudo tee /sys/devices/system/cpu/intel_pstate/no_turbo" },
    }
    for _, case in ipairs(cases) do
      local found = finding(case[1], { [case[2]] = case[3] }, { arch = "x64" })
      assert.same({ "limits", { case[4] } }, { found.state, found.commands }, case[1])
    end
    local amd = { ["/sys/devices/system/cpu/intel_pstate/no_turbo"] = false,
      ["/sys/devices/system/cpu/cpufreq/boost"] = "1" }
    assert.same({ "echo 0 | sudo tee /sys/devices/system/cpu/cpufreq/boost" }, finding("turbo", amd).commands)
    local harmless = { ["/proc/sys/kernel/nmi_watchdog"] = "1" }
    assert.equal("good", finding("NMI watchdog", harmless, nil, false).state)
    -- It takes no counter of an Arm CPU without pseudo-NMIs, nor where CPUs watch each other.
    assert.equal("good", finding("NMI watchdog", harmless, { arch = "arm64" }).state)
    local pseudo = with(harmless, { ["/proc/cmdline"] = "quiet irqchip.gicv3_pseudo_nmi=1" })
    assert.equal("limits", finding("NMI watchdog", pseudo, { arch = "arm64" }).state)
    local buddies = with(harmless, { ["/proc/sys/kernel/osrelease"] = "6.9.1",
      ["/boot/config-6.9.1"] = "CONFIG_X=y\nCONFIG_HARDLOCKUP_DETECTOR_BUDDY=y" })
    assert.equal("good", finding("NMI watchdog", buddies, { arch = "x64" }).state)
  end)

  it("lists missing tools with what they are for and one command that installs them", function()
    local function without(...)
      local missing = {}
      for _, name in ipairs { ... } do missing[name] = true end
      return { has_program = function(_, name) return not missing[name] end,
        can_load = function(_, name) return not missing[name] end }
    end
    local found = finding("tools", nil, without("gnuplot", "libcapstone.so.4", "cc"))
    assert.equal("not installed: a C compiler (kernels, calls and snippets), gnuplot (plots) and "
      .. "Capstone (regions of functions, instructions, data)", found.said)
    assert.same({ "sudo apt-get install gcc libc6-dev gnuplot-nox libcapstone4" }, found.commands)
    local fedora = finding("tools", nil, without("apt-get", "libdw.so.1"))
    assert.same({ "sudo dnf install elfutils-libs" }, fedora.commands)
    assert.is_nil(finding("tools", nil, without("apt-get", "dnf", "pacman", "libpfm.so.4")).commands)
  end)
end)

-- ---- this machine ----

describe("pmclua doctor", function()
  local function json(args, options)
    local result = support.pmclua({ "doctor", "--format", "json", unpack(args or {}) }, options)
    return (assert(require("dkjson").decode(result.out))), result
  end

  local function screen_is_sound(result)
    local lines = 0
    for line in result.out:gmatch "[^\n]*\n" do
      lines = lines + 1
      assert.is_true(require("pmclua.base.text").width(line:sub(1, -2)) <= 80 or line:find "^    %$ ", line)
    end
    assert.is_true(lines <= 45, lines)
  end

  it("shows on one screen what counts here, as tried", function()
    local result = support.pmclua { "doctor" }
    screen_is_sound(result)
    local found = json()
    local by_name = {}
    for _, kind in ipairs(found.kinds) do by_name[kind.name] = kind end
    local is_counted = require("pmclua.event").available "page-faults"
    assert.equal(is_counted and "counted" or "unsupported", by_name.software.status)
    assert.equal(is_counted and 0 or 77, result.status)
    assert.equal(support.have_pmu(), by_name.hardware.status == "counted")
    if not support.have_pmu() then
      assert.match("does not +hardware and cache: ", result.out)
      assert.is_string(by_name.hardware.why)
    end
    for _, one in ipairs(found.pmus) do
      assert.is_true(result.out:find(one.name, 1, true) ~= nil, one.name)
    end
  end)

  it("speaks for the user who runs it", function()
    support.need(support.have_root(), "only root can be somebody else")
    local result = support.pmclua({ "doctor" }, { user = true })
    screen_is_sound(result)
    local level = tonumber((support.read "/proc/sys/kernel/perf_event_paranoid"))
    if level >= 1 then
      assert.match("\n[x!] perf_event_paranoid is " .. level, result.out)
      assert.match("\n    %$ sudo sysctl kernel%.perf_event_paranoid=0\n", result.out)
    end
    if level == 2 then assert.match("user space only", result.out) end
  end)

  it("exits 77 where nothing can be counted", function()
    support.need(support.have "cc" and jit.arch == "x64", "a filter for system calls is built for x86-64")
    local folder = support.folder()
    local unperf = support.fixture "hostile/unperf.c"
    assert.equal(0, support.run({ "cc", "-o", folder .. "/unperf", unperf }).status)
    local result = support.run { folder .. "/unperf", support.program, "doctor" }
    support.need(result.status ~= 99, "no filter can be set here")
    assert.equal(77, result.status)
    assert.match("counts here +nothing\n", result.out)
    assert.match("\nx perf_event_open is blocked %(seccomp, as in a container%)\n"
      .. "    %$ docker run %-%-cap%-add PERFMON", result.out)
  end)

  it("asks one question at a time", function()
    local result = support.pmclua { "doctor", "--truths", "--overhead" }
    assert.same({ 2, "" }, { result.status, result.out })
  end)

  it("counts what is known beforehand, and says which figures can be trusted", function()
    support.need_unwatched "a watcher has page faults of its own"
    support.need(support.have "cc", "no C compiler")
    local found, result = json { "--truths" }
    assert.equal(0, found.wrong)
    assert.equal(found.tested > 0 and 0 or 77, result.status)
    for _, truth in ipairs(found.truths) do
      local is_known = truth.verdict == "untested" and truth.why
        or (truth.verdict == "exact" or truth.verdict == "close") and truth.least == truth.most
        or truth.verdict == "true" and truth.least == truth.expected and truth.disturbed > 0
      assert.is_truthy(is_known, truth.name .. ": " .. truth.verdict)
    end
    local text = support.pmclua({ "doctor", "--truths" }).out
    assert.match("\ncan be trusted here: page faults", text)
    for line in text:gmatch "[^\n]+" do assert.is_true(require("pmclua.base.text").width(line) <= 80) end
  end)

  it("measures what each way of reading costs, and says which are not here", function()
    support.need(support.have "cc", "no C compiler")
    local found = json { "--overhead" }
    local ways = {}
    for _, row in ipairs(found.overheads) do
      ways[row.way] = true
      local cost = row.ns or row.below
      assert.is_true(cost ~= nil and cost > 0 or type(row.why) == "string", row.way)
    end
    for _, way in ipairs { "read(2), group running", "started and stopped", "read in user space",
        "group:count, from Lua", "a command, counted", "a tracepoint", "a probe of a function" } do
      assert.is_true(ways[way], way)
    end
  end)

  it("says so where what it measures with does not end well", function()
    support.need(support.have_root(), "probes need root")
    support.need(support.have "cc", "no C compiler")
    local result = support.pmclua { "-e", [[
      local kernels = require "pmclua.doctor.kernels"
      kernels.CODE = kernels.CODE:gsub("getppid%(%)", "_exit(1)")
      for _, row in ipairs(pmc.doctor.overhead().list) do
        if row.way == "a probe of a function" then print(row.ns or row.below, row.why) end
      end]] }
    assert.matches("^nil\t[^\n]*exit", result.out, result.err)
  end)
end)

describe("the counters of a PMU", function()
  local counters = require "pmclua.doctor.counters"

  it("are as many as one event fits in a group, and those that take none of these", function()
    for count = 1, 8, 3 do
      local found
      pmu.with({ counters = count }, function()
        found = counters.count { name = "cpu", is_one_of_several = false }
      end)
      assert.same({ count, {}, "branches" }, { found.any, found.own, found.event })
    end
    -- Cycles (0) with a counter of their own.
    local found
    pmu.with({ counters = 4, own = { [0] = true } }, function()
      found = counters.count { name = "cpu", is_one_of_several = false }
    end)
    assert.same({ 4, { "cycles" } }, { found.any, found.own })
  end)

  it("are none that is known where nothing opens", function()
    support.need(not support.have_pmu(), "there is a PMU here")
    assert.is_nil(counters.count { name = "cpu", is_one_of_several = false })
  end)
end)

describe("a truth", function()
  local truths = require "pmclua.doctor.truths"

  -- What is made of one whose repetitions counted so.
  local function judged(counts, expected)
    local points = {}
    for i, value in ipairs(counts) do points[i] = { value, 1 } end
    local found = { verdict = "untested" }
    truths.judge(found, points, expected)
    return found.verdict
  end

  it("holds where none counted less and one exactly what was done", function()
    assert.equal("exact", judged({ 100, 100, 100 }, 100))
    assert.equal("true", judged({ 103, 100, 101 }, 100))
    assert.equal("wrong", judged({ 100, 99, 100 }, 100))
    assert.equal("wrong", judged({ 200, 200 }, 100))
    assert.equal("untested", judged({ 101, 103 }, 100))
    assert.equal("exact", judged({ 0, 0 }, 0))
    assert.equal("wrong", judged({ 1, 1 }, 0))
  end)
end)
