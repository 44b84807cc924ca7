-- Profiles of page faults are exact: each fault is recorded, and the program knows how many it makes where.

local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"
local where = require "tests.support.where"

local IN_F, IN_G, IN_H, CHILDREN, IN_JIT = 1000, 300, 70, 20, 50

local function faults(...)
  return where.profiles({ where.program("faults.c", "-ldl", "-lpthread"), ... }, "page-faults")[1]
end

local function is_exact(profile)
  assert.is_true(profile.exact)
  assert.equal(1, profile.period)
  assert.same({}, profile.rest)
  assert.equal(profile.total, where.sum(profile))
end

-- The fixture's maps, which must lie in /tmp.
local function remove_maps()
  for name in require("lfs").dir "/tmp" do
    local path = name:match "^perf%-%d+%.map$" and "/tmp/" .. name
    local file = path and io.open(path)
    local is_ours = file and (file:read "*a"):find("made:touch", 1, true)
    if file then file:close() end
    if is_ours then os.remove(path) end
  end
end

describe("a profile of page faults", function()
  it("has every fault of a function, and adds up to what was counted", function()
    local profile = faults()
    is_exact(profile)
    assert.equal(IN_F, where.count(profile, "f"))
    assert.equal(0, where.count(profile, "g"))
  end)

  it("tells stacks of threads, and what is mapped behind a file by itself", function()
    local program = where.program("behind.c", "-g", "-pthread")
    local data, counts = pmc.where(program, { event = "page-faults", data = true }).profiles[1].data, {}
    for _, line in ipairs(data.lines) do counts[line.fn] = line.count end
    assert.equal(400, counts["memory of 1.56 MiB"])
    assert.equal(8 * 17, counts["stack of other threads"])
  end)

  it("has those of threads", function()
    local profile = faults "thread"
    is_exact(profile)
    assert.same({ IN_F, IN_G }, { where.count(profile, "f"), where.count(profile, "g") })
  end)

  it("has those of children", function()
    local profile = faults "children"
    is_exact(profile)
    assert.same({ IN_F, CHILDREN * IN_H }, { where.count(profile, "f"), where.count(profile, "h") })
  end)

  it("has those of many children that end beside each other, on all CPUs", function()
    local ways = lists.collect(("children "):rep(20):gmatch "%S+")
    local profile = faults(unpack(ways))
    is_exact(profile)
    assert.same({ IN_F, 20 * CHILDREN * IN_H }, { where.count(profile, "f"), where.count(profile, "h") })
  end)

  it("has those of a program that is executed, whatever was mapped before", function()
    local profile = faults "exec"
    is_exact(profile)
    assert.equal(2 * IN_F, where.count(profile, "f"))
  end)

  it("has those of a library that is opened later", function()
    local library = where.program("library.c", "-shared", "-fPIC")
    local copy = support.folder() .. "/pages.so"
    os.execute(("cp %s %s"):format(support.quote(library), support.quote(copy)))
    local profile = faults(copy)
    is_exact(profile)
    assert.same({ IN_F, IN_H }, { where.count(profile, "f"), where.count(profile, "in_library") })
    for _, line in ipairs(profile.lines) do
      if line.fn == "in_library" then assert.equal(copy, line.file) end
    end
  end)

  it("has those of code that the program made, by the map that it wrote", function()
    support.need(support.run({ "uname", "-m" }).out:find "x86_64", "the fixture's code is of x86-64")
    local profile = faults "jit"
    remove_maps()
    is_exact(profile)
    assert.equal(IN_JIT, where.count(profile, "made:touch"))
  end)

  it("agrees with a count of its own, for a program of Debian's", function()
    local profiles, result = where.profiles({ "ls", "/usr" }, "page-faults", { repetitions = 3 })
    for _, profile in ipairs(profiles) do is_exact(profile) end
    assert.equal(3, #profiles)
    assert.is_nil(result.problem)
  end)
end)

describe("the key sample", function()
  local function message(spec)
    return support.message_of(function()
      spec.workloads, spec.events = spec.workloads or { pmc.command "true" }, { "duration_time" }
      pmc.experiment(spec)
    end)
  end

  it("refuses what cannot be sampled", function()
    assert.matches("user_time is read once, at the end: it cannot be sampled",
      message { sample = "user_time" })
    assert.matches("sample: .*page%-fault", message { sample = "page-fautls" })
    assert.matches("sample is for commands and kernels",
      message { sample = "page-faults", workloads = { function() end } })
    assert.matches("sample and delay cannot be combined", message { sample = "page-faults", delay = "1ms" })
  end)

  it("refuses to sample nothing", function()
    local _, problem = pcall(require("pmclua").where)
    assert.matches("pmc.where takes a workload, two to compare, or a target", tostring(problem))
  end)
end)
