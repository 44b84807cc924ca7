-- Who is named twice, or as part of another, is counted once in every sum.

local caller = require "tests.support.caller"
local pmc = require "pmclua"
local support = require "tests.support"
local with_cgroups = require("tests.support.cgroups").with

local CALLS, parts_of = caller.CALLS, caller.parts_of

local function name_of(folder) return folder:match "[^/]*$" end

local function run_in(folder, calls)
  os.execute(("echo $$ >'%s/cgroup.procs'; echo go | %s 0 %d"):format(folder, caller.program(), calls))
end

-- What a target counts of 100 calls in `outer` and 5 in `inner`: the sum, its parts, what is said.
local function count(target, outer, inner)
  local group = pmc.group { "calls = " .. CALLS, target = target }:start()
  run_in(outer, 100)
  run_in(inner, 5)
  local counts, remarks = group:read(), group:remarks()
  local parts = parts_of(counts, "calls")
  group:close()
  return counts.calls, parts, remarks
end

describe("a cgroup that is named twice", function()
  it("is counted once, however it is written", function()
    caller.need()
    with_cgroups({ "a", "a/sub" }, function(a, sub)
      local name = name_of(a)
      for _, other in ipairs { name, "/" .. name, name .. "/", "./" .. name } do
        local calls, parts, remarks = count(pmc.cgroup { name, other }, a, sub)
        assert.same({ 105, {}, {} }, { calls, parts, remarks }, other)
      end
      local link = support.folder() .. "/link"
      support.run { "ln", "-s", a, link }
      for _, other in ipairs { a, link, name .. "/sub/.." } do
        local calls, parts, remarks = count(pmc.cgroup { name, other }, a, sub)
        assert.same({ 105, { { "cgroup " .. name, 105 } } }, { calls, parts })
        assert.same({ ("cgroup %s is %s by another name: counted once"):format(other, name) }, remarks)
      end
    end)
  end)
end)

describe("a cgroup below another one", function()
  local function said(form, inner, outer) return { form:format(inner, outer, outer) } end

  it("is shown apart, and is in the sum once", function()
    caller.need()
    with_cgroups({ "a", "a/sub" }, function(a, sub)
      local outer, inner = name_of(a), name_of(a) .. "/" .. name_of(sub)
      for _, names in ipairs { { outer, inner }, { inner, outer } } do
        local calls, parts, remarks = count(pmc.cgroup(names), a, sub)
        assert.equal(105, calls)
        table.sort(parts, function(x, y) return x[1] < y[1] end)
        assert.same({ { "cgroup " .. outer, 105 }, { "cgroup " .. inner, 5 } }, parts)
        assert.same(said("cgroup %s is inside %s: the sum counts it once, as part of %s", inner, outer),
          remarks)
      end
    end)
  end)

  it("is in each CPU's part once", function()
    caller.need()
    with_cgroups({ "a", "a/sub" }, function(a, sub)
      local outer, inner = name_of(a), name_of(a) .. "/" .. name_of(sub)
      local calls, parts, remarks = count(pmc.cgroup { outer, inner, by = "cpu" }, a, sub)
      local sum = 0
      for _, part in ipairs(parts) do sum = sum + (part[2] or 0) end
      assert.same({ 105, 105 }, { calls, sum })
      assert.same(said("cgroup %s is inside %s: it is counted once, as part of %s", inner, outer), remarks)
    end)
  end)

  it("adds nothing to the sum in any format of stat and monitor", function()
    caller.need()
    with_cgroups({ "a", "a/sub" }, function(a, sub)
      local names = name_of(a) .. "," .. name_of(a) .. "/" .. name_of(sub)
      local make = ("echo $$ >'%s/cgroup.procs'; echo go | %s 0 7043"):format(sub, caller.program())
      for _, words in ipairs { "stat --format csv", "stat --format json", "stat", "monitor -I 100000 -j" } do
        local command = { support.program }
        for word in (words .. " -o - -e calls=" .. CALLS):gmatch "%S+" do command[#command + 1] = word end
        for _, word in ipairs { "-G", names, "--", "sh", "-c", make } do command[#command + 1] = word end
        local run = support.run(command)
        assert.is_nil(run.out:find "%f[%d]14,?086%f[%D]", run.out)
        assert.truthy(run.out:find "%f[%d]7,?043%f[%D]", run.out)
        assert.matches("the sum%s+counts%s+it%s+once", run.out .. run.err)
      end
    end)
  end)
end)

describe("a process that is named by itself and by a thread of its own", function()
  it("is counted once", function()
    caller.need()
    local running = caller.start(2, 10)
    local tids = require("pmclua.host.tasks").threads(running.pid)
    local target = pmc.pid { running.pid, tids[2], tids[3], by = "process" }
    local group = pmc.group { "calls = " .. CALLS, target = target }:start()
    running.go()
    assert.same({ 30, { { "caller-" .. running.pid, 30 } } },
      { group:read().calls, parts_of(group:read(), "calls") })
    running.finish()
    group:close()
  end)
end)

describe("CPUs that are named twice", function()
  it("are counted once", function()
    assert.same({ 0, 1, 2, 3 }, pmc.cpus("0,0-2,1-3,3").cpus)
  end)
end)
