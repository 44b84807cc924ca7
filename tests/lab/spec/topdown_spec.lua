-- A vendor's tree on the lab's PMU: cycles and instructions are exact, stalls read 0, and what it lacks is absent.

local json = require "dkjson"
local lab = require "tests.lab.support"
local support = require "tests.support"

local TABLES = support.fixture "played/lab"

local function run(...)
  return support.pmclua({ ... }, { env = { PMCLUA_VENDOR = TABLES } })
end

describe("in the lab, a top-down tree", function()
  lazy_setup(lab.need_lab)

  it("has what is counted, and says of the rest why it is absent", function()
    local got = run("topdown", "--quiet", "--format", "json", "-r", "2", "--", lab.built "turns")
    local nodes = {}
    for _, node in ipairs(assert(json.decode(got.out), got.err).cells[1].nodes) do nodes[node.name] = node end
    assert.equal(0, got.status)
    assert.same({ 0, 0 }, { nodes.frontend_bound.value, nodes.backend_bound.value })
    -- Linux is counted, too, and the counters do not start at one instruction.
    assert.is_true(math.abs(nodes.retiring.value - 0.5) < 0.01, nodes.retiring.value)
    assert.is_nil(nodes.bad_speculation.value)
    assert.matches("OP", nodes.bad_speculation.why)
  end)

  it("is one instruction in two cycles, exactly, where Linux is left out", function()
    local got = run("stat", "--json", "-o", "-", "-r", "2", "-e", "i = instructions:u,c = cycles:u",
      "-M", "half = i / c", "--", lab.built "turns")
    local half = assert(json.decode(got.out), got.err).cells[1].values.half
    assert.same({ 0.5, true }, { half.median, half.exact })
  end)
end)
