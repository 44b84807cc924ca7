-- The waterfall of a difference: bars that lead from A's total to B's, with their intervals.

local waterfall = require "pmclua.report.waterfall"

local function ledger(a, b) return { unit = "ns", total = { a = a, b = b } } end

local function row(label, difference, low, high, verdict)
  return { label = label, difference = difference, low = low, high = high, verdict = verdict }
end

local ROWS = { row("getppid", 6e6, 5e6, 7e6, "more"), row("fill", -2e6, -3e6, -1e6, "fewer"),
  row("3 other lines", 0, -1e6, 1e6) }

describe("a waterfall", function()
  it("begins each bar where the one before ended, and ends at B's total", function()
    local found = waterfall.of(ledger(4e6, 8e6), ROWS, "old", "new")
    local bars = {}
    for i, bar in ipairs(found.bars) do bars[i] = { bar.label, bar.from, bar.to, bar.shown, bar.kind } end
    assert.same({ { "old", 0, 4e6, "4.00 ms", "total" }, { "getppid", 4e6, 1e7, "+6.00 ms", "more" },
      { "fill", 1e7, 8e6, "-2.00 ms", "fewer" }, { "3 other lines", 8e6, 8e6, "0 ns", "unsure" },
      { "new", 0, 8e6, "8.00 ms", "total" } }, bars)
    assert.same({ 0, 1.1e7 }, { found.first, found.last })
  end)

  it("shows in full what an interval leaves no doubt of, and the rest of the interval lighter", function()
    local block = waterfall.block(waterfall.of(ledger(4e6, 8e6), ROWS, "old", "new"), "from A to B")
    local drawn = {}
    for i, line in ipairs(block.rows) do drawn[i] = line[3] end
    assert.same({ ("█"):rep(16), (" "):rep(16) .. ("█"):rep(20) .. ("▒"):rep(8),
      (" "):rep(28) .. ("▒"):rep(8) .. ("█"):rep(4), (" "):rep(28) .. ("▒"):rep(8), ("█"):rep(32) }, drawn)
    assert.same({}, block.notes)
  end)

  it("has an axis of its own for bars that are short beside the totals, and says so", function()
    local found = waterfall.of(ledger(1e9, 1.02e9), { row("f", 2e7, 1e7, 3e7, "more") }, "A", "B")
    assert.equal(1e9 - 0.08 * 3e7, found.first)
    local block = waterfall.block(found, "from A to B")
    assert.matches("^bars begin at 997%.6", block.notes[1])
    for _, line in ipairs(block.rows) do assert.matches("[█▒]", line[3]) end
  end)

  it("is a drawing with nothing from outside, whatever a function is called", function()
    local svg = waterfall.svg(waterfall.of(ledger(4e6, 5e6), { row("<b>&\27[31m\"", 1e6, 0, 2e6) }, "A", "B"))
    assert.matches("^<svg xmlns=.*</svg>\n$", svg)
    assert.is_nil(svg:find "<b>" or svg:find "\27" or svg:find "href" or svg:find "nan")
    local _, bars = svg:gsub("<rect ", "")
    assert.equal(3, bars)
  end)

  it("stands first on the terminal and on a page, there as an image, and not in Markdown", function()
    local bars = waterfall.block(waterfall.of(ledger(4e6, 8e6), ROWS, "A", "B"), "from A to B")
    local shown = { title = "why", sentence = "It is so.", notes = {}, blocks = { bars } }
    local function written(format, options)
      return require("pmclua.base.pieces").joined(function(put)
        require("pmclua.report." .. format).write(shown, put, options or {})
      end)
    end
    assert.matches("^from A to B\nline .-getppid +%+6.00 ms  .-It is so%.\n$",
      written("table", { utf8 = true }))
    assert.matches('<figcaption>from A to B</figcaption><img alt="from A to B" src="data:image/svg',
      written "html", 1, true)
    assert.is_nil(written "markdown":find "from A to B")
  end)
end)
