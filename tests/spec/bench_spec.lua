-- The benchmarks work; what they say of speed is no test.

local support = require "tests.support"

local function bench(...)
  support.need(support.have "cc", "no C compiler")
  support.need_unwatched("what pmclua costs is not what it costs there", "valgrind")
  support.need(support.have_root(), "the references count the OS kernel too, which needs root")
  support.need(not io.open "/lab/job", "it takes too long in an emulated machine")
  local result = support.pmclua({ support.root .. "/tests/bench/run.lua", "--short", ... }, { limit_s = 120 })
  assert.same({ 0, "" }, { result.status, result.err })
  return result.out
end

-- The cells of a table's rows, headings left out.
local function rows_of(out)
  local rows = {}
  for line in out:gmatch "\n(|[^\n]*)" do
    local cells = {}
    for cell in line:gmatch "|%s*([^|]-)%s*%f[|]" do cells[#cells + 1] = cell end
    rows[#rows + 1] = cells
  end
  return { unpack(rows, 3) }
end

describe("the benchmarks", function()
  it("refuse a row that there is none of, with the nearest one", function()
    local result = support.pmclua { support.root .. "/tests/bench/run.lua", "--only", "evnts" }
    assert.equal(2, result.status)
    assert.matches("there is no row 'evnts': did you mean 'events'?", result.err, 1, true)
  end)

  it("compare each row's sides, or say why they cannot", function()
    local rows = rows_of(bench())
    assert.is_true(#rows >= 14)
    for _, row in ipairs(rows) do
      local what, ratio, medians, reached = row[1], row[4], row[5], row[6]
      if ratio == "–" then
        assert.is_true(#medians > 0, what)
      else
        assert.is_true(tonumber(ratio:match "%*%*([%d.]+)%*%*") > 0, what)
        assert.is_truthy(reached == "yes" or reached == "no", what)
      end
    end
  end)

  it("take one row where one is asked for", function()
    local rows = rows_of(bench("--only", "start"))
    assert.equal(1, #rows)
    assert.equal('`pmclua -e ""`', rows[1][1])
  end)

  it("measure what one more of everything costs", function()
    local rows = rows_of(bench "--growth")
    assert.is_true(#rows >= 12)
    for _, row in ipairs(rows) do
      assert.is_truthy(row[3]:find "^[%d.]+ %S*s$" or row[3]:find "^– %(", row[1] .. ": " .. row[3])
    end
  end)
end)
