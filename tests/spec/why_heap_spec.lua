-- What A and B allocate, by function, in why.

local json = require "dkjson"
local pmc = require "pmclua"
local support = require "tests.support"
local where = require "tests.support.where"

describe("why", function()
  setup(function() support.need(require("pmclua.simulate.valgrind").path(), "no Valgrind") end)

  local function measured()
    local path = where.program("allocates.c", "-g")
    return pmc.why(pmc.command { path, "1000" }, pmc.command { path, "4000" },
      { repetitions = 2, quiet = true, seed = 3 })
  end

  it("tells the blocks and bytes that differ by the function that allocates them, exactly", function()
    local found = measured()
    local facts = json.decode(found:report { format = "json" })
    local rows = {}
    for _, ledger in ipairs(facts.allocations) do
      for _, row in ipairs(ledger.lines) do rows[ledger.of .. " " .. row.label] = row end
    end
    local blocks, bytes = rows["valgrind::allocations parse"], rows["valgrind::allocated-bytes parse"]
    assert.same({ 1000, 4000, "more" }, { blocks.a, blocks.b, blocks.verdict })
    assert.same({ 32000, 128000, "more" }, { bytes.a, bytes.b, bytes.verdict })
    local same = rows["valgrind::allocations index_it"]
    assert.same({ 500, 500 }, { same.a, same.b })
    local total = facts.allocations[1].total
    assert.same({ 1500, 4500 }, { total.a, total.b })
  end)

  it("shows them as tables that add up", function()
    local out = measured():report {}
    assert.matches("valgrind::allocations · by the function that allocates", out, 1, true)
    assert.matches("parse +1,000 +4,000 +%+3,000", out)
    assert.matches("other lines: as many in both", out, 1, true)
  end)
end)
