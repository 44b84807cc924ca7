-- Stored results of several files as one: they are merged, gone on with, and name what they differ in.

local lists = require "pmclua.base.lists"
local made = require "tests.support.results"
local pmc = require "pmclua"
local support = require "tests.support"

describe("several files as one result", function()
  local function file(folder, name, changes)
    local path = ("%s/%s.jsonl"):format(folder, name)
    support.experiment({ events = "page-faults", workloads = { [name] = "true" }, repetitions = 6 },
      { store = path })
    local text = support.read(path)
    for fact, value in pairs(changes) do
      text = text:gsub(('"%s":"[^"]*"'):format(fact), ('"%s":"%s"'):format(fact, value), 1)
    end
    return support.write(path, text)
  end

  it("are one sweep where they have different cells, and say in what else they differ", function()
    local folder = support.folder()
    local a, b = file(folder, "a", {}), file(folder, "b", { os_kernel = "9.9" })
    local merged = folder .. "/merged.jsonl"
    pmc.stored.merge({ by = "none", a, b }, merged)
    for _, result in ipairs { pmc.load { by = "none", a, b }, pmc.load(merged) } do
      assert.equal(2, #result:list())
      assert.same({}, result.header.factors)
      local shown = result:report { width = 300 }
      assert.matches("the files differ in Linux: [^\n]+ %(a.jsonl%), 9.9 %(b.jsonl%)", shown)
    end
    local how = support.pmclua({ "report", "--how", merged }).out
    assert.matches("b.jsonl\nhost +[^\n]+\n +Linux +9.9\n", how)
    assert.is_nil(how:find "\n +CPU ")
  end)

  -- A sweep of three levels in two files, the first of which was ended after two repetitions.
  local function parts(folder, change, seeds)
    local function measured(levels, count, name)
      local path = ("%s/%s.jsonl"):format(folder, name)
      support.experiment({ events = "page-faults", workloads = "head -c {n} /dev/zero", warmup = 0,
        seed = seeds and seeds[name] or 5, layout = "randomise", reject_if = "page-faults < 1",
        repetitions = count, factors = { { "n", levels } } }, { store = path })
      return path
    end
    local a, b = measured({ 1, 3 }, 2, "a"), measured({ 2 }, 4, "b")
    support.write(b, change(support.read(b)))
    local merged = folder .. "/merged.jsonl"
    pmc.stored.merge({ by = "none", a, b }, merged)
    return merged
  end

  local function resume(path, levels)
    return support.experiment({ events = "page-faults", workloads = "head -c {n} /dev/zero", warmup = 0,
      layout = "randomise", reject_if = "page-faults < 1", repetitions = 4,
      factors = { { "n", levels or { 1, 2, 3 } } } }, { resume = path })
  end

  local function same(text) return text end

  it("go on with what is missing, and then lack nothing", function()
    local merged = parts(support.folder(), same)
    local before = made.read(merged)
    local result = resume(merged)
    assert.same({ 4, 4, 4 }, lists.column(result:list(), "repetitions"))
    local records = made.read(merged)
    assert.same({ 8, 12 }, { #before, #records })
    for _, cell in ipairs(pmc.load(merged):list()) do assert.equal(4, cell.repetitions) end
    resume(merged)
    assert.equal(12, #made.read(merged))
  end)

  it("are not resumed where a cell is in none, or one was made elsewhere, which is said", function()
    local merged = parts(support.folder(), same)
    assert.matches("merged.jsonl: a cell of this experiment is in none of its files",
      support.message_of(resume, merged, { 1, 2, 3, 4 }), 1, true)
    assert.matches("its factors differ", support.message_of(resume, merged, { 1, 2 }), 1, true)
    local elsewhere = parts(support.folder(), function(text)
      return (text:gsub('"hostname":"[^"]*"', '"hostname":"n7"', 1))
    end)
    assert.matches("b.jsonl: it was measured elsewhere: hostname was 'n7'",
      support.message_of(resume, elsewhere), 1, true)
    assert.matches("its files were drawn from different seeds",
      support.message_of(resume, parts(support.folder(), same, { a = 5, b = 6 })), 1, true)
  end)

  it("are not resumed where a factor tells them apart", function()
    local folder = support.folder()
    local merged = folder .. "/by_file.jsonl"
    pmc.stored.merge({ by = "file", file(folder, "a", {}), file(folder, "b", {}) }, merged)
    assert.matches("its files are told apart by file", support.message_of(resume, merged), 1, true)
  end)

  it("name their hosts as batch systems do", function()
    local folded = require("pmclua.result.hosts").folded
    assert.equal("n[01-03,70], login", folded { "n03", "n01", "n70", "login", "n02", "n01" })
    assert.equal("n7-ib, n[10-11]-ib", folded { "n7-ib", "n10-ib", "n11-ib" })
    assert.equal("vm", folded { "vm" })
  end)
end)
