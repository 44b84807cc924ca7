-- Functions as regions where they are asked for: of a process that runs, in an experiment, by `pmclua regions`.

local lfs = require "lfs"
local made = require "tests.support.regions"
local pmc = require "pmclua"
local support = require "tests.support"

local FAULTS, MADVISE = made.FAULTS, made.MADVISE
local need_probes, program = made.need_probes, made.program

local function calls_of(...) return pmc.regions(...):calls() end

describe("a process that runs already", function()
  lazy_setup(need_probes)

  --- Starts pages.c in the background; it is ended with the test. Its pid.
  local function start(shape, n)
    local pipe = io.popen(("%s %s %d >/dev/null 2>&1 & echo $!"):format(program "pages.c", shape, n))
    local pid = tonumber(pipe:read "*l")
    pipe:close()
    finally(function() os.execute(("kill -9 %d 2>/dev/null"):format(pid)) end)
    support.await(function()                              -- the shell's child becomes it only now
      return lfs.symlinkattributes(("/proc/%d/exe"):format(pid), "target") == program "pages.c"
    end, "the program to begin")
    return pid
  end

  it("is followed in all its threads, for as long as is asked", function()
    local pid = start("serves", 3)
    local result = calls_of(pmc.pid(pid), { regions = { "touch" }, events = { FAULTS }, calibrate = false,
      duration = "0.7s" })
    local touch = result[1]
    assert.is_true(touch.calls > 0)
    assert.is_true(touch.orphans <= 3 and touch.unfinished <= 3)
    for _, thread in ipairs(touch.threads) do
      local each = touch:of_thread(thread, FAULTS) / thread.calls
      assert.is_true(each >= 1 and each < 3.1 and (each % 1 < 0.1 or each % 1 > 0.9), each)
    end
    assert.is_true(result.observed > 0 and result.observed <= 1)
    assert.is_false(result.target_ended)
    assert.truthy(result:report { width = 200 }:find "followed for [%d.]+ %% of")
  end)

  it("is stored with its program, and shown again alike", function()
    local path = support.folder() .. "/r.jsonl"
    local result = pmc.regions(pmc.pid(start("serves", 2)), { regions = { "touch" }, events = { FAULTS },
      calibrate = false, duration = "0.3s", store = path })
    local read = pmc.load(path)
    assert.equal(result:report { width = 100 }, read:report { width = 100 })
    assert.equal(program "pages.c", read.header.how.workloads[1].program)
  end)

  it("is followed until Ctrl-C, and what was counted is reported", function()
    -- In the background timeout would send the signal twice, to the command and to its group.
    local limited = ("exec timeout --foreground -s INT --preserve-status %d"):format(3 * support.slower)
    local command = ("%s %s regions -e %s -f touch -p %d"):format(limited, support.quote(support.program),
      FAULTS, start("serves", 6))
    local done = support.run { "sh", "-c", command }
    assert.equal(130, done.status, done.err)
    assert.matches("touch · [%d,]+ calls", done.err)
  end)

  it("may end while it is followed", function()
    local pid = start("serves", 1)
    local result = calls_of(pmc.pid(pid), { regions = { "touch" }, events = { FAULTS }, calibrate = false,
      duration = 20 * support.slower })
    assert.is_true(result.target_ended)
    assert.is_true(tonumber(result.wall_ns) < 15e9 * support.slower)
    assert.truthy(result:report { width = 200 }:find("it has ended", 1, true))
  end)

  it("loses no more of its time than is allowed", function()
    support.need_unwatched("what a sample costs is not what it costs there", "valgrind")
    local pid = start("hurries", 10)
    local result = calls_of(pmc.pid(pid), { regions = { "empty" }, events = { FAULTS }, duration = 1.5,
      duty = "4%" })
    local empty, cost = result[1], result.runs[1].costs[1][1]
    assert.is_true(empty.calls > 0)
    assert.is_true(result.observed < 0.6, result.observed)
    -- Twice the bound: an emulated or busy machine measures the cost of a sample badly.
    assert.is_true(empty.calls * cost.both / tonumber(result.wall_ns) < 0.08)
  end)

  it("is refused, with the reason, where there is none or what is asked makes no sense", function()
    local function refusal(...)
      local ok, why = pcall(pmc.regions, ...)
      assert.is_false(ok)
      return tostring(why)
    end
    assert.truthy(refusal(pmc.pid(2 ^ 22 + 1), { regions = "f" }):find("there is no process", 1, true))
    assert.truthy(refusal("true", { regions = "f", duty = "5%" }):find("for a process", 1, true))
    local pid = start("waits", 1)
    assert.truthy(refusal(pmc.pid(pid), { regions = "f", duty = "150%" })
      :find("duty must be above 0", 1, true))
    assert.truthy(refusal(pmc.pid(pid), { regions = "tuoch" }):find("did you mean 'touch'?", 1, true))
    assert.truthy(refusal(pmc.cpus "0", { regions = "f" }):find("a command or one process", 1, true))
  end)
end)

