-- The table of kinds of workloads: facts of a kind, for running workloads and for stored ones.

local kinds = require "pmclua.workload.kinds"
local support = require "tests.support"
local workload = require "pmclua.workload"

local function made()
  return { command = workload.from { "echo", "{size}", cwd = "/{size}", env = {} },
    kernel = require("pmclua.workload.kernel").new { symbol = "spin", code = "", params = { size = 1 } },
    ["function"] = workload.from(function() end) }
end

describe("kinds of workloads", function()
  it("give their facts to their workloads", function()
    for kind, item in pairs(made()) do
      local facts = kinds.of(kind)
      for _, name in ipairs { "per", "is_executed", "in_runner", "in_process", "takes", "simulators" } do
        assert.equal(facts[name], item[name])
      end
      assert.equal(kind, item.kind)
    end
  end)

  it("say what runs a workload: exactly one of a process of its own, a runner and pmclua", function()
    for kind in pairs(made()) do
      local facts, count = kinds.of(kind), 0
      for _, name in ipairs { "is_executed", "in_runner", "in_process" } do
        count = count + (facts[name] and 1 or 0)
      end
      assert.equal(1, count, kind)
    end
  end)

  it("name simulators that there are", function()
    for kind in pairs(made()) do
      for _, name in pairs(kinds.of(kind).simulators) do
        assert.equal("function", type(require("pmclua.simulate." .. name).new))
      end
    end
  end)

  it("have no facts that hold where a stored result names a kind that is not known", function()
    for _, kind in ipairs { "container", false } do
      local facts = kinds.of(kind or nil)
      assert.same({ {}, {}, "per run" }, { facts.takes, facts.simulators, facts.units.run })
      assert.is_nil(facts.is_executed or facts.in_runner or facts.in_process or facts.per)
    end
  end)

  it("load nothing", function()
    local code = 'local kinds = require "pmclua.workload.kinds"; local count = 0; '
      .. 'for name in pairs(package.loaded) do if name:find "^pmclua%." then count = count + 1 end end; '
      .. "print(count, kinds.of('kernel').per)"
    local result = support.run { "luajit", "-e",
      ("package.path = %q .. package.path; %s"):format(support.root .. "/lua/?.lua;", code) }
    assert.equal("1\titeration\n", result.out, result.err)
  end)
end)

describe("workloads", function()
  it("are fixed at levels, and the ones that they are copies of are not", function()
    local own = made()
    local command, kernel = workload.renamed(own.command, "a copy"), workload.renamed(own.kernel, "a copy")
    command:fix { size = 64 }
    kernel:fix { size = 64, on = "x" }
    assert.same({ { "echo", "64" }, "/64", { size = 64, on = "x" } },
      { command.argv, command.cwd, kernel.params })
    assert.same({ "echo", "{size}", "/{size}", 1 },
      { own.command.argv[1], own.command.argv[2], own.command.cwd, own.kernel.params.size })
  end)

  it("are moved: commands run in the folder, kernels have their files there", function()
    local own = made()
    local here = workload.within(workload.from "true", "/a", "moved")
    assert.same({ "moved", "/a" }, { here.name, here.cwd })
    assert.equal("/a/b", workload.within(workload.from { "true", cwd = "b" }, "/a").cwd)
    assert.equal("/a", workload.within(own.kernel, "/a").folder)
  end)
end)
