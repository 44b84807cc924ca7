-- scripts/paper/: predictions of the literature hold, on any machine that has Valgrind and a compiler.

local support = require "tests.support"

local FOLDER = support.root .. "/scripts/paper/"

-- Levels that take little time, and how many predictions are then looked at.
local SHORT = {
  products = { "n=160", 3 }, mispredictions = { "percent=25", 1 }, first_touch = { "pages=1,2,4,16", 12 },
  staircase = { "bytes=24576,49152", 4 }, search = { "m=4,8,12,16", 8 }, malloc = { "blocks=7,16", 4 },
}

local function names()
  local list = {}
  for file in require("lfs").dir(FOLDER) do list[#list + 1] = file:match "^([^.].*)%.lua$" end
  table.sort(list)
  return list
end

describe("scripts/paper/", function()
  for _, name in ipairs(names()) do
    it(name .. " finds what it predicts", function()
      support.need(support.have "cc" and support.have "valgrind", "no C compiler, or no Valgrind")
      support.need_unwatched "a watcher has page faults of its own"
      local levels, predictions = unpack(SHORT[name])
      local run = support.pmclua { FOLDER .. name .. ".lua", "--no-store", "--repetitions", "2",
        "--warmup", "0", "--set", levels }
      assert.equal(0, run.status, run.err)
      local held, all = run.err:match "(%d+) of (%d+) predictions hold"
      assert.equal(held, all)
      assert.is_true(tonumber(all) >= predictions, run.err)
    end)
  end

  it("is listed in its README.md, each with its literature", function()
    local listed, readme = {}, support.read(FOLDER .. "README.md"):match "^(.-)\n## "
    for name in readme:gmatch "\n| ([%l_]+) | [^-]" do listed[#listed + 1] = name end
    table.remove(listed, 1)
    table.sort(listed)
    assert.same(names(), listed)
    for _, name in ipairs(names()) do
      local header = require("pmclua.cli.script").header(FOLDER .. name .. ".lua")
      assert.matches("literature: %u", header.text)
      assert.matches("^pmclua scripts/paper/" .. name .. "%.lua", header.parts.usage)
      for line in header.text:gmatch "[^\n]+" do
        assert.is_true(require("pmclua.base.text").width(line) <= 110, line)
      end
    end
  end)
end)
