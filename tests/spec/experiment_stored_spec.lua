-- Experiments that are stored as they run: read again, resumed, cut short at any moment.

local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"

local message_of, run = support.message_of, support.experiment

describe("a stored experiment", function()
  local function spec(seed)
    return { events = { "page-faults" }, workloads = { a = "true", b = "true" }, repetitions = 6,
      warmup = 1, seed = seed }
  end

  it("can be read again, with the same numbers", function()
    local path = support.folder() .. "/r.jsonl"
    local result = run(spec(4), { store = path })
    local loaded = pmc.load(path)
    assert.equal("complete", loaded.status)
    assert.same(result:values("page_faults", { workload = "a" }), loaded:values("page_faults",
      { workload = "a" }))
  end)

  it("says on which machine and by what plan it was measured", function()
    local path = support.folder() .. "/r.jsonl"
    run(spec(4), { store = path })
    local header = pmc.load(path).header
    assert.is_string(header.host.hostname)
    assert.equal(4, header.seed)
    assert.is_string(header.identity)
  end)

  --- Runs until `after` records and is then cut off as by a kill: the file ends without an end line.
  local function cut_off(after)
    local path = support.folder() .. "/r.jsonl"
    local full = {}
    run(spec(4), { store = path, each = function(record) full[#full + 1] = record.workload
      .. record.index end })
    local lines = {}
    for line in io.lines(path) do lines[#lines + 1] = line end
    support.write(path, table.concat(lines, "\n", 1, 1 + after) .. "\n" .. lines[2 + after]:sub(1, 20))
    return path, full
  end

  it("is resumed with exactly the missing repetitions, in the same order", function()
    local path, full = cut_off(5)
    local rest = {}
    local result = run(spec(4), { resume = path, each = function(record) rest[#rest + 1] = record.workload
      .. record.index end })
    assert.same({ unpack(full, 6) }, rest)
    assert.equal("complete", result.status)
    local loaded = pmc.load(path)
    assert.equal(6, #loaded:values("page_faults", { workload = "a" }))
    assert.equal(6, #loaded:values("page_faults", { workload = "b" }))
    assert.equal("complete", loaded.status)
  end)

  it("that is resumed with more repetitions says how many it has, and with fewer keeps them", function()
    local path = support.folder() .. "/r.jsonl"
    local function planned(count, options)
      local whole = run({ events = { "page-faults" }, workloads = { "true" }, repetitions = count, seed = 4 },
        options)
      assert.equal(whole.header.repetitions, pmc.load(path).header.repetitions)
      return whole.header.repetitions
    end
    assert.same({ 3, 5, 5, 6 }, { planned(3, { store = path }), planned(5, { resume = path }),
      planned(4, { resume = path }), planned(6, { resume = path }) })
  end)

  -- Runs until `after` records, is cut off, and resumed. Gives what was recorded whole, and after the cut.
  local function resumed(declaration, after)
    local path, whole, rest = support.folder() .. "/r.jsonl", {}, {}
    declaration.seed, declaration.warmup = 4, declaration.warmup or 1
    run(declaration, { store = path, each = function(record) whole[#whole + 1] = record end })
    local lines = {}
    for line in io.lines(path) do lines[#lines + 1] = line end
    support.write(path, table.concat(lines, "\n", 1, 1 + after) .. "\n")
    local result = run(declaration, { resume = path, each = function(record) rest[#rest + 1] = record end })
    return whole, rest, result, path
  end

  it("is resumed with the iteration counts of its fit", function()
    support.need(support.have "cc", "no C compiler")
    local kernel = pmc.kernel { symbol = "spin", code = '#include "pmclua_kernel.h"\n'
      .. "void spin(void *s, uint64_t n) { (void)s; for (uint64_t i = 0; i < n; i++) pmclua_keep(i); }" }
    -- Two workloads: steps that go together are one line of a file.
    local whole, rest = resumed({ events = { "page-faults" }, workloads = { a = kernel, b = kernel },
      iterations = "fit", repetitions = 6 }, 3)
    assert.equal(11, #rest)
    for i, record in ipairs(rest) do
      local before = whole[i + 3]
      assert.same({ before.workload, before.index, before.warmup }, { record.workload, record.index,
        record.warmup })
    end
    local counts = { a = {}, b = {} }
    for _, list in ipairs { { unpack(whole, 1, 3) }, rest } do
      for _, record in ipairs(list) do counts[record.workload][record.iterations] = true end
    end
    for _, of in pairs(counts) do
      local different = 0
      for _ in pairs(of) do different = different + 1 end
      assert.equal(5, different)
    end
  end)

  it("is resumed with what its predictions and conditions saw of the stored part", function()
    local _, _, result = resumed({ events = { "page-faults", "duration_time" }, workloads = { "true" },
      repetitions = 6, expect = { "duration_time > 0", "page_faults > 0" } }, 5)
    for i = 1, 2 do
      local found = result.expectations[i]
      assert.same({ "pass", 6 }, { found.state, found.n })
    end
  end)

  it("does not look again at sizes that it went beyond before it was cut off", function()
    local declaration = { events = { "page-faults" }, workloads = { a = "true", b = "true" }, baseline = "a",
      control = false, layout = "fixed", stop = { repetitions = 14, interval = "0.0001%" } }
    -- Cut off by hand: a rule that is content at once would have stopped at 10.
    local path = support.folder() .. "/r.jsonl"
    run(declaration, { store = path })
    assert.equal(10, #pmc.load(path):values("page_faults", { workload = "a" }))
    local text = support.read(path)
    local last = text:match '[^\n]*"index":10[^\n]*\n'
    assert.is_string(last)
    local more = last:gsub('"index":10', '"index":12')
    support.write(path, (text:gsub('{"kind":"end"[^\n]*\n', "")) .. more)
    run(declaration, { resume = path })
    assert.equal(14, #pmc.load(path):values("page_faults", { workload = "a" }))
  end)

  it("takes the seed of the file it resumes", function()
    local path, full = cut_off(5)
    local rest = {}
    run(spec(nil), { resume = path, each = function(record) rest[#rest + 1] = record.workload
      .. record.index end })
    assert.same({ unpack(full, 6) }, rest)
  end)

  it("refuses the file of another experiment, and of another host", function()
    local path = cut_off(3)
    local other = spec(4)
    other.workloads = { a = "true", b = "false" }
    assert.matches("it is from another experiment", message_of(run, other, { resume = path }))
    other = spec(4)
    other.inherit = false
    assert.matches("it is from another experiment", message_of(run, other, { resume = path }))
    for key, value in pairs { layout = "fixed", pin = "0", reject_if = "page_faults < 0",
      regions = "marks" } do
      other = spec(4)
      other[key] = value
      assert.matches("it is from another experiment", message_of(run, other, { resume = path }))
    end
    local text = support.read(path)
    support.write(path, (text:gsub('"os_kernel":"[^"]*"', '"os_kernel":"5.0"', 1)))
    assert.matches("it was measured elsewhere: os_kernel was '5.0'",
      message_of(run, spec(4), { resume = path }), 1, true)
    support.write(path, (text:gsub('"os_kernel":"[^"]*"', '"os_kernel":"unknown"', 1)))
    assert.equal("complete", run(spec(4), { resume = path }).status)
  end)

  describe("of another host", function()
    -- As `change` makes the host that it was begun on, and how it is said.
    local HERE = require("pmclua.host.machine").facts()
    local OTHERS = {
      { "hostname", "elsewhere", "any_host" }, { "os_kernel", "5.0", "any_host" },
      { "cpu", "another CPU", "any_cpu" },
    }

    for _, case in ipairs(OTHERS) do
      local fact, other, option = unpack(case)
      it(("is refused for its %s, unless %s is given"):format(fact, option), function()
        local path = cut_off(3)
        local from, to = ('"%s":%s'):format(fact, require("pmclua.base.json").string(HERE[fact])),
          ('"%s":"%s"'):format(fact, other)
        local text = support.read(path)
        local at, last = text:find(from, 1, true)
        support.write(path, text:sub(1, at - 1) .. to .. text:sub(last + 1))
        local said = message_of(run, spec(4), { resume = path })
        local form = "it was measured elsewhere: %s was '%s' and is now '%s'"
        assert.matches(form:format(fact, other, HERE[fact]), said, 1, true)
        assert.matches("--" .. option:gsub("_", "-"), said, 1, true)
        if option == "any_cpu" then
          said = message_of(run, spec(4), { resume = path, any_host = true })
          assert.matches("it was measured elsewhere", said)
        end
        assert.equal("complete", run(spec(4), { resume = path, [option] = true }).status)
      end)
    end

    it("is a result whose repetitions and report name both", function()
      local path, hosts = cut_off(3), {}
      support.write(path, (support.read(path):gsub('"hostname":"[^"]*"', '"hostname":"elsewhere"', 1)
        :gsub('"host":"[^"]*"', '"host":"elsewhere"')))
      local result = run(spec(4), { resume = path, any_host = true })
      require("pmclua.store").open(path).each(function(record) hosts[#hosts + 1] = record.host end)
      assert.same({ "elsewhere", "elsewhere", "elsewhere", HERE.hostname }, { unpack(hosts, 1, 4) })
      for _, one in ipairs { result, pmc.load(path) } do
        local shown = one:report { width = 300 }
        assert.matches(("measured on elsewhere, %s (%s)"):format(HERE.hostname, HERE.cpu), shown, 1, true)
      end
      local copy = support.folder() .. "/copy.jsonl"
      pmc.load(path):store(copy)
      assert.matches("measured on", pmc.load(copy):report { width = 300 })
      local json = require("dkjson").decode(support.pmclua({ "report", "--format", "json", path }).out)
      assert.equal(2, #json.hosts)
    end)

    it("names Linux where that alone is another", function()
      local path = cut_off(3)
      support.write(path, (support.read(path):gsub('"os_kernel":"[^"]*"', '"os_kernel":"5.0"', 1)))
      local shown = run(spec(4), { resume = path, any_host = true }):report { width = 300 }
      local form = "measured on %s (%s; Linux 5.0 and %s)"
      assert.matches(form:format(HERE.hostname, HERE.cpu, HERE.os_kernel), shown, 1, true)
    end)

    it("keeps all its hosts when it is merged, and again: no limit is checked between them", function()
      local path, folder = cut_off(3), support.folder()
      run(spec(4), { resume = path })
      local text = support.read(path)
      support.write(path, (text:gsub('{"kind":"resume"[^\n]*', function(line)
        return line:gsub('"cpu":"[^"]*"', '"cpu":"another CPU"')
      end)))
      local here, merged, again = folder .. "/here.jsonl", folder .. "/merged.jsonl", folder .. "/again.jsonl"
      run(spec(4), { store = here })
      pmc.stored.merge({ here, path, by = "none" }, merged)
      pmc.stored.merge({ merged, path, by = "none" }, again)
      for _, result in ipairs { pmc.load { here, path }, pmc.load(merged), pmc.load(again) } do
        assert.same({ HERE.cpu, "another CPU" }, lists.column(result.header.hosts, "cpu"))
      end
      for _, baseline in ipairs { path, merged, again } do
        local gate = support.pmclua { "gate", baseline, here, "-l", "page_faults <= +50%" }
        assert.equal(1, gate.status, gate.err)
        assert.matches("its cpu is 'another CPU'", gate.err, 1, true)
      end
    end)
  end)

  it("keeps every finished repetition when it is killed, and ends well on SIGINT and SIGTERM", function()
    local folder = support.folder()
    local script = support.write(folder .. "/slow.lua", [[
      local pmc = require "pmclua"
      return pmc.experiment { events = { "page-faults" }, workloads = { "sleep 0.05" }, warmup = 0,
        repetitions = 2000 }
    ]])
    for signal, status in pairs { INT = 130, TERM = 143, KILL = 137 } do
      local path = ("%s/%s.jsonl"):format(folder, signal)
      -- In the foreground it sends one signal; else two, and the second ends pmclua while it reports.
      local result = support.run { "timeout", "--preserve-status", "--foreground", "-s", signal,
        tostring(1.2 * support.slower), support.program, script, "--store", path, "--quiet",
        "--output", folder .. "/out" }
      assert.equal(status, result.status, signal .. result.err)
      local loaded = pmc.load(path)
      local kept = #loaded:values "page_faults"
      assert.is_true(kept >= 5, kept)
      assert.equal(signal == "KILL" and "unfinished" or "interrupted", loaded.status)
      if signal ~= "KILL" then assert.matches("page%-faults", support.read(folder .. "/out")) end
    end
  end)
end)

describe("a stored repetition", function()
  it("is in the file while the next one still runs", function()
    local folder = support.folder()
    local path = folder .. "/r.jsonl"
    local script = support.write(folder .. "/slow.lua", [[
      local pmc = require "pmclua"
      return pmc.experiment { events = { "page-faults" }, workloads = { pmc.command { "[ -e ]] .. folder ..
      [[/ran ] && exec sleep 300; touch ]] .. folder .. [[/ran", shell = true, name = "w" } },
        repetitions = 2, warmup = 0 }
    ]])
    local got = support.run { "sh", "-c", [[
      "$@" & until grep -qs '"kind":"repetition"' "$0"; do sleep 0.1; done
      kill -KILL $!; wait $!]], path, support.program, script, "--store", path }
    assert.equal(137, got.status)
    assert.equal(1, #pmc.load(path):values "page_faults")
  end)
end)
