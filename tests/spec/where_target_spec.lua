-- Profiles of what runs already: a process with all its threads, CPUs, everything, a cgroup.

local pmc = require "pmclua"
local cgroups = require "tests.support.cgroups"
local support = require "tests.support"
local where = require "tests.support.where"

local IN_F, IN_G, IN_H, IN_FAULTS = 500, 200, 100, 1000

-- Calls `fn` with the pid of a process that waits, and the command that has it touch its pages once; `option`: its own.
local function with_waiting(fn, option)
  local folder, program = support.folder(), where.program("waits.c", "-lpthread")
  local ask, answer = folder .. "/ask", folder .. "/answer"
  assert.equal(0, support.run({ "mkfifo", ask, answer }).status)
  local pipe = assert(io.popen(("%s %s %s %s & echo $!"):format(support.quote(program), ask, answer,
    option or "")))
  local pid = pipe:read "*n"
  local once = { "sh", "-c", ("printf x > %s; head -c 1 < %s > /dev/null"):format(ask, answer) }
  assert.equal(0, support.run(once).status)
  local ok, why = pcall(fn, pid, pmc.command(once))
  os.execute(("kill %d"):format(pid))
  pipe:close()
  if not ok then error(why, 0) end
end

-- The profile of a target while a command runs.
local function profile_of(target, command, event)
  local list = {}
  local result = pmc.experiment { sample = event or "page-faults", events = { event or "page-faults" },
    workloads = { command }, target = target, repetitions = 1, warmup = 0,
  }:run { store = false, quiet = true, each = function(record)
    assert.is_nil(record.why)
    list[#list + 1] = record.profiles[1]
  end }
  assert.is_nil(result.problem)
  assert.equal(1, #list)
  assert.equal(list[1].total, where.sum(list[1]))
  return list[1]
end

describe("a profile of what runs already", function()
  it("has each fault of a process, in all threads that it has", function()
    with_waiting(function(pid, once)
      for _ = 1, 2 do
        local profile = profile_of(pmc.pid(pid), once)
        assert.is_true(profile.exact)
        assert.same({ IN_F, IN_G }, { where.count(profile, "f"), where.count(profile, "g") })
        assert.equal(IN_F + IN_G, profile.total)
      end
    end)
  end)

  it("has those of threads and children that it starts meanwhile", function()
    with_waiting(function(pid, once)
      local profile = profile_of(pmc.pid(pid), once)
      assert.is_true(profile.exact)
      assert.same({ IN_F, IN_G, 2 * IN_H }, { where.count(profile, "f"), where.count(profile, "g"),
        where.count(profile, "h") })
    end, "starts")
  end)

  it("is of one thread alone where that is the target", function()
    with_waiting(function(pid, once)
      local profile = profile_of(pmc.thread(pid), once)
      assert.same({ IN_F, 0, 0 }, { where.count(profile, "f"), where.count(profile, "g"),
        where.count(profile, "h") })
    end, "starts")
  end)

  it("has what any process does on all CPUs, those that start meanwhile and those that ran before", function()
    support.need(support.have_root(), "all CPUs need root")
    local program = where.program("faults.c", "-ldl", "-lpthread")
    local waits = where.program("waits.c", "-lpthread")
    local faults = pmc.command { program, "exec" }
    assert.equal(2 * IN_FAULTS, where.count(profile_of(pmc.system(), faults), "f", program))
    with_waiting(function(_, once)
      local profile = profile_of(pmc.system(), once)
      assert.same({ IN_F, IN_G }, { where.count(profile, "f", waits), where.count(profile, "g", waits) })
    end)
  end)

  it("has what a CPU does", function()
    support.need(support.have_root(), "CPUs need root")
    local cpus = require("pmclua.host.topology").online()
    local last = tostring(cpus[#cpus])
    local program = where.program("faults.c", "-ldl", "-lpthread")
    local faults = pmc.command { "taskset", "-c", last, program }
    assert.equal(IN_FAULTS, where.count(profile_of(pmc.cpus(last), faults), "f", program))
    support.need(#cpus > 1, "one CPU")
    assert.equal(0, where.count(profile_of(pmc.cpus(tostring(cpus[1])), faults), "f", program))
  end)

  it("has what a cgroup does, and nothing else", function()
    cgroups.with({ "where" }, function(folder)
      local program = where.program("faults.c", "-ldl", "-lpthread")
      local name = folder:match "[^/]+$"
      local enter = ("echo $$ > %s/cgroup.procs; exec %s"):format(folder, program)
      local inside = pmc.command { "sh", "-c", enter }
      local ok, profile = pcall(profile_of, pmc.cgroup(name), inside)
      -- Below a fresh mount of cgroup2 no event of a cgroup opens: core/README.md.
      support.need(ok or not tostring(profile):find("ENOENT", 1, true), "cgroups cannot be counted here")
      assert.is_true(ok, profile)
      assert.equal(IN_FAULTS, where.count(profile, "f"))
      assert.equal(0, where.count(profile_of(pmc.cgroup(name), pmc.command { program }), "f"))
    end)
  end)

  it("is of CPU time, too, for as long as is asked", function()
    local list = pmc.where { target = pmc.pid(require("pmclua.core").pid()), duration = "50ms",
      event = "cpu-clock" }.profiles
    assert.equal(1, #list)
    assert.equal(list[1].total, where.sum(list[1]))
  end)

  it("of somebody else's process is refused to an ordinary user, with the reason", function()
    support.need(support.have_root(), "not root")
    local function tried(...)
      return support.run { "setpriv", "--reuid=1001", "--regid=1001", "--clear-groups", support.program,
        "where", "--timeout", "50", ... }
    end
    local one, all = tried("-p", "1"), tried "-a"
    assert.same({ 125, 125 }, { one.status, all.status })
    assert.matches("cannot open 'cpu%-clock'", one.err)
    assert.not_matches("whole CPU", one.err)
    assert.matches("whole CPU", all.err)
  end)
end)
