-- What a profile cannot have is absent or said: programs that must not be sampled, files that are another one by now,
-- names that somebody else wrote, rings that cannot be had.

local pmc = require "pmclua"
local support = require "tests.support"
local where = require "tests.support.where"

local USER = { "setpriv", "--reuid=1003", "--regid=1003", "--clear-groups" }

local function as_user(...)
  local words = { unpack(USER) }
  for _, word in ipairs { ... } do words[#words + 1] = word end
  return words
end

-- The result of a profiled command, and its remarks as one text.
local function remarks_on(command)
  local profiles, result = where.profiles(command, "page-faults")
  return table.concat(result.remarks or {}, "\n"), profiles[1]
end

-- A program of a folder that everybody may enter.
local function copy_of(program, mode)
  local folder = support.folder()
  assert.equal(0, support.run({ "chmod", "755", folder }).status)
  local path = folder .. "/program"
  assert.equal(0, support.run({ "cp", program, path }).status)
  assert.equal(0, support.run({ "chmod", mode, path }).status)
  return path
end

describe("what a profile cannot have", function()
  it("is a program that gains rights when it is executed, and it is named", function()
    support.need(support.have_root(), "not root")
    local path = copy_of(where.program("faults.c", "-ldl", "-lpthread"), "4755")
    assert.equal(0, support.run({ "chown", "65534", path }).status)
    assert.equal(0, support.run({ "chmod", "4755", path }).status)
    local result = support.pmclua { "where", "-e", "page-faults", "--", "sh", "-c", path .. "; :" }
    assert.equal(125, result.status)
    assert.matches("'program': Linux dropped its counters when it was executed", result.err)
  end)

  it("is a name from a file that was replaced since", function()
    support.need(support.have "cc", "no C compiler")
    local path = copy_of(where.program("faults.c", "-ldl", "-lpthread"), "755")
    local other = where.program("waits.c", "-lpthread")
    local steps = { "cp ORIGINAL PATH.new; mv PATH.new PATH", "PATH", "cp OTHER PATH.new; mv PATH.new PATH" }
    local script = table.concat(steps, "; "):gsub("ORIGINAL", path .. ".kept"):gsub("OTHER", other)
      :gsub("PATH", path)
    assert.equal(0, support.run({ "cp", path, path .. ".kept" }).status)
    local said, profile = remarks_on { "sh", "-c", script }
    assert.matches("another one than was run", said)
    assert.equal(0, where.count(profile, "f"))
    assert.is_true(where.count(profile, "program") >= 1000)
    for _, line in ipairs(profile.lines) do
      if line.fn == "program" then assert.is_true(line.nameless) end
    end
  end)

  it("is a name of a JIT from a map of somebody else's", function()
    support.need(support.have_root(), "not root")
    local jit, folder, core = require "pmclua.profile.jit", support.folder(), require "pmclua.core"
    local path = ("%s/perf-%d.map"):format(folder, core.pid())
    support.write(path, "1000 20 mine\n")
    assert.equal("mine", assert(jit.open(core.pid(), { folder = folder })):find(0x101f))
    assert.is_nil(assert(jit.open(core.pid(), { folder = folder })):find(0x1020))
    assert.equal(0, support.run({ "chown", "1003", path }).status)
    local map, why = jit.open(core.pid(), { folder = folder })
    assert.is_nil(map)
    assert.matches("another user", why)
  end)

  it("is a name of a JIT from a map of its process's user, unless root says so", function()
    support.need(support.have_root() and support.have "setpriv", "not root")
    local jit, folder = require "pmclua.profile.jit", support.folder()
    local pid = support.output_of "exec setpriv --reuid=1003 sleep 60 >/dev/null & echo $!":match "%d+"
    support.await(function()
      return require("lfs").attributes("/proc/" .. pid, "uid") == 1003
    end, "another user's process")
    local path = support.write(("%s/perf-%d.map"):format(folder, pid), "1000 20 theirs\n")
    local function open(owner)
      support.run { "chown", owner, path }
      local map, why = jit.open(tonumber(pid), { folder = folder, trusts_processes = true })
      return map and map:find(0x1000), why
    end
    local theirs, others, why = open "1003", open "1004"
    os.execute(("rm %s && mkfifo %s"):format(path, path))
    local fifo, no_file = open "1003"
    support.run { "kill", pid }
    assert.equal("theirs", theirs)
    assert.is_nil(others)
    assert.matches("does not belong to the user of that process", why)
    assert.is_nil(fifo)
    assert.matches("it is not a regular file", no_file)
  end)

  -- What `where OPTIONS -- true` ends with for a user whose memory for rings is all in use.
  local function without_memory(options)
    support.need(support.have_root() and support.have "cc", "no C compiler, or not root")
    local rings = copy_of(where.program "rings.c", "755")
    local hold = ("ulimit -l 0; echo $$; exec %s %s"):format(table.concat(USER, " "), rings)
    local holder = assert(io.popen(hold))
    local pid, full = tonumber(holder:read "*l"), holder:read "*l"
    local ok, result = pcall(support.run, as_user("sh", "-c",
      ("ulimit -l 0; XDG_CACHE_HOME=/nonexistent exec %s where %s -- true"):format(support.program, options)))
    os.execute(("kill %d"):format(pid))
    holder:close()
    support.need(full == "full", "rings cannot be mapped by an ordinary user here")
    assert.is_true(ok, result)
    return result
  end

  it("is a ring, where all memory that a user may lock is in use, with what to do", function()
    for _, options in ipairs { "-e page-faults", "-e page-faults --data", "-e cpu-clock --data" } do
      local result = without_memory(options)
      if not result.err:find "does not decode" then
        assert.equal(125, result.status)
        assert.matches("its ring of samples cannot be had", result.err)
        assert.matches("perf_event_mlock_kb", result.err)
      end
    end
  end)

  it("is more than one cgroup at a time", function()
    support.need(support.have_root(), "not root")
    local message = support.message_of(function()
      pmc.where { target = pmc.cgroup { "/", "nosuch" }, duration = "10ms", event = "page-faults" }
    end)
    assert.matches("cgroup", message)
  end)
end)
