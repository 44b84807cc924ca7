-- Gates: limits on a result, absolute and against a stored baseline, from scripts and the command line.

local made = require "tests.support.results"
local result = require "pmclua.result"
local support = require "tests.support"
local add_record = require("pmclua.result").add

local function header_of(more)
  return made.header(support.merged({ workloads = { { name = "rows", kind = "command", per = "run" } },
    factors = {}, cells = { { workload = "rows", levels = {} } },
    host = { hostname = "here", cpu = "made by hand" } }, more))
end

local function around(middle, step)
  local list = {}
  for i = 1, 22 do list[i] = middle + (i * 7 % 11 - 5) * (step or 0) end
  return list
end

local function records_of(columns) return made.records(columns, { levels = {} }) end

local function of(columns, more)
  return made.complete(header_of(more), records_of(columns))
end

local function stored(columns, more)
  return made.stored(support.folder() .. "/r.jsonl", header_of(more), records_of(columns))
end

local function gate(r, limit, baseline, more)
  return r:gate(support.merged({ limits = { limit }, baseline = baseline }, more))
end

local message_of = support.message_of

describe("a limit", function()
  it("that is absolute is checked at the median", function()
    local r = of { around(1000, 10), around(500), {} }
    assert.equal("pass", gate(r, "cycles <= 1000").state)
    local failed = gate(r, "cycles < 1000")
    assert.equal("fail", failed.state)
    assert.equal("gate: 'cycles < 1000', rows: fails: 1,000, allowed 1,000", tostring(failed))
  end)

  it("that is relative fails only where the whole interval is beyond it", function()
    local before = of { around(1000, 10), around(500), {} }
    assert.equal("pass", gate(of { around(1008, 10), {}, {} }, "cycles <= +5%", before).state)
    assert.equal("undecided", gate(of { around(1008, 10), {}, {} }, "cycles <= +1%", before).state)
    assert.equal("undecided", gate(of { around(1012, 10), {}, {} }, "cycles <= +1%", before).state)
    local failed = gate(of { around(1050, 10), {}, {} }, "cycles <= +1%", before)
    assert.equal("fail", failed.state)
    assert.matches("^gate: 'cycles <= %+1%%', rows: fails: 1,050, was 1,000 %(%+5 %%, interval %+",
      tostring(failed))
  end)

  it("that is relative needs whole layouts where these were drawn", function()
    local function drawn(middle, count)
      local values = around(middle, 1)
      for i = #values, count + 1, -1 do values[i] = nil end
      return of({ values, {}, {} }, { layouts = {} })
    end
    assert.equal("fail", gate(drawn(1100, 22), "cycles <= +1%", drawn(1000, 22)).state)
    assert.equal("fail", gate(of { around(1100, 1), {}, {} }, "cycles <= +1%", of { around(1000, 1), {},
      {} }).state)
    assert.equal("uncountable", gate(drawn(1100, 6), "cycles <= +1%", drawn(1000, 6)).state)
  end)

  it("holds for what is exact to the last count", function()
    local before = of { around(1000), around(500), {} }
    assert.equal("pass", gate(of { around(1010), {}, {} }, "cycles <= +1%", before).state)
    assert.equal("fail", gate(of { around(1011), {}, {} }, "cycles <= +1%", before).state)
    assert.equal("pass", gate(of { around(1000), {}, {} }, "cycles <= +0%", before).state)
  end)

  it("takes formulae, named metrics and factors", function()
    local r = of { around(1000), around(500), around(8) }
    assert.equal("pass", gate(r, "ipc >= 0.5").state)
    assert.equal("fail", gate(r, "ipc > 0.5").state)
    assert.equal("pass", gate(r, "page_faults <= instructions / 60").state)
    assert.equal("fail", gate(r, "page_faults < cycles / 125").state)
  end)

  it("on what was not counted, here or in the baseline, is uncountable and no pass", function()
    local absent = { events = { made.event("cycles", { status = "unsupported", why = "no PMU here" }),
      made.event "instructions", made.event "page-faults" }, pass_events = { { 2, 3 } } }
    local with, without = of { around(1000), {}, {} }, of({ [2] = around(5), [3] = around(5) }, absent)
    for _, checked in ipairs { gate(without, "cycles <= 5"), gate(without, "cycles <= +1%", with),
        gate(with, "cycles <= +1%", without) } do
      assert.equal("uncountable", checked.state)
      assert.equal(1, #checked.results)
    end
    assert.equal("gate: 'cycles <= 5' cannot be checked, rows: no PMU here",
      tostring(gate(without, "cycles <= 5")))
    assert.matches("in the baseline", gate(with, "cycles <= +1%", without).results[1].reason, 1, true)
  end)

  it("holds in what has a value, and says how many repetitions have none", function()
    local values = around(5)
    values[4], values[9] = false, false
    local checked = gate(of { values, {}, {} }, "cycles <= 5")
    assert.equal("pass", checked.state)
    assert.equal("gate: the limit holds\ngate: 'cycles <= 5', rows: 2 of 22 repetitions have no value",
      tostring(checked))
  end)

  it("that is relative cannot be checked without a baseline, or without its cell", function()
    local r = of { around(1000), {}, {} }
    assert.equal("uncountable", gate(r, "cycles <= +1%").state)
    local other = of({ around(1000), {}, {} }, {
      workloads = { { name = "rows", kind = "command", per = "run" },
      { name = "columns", kind = "command", per = "run" } },
      cells = { { workload = "columns", levels = {} } } })
    assert.matches("no such cell", tostring(gate(r, "cycles <= +1%", other)), 1, true)
  end)

  it("on slopes is checked on slopes", function()
    local function fitted(slope, overhead)
      local r = result.new(header_of { iterations = "fit",
        workloads = { { name = "rows", kind = "kernel", per = "iteration" } } })
      for i = 1, 15 do
        local iterations = 100 * (i % 5 + 1)
        add_record(r, made.record({ overhead + slope * iterations + i % 3, 1, 1 },
          { index = i, order = i, iterations = iterations, levels = {} }))
      end
      r.status = "complete"
      return r
    end
    assert.equal("pass", gate(fitted(100, 90000), "cycles <= +1%", fitted(100, 5)).state)
    assert.equal("fail", gate(fitted(103, 5), "cycles <= +1%", fitted(100, 5)).state)
    assert.equal("pass", gate(fitted(100, 90000), "cycles <= 101").state)
    assert.equal("fail", gate(fitted(100, 0), "cycles <= 99").state)
  end)

  it("on a name that nothing has, or that is none, raises", function()
    local r = of { around(1000), {}, {} }
    assert.matches("did you mean 'cycles'?", message_of(gate, r, "cycle <= 5"), 1, true)
    assert.matches("limit 'cycles <'", message_of(gate, r, "cycles <"), 1, true)
    assert.matches("gate needs limits", message_of(r.gate, r, {}), 1, true)
  end)

  it("is that of the experiment where none is given", function()
    local r = of({ around(1000), {}, {} }, { gate = { "cycles <= 900" } })
    assert.equal("fail", r:gate().state)
  end)
end)

describe("hosts", function()
  local here = { around(1000), {}, {} }

  local function on(host) return of(here, { host = support.merged({ cpu = "made by hand" }, host) }) end

  it("are known by CPU, microcode and OS kernel, and not by name", function()
    local own = { hostname = "a", microcode = "0x1", os_kernel = "6.1" }
    local this = on(own)
    assert.equal("pass", gate(this, "cycles <= +1%", on(support.merged(own, { hostname = "b" }))).state)
    for _, name in ipairs { "microcode", "os_kernel" } do
      local there = on(support.merged(own, { [name] = "other" }))
      assert.matches(("its %s is 'other', here it is '%s'"):format(name, own[name]),
        message_of(gate, this, "cycles <= +1%", there), 1, true)
      assert.equal("pass", gate(this, "cycles <= +1%", there, { any_host = true }).state)
    end
  end)

  it("with other CPUs are not compared with any_host alone", function()
    local there = on { cpu = "another" }
    local said = message_of(gate, of(here), "cycles <= +1%", there, { any_host = true })
    assert.matches("its cpu is 'another', here it is 'made by hand'", said, 1, true)
    assert.matches("--any-cpu", said, 1, true)
    assert.equal("pass", gate(of(here), "cycles <= +1%", there, { any_cpu = true }).state)
  end)

  it("of which something could not be read are not others for that", function()
    local there = of(here, { host = { cpu = "made by hand" } })
    assert.equal("pass", gate(of(here), "cycles <= +1%", there).state)
  end)
end)

describe("several cells", function()
  it("make no more false alarms than one: intervals are corrected", function()
    local cells = {}
    for i = 1, 30 do cells[i] = { workload = "rows", levels = { n = i } } end
    local more = { factors = { { "n", {} } }, cells = cells }
    for i = 1, 30 do more.factors[1][2][i] = i end
    local function noise(seed)
      local r, random = result.new(header_of(more)), require("pmclua.stats").random(seed)
      for i = 1, 20 do
        for cell = 1, 30 do
          add_record(r, made.record({ math.floor(10000 * math.exp(0.01 * random:normal())), 1, 1 },
            { cell = cell, levels = { n = cell }, index = i, order = i * 30 + cell }))
        end
      end
      r.status = "complete"
      return r
    end
    local alarms = 0
    for seed = 1, 20 do
      if gate(noise(seed), "cycles <= +0%", noise(100 + seed)).state == "fail" then alarms = alarms + 1 end
    end
    assert.is_true(alarms <= 3, alarms .. " of 20")     -- 2.5 % each; more than 3 of 20 by chance: 0.1 %
  end)
end)

describe("pmclua gate", function()
  local function run(...) return support.pmclua { "gate", ... } end

  it("exits 0 where limits hold, 3 where one fails, with a short reason", function()
    local before = stored { around(1000, 5), around(500), around(7) }
    local same = stored { around(1000), around(500), around(7) }
    local after = stored { around(1050, 5), around(500), around(7) }
    local held = run(before, after, "--limit", "instructions <= +1%", "--limit", "page_faults <= 7")
    assert.same({ 0, "gate: all 2 limits hold\n", "" }, { held.status, held.out, held.err })
    local failed = run(before, after, "--limit", "cycles <= +1%", "-l", "page_faults <= 7")
    assert.equal(3, failed.status)
    assert.matches("^gate: 'cycles <= %+1%%', rows: fails: 1,050, was 1,000 [^\n]+\ngate: one run of the "
      .. "baseline does not show how runs differ: intervals of counts are of the noise within it; [^\n]+\n$",
      failed.out)
    local quiet = run(before, same, "-l", "instructions <= +1%", "--quiet")
    assert.same({ 0, "", "" }, { quiet.status, quiet.out, quiet.err })
  end)

  it("exits 77 where nothing fails but something was not counted", function()
    local absent = { events = { made.event("cycles", { status = "unsupported", why = "no PMU here" }),
      made.event "instructions", made.event "page-faults" }, pass_events = { { 2, 3 } } }
    local counted = { [2] = around(5), [3] = around(5) }
    local before, after = stored(counted, absent), stored(counted, absent)
    assert.equal(77, run(before, after, "-l", "cycles <= +1%", "-l", "page_faults <= 5").status)
    assert.equal(3, run(before, after, "-l", "cycles <= +1%", "-l", "page_faults <= 4").status)
  end)

  it("refuses other hosts, unless told otherwise, and what makes no sense", function()
    local here, there = stored { around(1000), {}, {} },
      stored({ around(1000), {}, {} }, { host = { cpu = "another" } })
    assert.equal(1, run(there, here, "-l", "cycles <= +1%").status)
    assert.equal(1, run(there, here, "-l", "cycles <= +1%", "--any-host").status)
    assert.equal(0, run(there, here, "-l", "cycles <= +1%", "--any-cpu").status)
    assert.equal(2, run(there, here, "-l", "cycels <= +1%").status)
    assert.matches("gate needs limits", run(there, here).err)
    assert.equal(2, run(here).status)
    assert.equal(1, run(here, "/nowhere.jsonl", "-l", "cycles <= +1%").status)
  end)
end)

describe("an experiment's own gate", function()
  local SCRIPT = [[
    return require("pmclua").experiment { workloads = { "true" }, events = "page-faults", repetitions = 6,
      gate = { "page_faults <= +100%", "page_faults <= ENOUGH" } }
  ]]

  local function script(enough)
    return support.write(support.folder() .. "/gated.lua", (SCRIPT:gsub("ENOUGH", enough)))
  end

  it("is checked after the run: absolute limits always, relative ones with --gate", function()
    local folder = support.folder()
    local before = folder .. "/before.jsonl"
    local first = support.pmclua { script "1000000", "--store", before }
    assert.equal(0, first.status)
    assert.matches("1 of the limits need a baseline", first.err, 1, true)
    assert.matches("gate: the limit holds", first.err, 1, true)
    local again = support.pmclua { script "1000000", "--no-store", "--gate", before }
    assert.same({ 0, true }, { again.status, again.err:find("all 2 limits hold", 1, true) ~= nil })
    local failed = support.pmclua { script "1", "--no-store", "--gate", before }
    assert.equal(3, failed.status)
    assert.matches("'page_faults <= 1', true: fails: ", failed.err, 1, true)
  end)

  it("of another host is refused before anything runs", function()
    local there = stored({ around(1000), {}, {} }, { host = { cpu = "another" } })
    local mark = support.folder() .. "/ran"
    local path = support.write(support.folder() .. "/mark.lua", ([[return require("pmclua").experiment {
      workloads = { "touch %s" }, events = "page-faults", repetitions = 1,
        gate = "page_faults <= +1%%" }]]):format(mark))
    local refused = support.pmclua { path, "--no-store", "--gate", there }
    assert.equal(1, refused.status)
    assert.matches("from another host: its cpu is 'another'", refused.err, 1, true)
    assert.is_nil(io.open(mark))
  end)

  it("must be there for --gate", function()
    local plain = support.write(support.folder() .. "/plain.lua",
      [[return require("pmclua").experiment { workloads = { "true" }, events = "page-faults" }]])
    local refused = support.pmclua { plain, "--no-store", "--gate", "x.jsonl" }
    assert.equal(2, refused.status)
    assert.matches("declares no limits", refused.err, 1, true)
  end)
end)

describe("an experiment's limits against its own cells", function()
  local SCRIPT = [[
    local pmc = require "pmclua"
    return pmc.experiment { workloads = { old = "true", new = "ls /" }, events = "page-faults",
      repetitions = 6, gate = { "page_faults <= +1%" }, AGAINST }
  ]]

  local function run(against, ...)
    local path = support.write(support.folder() .. "/own.lua", (SCRIPT:gsub("AGAINST", against)))
    return support.pmclua { path, "--no-store", "--format", "csv", ... }
  end

  it("are checked in the blocks in which both ran", function()
    local failed = run 'against = "old"'
    assert.equal(3, failed.status)
    assert.matches("'page_faults <= +1%', new: fails: ", failed.err, 1, true)
    assert.equal(0, run('against = "new"').status)
    assert.equal(3, run("", "--against", "old").status)
  end)

  it("can be written to a file, as JSON by its name", function()
    local path = support.folder() .. "/gate.json"
    assert.equal(3, run('against = "old"', "--gate-output", path, "--note", "commit=1").status)
    local object = require("dkjson").decode(support.read(path))
    assert.same({ "fail", "1", "new", "fail" }, { object.state, object.notes.commit, object.limits[1].cell,
      object.limits[1].state })
  end)

  it("name what is there", function()
    local refused = run 'against = "odl"'
    assert.equal(1, refused.status)
    assert.matches("against: no workload is 'odl', did you mean 'old'", refused.err, 1, true)
  end)
end)

describe("limits of times in layouts that were drawn", function()
  local ROUNDS = 30

  -- Old and new in the same blocks, two of each layout; `change` is by how much new is slower in a layout.
  local function gated(change, limit, rounds)
    local records = {}
    for index = 1, rounds or ROUNDS do
      for _, name in ipairs { "old", "new" } do
        local noise = 1 + 0.004 * ((index * (name == "old" and 7 or 5)) % 11 - 5) / 5
        local factor = name == "old" and 1 or change(math.ceil(index / 2), index)
        local record = made.record({ 1000 }, { workload = name, levels = {},
          cell = name == "old" and 1 or 2, wall_ns = 1e6 * noise * factor })
        record.index, record.order = index, #records + 1
        records[#records + 1] = record
      end
    end
    local workloads = {}
    for i, name in ipairs { "old", "new" } do
      workloads[i] = { name = name, kind = "command", per = "run" }
    end
    local r = made.result(header_of { workloads = workloads, layouts = { { code = 7 } }, layout = "randomise",
      cells = { { workload = "old", levels = {} }, { workload = "new", levels = {} } } }, records)
    r.status = "complete"
    return r:gate { limits = { limit }, against = "old" }
  end

  it("say for how many they hold", function()
    local held = gated(function() return 1 end, "wall_ns <= +3%")
    assert.equal("gate: the limit holds for 15 layouts", tostring(held))
    local failed = gated(function() return 1.1 end, "wall_ns <= +3%")
    assert.matches("fails: .* in 15 layouts$", tostring(failed))
  end)

  it("say how many layouts are too few", function()
    local few = gated(function() return 1 end, "wall_ns <= +3%", 6)
    assert.matches("interval needs 6 layouts, there are 3", tostring(few), 1, true)
  end)

  it("call a difference layout that one of them has and the others have not", function()
    local held = gated(function(layout) return layout == 4 and 1.2 or 1 end, "wall_ns <= +3%")
    assert.matches("one layout alone has %+2[%d.]+ %%, the others .-: that is layout", tostring(held))
    local odd = held.results[1].odd_layout
    assert.is_true(odd.ratio > 1.18 and odd.ratio < 1.22 and math.abs(odd.others - 1) < 0.01)
    local one_run = gated(function(_, index) return index == 7 and 1.2 or 1 end, "wall_ns <= +3%")
    assert.is_nil(one_run.results[1].odd_layout)
  end)
end)

describe("an undecided limit", function()
  it("exits 0, and 3 with --strict; its row says what would have failed", function()
    local path = stored { around(1000, 10), {}, {} }
    local other = stored { around(1008, 10), {}, {} }
    local found = support.pmclua { "gate", path, other, "-l", "cycles <= +1%" }
    assert.equal(0, found.status)
    assert.matches("^gate: 'cycles <= %+1%%', rows: undecided: 1,008, was 1,000 %([^\n]+%): "
      .. "it would have taken %+[%d.]+ %% to fail\n", found.out)
    assert.equal(3, support.pmclua({ "gate", path, other, "-l", "cycles <= +1%", "--strict" }).status)
  end)
end)

describe("formats of a gate", function()
  it("have no escape sequence of a name", function()
    local r = of({ around(5), {}, {} }, { workloads = { { name = "a\27[31m", kind = "command" } },
      cells = { { workload = "a\27[31m", levels = {} } } })
    for _, format in ipairs { "text", "markdown", "junit", "json" } do
      assert.is_nil(r:gate({ limits = { "cycles <= 4" } }):report({ format = format }):find "\27")
    end
  end)

  it("mark what fails, cannot be checked and is undecided, and escape what comes from outside", function()
    local r = of({ around(1008, 10), around(500), around(7) }, { name = "a<b" })
    local checked = r:gate { baseline = of { around(1000, 10), around(500), around(7) }, limits = {
      "cycles <= +1%", "instructions <= 400", "page_faults <= 7", "instructions / (page_faults - 7) <= 1" } }
    local xml, markdown = checked:report { format = "junit" }, checked:report { format = "markdown" }
    assert.matches('<testsuite name="a&lt;b" tests="4" failures="1" errors="1" skipped="1"', xml, 1, true)
    for _, element in ipairs { "skipped", "failure", "error" } do
      assert.matches(("<%s message="):format(element), xml, 1, true)
    end
    assert.matches("| page\\_faults &lt;= 7 | rows | holds | 7, allowed 7 |", markdown, 1, true)
    assert.matches("| instructions &lt;= 400 | rows | **fails** | 500, allowed 400 |", markdown, 1, true)
    local object = require("dkjson").decode(checked:report { format = "json" })
    local states = support.sequence(4, function(i) return object.limits[i].state end)
    assert.same({ "undecided", "fail", "pass", "uncountable" }, states)
    local said = message_of(checked.report, checked, { format = "yaml" })
    assert.matches("a gate has no format 'yaml'", said, 1, true)
  end)
end)