describe("an experiment's regions", function()
  lazy_setup(need_probes)

  it("are parts of each repetition, with their calls as iterations", function()
    local result = pmc.measure({ program "pages.c", "outers", "10" }, { regions = { "outer", "touch" },
      events = { FAULTS, "madvise = " .. MADVISE }, metrics = { "per_call = madvise / iterations" },
      repetitions = 3 })
    local seen = {}
    for cell in result:cells() do
      if cell.region then seen[cell.region] = cell end
    end
    assert.equal(55, seen.touch.madvise.median)
    assert.equal(480, seen.touch.page_faults.median)
    assert.is_true(seen.touch.madvise.exact)
    assert.equal(1, seen.touch.per_call.median)
    assert.equal(55, seen.outer.madvise.median)
    assert.equal(5.5, seen.outer.per_call.median)
    assert.equal(3, seen.outer.repetitions)
  end)

  it("have the outermost of recursive calls as iterations, as their sums are of these", function()
    local command = { program "pages.c", "recursion", "100" }
    local result = pmc.measure(command, { regions = { "recurse" }, events = { "madvise = " .. MADVISE },
      metrics = { "per_call = madvise / iterations" }, repetitions = 2 })
    local of_regions = calls_of(command, { regions = { "recurse" }, events = { "madvise = " .. MADVISE },
      calibrate = false }):region("recurse"):values "madvise"
    for cell in result:cells() do
      if cell.region then
        assert.same({ 100, 100 }, { cell.madvise.median, cell.per_call.median })
        assert.same({ 100, 100 }, { of_regions.sum, of_regions.mean })
      end
    end
  end)

  it("give each call as a value where entries are asked for", function()
    local result = pmc.measure({ program "pages.c", "calls", "9" }, { regions = { "touch", entries = true },
      events = { FAULTS }, repetitions = 2, warmup = 0 })
    for cell in result:cells() do
      if cell.region then
        assert.equal(18, cell.page_faults.n)
        assert.equal(5, cell.page_faults.median)
        assert.equal(9, cell.page_faults.max)
      end
    end
    assert.same({}, result.remarks)
  end)

  it("say how many calls are not kept, where each is a value", function()
    local result = pmc.measure({ program "pages.c", "calls", "9" }, { regions = { "touch", entries = 4 },
      events = { FAULTS }, repetitions = 1, warmup = 0 })
    for cell in result:cells() do
      if cell.region then assert.equal(4, cell.page_faults.n) end
    end
    assert.same({ "regions: only the first 4 calls of a run are kept one by one, 5 later ones are not" },
      result.remarks)
  end)

  it("are checked before anything runs", function()
    local function message_of(spec)
      local ok, why = pcall(pmc.measure, { program "pages.c", "calls", "3" }, { regions = spec,
        events = { FAULTS } })
      assert.is_false(ok)
      return tostring(why)
    end
    assert.truthy(message_of { "tuoch" }:find("did you mean 'touch'?", 1, true))
    assert.truthy(message_of { "touch", thraeds = "one" }:find("did you mean 'threads'?", 1, true))
    assert.truthy(message_of { { from = "touch" } }:find("has both from and to", 1, true))
    assert.truthy(message_of {}:find("name at least one function", 1, true))
    assert.truthy(message_of { "touch", threads = "some" }:find("threads must be all or one", 1, true))
    local ok, why = pcall(pmc.measure, function() end, { regions = { "f" }, events = { FAULTS } })
    assert.is_false(ok)
    assert.truthy(tostring(why):find("functions can be followed in commands only", 1, true), tostring(why))
  end)
end)

