-- Tables for paper: LaTeX, workloads side by side, chosen quantities, digits by the interval.

local made = require "tests.support.results"
local support = require "tests.support"
local text = require "pmclua.base.text"

local WORKLOADS, LEVELS = { "rows", "blocked_50%", "tiled & {co}", "again" }, { 64, 128, 256 }

-- Four workloads at three levels of n: cycles in proportion to n, and to the workload's number.
local function result_of(more)
  local cells, workloads, records = {}, {}, {}
  for i, name in ipairs(WORKLOADS) do workloads[i] = { name = name, kind = "command", per = "run" } end
  for _, n in ipairs(LEVELS) do
    for _, name in ipairs(WORKLOADS) do cells[#cells + 1] = { workload = name, levels = { n = n } } end
  end
  local header = made.header(support.merged({ cells = cells, workloads = workloads,
    baseline = { workload = "rows" }, factors = { { "n", LEVELS } }, primary = "cycles",
    repetitions = 30, question = "Which layout?" }, more))
  for number, cell in ipairs(cells) do
    local cycles, faults, place = {}, {}, (number - 1) % #WORKLOADS + 1
    for i = 1, 30 do
      cycles[i] = 1e6 * cell.levels.n * (place + 0.01 * (i * 7 % 11))
      faults[i] = 100
    end
    local of = { cell = number, workload = cell.workload, levels = cell.levels }
    for _, record in ipairs(made.records({ cycles, cycles, faults }, of)) do
      records[#records + 1] = record
    end
  end
  return made.complete(header, records)
end

local function shown(options)
  return result_of():report(support.merged({ width = 200, utf8 = true }, options))
end

local function count(whole, part) return select(2, whole:gsub(text.plain(part):gsub("%p", "%%%0"), "")) end

describe("a table over a factor", function()
  it("has the interval of every ratio, in every format", function()
    for format, sign in pairs { table = "…", markdown = "…", html = "…", latex = "\\ldots{}" } do
      local report = shown { format = format, plots = {}, show = "cycles" }
      for _, ratio in ipairs { "1.9", "2.9", "3.8" } do
        local found = report:find(ratio, 1, true)
        assert.is_truthy(found, format)
      end
      assert.is_true(count(report, sign) >= 9, format)
    end
  end)
end)

describe("several workloads against one", function()
  it("are a table for each quantity, in every format, the workloads below each other", function()
    local begins = { table = "\n *n +of ", markdown = "\n| n | of |", html = "<th[^>]*>of</th>",
      latex = "\nn & of &" }
    for format, heading in pairs(begins) do
      local report = shown { format = format, plots = {} }
      assert.equal(3, select(2, report:gsub(heading, "")), format)
      local row = ({ html = "<td>again</td>", latex = "& again &" })[format] or " again +[|%d]"
      assert.equal(3 * #LEVELS, select(2, report:gsub(row, "")), format)
    end
  end)
end)

describe("a pair", function()
  it("has an event by the name that reports show", function()
    for pair in result_of():pairs() do
      assert.equal(pair.page_faults, pair["page-faults"])
      local said = support.message_of(function() return pair["page-fault"] end)
      assert.matches("a pair has no 'page%-fault'", said)
    end
  end)
end)

describe("side by side", function()
  it("all workloads and quantities are one table, ratios and their intervals under the values", function()
    local report = shown { columns = "workload" }
    assert.equal(1, count(report, "by workload"))
    assert.matches("\n +rows +blocked_50%% +tiled & {co} +again\n", report)
    assert.matches("\ncycles %*\n  n 64 +67.2 M ±1.9 %% +131.2 M", report)
    assert.matches("\n +1.952 more +2.905 more +3.857 more\n", (report:lower()))
    assert.matches("\n +1.9%d+ … 1.9%d+ ", report)
    assert.equal(3, count(report, "\n  n 256"))
  end)

  it("fits into 80 columns", function()
    for line in shown({ columns = "workload", width = 80 }):gmatch "[^\n]+" do
      assert.is_true(text.width(line) <= 80, line)
    end
  end)

  it("are levels of a factor, too", function()
    assert.matches("\n +64 +128 +256\n", shown { columns = "n", show = "cycles" })
  end)

  it("are nothing that there is not", function()
    local r = result_of()
    assert.matches("there is no factor 'workloads': did you mean 'workload'",
      support.message_of(r.report, r, { columns = "workloads" }), 1, true)
  end)
end)

describe("the quantities of a report", function()
  it("are those asked for, in that order, and verdicts are as before", function()
    local all, some = shown {}, shown { show = { "page-faults,cycles" } }
    assert.is_nil(some:find("instructions", 1, true))
    assert.is_true(some:find("page%-faults") < #some)
    assert.matches("corrected for 9 comparisons; the others for 18", all, 1, true)
    assert.matches("corrected for 9 comparisons; the others for 18", some, 1, true)
  end)

  it("are those that notes are of", function()
    local noted = result_of { events = { made.event("cycles", { note = "of user space" }),
      made.event "instructions", made.event("page-faults", { note = "of user space" }) } }
    assert.matches("\npage-faults: of user space", noted:report { show = "page-faults" }, 1, true)
    assert.matches("\ncycles and page-faults: of user space", noted:report {}, 1, true)
  end)

  it("are none that was not counted", function()
    local r = result_of()
    assert.matches("did you mean 'cycles'", support.message_of(r.report, r, { show = "cycels" }), 1, true)
  end)

  it("are chosen on the command line, as is the format of a file", function()
    local folder = support.folder()
    local stored, file = folder .. "/r.jsonl", folder .. "/t.tex"
    local run = support.pmclua { "pages", "--repetitions", "2", "--set", "pages=1,4", "--quiet",
      "--store", stored, "--show", "page-faults", "--format", "latex", "--output", file }
    assert.equal(0, run.status, run.err)
    local report = support.read(file)
    assert.matches("\\toprule", report, 1, true)
    assert.is_nil(report:find("duration", 1, true))
    local again = support.pmclua { "report", stored, "--show", "duration_time", "--columns", "pages" }
    assert.same({ 0, "" }, { again.status, again.err })
    assert.matches("\nby pages .-\nduration_time ", again.out)
    assert.is_nil(again.out:find("page-faults  ", 1, true))
  end)
end)

describe("LaTeX", function()
  it("has booktabs' rules, and text is text, whatever it holds", function()
    local report = shown { format = "latex", columns = "workload" }
    assert.matches("\\begin{tabular}{lrrrr}\n\\toprule\n & rows & blocked\\_50\\% & tiled \\& \\{co\\} & "
      .. "again \\\\\n\\midrule\n", report, 1, true)
    assert.matches("\\multicolumn{5}{l}{\\textbf{cycles *}} \\\\\n", report, 1, true)
    assert.is_nil(report:find "[\128-\255]")
    local bare = report:gsub("\\[{}]", "")
    assert.equal(count(bare, "{"), count(bare, "}"))
  end)

  it("has no table that is wider than a line", function()
    support.need(os.execute "command -v pdflatex >/dev/null" == 0, "LaTeX is not installed")
    local folder, name = support.folder(), ("a_long_name_"):rep(12)
    local header = made.header { factors = {}, repetitions = 6, events = { made.event(name) },
      cells = { { workload = "rows", levels = {} } }, pass_events = { { 1 } } }
    local records = made.records({ { 1, 2, 3, 4, 5, 6 } }, { workload = "rows" })
    support.write(folder .. "/table.tex", made.result(header, records):report { format = "latex" })
    support.write(folder .. "/all.tex", "\\documentclass{article}\\usepackage{booktabs,graphicx,textcomp}"
      .. "\\begin{document}\\input{table}\\end{document}")
    local said = support.output_of(("cd '%s' && pdflatex -interaction=nonstopmode all 2>&1"):format(folder))
    assert.matches("Output written", said, 1, true)
    assert.is_nil(said:find("Overfull", 1, true))
  end)

  it("keeps the dashes of an option and the quotes of a command", function()
    local result = result_of { question = "What does `sort --unique` cost?" }
    assert.matches("What does \\texttt{sort -{}-unique} cost?",
      result:report { format = "latex" }, 1, true)
  end)

  it("leaves out what characters draw", function()
    local report = result_of():only({ workload = "rows", n = 64 }):report { format = "latex" }
    assert.is_nil(report:find("shape", 1, true))
  end)
end)

describe("a value", function()
  it("has no digit that its interval makes meaningless", function()
    assert.same({ "128.44 M", "128,441,020", "9.1 µs", "41.20 ms", "128,441", "12",
      "not a number" },
      { text.rounded(128441020, 650000), text.rounded(128441020, 0), text.rounded(9123, 1500, "ns"),
        text.rounded(41203000, 9000, "ns"), text.rounded(128441, 50), text.rounded(12.04, 30),
        text.rounded(0 / 0, 1) })
  end)
end)
