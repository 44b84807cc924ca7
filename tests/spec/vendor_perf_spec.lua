-- The tables of an installed perf, played by a script: when it is asked, what is kept of its answers, and who may change
-- that. And vendors' metrics the whole way, over events that every machine has.

local json = require "dkjson"
local lfs = require "lfs"
local support = require "tests.support"

local PERF = [[#!/bin/sh
echo "$*" >>"$0.calls"
case "$*" in
  *--json*) cat "$0.json" 2>/dev/null ;;
  *list*) cat "%s" ;;
  *record*) printf 'Using CPUID x\ntoy-event -> cpu/event=0x77,umask=0x1/\n' >&2 ;;
esac
]]

-- A folder with a perf in it, and what runs pmclua with this perf alone.
local function played(answers)
  local folder = support.folder()
  support.write(folder .. "/perf", PERF:format(answers or support.fixture "vendor/perf.txt"))
  assert.equal(0, support.run({ "chmod", "755", folder .. "/perf" }).status)
  local environment = { PATH = folder .. ":/usr/bin:/bin", XDG_CACHE_HOME = folder .. "/cache",
    SYSFS_PATH = support.fixture "perf/sysfs/x86_spr", PERF_CPUID = "GenuineIntel-6-6A-6" }
  local perf = { folder = folder, path = folder .. "/perf" }
  function perf.encode(spec, more)
    return support.pmclua({ "events", "--encode", spec }, { env = support.merged(environment, more or {}) })
  end
  function perf.list(more)
    return support.pmclua({ "events", "--json" }, { env = support.merged(environment, more or {}) })
  end
  function perf.calls() return #support.lines_of(folder .. "/perf.calls") end
  function perf.cached()
    local files = {}
    for name in lfs.dir(folder .. "/cache/pmclua/vendor") do
      if name:sub(1, 1) ~= "." then files[#files + 1] = folder .. "/cache/pmclua/vendor/" .. name end
    end
    return files
  end
  return perf
end

local function config_of(result) return result.out:match "config=(0x%x+)" or result.err end

describe("the installed perf", function()
  it("is asked once, and its answer kept for this perf, CPU and machine", function()
    local perf = played()
    assert.equal("0x81d0", config_of(perf.encode "toy_loads.all"))
    local asked = perf.calls()
    assert.is_true(asked > 0)
    assert.equal("0x81d0", config_of(perf.encode "TOY_LOADS.ALL:u"))
    assert.equal(asked, perf.calls())
    perf.encode("toy_loads.all", { PERF_CPUID = "GenuineIntel-6-55-4" })
    assert.equal(2 * asked, perf.calls())
    support.write(perf.path, support.read(perf.path) .. "# another\n")
    perf.encode "toy_loads.all"
    assert.equal(3 * asked, perf.calls())
  end)

  it("is not asked for names that need no table", function()
    local perf = played()
    local known = { "cycles", "page-faults", "L1-dcache-loads", "cpu/mem-loads/", "r1234", "msr/tsc/" }
    for _, spec in ipairs(known) do perf.encode(spec) end
    assert.equal(0, perf.calls())
  end)

  it("is asked for the codes of events that its list has without any", function()
    local perf = played()
    assert.equal("0x177", config_of(perf.encode "toy-event"))
  end)

  it("is understood as JSON where it prints JSON", function()
    local perf = played()
    support.write(perf.path .. ".json", support.read(support.fixture "vendor/perf.json"))
    assert.equal("0x81d0", config_of(perf.encode "toy_loads.all"))
    assert.equal(1, perf.calls())
  end)

  it("that aborts in its list is asked again, and a list that is cut each time is not kept", function()
    local perf = played()
    local text = support.read(support.fixture "vendor/perf.txt")
    support.write(perf.folder .. "/half.txt", text:sub(1, text:find "unc_toy_reads" - 40))
    local aborts = [[#!/bin/sh
echo "$*" >>"$0.calls"
case "$*" in *--json*) exit 129 ;; esac
if [ "$(wc -l <"$0.calls")" -le %d ]; then cat "$(dirname "$0")/half.txt"; kill -ABRT $$; fi
cat "%s"
]]
    local whole = support.fixture "vendor/perf.txt"
    support.write(perf.path, aborts:format(1000, whole))
    assert.equal("0x81d0", config_of(perf.encode "toy_loads.all"))
    local cut = perf.encode "unc_toy_reads"
    assert.is_truthy(cut.err:find "there is no event 'unc_toy_reads' here")
    assert.is_truthy(cut.err:find "perf crashes in its list of events, so some are missing", cut.err)
    assert.equal(0, #perf.cached())
    os.remove(perf.path .. ".calls")
    support.write(perf.path, aborts:format(3, whole))
    assert.is_truthy(perf.encode("unc_toy_reads").out:find "config=")
    assert.equal(1, #perf.cached())
  end)

  it("that writes for ever is ended, which is said, and is not asked again soon", function()
    local perf = played()
    support.write(perf.path, "#!/bin/sh\necho x >>\"$0.calls\"\nexec yes\n")
    for _, why in ipairs { "perf wrote more than 64 MB, and was ended", "asked again after ten minutes" } do
      local result = perf.encode "toy_loads.all"
      assert.is_truthy(result.err:find(why, 1, true), result.err)
      assert.equal("x\n", support.read(perf.path .. ".calls"))
    end
  end)

  it("that says nothing costs its events, not the others", function()
    local perf = played "/dev/null"
    assert.equal("0x0", config_of(perf.encode "cycles"))
    assert.is_truthy(perf.encode("toy_loads.all").err:find "there is no event 'toy_loads.all' here")
  end)
end)

-- Said whether or not somebody asked for vendors' events: that they are not there is nobody's choice.
describe("a list of events", function()
  it("says so where perf is killed before it says anything", function()
    local perf = played()
    support.write(perf.path, "#!/bin/sh\nkill -KILL $$\n")
    assert.is_truthy(perf.list().err:find("perf could not be run, or lists nothing", 1, true))
  end)

  -- A folder that has what runs a program at a limit, and no perf.
  local function without_perf()
    local folder = support.folder()
    local timeout = require("pmclua.host.tools").find "timeout"
    assert.equal(0, support.run({ "ln", "-s", timeout, folder .. "/timeout" }).status)
    return folder
  end

  it("says so where it cannot be seen whether there is a perf", function()
    local folder = without_perf()
    local loop = folder .. "/loop"
    assert.equal(0, support.run({ "ln", "-s", "loop", loop }).status)
    local said = played().list({ PATH = folder .. ":" .. loop }).err
    assert.is_truthy(said:find("perf could not be looked for: " .. loop .. "/perf: ELOOP", 1, true), said)
  end)

  it("says nothing where there is none", function()
    assert.equal("", played().list({ PATH = without_perf() }).err)
  end)
end)

describe("kept tables", function()
  it("are private files", function()
    local perf = played()
    perf.encode "toy_loads.all"
    local files = perf.cached()
    assert.equal(1, #files)
    assert.equal("rw-------", lfs.attributes(files[1], "permissions"))
    assert.equal("rwx------", lfs.attributes(perf.folder .. "/cache/pmclua/vendor", "permissions"))
  end)

  it("that others could have written are not used", function()
    local perf = played()
    perf.encode "toy_loads.all"
    local asked = perf.calls()
    local file = perf.cached()[1]
    support.write(file, (support.read(file):gsub("event=0xd0", "event=0x66")))
    assert.equal("0x8166", config_of(perf.encode "toy_loads.all"))      -- it is this file that is used
    assert.equal(0, support.run({ "chmod", "o+w", file }).status)
    assert.equal("0x81d0", config_of(perf.encode "toy_loads.all"))
    assert.equal(2 * asked, perf.calls())
    assert.equal(0, support.run({ "chmod", "777", perf.folder .. "/cache/pmclua/vendor" }).status)
    assert.equal("0x81d0", config_of(perf.encode "toy_loads.all"))
    assert.equal(3 * asked, perf.calls())
  end)

  it("of other perfs, and what are no tables, are not used", function()
    local perf = played()
    perf.encode "toy_loads.all"
    local file = perf.cached()[1]
    for _, text in ipairs { "", "junk", ("x"):rep(100000), "pmclua vendor tables 1 other\nEtoy\n" } do
      support.write(file, text)
      assert.equal("0x81d0", config_of(perf.encode "toy_loads.all"))
    end
  end)

  it("that cannot be kept are read each time", function()
    local perf = played()
    support.write(perf.folder .. "/cache", "no folder")
    assert.equal("0x81d0", config_of(perf.encode "toy_loads.all"))
    local asked = perf.calls()
    assert.equal("0x81d0", config_of(perf.encode "toy_loads.all"))
    assert.equal(2 * asked, perf.calls())
  end)
end)

describe("a vendor's metric over events that are here", function()
  local function tables()
    local folder = support.folder()
    support.write(folder .. "/soft.json", [=[[
      { "MetricName": "soft_share", "MetricExpr": "minor\\-faults / page\\-faults", "ScaleUnit": "100%",
        "MetricGroup": "Soft", "BriefDescription": "Share of faults without a read" },
      { "MetricName": "soft_faults", "MetricExpr": "page\\-faults + 0 * soft_share", "MetricGroup": "Soft" },
      { "MetricName": "soft_absent", "MetricExpr": "toy.event / page\\-faults", "MetricGroup": "Soft" },
      { "MetricName": "soft_absents", "MetricExpr": "toy\\-one / (toy\\-two + TOY_THREE)" } ]]=])
    return folder
  end

  it("is counted, stored, and shown again without its table", function()
    local folder = tables()
    local result = support.pmclua { "compare", "--vendor", folder, "-e", "page-faults", "-M", "Soft", "-r",
      "3", "--format", "json", "--store", folder .. "/r.jsonl", "true", "/bin/true" }
    assert.is_truthy(result.out:find '"name":"soft_share"', result.err)
    local again = support.pmclua { "report", folder .. "/r.jsonl", "--format", "csv" }
    assert.equal(0, again.status, again.err)
    assert.is_truthy(again.out:find "soft_share")
    assert.is_truthy(json.decode(result.out))
  end)

  it("is absent where its events are, with which", function()
    local folder = tables()
    local result = support.pmclua { "stat", "--vendor", folder, "-M", "soft_absent", "--", "true" }
    assert.is_truthy((result.out .. result.err):gsub("%s+", " "):find "there is no event 'toy.event' here")
  end)

  it("names each event that it lacks, and says once that there is none of them", function()
    local result = support.pmclua { "stat", "--vendor", tables(), "-M", "soft_absents", "--", "true" }
    local said = result.err:gsub("%s+", " ")
    assert.is_truthy(said:find("TOY_THREE, toy-one and toy-two: there is no such event here", 1, true), said)
  end)
end)

describe("--vendor", function()
  local function stat(folder, more)
    return support.pmclua({ "stat", "-e", "page-faults", "--vendor", folder, "--", "true" }, more)
  end

  it("refuses a folder that cannot be read, though nothing of it is asked for", function()
    local folder = support.folder()
    local result = stat(folder .. "/nosuch")
    assert.equal(125, result.status)
    assert.is_truthy(result.err:find("--vendor " .. folder .. "/nosuch: there is no such folder", 1, true))
    assert.equal("", result.out)
    support.write(folder .. "/file", "")
    assert.is_truthy(stat(folder .. "/file").err:find("/file: it is no folder", 1, true))
    assert.equal(125, stat(folder .. ":" .. folder .. "/nosuch").status)
  end)

  it("says what a folder has instead that has nothing about this CPU, and counts", function()
    local function said_of(folder)
      local environment = { PERF_CPUID = "GenuineIntel-6-1-1" }
      local result = stat(folder, { env = environment })
      assert.equal(0, result.status)
      assert.is_truthy(result.err:find "page%-faults +%d")
      return result.err:match "has no tables for GenuineIntel%-6%-1%-1: ([^\n]*)"
    end
    local folder = support.folder()
    assert.equal("it has no JSON file", said_of(folder))
    assert.equal("no row of its mapfile.csv is of this CPU", said_of(support.fixture "vendor/linux"))
    support.write(folder .. "/one.json", "junk")
    assert.equal("its JSON file is of other CPUs, or in no form that is known", said_of(folder))
  end)

  it("has what is broken in a folder named where an event is not found", function()
    local folder = support.folder()
    support.write(folder .. "/core.json", '[ { "EventName": "A.B", "EventCode": "0x1" }, { "Name" "C.D" } ]')
    local result = support.pmclua { "stat", "--vendor", folder, "-e", "C.D", "--", "true" }
    assert.is_truthy(result.err:find "there is no event 'C.D' here.*core.json: no valid JSON", result.err)
  end)
end)
