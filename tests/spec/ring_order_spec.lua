-- Records of several rings in the order of time: those of tasks that migrate while they are read.

local support = require "tests.support"

describe("records of several rings", function()
  it("are read in each task's order, however late they are published, and of one moment too", function()
    support.need(support.have "cc", "no C compiler")
    local core = support.root .. "/core"
    local program = support.build(support.folder() .. "/order", "cc", "-O1", "-Wall", "-I" .. core,
      support.fixture "rings/order.c", core .. "/calls/order.c", core .. "/calls/ring.c", "-lpthread")
    local run = support.run { program, "5", "20000" }
    assert.equal("", run.err)
    assert.equal(0, run.status)
  end)
end)
