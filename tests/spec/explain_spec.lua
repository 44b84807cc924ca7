-- Refusals as what happened, why and what to do: each errno of perf_event_open on played machines.

local support = require "tests.support"
local explain = require "pmclua.explain"
local facts_of = require("pmclua.explain.facts").new

-- A machine that is told what it is; what it is not told, it does not have.
local function machine(facts)
  facts.pmus = facts.pmus or {}
  facts.pmu = function(kind) return facts.pmus[kind] end
  facts.capability = function(name) return (facts.capabilities or {})[name] == true end
  local opens = facts.opens or function() return "EINVAL" end
  facts.opens = function(...) return opens(...) end
  return facts
end

local function refusal(failure, facts)
  failure.attr = failure.attr or { type = 0, config = 0 }
  failure.event = failure.event or "cycles"
  failure.pid, failure.cpu = failure.pid or 0, failure.cpu or -1
  return explain.open(failure, machine(facts or {}))
end

local function says(problem, ...)
  local said = tostring(problem)
  for _, part in ipairs { ... } do
    assert.truthy(said:find(part, 1, true), ("'%s' is not in: %s"):format(part, said))
  end
end

local MSR, UNCORE, UPROBE = 9, 13, 8
local PMUS = {
  [4] = { name = "cpu", core = true }, [MSR] = { name = "msr", core = false },
  [UNCORE] = { name = "uncore_imc_0", core = false, cpumask = "0" },
  [UPROBE] = { name = "uprobe", core = false },
}

describe("ENOENT", function()
  it("of a hardware event where sysfs has no core PMU is a machine without a PMU", function()
    local problem = refusal({ code = "ENOENT" }, { core_pmu = false })
    says(problem, "cannot open 'cycles': Linux sees no PMU here",
         "make lab` in the source tree")
    assert.equal("ENOENT", problem.code)
    assert.equal("open", problem.operation)
    assert.equal("cycles", problem.event)
    says(refusal({ code = "ENOENT" }, { hypervisor = true }), "this virtual machine has no PMU")
  end)

  it("of a generic event where there is one is an event without counterpart", function()
    for _, kind in ipairs { 0, 3 } do
      says(refusal({ code = "ENOENT", attr = { type = kind } }, { core_pmu = true }),
           "this generic event has no counterpart on this CPU", "pmclua events")
    end
    says(refusal({ code = "ENOENT", attr = { type = 4 } }, { core_pmu = true }),
         "does not accept this raw code")
  end)

  it("else is an unknown PMU, config, software event, tracepoint or file", function()
    says(refusal({ code = "ENOENT", attr = { type = 77 } }), "there is no PMU of type 77", "name the PMU")
    says(refusal({ code = "ENOENT", attr = { type = MSR } }, { pmus = PMUS }), "the PMU msr does not know")
    says(refusal({ code = "ENOENT", attr = { type = 1 } }, { release = "6.1.0" }),
         "Linux 6.1.0 has no such software event")
    says(refusal({ code = "ENOENT", attr = { type = 2 } }), "no tracepoint with this id")
    says(refusal({ code = "ENOENT", attr = { type = UPROBE } }, { pmus = PMUS }),
         "the file to probe is not there")
  end)

  it("of a cgroup is one below a fresh mount of cgroup2", function()
    says(refusal { code = "ENOENT", attr = { type = 1 }, is_cgroup = true },
         "perf does not know its cgroup yet", "cgroup.subtree_control")
  end)
end)

