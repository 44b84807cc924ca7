-- Stored results of every kind that pmclua has ever written stay readable (tests/fixtures/results).

local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"
local version = require "pmclua.store.version"

-- A file; a cell of it, a field and its median, taken from the lines by hand; a limit that holds against a copy.
-- `status`: gate's, where there are too few values for any limit; `is_job`: compare takes no folders.
local FILES = {
  { "kernels.jsonl", { workload = "rows", n = 16 }, "task_clock", 163.75653, "page_faults <= +5%" },
  { "saved.jsonl", {}, "task_clock", 432988.5, "page_faults <= +5%" },
  { "hybrid.jsonl", {}, "task_clock", 432988.5, "page_faults <= +5%" },
  { "commands.jsonl", { workload = "true" }, "page_faults", 48.5, "page_faults <= +5%" },
  { "marks.jsonl", { region = "fill" }, "page_faults", 256.5, "page_faults <= +100%" },
  { "cpus.jsonl", { cpu = 1 }, "page_faults", 51, "page_faults <= +5000%" },
  { "samples.jsonl", {}, "cpu_clock", 1563463.5, "cpu_clock <= +100%" },
  { "simulated.jsonl", {}, "valgrind_instructions", 160101787, "valgrind_instructions <= +5%" },
  { "waits.jsonl", { workload = "/tmp/t" }, "cpu_clock", 421907, "read_calls <= +5%" },
  { "followed.jsonl", { region = "turn" }, "page_faults", 0, "page_faults <= +5%", status = 77 },
  { "traced.jsonl", { workload = "/tmp/t" }, "cpu_clock", 474064, "read_calls <= +5%" },
  { "data.jsonl", {}, "cpu_clock", 1550013.5, "cpu_clock <= +100%" },
  { "drawn.jsonl", { workload = "rows", n = 16 }, "page_faults", 0, "page_faults <= +5%" },
  { "launched.jsonl", { workload = "true", ranks = 2 }, "page_faults", 96.5, "page_faults <= +5%" },
  { "merged.jsonl", { file = "saved" }, "task_clock", 432988.5, "page_faults <= +5%" },
  { "job", { n = "/" }, "page_faults", 73, "page_faults <= +5%", is_job = true },
}

describe("a stored result of any version before", function()
  local function path_of(row) return support.fixture("results/" .. row[1]) end

  local function cell_of(result, wanted)
    for cell in result:cells() do
      local is_wanted = true
      for name, value in pairs(wanted) do
        is_wanted = is_wanted and tostring(cell[name] or cell.levels[name]) == tostring(value)
      end
      if is_wanted then return cell end
    end
  end

  -- pmclua's words of two files that have the same text.
  local function of_two(row, script, ...)
    local copy = support.folder() .. "/before.jsonl"
    assert(os.execute(("cp -r '%s' '%s'"):format(path_of(row), copy)) == 0)
    return support.pmclua { script, copy, path_of(row), ... }
  end

  it("is one of those that are tried here", function()
    local tried = lists.set(lists.column(FILES, 1))
    for name in require("lfs").dir(support.fixture "results") do
      assert.is_true(name:sub(1, 1) == "." or name == "README.md" or tried[name], name)
    end
  end)

  for _, row in ipairs(FILES) do
    it("is read with the values that were counted: " .. row[1], function()
      local cell = cell_of(pmc.load(path_of(row)), row[2])
      assert.near(row[4], cell[row[3]].median, row[4] * 1e-4)
    end)

    it("is reported in each format: " .. row[1], function()
      local result = pmc.load(path_of(row))
      for _, format in ipairs { "table", "json", "csv", "markdown", "html", "latex" } do
        assert.is_true(#result:report { format = format } > 100, format)
      end
    end)

    it("is compared and gated: " .. row[1], function()
      if not row.is_job then
        local compared = of_two(row, "compare")
        assert.same({ "", 0 }, { compared.err, compared.status })
      end
      local gated = of_two(row, "gate", "--limit", row[5])
      assert.equal(row.status or 0, gated.status, gated.out .. gated.err)
    end)
  end
end)

describe("a stored result of a later version", function()
  local function changed(from, to)
    local text = support.read(support.fixture "results/merged.jsonl")
    local new, count = text:gsub(from, to)
    assert.equal(1, count)
    return support.write(support.folder() .. "/later.jsonl", new)
  end

  local HERE = "; this is pmclua " .. require("pmclua.core").version

  it("is refused with the version that is needed, whether or not its schema is another", function()
    for _, schema in ipairs { 1, 2 } do
      local path = changed('"schema":1,"pmclua":"[^"]*","needs":"[^"]*"',
        ('"schema":%d,"pmclua":"98.1.0","needs":"97.12.0"'):format(schema))
      local shown = support.pmclua { "report", path }
      assert.equal(1, shown.status)
      assert.matches("it needs pmclua 97.12.0 or newer" .. HERE, shown.err, 1, true)
    end
  end)

  it("is read where only the pmclua that wrote it is newer", function()
    local path = changed('"pmclua":"[^"]*","needs"', '"pmclua":"98.1.0","needs"')
    assert.equal("complete", pmc.load(path).status)
  end)

  it("is refused from where a newer pmclua has resumed it", function()
    local path = changed('{"kind":"end"[^\n]*\n$',
      function(line) return line .. '{"kind":"resume","pmclua":"98.1.0","needs":"98.0.0"}\n' end)
    local message = support.message_of(pmc.load, path)
    assert.matches("line 21: it needs pmclua 98.0.0 or newer" .. HERE, message, 1, true)
  end)

  it("is known by its numbers, not by its text", function()
    local core = require "pmclua.core"
    local major, minor, patch = core.version:match "(%d+)%.(%d+)%.(%d+)"
    local function refusal(needs) return version.refusal({ schema = 1, needs = needs }, 1) end
    assert.is_nil(refusal(core.version))
    assert.is_nil(refusal "0.0.99")
    assert.is_truthy(refusal(("%d.%d.%d"):format(major, minor, patch + 1)))
    assert.is_truthy(refusal(("%d.%d.%d"):format(major, minor + 10, patch)))
    assert.is_truthy(refusal(("%d.0.0"):format(major + 1)))
  end)
end)
