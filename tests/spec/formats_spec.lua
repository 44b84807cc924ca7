-- Formats of reports: one list of them, from which scripts, messages and files' endings are.

local pmc = require "pmclua"
local reports = require "tests.support.reports"
local support = require "tests.support"
local text = require "pmclua.base.text"

local KIND_OF = { report = "result", stat = "result", compare = "result", where = "where",
  topdown = "topdown", why = "why", regions = "result", gate = "gate", monitor = "monitor", plot = "plot",
  doctor = "screen", events = "screen" }

local function gate() return reports.one_cell():gate { limits = { "page_faults <= 1", "ipc <= 100" } } end

describe("formats", function()
  it("that a script takes are those of its kind of report", function()
    for script, kind in pairs(KIND_OF) do
      local done = support.pmclua { script, "--format", "none-such" }
      local said = ("--format: 'none-such' is not %s"):format(text.list(pmc.formats(kind), "or"))
      assert.truthy(done.err:find(said, 1, true), done.err)
    end
  end)

  it("of a kind that there is not are misuse", function()
    assert.matches("there is no kind of report 'gates'", support.message_of(pmc.formats, "gates"), 1, true)
  end)

  it("have a script's own among those of results alone", function()
    local done = support.pmclua { "-e", [[
      local pmc = require "pmclua"
      pmc.format("fewest", function(result, put) put(#result:list() .. "\n") end)
      local result = pmc.measure("true", { events = "page-faults", repetitions = 1, quiet = true })
      io.write(result:report { format = "fewest" })
      print(table.concat(pmc.formats(), " "):match "%w+$", table.concat(pmc.formats "gate", " "):match "%w+$")
    ]] }
    assert.equal("1\nfewest\tjunit\n", done.out, done.err)
  end)

  it("all show a result, and all show a gate", function()
    for _, format in ipairs(pmc.formats()) do
      assert.matches("%S.*\n$", reports.one_cell():report { format = format, plots = {} })
    end
    for _, format in ipairs(pmc.formats "gate") do
      local shown = gate():report { format = format }
      assert.matches("page.-faults.*\n$", shown)
    end
  end)

  it("of a gate say the same: what fails, in bold where there is bold", function()
    assert.matches("page_faults <= 1 .- fails ", gate():report { format = "table", width = 100 })
    assert.matches("| **fails** |", gate():report { format = "markdown" }, 1, true)
    assert.matches("<strong>fails</strong>", gate():report { format = "html" }, 1, true)
  end)

  it("of a file follow from its ending", function()
    local folder = support.folder()
    local begins = { md = "^| limit |", html = "^<!DOCTYPE", xml = "^<%?xml", json = "^{", txt = "^gate: ",
      MD = "^| limit |" }
    for ending, pattern in pairs(begins) do
      local path = ("%s/gate.%s"):format(folder, ending)
      gate():write(path)
      assert.matches(pattern, support.read(path))
    end
  end)
end)