describe("EACCES", function()
  local function denied(failure, opens, facts)
    facts = facts or {}
    facts.paranoid, facts.opens, facts.pmus = facts.paranoid or 2, opens, PMUS
    failure.code = "EACCES"
    return refusal(failure, facts)
  end

  it("is tried again without the OS kernel, and blames paranoid where that opens", function()
    local tried
    local problem = denied({}, function(attr) tried = attr return true end)
    assert.equal(1, tried.exclude_kernel)
    says(problem, "kernel.perf_event_paranoid is 2", "does not let ordinary users count Linux itself",
         "cycles:u", "CAP_PERFMON", "sysctl kernel.perf_event_paranoid=1")
  end)

  it("advises a spec that can be asked for", function()
    local function advised(spec, attr)
      local refused = denied({ event = "label", spec = spec, attr = attr }, function() return true end)
      return (tostring(refused):match "count only user space %((.-)%)")
    end
    local cycles, of_kernel = { type = 0, config = 0 }, { type = 0, config = 0, exclude_user = 1 }
    assert.same({ "cycles:u", "cycles:pu", "cpu/cycles/u", "cpu/cycles/Hu" }, { advised("cycles", cycles),
      advised("cycles:pku", cycles), advised("cpu/cycles/", cycles), advised("cpu/cycles/kH", cycles) })
    assert.is_nil(advised("cycles:k", of_kernel))
    local of_open = denied({ event = "type 0 config 0", has_attr = true }, function() return true end)
    assert.matches("count only user space (exclude_kernel = 1)", tostring(of_open), 1, true)
  end)

  it("does not advise :u where that would always read 0", function()
    for config, word in pairs { [3] = "context switches", [4] = "migrations" } do
      local problem = denied({ event = "e", attr = { type = 1, config = config } },
                             function() return true end)
      says(problem, "would always read 0: " .. word)
      assert.falsy(tostring(problem):find "e:u")
    end
    local tracepoint = { type = 2, config = 300 }
    says(denied({ event = "sched:sched_switch", attr = tracepoint }, function() return true end),
         "always read 0")
    says(denied({ event = "syscalls:sys_enter_read", attr = tracepoint }, function() return true end),
         "syscalls:sys_enter_read:u")
  end)

  it("hides a missing PMU, as permission is checked first", function()
    says(denied({}, function() return "ENOENT" end), "Linux sees no PMU here")
  end)

  it("gives way to what else is wrong", function()
    local function invalid() return "EINVAL" end
    says(denied({ cpu = 99 }, invalid, { cpus_online = "0-1" }), "there is no CPU 99 here")
    says(denied({ attr = { type = 5 } }, function() return "ENOSPC" end), "breakpoints are in use")
  end)

  it("of a PMU that cannot exclude the OS kernel says so", function()
    says(denied({ event = "tsc", attr = { type = MSR } }, function() return "EINVAL" end),
         "the PMU msr cannot leave it out", "run as root")
  end)

  it("that stays is the distribution's patch, a CPU, a process or a probe", function()
    local function always() return "EACCES" end
    says(denied({ attr = { exclude_kernel = 1 } }, always, { paranoid = 3 }), "paranoid is 3",
         "forbids ordinary users all")
    local function harmless(attr) return attr.config == 9 or "EACCES" end
    says(denied({ pid = -1, cpu = 0 }, harmless, { paranoid = 3 }), "counting a whole CPU needs CAP_PERFMON")
    says(denied({ pid = -1, cpu = 0, attr = { exclude_kernel = 1 } }, always, { in_user_namespace = true }),
         "outside this user namespace")
    says(denied({ pid = -1, cpu = 0 }, always), "counting a whole CPU needs CAP_PERFMON", "paranoid=0")
    says(denied({ pid = 1234 }, always), "process 1234 belongs to another user", "CAP_SYS_PTRACE")
    says(denied({ attr = { type = UPROBE } }, always), "a uprobe needs CAP_PERFMON")
  end)
end)

describe("EPERM", function()
  it("is raw tracepoint data, a filter of system calls, or a security module", function()
    says(refusal { code = "EPERM", attr = { type = 2, sample_type = 1024 } }, "raw data of tracepoints")
    says(refusal({ code = "EPERM" }, { seccomp = true }), "seccomp", "--cap-add PERFMON")
    says(refusal({ code = "EPERM" }, { capabilities = { CAP_PERFMON = true } }), "lockdown", "dmesg")
    says(refusal { code = "EPERM" }, "not permitted", "CAP_PERFMON")
  end)
end)