describe("pmclua regions", function()
  lazy_setup(need_probes)

  it("leaves the command's output and exit status alone, and reports on standard error", function()
    support.need_unwatched("functions of the runner run as copies, without probes", "valgrind")
    local path = program "pages.c"
    local done = support.pmclua { "regions", "-e", FAULTS, "--function", "touch", "--", path }
    assert.equal(2, done.status)
    assert.truthy(done.err:find("usage: pages", 1, true))
    assert.truthy(done.err:find("never called", 1, true))
    assert.equal("", done.out)
    local planned = support.pmclua { "regions", "--plan", "-f", "touch", path }
    assert.matches("unknown option '--plan'", planned.err, 1, true)
    done = support.pmclua { "regions", "-e", FAULTS, "-f", "touch", "-o", "-", "--", path, "calls", "4" }
    assert.equal(0, done.status)
    assert.truthy(done.out:find("touch · 4 calls", 1, true), done.out)
    assert.truthy(done.out:find("the cost of probing", 1, true))
    assert.equal("", done.err)
  end)

  it("writes JSON and single calls", function()
    support.need_unwatched("functions of the runner run as copies, without probes", "valgrind")
    local folder = support.folder()
    local done = support.pmclua { "regions", "-e", FAULTS, "-f", "touch", "-j", "-o", folder .. "/r.json",
      "--calls", folder .. "/calls.csv", "--", program "pages.c", "calls", "3" }
    assert.equal(0, done.status)
    local json = require("dkjson").decode(support.read(folder .. "/r.json"))
    local calls = json.calls[1]
    assert.equal("touch", calls.regions[1].name)
    assert.equal(6, calls.regions[1].events.page_faults.total)
    assert.equal(2, calls.regions[1].events.page_faults.median)
    assert.is_true(calls.probing.cpu_time > 0)
    assert.is_true(calls.regions[1].events.duration.probing > 0)
    assert.equal(0, calls.regions[1].events.page_faults.probing)
    assert.same({ "touch", 6 }, { json.cells[2].region, json.cells[2].values.page_faults.median })
    local lines = {}
    for line in support.read(folder .. "/calls.csv"):gmatch "[^\n]+" do lines[#lines + 1] = line end
    assert.equal(4, #lines)
    assert.truthy(lines[1]:find "^region,tid,start_ns,level,duration,cpu_time,page_faults$")
    assert.truthy(lines[4]:find "^touch,%d+,%d+,0,%d+,%d+,3$")
  end)

  it("shows calls in Markdown and on a page, and single ones as CSV", function()
    support.need_unwatched("functions of the runner run as copies, without probes", "valgrind")
    local result = calls_of({ program "pages.c", "calls", "3" }, { events = { FAULTS }, calibrate = false,
      regions = { "touch", "main" } })
    assert.matches("**touch · 3 calls**\n\n| event | total |", result:report { format = "markdown" }, 1, true)
    local page = result:report { format = "html" }
    assert.matches("<figcaption>touch · 3 calls</figcaption>", page, 1, true)
    assert.not_matches("<section id=\"plan\">", page)
    assert.equal(result:calls_csv(), result:report { format = "csv" })
    local said = support.message_of(result.report, result, { format = "cvs" })
    assert.matches("a report of regions has no format 'cvs'; did you mean 'csv'", said, 1, true)
  end)

  it("writes no name into CSV that a spreadsheet would take for a formula", function()
    local result = calls_of({ program "pages.c", "calls", "1" }, { events = { FAULTS }, calibrate = false,
      regions = { { "touch", name = "=1+1" } } })
    assert.matches("\n'=1%+1,%d+,%d+,0,", result:calls_csv())
  end)

  it("says why a function cannot be followed, and what may be done", function()
    local path = program "functions.c"
    local cases = {
      { "tow_returns", "did you mean 'two_returns'?" },
      { "copied", "inlined into its callers in 2 places (functions.c:" },
      { "chosen", "chosen at run time" },
      { "exit", "'libc.so" },
      { "abs", "name both: 'libc.so" },
      { "never_returns", "has no return instruction" },
      { "libnone.so:f", "no library 'libnone.so' is loaded" },
      { "/none/such:f", "there is no such file" },
    }
    for _, case in ipairs(cases) do
      local done = support.pmclua { "regions", "-f", case[1], "--", path }
      assert.equal(125, done.status, case[1])
      assert.truthy(done.err:find(case[2], 1, true), done.err)
    end
    local done = support.pmclua { "regions", "-f", "f", "--", support.root .. "/tests/packages" }
    assert.truthy(done.err:find("is a script", 1, true), done.err)
    done = support.pmclua { "regions", "-f", "f", "--", "no-such-command" }
    assert.equal(127, done.status)
    done = support.pmclua { "regions", "-e", FAULTS, "-f", "two_returns", "--histogram", "none", "--", path }
    assert.equal(125, done.status)
    assert.matches("duration .*pmclua regions: regions have no 'none'", done.err)       -- nothing is lost
  end)

  it("refuses options that are none of its own, those of experiments too", function()
    for _, option in ipairs { "--repetitions=5", "--resume=x.jsonl", "--nothing" } do
      local done = support.pmclua { "regions", option, "-f", "f", "--", "true" }
      assert.equal(125, done.status)
      assert.truthy(done.err:find("unknown option '" .. option:match "^[^=]+", 1, true), done.err)
    end
  end)

  it("says what is missing where a library is not installed", function()
    local folder, path = support.folder(), program "pages.c"
    local function run(...)
      local words = { "regions", "-e", FAULTS, "-f", "touch", ... }
      for _, word in ipairs { "--", path, "calls", "3" } do words[#words + 1] = word end
      return support.pmclua(words, { env = { LD_LIBRARY_PATH = folder } })
    end
    support.write(folder .. "/libcapstone.so.4", "")
    local done = run()
    assert.equal(125, done.status)
    assert.truthy(done.err:find("need Capstone, which is not installed", 1, true), done.err)
    assert.truthy(done.err:find("abort C++ programs that throw", 1, true))
    done = run "--return-probes"
    assert.equal(0, done.status)
    assert.truthy(done.err:find("touch · 3 calls", 1, true), done.err)
    support.write(folder .. "/libdw.so.1", "")
    assert.truthy(run().err:find("install libdw1", 1, true))
  end)

  it("follows what a pattern means, and leaves out what cannot be followed", function()
    local result = calls_of(program "functions.c", { regions = { "*ret*", "calls_*" }, events = { FAULTS },
      calibrate = false })
    local names = {}
    for i, region in ipairs(result) do names[i] = region.name end
    assert.same({ "two_returns", "calls_copied", "calls_copied_too" }, names)
    assert.equal(1, #result.skipped)
    assert.truthy(result:report { width = 200 }:find("left out: 1 function ('never_returns' has no return", 1,
      true))
  end)

  it("gives quantiles within 1/128 where not every call was kept", function()
    local result = calls_of({ program "pages.c", "calls", "200" }, { regions = { "touch", keep = 10 },
      events = { FAULTS }, calibrate = false })
    local touch = result[1]
    assert.equal(10, #touch:list(FAULTS))
    for _, p in ipairs { 0, 0.1, 0.5, 0.9, 1 } do
      local truth, value, is_exact = 1 + 199 * p, touch:quantile(FAULTS, p)
      assert.is_true(math.abs(value - truth) <= 1 + truth / 128, p)
      if is_exact then assert.is_true(math.abs(value - truth) < 1) end
    end
  end)

  it("keeps every call where more are asked for than fit into 32 bits", function()
    local result = calls_of({ program "pages.c", "calls", "20" },
      { regions = { "touch", keep = 2 ^ 32 + 5 }, events = { FAULTS }, calibrate = false })
    assert.equal(20, #result[1]:list(FAULTS))
  end)

  it("finds functions of libraries by their short names", function()
    local done = support.pmclua { "regions", "-e", FAULTS, "-f", "libc.so:getenv", "-o", "-", "--",
      "/usr/bin/env", "true" }
    assert.equal(0, done.status)
    assert.truthy(done.out:find "getenv · [%d,]+ call", done.out)
  end)
end)
