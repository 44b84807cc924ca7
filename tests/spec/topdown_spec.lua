-- pmclua topdown: the whole way from the command line to its table, on a PMU that is played, whose counts are known.

local json = require "dkjson"
local played = require "tests.support.played"
local support = require "tests.support"

-- Ice Lake's four shares, which slots lead. A piece of work of the first kind takes 10 cycles, of the second 40.
local SHARES = { retiring = { 20, 20 }, bad_speculation = { 5, 0 }, frontend_bound = { 5, 20 },
  backend_bound = { 20, 160 } }
local INTEL = { counters = 4, env = { SYSFS_PATH = support.fixture "played/sysfs/intel" },
  own = { "0 0", "0 1", "4 0x400", "4 0x8000", "4 0x8100", "4 0x8200", "4 0x8300" },
  led = { ["4 0x8000"] = "0x400", ["4 0x8100"] = "0x400", ["4 0x8200"] = "0x400",
    ["4 0x8300"] = "0x400" },
  events = { ["0 0"] = { 10, 40 }, ["0 1"] = { 20, 20 }, ["4 0x400"] = { 50, 200 },
    ["4 0x8000"] = SHARES.retiring, ["4 0x8100"] = SHARES.bad_speculation,
    ["4 0x8200"] = SHARES.frontend_bound, ["4 0x8300"] = SHARES.backend_bound } }

local function slots(first, second) return 50 * first + 200 * second end
local function part(name, first, second) return SHARES[name][1] * first + SHARES[name][2] * second end

local function tree(machine, ...)
  local run = machine.pmclua { "topdown", "--quiet", "--format", "json", ... }
  local found = assert(json.decode(run.out), run.err)
  return found, run
end

local function shares_of(cell)
  local shares = {}
  for _, node in ipairs(cell.nodes) do shares[node.name] = node.share end
  return shares
end

local function expected_shares(first, second)
  local shares = {}
  for name in pairs(SHARES) do shares[name] = part(name, first, second) / slots(first, second) end
  return shares
end