describe("EINVAL", function()
  local function invalid(failure, facts)
    facts = facts or {}
    facts.pmus, facts.cpus_online = PMUS, "0-3"
    failure.code = "EINVAL"
    return refusal(failure, facts)
  end

  it("is a PMU that takes no exclude bit, when it opens without", function()
    local function opens(attr) return attr.exclude_kernel == nil or "EINVAL" end
    says(invalid({ event = "tsc:u", attr = { type = MSR, exclude_kernel = 1 } }, { opens = opens }),
         "the PMU msr counts everything", "leave the modifiers")
  end)

  it("is a pinned or exclusive sibling", function()
    says(invalid { index = 2, members = { "a", "b" }, attr = { type = 0, pinned = 1 } },
         "'cycles' (2 of a group of 2)", "only the leader of a group may be pinned")
    says(invalid { index = 2, attr = { type = 0, exclusive = 1 } }, "exclusive")
  end)

  it("is a group too big for the PMU, when the event opens alone", function()
    local members = { "a", "b", "c", "d", "e", "f", "g", "h" }
    local problem = invalid({ index = 8, members = members }, { opens = function() return true end })
    says(problem, "(8 of a group of 8)", "opens alone but does not fit", "counts them in passes")
    says(invalid({ index = 2, attr = { type = 1 } }, { opens = function() return true end }),
         "opens alone but not in this group")
  end)

  it("is a rate above perf_event_max_sample_rate", function()
    says(invalid({ attr = { freq = 1, sample_freq = 200000 } }, { max_sample_rate = 100000 }),
         "200000 samples a second are more than", "100000", "sysctl kernel.perf_event_max_sample_rate=200000")
  end)

  it("is a CPU that is not there, or no target at all", function()
    says(invalid { cpu = 17 }, "there is no CPU 17 here: 0-3 are online")
    says(invalid { pid = -1, cpu = -1 }, "neither a process nor a CPU is named")
  end)

  it("is an uncore PMU bound to a task", function()
    says(invalid { attr = { type = UNCORE }, pid = 0 }, "uncore_imc_0", "never one process", "on CPU 0")
  end)

  it("is a breakpoint that the CPU does not have", function()
    local x86 = { machine = "x86_64" }
    says(invalid({ attr = { type = 5, bp_type = 1, bp_len = 4 } }, x86),
         "x86 has no breakpoints on reads alone", "rw")
    says(invalid({ attr = { type = 5, bp_type = 2, config1 = 4098ULL, config2 = 4 } }, x86),
         "not a multiple of 4")
    says(invalid({ attr = { type = 5, bp_type = 4, bp_len = 1 } }, x86), "the length of a long")
    says(invalid({ attr = { type = 5, bp_type = 3, bp_len = 3 } }, {}), "no breakpoint of this kind")
  end)

  it("is a tracepoint's bad id", function()
    says(invalid { attr = { type = 2, config = 99999 } }, "no tracepoint with this id", "sched:sched_switch")
  end)

  it("is a bit of read_format that this OS kernel does not know, when it opens without", function()
    local function opens(attr) return attr.read_format == nil or "EINVAL" end
    says(invalid({ attr = { read_format = 31 } }, { opens = opens, release = "5.10.0" }),
         "Linux 5.10.0 does not know read_format 0x1f", "6.0")
    says(invalid({ attr = { read_format = 64 } }, { opens = opens }), "a bit that no Linux knows")
  end)

  it("is inherit with counts in samples, or contradictions about exec", function()
    says(invalid { attr = { inherit = 1, sample_type = 16 } }, "TID")
    local function opens(attr) return attr.inherit == nil or "EINVAL" end
    says(invalid({ attr = { inherit = 1, sample_type = 18 } }, { opens = opens }), "6.12")
    says(invalid { attr = { remove_on_exec = 1, enable_on_exec = 1 } }, "contradict")
    says(invalid { attr = { sigtrap = 1 } }, "sigtrap needs remove_on_exec")
  end)

  it("is a raw code or a combination that this CPU does not have", function()
    says(invalid({ attr = { type = 4, config = 0x1ff } }, { core_pmu = true }), "does not have this event")
  end)

  it("else shows the fields, as nothing better is known", function()
    says(invalid { attr = { type = 1, config = 3, mmap2 = 1, disabled = 0 } },
         "Linux refuses this combination of fields (EINVAL): config=0x3 mmap2=0x1 type=0x1")
    says(invalid { attr = { type = MSR, config = 99 } }, "the PMU msr refuses", "pmclua events --pmu msr")
  end)
end)

