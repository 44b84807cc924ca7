-- Listing, searching and explaining events, in Lua and by `pmclua events`.

local event = require "pmclua.event"
local support = require "tests.support"
local text = require "pmclua.base.text"

local perf = support.fixture "perf"
local machine = { SYSFS_PATH = perf .. "/sysfs/x86_intel", TRACEFS_PATH = perf .. "/tracefs" }

local function run(args, env)
  return support.pmclua({ "events", unpack(args) }, { env = env or machine })
end

local function json(args)
  local result = run(args)
  assert.equal("", result.err)
  return (assert(require("dkjson").decode(result.out)))
end

local function specs(entries)
  local list = {}
  for i, entry in ipairs(entries) do list[i] = entry.spec end
  return list
end

describe("the list of events", function()
  local function list(filter)
    filter.sysfs, filter.tracefs = perf .. "/sysfs/x86_intel", perf .. "/tracefs"
    return event.list(filter)
  end

  it("has the generic ones in the order of the OS kernel, with what they count", function()
    local entries = list { source = "software" }
    assert.equal(12, #entries)
    assert.same({ "cpu-clock", "task-clock", "page-faults" }, { unpack(specs(entries), 1, 3) })
    assert.equal("page faults; also faults", entries[3].description)
    assert.equal(10, #list { source = "hardware" })
  end)

  it("has every cache event that can be asked for", function()
    local entries = list { source = "cache" }
    for _, entry in ipairs(entries) do
      assert.equal(entry.spec, event.format(event.encode(entry.spec)[1]))
      assert.is_true(entry.description ~= "")
    end
    assert.equal(32, #entries)
  end)

  it("has the events of PMUs once for all equal PMUs", function()
    assert.same({ "uncore_imc/cas_count_read/", "uncore_imc/cas_count_write/", "uncore_imc/clockticks/" },
      specs(list { pmu = "uncore_imc" }))
    assert.equal("event=0x04,umask=0x03", list({ pmu = "uncore_imc" })[1].description)
    assert.same({ "msr/aperf/", "msr/mperf/", "msr/smi/", "msr/tsc/" }, specs(list { pmu = "ms*" }))
  end)

  it("gives nothing that cannot be asked for", function()
    for _, entry in ipairs(list {}) do
      local options = { sysfs = perf .. "/sysfs/x86_intel", tracefs = perf .. "/tracefs" }
      local needs_more = entry.source == "pfm" or entry.spec == "weird/par,rev=?/"
      assert.is_true(event.parse(entry.spec, options) ~= nil or needs_more, entry.spec)
    end
  end)

  it("has libpfm4's events for other machines only when asked", function()
    local here, everywhere = list { source = "pfm" }, list { source = "pfm", all = true }
    if #everywhere == 0 then pending "libpfm4 is not installed" end
    assert.is_true(#everywhere > #here + 10000)
    for _, entry in ipairs(here) do assert.is_true(entry.present) end
  end)

  it("has no control characters, whatever sysfs has", function()
    local sysfs = support.folder()
    support.write(sysfs .. "/bus/event_source/devices/p/type", "77\n")
    support.write(sysfs .. "/bus/event_source/devices/p/events/e", "a=?,\27[2Jb=?\n")
    local entry = event.list({ sysfs = sysfs, source = "pmu" })[1]
    assert.same({ "p/e,a=?/", "a=?,\\e[2Jb=?" }, { entry.spec, entry.description })
  end)

  it("finds those that are so called before those that are so described", function()
    local filter = { sysfs = perf .. "/sysfs/x86_intel", tracefs = perf .. "/tracefs" }
    local found = event.find("branch miss", filter)
    assert.same({ "branch-misses", "branch-load-misses", "cpu/branch-misses/" },
      { unpack(specs(found), 1, 3) })
    assert.same({}, event.find("no such words"))
    assert.equal("minor-faults", event.find("INPUT or OUTPUT", filter)[1].spec)
  end)
end)

describe("an explanation", function()
  local function explain(spec, fixture)
    local sysfs = perf .. "/sysfs/" .. (fixture or "x86_intel")
    return event.explain(spec, { sysfs = sysfs, tracefs = perf .. "/tracefs" })
  end

  local function field(explained, name)
    for _, each in ipairs(explained.fields) do
      if each.name == name then return each.value .. " | " .. each.why end
    end
  end

  it("says where the bits of each field come from", function()
    local explained = explain("cpu/mem-loads,ldlat=30/u")[1]
    assert.equal("what the PMU cpu calls mem-loads", explained.counts)
    assert.equal("4 | the PMU cpu, as sysfs numbers it", field(explained, "type"))
    assert.equal("0x1cd | event=0xcd in bits 0-7 (mem-loads), umask=0x1 in bits 8-15 (mem-loads)",
      (field(explained, "config"):gsub("(umask.-), (event.*)", "%2, %1")))
    assert.equal("0x1e | ldlat=0x1e in bits 0-15", field(explained, "config1"))
    assert.equal("1 | Linux is not counted", field(explained, "exclude_kernel"))
  end)

  it("takes any number that fits into the attr", function()
    for _, spec in ipairs { "0:0xffffffffffffffff", "1:0xffffffffffffffff", "3:0xffffffffffffffff",
      "2:0xffffffffffffffff", "rffffffffffffffff", "cpu/config=0xffffffffffffffff/" } do
      assert.match("^0xffffffffffffffff | ", field(explain(spec)[1], "config"))
    end
    local of_atom = explain("cycles", "hybrid")[1]
    assert.equal("0xa00000000 | cpu-cycles of the PMU of type 10 (cpu_atom)", field(of_atom, "config"))
  end)

  it("says what a number means and what nobody vouches for", function()
    local notes = table.concat(explain("uncore_imc_0/cas_count_read/")[1].notes, "\n")
    assert.match("a count of 1 is 6.10352e%-05 MiB", notes)
    assert.match("counts all tasks together on CPUs 0", notes)
    assert.match("unverified", table.concat(explain("armv8_pmuv3_0/event=0x3fff/", "arm64")[1].notes, "\n"))
    assert.is_nil(table.concat(explain("armv8_pmuv3_0/cpu_cycles/", "arm64")[1].notes):find("unverified"))
  end)

  it("says whether it opens here, by trying", function()
    assert.equal("counted", explain("page-faults")[1].status)
    local zero = explain("cs:u")[1]
    assert.equal("constant-zero", zero.status)
    assert.match("always read 0", zero.why)
    assert.equal("counted", explain("duration_time")[1].status)
  end)

  it("raises at the caller's line where there is no such event", function()
    local ok, why = pcall(explain, "cylces")
    assert.is_false(ok)
    assert.match("there is no event 'cylces' here; did you mean 'cycles'%?", tostring(why))
  end)
end)

describe("pmclua events", function()
  it("lists by source what is to be asked for", function()
    local result = run { "--source", "pmu" }
    assert.equal(0, result.status)
    assert.match("of the PMU cpu\n  cpu/branch%-instructions/ +event=0xc4\n", result.out)
    assert.is_nil(result.out:find("cpu-clock", 1, true))
  end)

  it("has the named metrics behind the events", function()
    local found = json { "--json", "mispredicted", "branches", "per", "1000", "instructions" }
    assert.equal("metric", found[#found].source)
    local is_found = {}
    for _, entry in ipairs(found) do is_found[entry.spec] = entry.source end
    assert.equal("metric", is_found.branch_mpki)
    assert.match("\nmetrics [^\n]*\n  branch_miss_rate +share of branches predicted wrongly\n", run({}).out)
    local only = json { "--source", "metric", "--json" }
    assert.same({ "metric", "metric" }, { only[1].source, only[#only].source })
    assert.is_nil(run({ "--pmu", "cpu" }).out:find("\nmetrics", 1, true))
  end)

  it("searches by words and says when there are none", function()
    local found = json { "--json", "branch", "miss" }
    assert.equal("branch-misses", found[1].spec)
    local result = run { "nosuchword" }
    assert.same({ 1, "" }, { result.status, result.out })
    assert.match("no event is called or described 'nosuchword'", result.err)
  end)

  it("encodes to JSON, alone on standard output", function()
    local made = json { "--encode", "{cpu/mem-loads/,cycles}:u", "--json" }
    assert.equal("{cpu/mem-loads/,cycles}:u", made.spec)
    assert.same({ "0x1cd", "0x3", 1, nil }, { made.events[1].config, made.events[1].config1,
      made.events[1].exclude_kernel, made.events[1].leader })
    assert.equal(0, made.events[2].leader)
  end)

  it("keeps to 80 columns, in any locale", function()
    for _, words in ipairs { {}, { "--all" }, { "--metrics" }, { "--all", "retired", "branch" },
      { "--explain", "cycles:u,cs:u,r1a8,clockticks,mem:0x1000/8:w,cpu/mem-loads,ldlat=30/P" },
      { "--encode", "{cycles,instructions}:u,mem:0x1000/8:rw:u" } } do
      for _, locale in ipairs { "C", "C.UTF-8" } do
        local result = run(words, { LC_ALL = locale, SYSFS_PATH = machine.SYSFS_PATH,
          TRACEFS_PATH = machine.TRACEFS_PATH })
        assert.equal(0, result.status)
        for line in result.out:gmatch "[^\n]+" do
          local is_one_word = not line:match("^%s*(.*)"):find " "       -- which cannot be broken
          assert.is_true(text.width(line) <= 80 or is_one_word, line)
          assert.is_true(locale == "C.UTF-8" or not line:find "[\128-\255]", line)
        end
      end
    end
  end)

  it("shows of a long spec what is around a mistake", function()
    local result = run { "--encode", ("cycles,"):rep(50) .. "cylces," .. ("cycles,"):rep(50) .. "cs" }
    local shown, mark = result.err:match "\n(  [^\n]+)\n([^\n]+)\n$"
    assert.is_true(#shown <= 80)
    assert.equal("cylces", shown:sub(mark:find "%^~*"))
  end)

  it("answers one question at a time", function()
    for _, words in ipairs { { "--encode", "cs", "--explain", "cs" }, { "--encode", "cs", "cycles" },
      { "--explain", "cs", "--all" }, { "--metrics", "--pmu", "cpu" } } do
      assert.equal(2, run(words).status)
    end
  end)

  it("says of what nothing was found", function()
    local function says(message, words) assert.match(message, run(words).err, 1, true) end
    says("no event of a PMU or tracepoint system 'nosuch' is here", { "--pmu", "nosuch" })
    says("no metric is called or described 'nosuch'", { "--metrics", "nosuch" })
    says("it is a metric: pmclua events --metrics ipc", { "--encode", "cs,ipc" })
  end)

  it("points at the place of a mistake and exits 1", function()
    local result = run { "--encode", "cycles,cpu/evnt=1/", "--json" }
    assert.same({ 1, "" }, { result.status, result.out })
    assert.equal("  cycles,cpu/evnt=1/\n             ^~~~\n", result.err:match("\n(.*)$"))
    assert.match("did you mean 'event'%?", result.err)
  end)

  it("explains each event, as text and as JSON", function()
    local result = run { "--explain", "page-faults:u" }
    assert.equal(0, result.status)
    assert.match("^page%-faults:u\n  counts +page faults\n  type +1: ", result.out)
    assert.match("\n  here +counted\n", result.out)
    local explained = json { "--explain", "clockticks", "--json" }
    assert.same({ "uncore_imc_0", "uncore_imc_1" }, { explained[1].pmu, explained[2].pmu })
  end)

  it("lists only what opens", function()
    local available = json { "--available", "--source", "software", "--json" }
    local has = {}
    for _, entry in ipairs(available) do has[entry.spec] = true end
    assert.is_true(has["page-faults"])
    for _, entry in ipairs(json { "--source", "software", "--json" }) do
      local opens = event.explain(entry.spec)[1].status == "counted"
      assert.equal(opens, has[entry.spec] == true, entry.spec)
    end
  end)

  it("says why an event does not open in short, what would help, and no reason twice", function()
    local result = run({ "--explain", "cycles:u,instructions:u,cs:u" }, { SYSFS_PATH = "/nowhere" })
    assert.match("\n  here +constant%-zero: with Linux excluded it would always", result.out)
    if not support.have_pmu() then
      assert.match("\n  here +unsupported: [^\n]+\n", result.out)
      assert.is_nil(result.out:find("cannot open", 1, true))
      assert.match("\n  help +mount %-t sysfs", result.out)
      assert.match("\n  here +unsupported, as cycles:u\n", result.out)
    end
    local explained = json { "--explain", "cs:u", "--json" }
    assert.match("^with Linux excluded", explained[1].reason)
  end)

  it("says what it does not list because it may not read it", function()
    local result = run({ "--source", "tracepoint" }, { TRACEFS_PATH = "/nowhere" })
    assert.match("tracepoints are not listed: this user may not read /nowhere", result.err)
    assert.equal("", run({ "--source", "software" }, { TRACEFS_PATH = "/nowhere" }).err)
    assert.equal("", run({ "--source", "tracepoint" }).err)
  end)

  it("says whether the members of a group are on the PMU together", function()
    local result = run { "--explain", "{faults,task-clock}" }
    assert.match("note +its group of 2 fits the PMU\n", result.out)
  end)

  it("lists metrics with formula, unit, events and variants, and searches them", function()
    local result = run { "--metrics" }
    assert.match("\nbackend_stalls %[%%%]: share of cycles in which the back end was stalled\n"
      .. "    = stalled_cycles_backend / cycles\n    of stalled%-cycles%-backend, cycles\n", result.out)
    local found = json { "--metrics", "memory", "per", "second", "--json" }
    assert.same({ "memory_bandwidth", 5, "MiB/s" }, { found[1].name, #found[1].variants, found[1].unit })
    assert.equal("duration_time", found[1].variants[2].events[3])
    assert.equal("Intel clients", found[1].variants[2].where)
    local none = run { "--metrics", "nosuchword" }
    assert.same({ 1, "" }, { none.status, none.out })
  end)

  it("lists only those metrics whose events open", function()
    local here = run { "--metrics", "--available" }
    assert.match("page_faults_per_second", here.out)
    assert.is_nil(here.out:find("memory_bandwidth", 1, true))
  end)

  it("takes options before, between and behind the words", function()
    for place = 1, 3 do
      local args = { "branch", "miss" }
      table.insert(args, place, "--json")
      assert.equal("branch-misses", json(args)[1].spec)
    end
    assert.equal(2, run({ "branch", "--alll" }).status)
  end)

  it("shows its help", function()
    local result = run { "--help" }
    assert.equal(0, result.status)
    assert.match("Which events are there", result.out)
    assert.match("%-%-explain SPEC", result.out)
  end)
end)