-- The lines of differences of CSV, without those of what children leave, by the header's names.
local function differences_of(csv)
  local rows, columns = {}, nil
  for line in csv:gmatch "[^\n]+" do
    local fields, row = {}, {}
    for field in (line .. ","):gmatch "([^,]*)," do fields[#fields + 1] = field end
    columns = columns or fields
    for i, name in ipairs(columns) do row[name] = fields[i] end
    if row.kind == "difference" and row.rest == "" then rows[#rows + 1] = row end
  end
  return rows
end

describe("pmclua topdown", function()
  it("has the shares of level 1 of a command, exactly", function()
    local machine = played.machine(INTEL)
    local found, run = tree(machine, "-r", "6", "--", machine.work, "1000", "10")
    assert.equal(0, run.status, run.err)
    assert.same(expected_shares(1000, 10), shares_of(found.cells[1]))
    for _, node in ipairs(found.cells[1].nodes) do
      assert.same({ 1, node.share, node.share, 6, node.name == "backend_bound" },
        { node.passes, node.low, node.high, node.n, node.over }, node.name)
    end
  end)

  it("has those of a kernel, per iteration, and of all CPUs while a command runs", function()
    local machine = played.machine(INTEL)
    local source = support.root .. "/tests/support/played/work_kernel.c"
    local found = tree(machine, "-r", "6", "--kernel", source .. ":work")
    assert.same(expected_shares(3, 1), shares_of(found.cells[1]))
    support.need(support.have_root(), "counting all CPUs takes root")
    found = tree(machine, "-r", "6", "-a", "--", machine.work, "100", "200")
    assert.same(expected_shares(100, 200), shares_of(found.cells[1]))
  end)

  it("has those between a program's marks, and of a process that runs already", function()
    local machine = played.machine(INTEL)
    local program = support.build(machine.folder .. "/marked", "cc", "-O1", "-I" .. support.root .. "/core",
      support.root .. "/tests/support/played/marked.c", "-lpthread")
    local shares = {}
    for _, cell in ipairs(tree(machine, "-r", "2", "--marks", "--", program).cells) do
      if cell.region == "parse" then shares = shares_of(cell) end
    end
    assert.same(expected_shares(3000, 30), shares)
    local feed = ("(while kill -0 $$ 2>&-; do echo; sleep 0.01; done) | %s 100 wait & "
      .. '"$@" -p "$(pgrep -n -P $$ -f "100 wait")"; kill $!'):format(machine.work)
    local run = machine.run { "sh", "-c", feed, "sh", support.program, "topdown", "--quiet", "--format",
      "json", "-r", "2", "--duration", "200ms" }
    local found = assert(json.decode(run.out), run.err)
    assert.same(expected_shares(100, 0), shares_of(found.cells[1]))
  end)

  it("has B's difference from A in cycles, which adds up to the last cycle", function()
    local machine = played.machine(INTEL)
    local found = tree(machine, "-r", "2", machine.work .. " 1000 10", machine.work .. " 1000 20")
    local comparison = found.comparisons[1]
    local total = comparison.total
    assert.same({ 10400, 10800, 400 }, { total.a, total.b, total.difference })
    local sum, verdicts = 0, {}
    for _, node in ipairs(comparison.nodes) do
      sum = sum + node.difference
      if not node.rest then verdicts[node.name] = { node.difference, node.verdict } end
    end
    assert.equal(400, sum)
    assert.same({ retiring = { 40, "more" }, bad_speculation = { 0, "same" }, frontend_bound = { 40, "more" },
      backend_bound = { 320, "more" } }, verdicts)
    assert.equal(4, comparison.comparisons)
  end)

  it("shows the same of a stored result, without the machine", function()
    local machine = played.machine(INTEL)
    local file = machine.folder .. "/stored.jsonl"
    local a, b = machine.work .. " 1000 10", machine.work .. " 1000 20"
    local before = tree(machine, "-r", "6", "--store", file, a, b)
    local after = json.decode(support.pmclua({ "topdown", "--format", "json", file }).out)
    assert.same(before.cells, after.cells)
    assert.same(before.comparisons, after.comparisons)
  end)

  it("has the same differences in compare's JSON, and with their intervals and verdicts in CSV", function()
    local machine = played.machine(INTEL)
    local file = machine.folder .. "/compared.jsonl"
    local run = machine.pmclua { "compare", "--quiet", "-r", "12", "--format", "json", "--store", file, "-e",
      "cycles", "-M", "retiring", "-M", "bad_speculation", "-M", "frontend_bound", "-M", "backend_bound",
      machine.work .. " 1000+9 10", machine.work .. " 1000+9 20" }
    local compared = assert(json.decode(run.out), run.err).topdown
    assert.equal("cycles", compared.total)
    local found = json.decode(support.pmclua({ "topdown", "--format", "json", file }).out)
    assert.same(found.comparisons, compared.comparisons)
    local lines = differences_of(support.pmclua({ "topdown", "--format", "csv", file }).out)
    local comparison = compared.comparisons[1]
    assert.equal(comparison.total.difference, tonumber(lines[1].difference))
    local k = 1
    for _, node in ipairs(comparison.nodes) do
      k = k + (node.rest and 0 or 1)
      local line = not node.rest and lines[k] or node
      assert.same({ node.name, node.difference, node.low, node.high, node.adjusted, node.verdict },
        { line.node or line.name, tonumber(line.difference), tonumber(line.low), tonumber(line.high),
          tonumber(line.adjusted), line.verdict }, node.name)
    end
    assert.equal("more", lines[5].verdict)
    assert.is_true(tonumber(lines[5].low) < 320 and tonumber(lines[5].high) > 320)
  end)

  it("is a table, Markdown, a page, CSV and a plot", function()
    local machine = played.machine(INTEL)
    local file = machine.folder .. "/stored.jsonl"
    tree(machine, "-r", "6", "--store", file, "--", machine.work, "1000", "10")
    local function shown(format) return support.pmclua({ "topdown", "--format", format, file }).out end
    assert.matches("backend_bound     42 %  =              █████         over", shown "table", 1, true)
    assert.matches("| backend\\_bound | 42 % | = |", shown "markdown", 1, true)
    assert.matches("<td>backend_bound</td>", shown "html", 1, true)
    assert.matches(",backend_bound,1,,,0.41538461538461541,0.41538461538461541,%,", shown "csv", 1, true)
    support.need(support.have "gnuplot", "gnuplot is not installed")
    local picture = machine.folder .. "/tree.svg"
    support.pmclua { "topdown", "--plot", picture, file }
    assert.matches("<svg", support.read(picture), 1, true)
    assert.matches(">backend_bound<", support.read(picture), 1, true)
  end)

  it("says of each node why it is absent, exits with 77, and runs nothing", function()
    local machine = played.machine { counters = 4, events = {} }
    local mark = machine.folder .. "/ran"
    local found, run = tree(machine, "-r", "2", "--", "touch", mark)
    assert.same({ 77, false }, { run.status, io.open(mark) ~= nil })
    assert.matches("round 1: no node can be counted: nothing is run\n.*in all: 0 runs",
      machine.pmclua({ "topdown", "--plan", "--", "touch", mark }).out)
    for _, node in ipairs(found.cells[1].nodes) do
      assert.same({ "unsupported" }, { node.status, node.share })
      assert.matches("needs topdown", node.why)
    end
    local shown = machine.pmclua({ "topdown", "--", "touch", mark }).out
    assert.matches("top%-down · 0 repetitions%s+exec to exit", shown)
  end)

  it("is refused where it asks for what is not there", function()
    local function refused(...)
      local run = support.pmclua { "topdown", ... }
      return run.status .. " " .. run.err
    end
    assert.matches("^2 .*no node 'nonsense'", refused("--below", "nonsense", "--", "true"))
    assert.matches("^2 .*level and below cannot be combined", refused("-l", "2", "--below", "x", "true"))
    assert.matches("^2 .*level must be a whole number from 1 to 8", refused("-l", "9", "--", "true"))
    assert.matches("^2 .*which command", refused())
  end)
end)