describe("other refusals of perf_event_open", function()
  it("are a group too large to be read, or a field newer than the OS kernel", function()
    local members = {}
    for i = 1, 682 do members[i] = "e" end
    says(refusal({ code = "E2BIG", index = 682, members = members }, { opens = function() return true end }),
         "a group of 682 is too big", "681")
    says(refusal({ code = "E2BIG", attr = { sig_data = 7 } }, { release = "5.4.0" }),
         "5.4.0 is older than a field that is set: sig_data=0x7")
  end)

  it("are what a PMU does not support", function()
    says(refusal { code = "EOPNOTSUPP", attr = { precise_ip = 2, sample_period = 1 } }, "precise_ip")
    says(refusal { code = "EOPNOTSUPP", attr = { branch_sample_type = 1, sample_period = 1 } }, "no branches")
    says(refusal { code = "EOPNOTSUPP", attr = { aux_output = 1 } }, "aux")
    says(refusal { code = "EOPNOTSUPP", attr = { sample_period = 1000 } }, "cannot sample",
         "count without sampling")
    says(refusal({ code = "EOPNOTSUPP", attr = { type = 10, config1 = 3 } },
                 { pmus = { [10] = { name = "armv8_pmuv3_0", core = true } } }), "64-bit counters")
    says(refusal { code = "EOPNOTSUPP", attr = { type = 1 } }, "does not support this: type=0x1")
  end)

  it("are descriptors used up: the soft limit first", function()
    says(refusal({ code = "EMFILE" }, { nofile = { soft = 1024, hard = 524288 } }),
         "each CPU and each thread", "limit is 1,024 (hard limit 524,288)", "ulimit -n 524288")
    says(refusal({ code = "EMFILE" }, { nofile = { soft = 64, hard = 64 } }), "count fewer events",
         "limits.conf")
    says(refusal({ code = "EMFILE" }, { nofile = { soft = 64, hard = math.huge } }), "hard limit none")
    says(refusal({ code = "EMFILE", descriptors = 200 }, { nofile = { soft = 64, hard = 64 } }),
         "the events need 200 descriptors besides those already open")
    says(refusal { code = "ENFILE" }, "fs.file-max")
  end)

  it("are breakpoint slots used up", function()
    says(refusal({ code = "ENOSPC", attr = { type = 5 } }, { machine = "x86_64" }), "a CPU has four",
         "fewer addresses")
  end)

  it("are those of the manual", function()
    says(refusal { code = "ESRCH", pid = 4711 }, "no process or thread 4711")
    says(refusal({ code = "ENODEV", cpu = 2 }, { cpus_online = "0-1,3" }),
         "CPU 2 is offline (0-1,3 are online)")
    says(refusal({ code = "ENODEV" }, { core_pmu = false }), "sees no PMU here")
    says(refusal { code = "EBUSY" }, "exclusive")
    says(refusal { code = "EBADF" }, "leader of its group is closed")
    says(refusal { code = "EOVERFLOW", attr = { sample_max_stack = 9999 } }, "perf_event_max_stack")
    says(refusal { code = "ENOSYS" }, "no perf_event_open", "CONFIG_PERF_EVENTS")
    says(refusal { code = "ENOMEM" }, "memory")
  end)

  it("are at least said with the OS kernel's own words", function()
    says(refusal { code = "EDOM", errnum = 33 }, "cannot open 'cycles': numerical argument out of domain")
  end)

  it("name the event by its attr where it has no name, and its place in a group", function()
    local problem = explain.open({ code = "EBUSY", attr = { type = 4, config = 0x1c2ULL } }, machine {})
    says(problem, "an event of type 4, config 0x1c2")
    says(refusal { code = "EBUSY", index = 1, members = { "a", "b" } }, "'cycles' (leader)")
    says(refusal { code = "EBUSY", event = "x\27[31m" }, "'x\\e[31m'")
  end)

  it("take zeros and booleans of an attr for what they are", function()
    local problem = refusal({ code = "EINVAL", index = 2, attr = { type = 0, pinned = 0,
                                                                   exclusive = false } },
                            { opens = function() return true end })
    says(problem, "opens alone")
  end)
end)

describe("misuse", function()
  it("points at the user's line, however deep it was noticed", function()
    local line = debug.getinfo(1, "l").currentline + 1
    local ok, problem = pcall(function() explain.misuse("that is no event") end)
    assert.is_false(ok)
    assert.is_true(explain.is(problem))
    assert.is_true(problem.misuse)
    assert.matches("explain_spec.lua:" .. line .. "$", problem.where)
    assert.matches("explain_spec.lua:" .. line .. ": that is no event$", tostring(problem))
  end)
end)

describe("an error object", function()
  it("prints as one paragraph with what to do at the end", function()
    local problem = explain.problem { code = "ENOENT", message = "there is no cc", hint = "install gcc" }
    assert.equal("there is no cc; install gcc", tostring(problem))
    assert.equal("there is no cc", tostring(explain.problem { code = "ENOENT", message = "there is no cc" }))
    local unexplained = explain.problem { code = "EINVAL", message = "one\ntwo", hint = "hint" }
    assert.equal("one\ntwo\nhint", tostring(unexplained))
    assert.is_false(explain.is { code = "ENOENT" })
    assert.is_false(explain.is "text")
  end)

  it("of a spec says where and what was probably meant", function()
    assert.equal("there is no event 'cyclse' here; did you mean 'cycles'?",
      explain.spec("cyclse", { message = "there is no event 'cyclse' here", position = 1, length = 6,
                               hint = "cycles" }))
    assert.equal("'q' is not a modifier, at character 8 of 'cycles:q'",
      explain.spec("cycles:q", { message = "'q' is not a modifier", position = 8, length = 1 }))
    assert.equal("event 1 is a table", explain.spec("table", { message = "event 1 is a table" }))
  end)
end)

describe("an ordinary refusal", function()
  local ENOENT, EACCES, ENOEXEC, EIO, ENOSPC = 2, 13, 8, 5, 28

  it("of a command is no such command, with the nearest in PATH", function()
    local problem = explain.system(ENOENT, "execute", "grpe")
    assert.equal("ENOENT", problem.code)
    says(problem, "cannot execute 'grpe': there is no such command in PATH", "did you mean '")
    says(explain.system(ENOENT, "execute", "./no/such"), "there is no such file", "working directory")
  end)

  it("of a script whose interpreter is missing says so", function()
    local name = os.tmpname()
    says(explain.system(ENOENT, "execute", name), "interpreter that it names does not exist")
    os.remove(name)
  end)

  it("of a file that may not be executed, or is no program, says what helps", function()
    says(explain.system(EACCES, "execute", "./x"), "is not executable", "chmod +x ./x")
    says(explain.system(ENOEXEC, "execute", "./x"), "not a program", "#!")
  end)

  it("of anything else has the OS kernel's words", function()
    assert.equal("cannot write 'out': input/output error", tostring(explain.system(EIO, "write", "out")))
    says(explain.system(ENOSPC, "write", "out"), "the disk is full")
    assert.equal("cannot start the runner: input/output error", tostring(explain.system(EIO,
                                                                                        "start the runner")))
  end)
end)

describe("the facts of this machine", function()
  local facts = explain.facts()

  it("are read from /proc and /sys, and are nil where they cannot be", function()
    local file = io.open "/proc/sys/kernel/perf_event_paranoid"
    assert.equal(file and tonumber(file:read "*l"), facts.paranoid)
    if file then file:close() end
    assert.matches("^%d+%.%d+", facts.release)
    assert.matches("^%d", facts.cpus_online)
    assert.is_true(facts.nofile.soft <= facts.nofile.hard)
    assert.is_boolean(facts.core_pmu)
    assert.is_boolean(facts.capability "CAP_PERFMON")
    assert.is_nil(facts.no_such_fact)
    assert.equal("software", facts.pmu(1).name)
    assert.is_nil(facts.pmu(4000))
  end)

  it("include what opens, and leave nothing open", function()
    local lfs = require "lfs"
    local function descriptors()
      local n = 0
      for _ in lfs.dir "/proc/self/fd" do n = n + 1 end
      return n
    end
    local before = descriptors()
    assert.is_true(facts.opens({ type = 1, config = 2, exclude_kernel = 1 }, 0, -1))
    assert.equal("ENOENT", facts.opens({ type = 1, config = 99, exclude_kernel = 1 }, 0, -1))
    assert.equal(before, descriptors())
  end)

  it("explain a refusal of the OS kernel itself", function()
    local _, failure = require("pmclua.core").open { type = 1, config = 99, exclude_kernel = 1 }
    failure.event = "software/99/"
    says(explain.open(failure), "cannot open 'software/99/'", facts.release .. " has no such software event")
  end)

  it("tell the PMUs of CPUs from others by sysfs", function()
    local root = support.folder()
    local function device(name, files)
      local folder = root .. "/bus/event_source/devices/" .. name
      for file, content in pairs(files) do support.write(folder .. "/" .. file, content .. "\n") end
    end
    support.with_env({ SYSFS_PATH = root }, function()
      device("uncore_imc", { type = "12", cpumask = "0" })
      assert.is_false(facts_of().core_pmu)
      device("armv8_pmuv3_0", { type = "10", cpus = "0-3" })
      local there = facts_of()
      assert.is_true(there.core_pmu)
      assert.same({ name = "armv8_pmuv3_0", core = true }, there.pmu(10))
      assert.same({ name = "uncore_imc", core = false, cpumask = "0" }, there.pmu(12))
    end)
  end)
end)

describe("an ordinary user", function()
  -- What a user who is not root reads of one event, or a reason to skip.
  local function refused_to_user(attr, event)
    if require("pmclua.core").uid() ~= 0 then pending "only root can become another user" end
    if (explain.facts().paranoid or 0) < 2 then pending "kernel.perf_event_paranoid is below 2 here" end
    local chunk = ([[
      local _, failure = require("pmclua.core").open { type = %d, config = %d }
      failure.event = "%s"
      print(require("pmclua.explain").open(failure))]]):format(attr.type, attr.config, event)
    local run = support.pmclua({ "-e", chunk }, { user = true })
    assert.equal("", run.err)
    return run.out
  end

  it("reads why the OS kernel is not for them, and what would do", function()
    says(refused_to_user({ type = 1, config = 2 }, "page-faults"),
         "cannot open 'page-faults': permission denied",
         "does not let ordinary users", "page-faults:u", "CAP_PERFMON")
  end)

  it("is not advised to count what would always read 0", function()
    says(refused_to_user({ type = 1, config = 3 }, "context-switches"),
         "would always read 0: context switches")
  end)

  it("reads that there is no PMU, not that a right is missing, where there is none", function()
    if explain.facts().core_pmu then pending "this machine has a PMU" end
    says(refused_to_user({ type = 0, config = 0 }, "cycles"), "no PMU")
  end)
end)
