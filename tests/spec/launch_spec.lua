-- Launched programs: a launcher starts the ranks, each is counted where it runs, and a repetition is their sum.

local json = require "dkjson"
local launches = require "pmclua.workload.launch"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"

local LAUNCHER = support.fixture "launch/launcher"
local OF_OTHERS = { OMPI_COMM_WORLD_RANK = false, PMI_RANK = false, SLURM_PROCID = false,
  SLURM_NTASKS = false }

local marked

local function program()
  marked = marked or support.build(support.folder() .. "/marked", "cc", "-I" .. support.root .. "/core",
    "-O1", "-pthread", support.fixture "launch/marked.c")
  return marked
end

local function launched(words, options)
  return support.experiment(support.merged({ events = "page-faults", repetitions = 2, warmup = 0,
    workloads = { pmc.command(words) } }, options))
end

local function part(result, name)
  return lists.find(result:list(), function(cell) return cell.region == name end)
end

local function stat(words, options)
  return support.pmclua({ "stat", "-e", "page-faults", unpack(words) },
    support.merged({ env = OF_OTHERS }, options))
end

describe("a launched program", function()
  it("is the sum of its ranks, in each mark and in each of its threads", function()
    local result = launched({ program(), launch = LAUNCHER .. " 4" },
      { regions = "marks", metrics = "entries = iterations" })
    assert.same({ 100, 100 }, part(result, "touch"):values "page_faults")
    assert.same({ 10, 10 }, part(result, "touch"):values "entries")
  end)

  it("has no sum of a mark where a rank wrote over its table, and names the rank", function()
    local over = '"$0"; [ $PMI_RANK != 1 ] || dd if=/dev/zero of="$PMCLUA_MARKS" bs=64 count=1 conv=notrunc'
    local result = launched({ "sh", "-c", over, program(), launch = LAUNCHER .. " 3" }, { regions = "marks" })
    local touch = part(result, "touch")
    assert.is_nil(touch.page_faults.median)
    assert.matches("rank 1: marks are not counted", touch.page_faults.why, 1, true)
    assert.matches("<incomplete>: rank 1: marks are not counted", result:report { width = 300 }, 1, true)
  end)

  it("whose ranks have different CPUs says so, with their nodes", function()
    support.need(support.have_root(), "only root mounts another /proc/cpuinfo")
    local folder = support.folder()
    local other, node = folder .. "/cpuinfo", folder .. "/node"
    support.write(other, "processor\t: 0\nmodel name\t: Another CPU 9000\n")
    support.write(node, ('[ $PMI_RANK = 0 ] || mount --bind %s /proc/cpuinfo && exec "$@"\n'):format(other))
    local result = launched { "true", launch = { LAUNCHER, "2", "unshare", "-m", "sh", node } }
    assert.matches("true: its ranks ran on different CPUs: [^;]+; Another CPU 9000 %([^)]+%)",
      table.concat(result.remarks, "\n"))
  end)

  it("has the number of its ranks as a factor, and each rank's counts", function()
    local result = launched({ program(), launch = { LAUNCHER, "{ranks}" } },
      { regions = "marks", factors = { { "ranks", { 1, 3 } } } })
    assert.same({ 10, 60 }, lists.map(result:list(), function(cell)
      return cell.region == "touch" and cell.page_faults.median or nil
    end))
    local ranks = require("pmclua.result.ranks").by(result)
    local found = {}
    for cell in ranks:cells() do
      if cell.region == "touch" and cell.ranks == 3 then found[cell.rank] = cell.page_faults.median end
    end
    assert.same({ [0] = 10, 20, 30 }, found)
  end)

  it("is stored with its ranks, which a report folds", function()
    local store = support.folder() .. "/stored.jsonl"
    local ran = stat { "--launch", LAUNCHER .. " {ranks}", "--ranks", "6", "--marks", "--store", store,
      program() }
    assert.equal(0, ran.status, ran.err)
    local report = support.pmclua { "report", store, "--over", "rank" }
    assert.matches("page%-faults, region touch +6 +10 +35 +60 +1%.714 +rank 5", report.out)
    local how = support.pmclua { "report", store, "--how" }
    assert.matches("launch +%S*launcher 6", how.out)
    local count = 0
    require("pmclua.store").open(store).each(function(record)
      count = count + (record.task and record.host and 1 or 0)
    end)
    assert.equal(6 * 3, count)
  end)

  it("has its ranks beside their sum in JSON and CSV", function()
    local result = launched({ program(), launch = { LAUNCHER, "{ranks}" } },
      { regions = "marks", factors = { { "ranks", { 1, 3 } } } })
    local ranks, launchers = {}, {}
    for _, cell in ipairs(json.decode(result:report { format = "json" }).cells) do
      launchers[#launchers + 1] = cell.launch
      for _, rank in ipairs(cell.region == "touch" and cell.ranks or {}) do
        ranks[#ranks + 1] = { cell.levels.ranks, rank.rank, rank.repetitions, rank.values.page_faults.median,
          rank.passes[1].counts.page_faults }
      end
    end
    assert.same({ { 1, 0, 2, 10, { 10, 10 } }, { 3, 0, 2, 10, { 10, 10 } }, { 3, 1, 2, 20, { 20, 20 } },
      { 3, 2, 2, 30, { 30, 30 } } }, ranks)
    assert.same({ (LAUNCHER .. " {ranks}"), 6 }, { launchers[1], #launchers })
    local csv, faults = result:report { format = "csv" }, {}
    assert.matches("^workload,ranks,rank,region,", csv)
    for line in csv:gmatch "[^\n]+" do
      local levels, value = line:match "^[^,]*,(%d,%d*),touch,,,,page_faults,,1,1,%d+,(%d+),counted"
      if levels then faults[#faults + 1] = levels .. ": " .. value end
    end
    assert.same({ "1,: 10", "1,0: 10", "3,: 60", "3,0: 10", "3,1: 20", "3,2: 30" }, faults)
  end)

  it("has the hosts of its ranks in JSON; what was not launched has no ranks", function()
    local store = support.folder() .. "/stored.jsonl"
    local ran = stat({ "--launch", LAUNCHER .. " 4", "--store", store, "true" },
      { env = support.merged({ NODES = "2" }, OF_OTHERS) })
    assert.equal(0, ran.status, ran.err)
    local cell = json.decode(support.pmclua({ "report", store, "--format", "json" }).out).cells[1]
    assert.same({ "n0", "n1", "n0", "n1" }, lists.column(cell.ranks, "host"))
    local alone = launched { "true" }
    cell = json.decode(alone:report { format = "json" }).cells[1]
    assert.same({}, { cell.ranks, cell.launch })
    assert.matches("^workload,region,", alone:report { format = "csv" })
  end)

  it("has the node of the rank that has most, where there are several", function()
    local store = support.folder() .. "/stored.jsonl"
    local ran = stat({ "--launch", LAUNCHER .. " 6", "--marks", "--store", store, program() },
      { env = support.merged({ NODES = "3" }, OF_OTHERS) })
    assert.equal(0, ran.status, ran.err)
    local report = support.pmclua { "report", store, "--over", "rank" }
    assert.matches("region touch +6 +10 +35 +60 +1%.714 +rank 5 on n2", report.out)
    local nodes = support.pmclua { "report", store, "--over", "host" }
    assert.equal(0, nodes.status, nodes.err)
    assert.matches("by host · 2 repetitions · on n%[0%-2%]", nodes.out)
    assert.matches("region touch +3 +25 +35 +45 +1%.286 +node n2", nodes.out)
  end)

  it("has its ranks and nodes where several files are one result", function()
    local folder, files = support.folder(), {}
    for i = 1, 2 do
      files[i] = ("%s/run%d.jsonl"):format(folder, i)
      local ran = stat({ "--launch", LAUNCHER .. " 4", "--marks", "--store", files[i], program() },
        { env = support.merged({ NODES = "2" }, OF_OTHERS) })
      assert.equal(0, ran.status, ran.err)
    end
    local nodes = support.pmclua { "report", "--over", "host", unpack(files) }
    assert.matches("region touch +2 +20 +25 +30 +1%.200 +node n1", nodes.out)
    local by_rank = support.pmclua { "report", "--over", "rank", "--by", "none", unpack(files) }
    assert.matches("region touch +4 +10 +25 +40 +1%.600 +rank 3 on n1", by_rank.out)
    assert.matches("file run1, region tou%S+ +4 +10 +25 +40", support.pmclua({ "report", "--over", "rank",
      unpack(files) }).out)
  end)

  it("is one rank without a launcher, and beside others", function()
    local result = support.experiment { events = "page-faults", repetitions = 1, warmup = 0,
      regions = "marks",
      workloads = { one = pmc.command { program(), launch = "" }, alone = pmc.command { program() },
        two = pmc.command { program(), launch = LAUNCHER .. " 2" } } }
    local found = {}
    for cell in result:cells() do
      if cell.region == "touch" then found[cell.workload] = cell.page_faults.median end
    end
    assert.same({ alone = 10, one = 10, two = 30 }, found)
  end)

  it("is numbered in the order of starting by launchers that number nothing", function()
    local ran = launched { "true", launch = { "sh", "-c", 'unset PMI_RANK; "$@" & "$@" & wait', "sh" } }
    local ranks = require("pmclua.result.ranks").by(ran)
    assert.same({ 0, 1 }, lists.map(ranks:list(), function(cell) return cell.rank end))
  end)

  it("gets the environment that its command says", function()
    local folder = support.folder()
    launched({ "sh", "-c", 'echo "$GIVEN" >> "$FILE"', launch = LAUNCHER .. " 3",
      env = { GIVEN = "{n}", FILE = folder .. "/said" } },
      { repetitions = 1, factors = { { "n", { 7 } } } })
    assert.equal("7\n7\n7\n", support.read(folder .. "/said"))
  end)
end)

describe("a launch that is not whole", function()
  it("has no count where a rank was killed with its runner, and says which", function()
    local result = launched({ program(), "1", launch = LAUNCHER .. " 3" }, { on_failure = "keep" })
    local summary = result:list()[1].page_faults
    assert.is_nil(summary.median)
    assert.equal("incomplete", summary.status)
    assert.matches("rank 1 on %S+ left no result: it was killed", summary.why)
  end)

  it("has no count where a rank was not started, and no verdict", function()
    local compared = support.experiment { events = "page-faults", repetitions = 6, warmup = 0, baseline = "a",
      workloads = { a = pmc.command { "true", launch = LAUNCHER .. " 3" },
        b = pmc.command { "true", launch = LAUNCHER .. " 3", env = { STARTED = "2" } } } }
    local summary = lists.find(compared:list(), function(cell) return cell.workload == "b" end).page_faults
    assert.is_nil(summary.median)
    assert.matches("rank 2 of 3 left nothing", summary.why)
    for pair in compared:pairs() do assert.is_nil(pair.page_faults.verdict) end
  end)

  it("says so where there are others than the level of ranks", function()
    local result = launched({ "true", launch = { "sh", "-c", '"$@"', "{ranks}" } },
      { factors = { { "ranks", { 2 } } } })
    assert.matches("rank 1 of 2 left nothing", result:list()[1].page_faults.why)
  end)

  it("ends as its ranks did", function()
    assert.equal(3, stat({ "--launch", LAUNCHER .. " 2", "sh", "-c", "exit 3" }).status)
    local missing = stat { "--launch", LAUNCHER .. " 2", "/no/such/program" }
    assert.equal(127, missing.status)
    assert.matches("there is no such file", missing.err)
    assert.equal(139, stat({ "--launch", LAUNCHER .. " 2", "sh", "-c", "kill -SEGV $$" }).status)
    assert.equal(127, stat({ "--launch", "/no/such/launcher", "true" }).status)
  end)

  it("is ended at its time limit, ranks and all, and leaves nothing", function()
    local folder = support.folder()
    local ran = stat({ "--timeout", "300", "--launch", LAUNCHER .. " 2", "sh", "-c",
      "echo $$ >> pids; exec sleep 100" }, { folder = folder })
    assert.matches("killed at its time limit", ran.err)
    for pid in support.read(folder .. "/pids"):gmatch "%d+" do support.await_end(tonumber(pid)) end
    assert.equal("", (support.output_of("cd " .. folder .. " && ls -A | grep -v pids")))
  end)

  it("ends with pmclua when that is killed", function()
    local folder = support.folder()
    local killed = support.run({ "sh", "-c", [["$@" & pid=$!
      until [ "$(grep -c . pids 2>/dev/null)" = 2 ]; do sleep 0.05; done
      kill -9 $pid; wait $pid]], "sh", support.program, "stat", "--launch", LAUNCHER .. " 2", "sh", "-c",
      "echo $$ >> pids; exec sleep 100" }, { folder = folder, env = OF_OTHERS })
    assert.equal(137, killed.status)
    for pid in support.read(folder .. "/pids"):gmatch "%d+" do support.await_end(tonumber(pid)) end
    stat({ "--launch", "", "true" }, { folder = folder })
    assert.equal("", (support.output_of("cd " .. folder .. " && ls -A | grep -v pids")))
  end)
end)

describe("what is said of a launch", function()
  it("is by what its ranks were started, and that they are summed", function()
    assert.matches("of the ranks of%s+%S+launcher%s+2", stat({ "--launch", LAUNCHER .. " 2", "true" }).err)
    assert.matches("exec to exit", stat({ "--launch", "", "true" }).err)
  end)

  it("is which rank found no program where its launcher started it", function()
    local folder = support.folder()
    support.output_of(("cp /bin/true %s/here"):format(folder))
    local ran = stat({ "--launch", "env -C / " .. LAUNCHER .. " 1", "./here" }, { folder = folder })
    assert.equal(126, ran.status)
    assert.matches("rank 0 on %S+: cannot start './here': there is no such file; the launcher may", ran.err)
  end)

  it("is the folder that nodes have to see, where they left nothing", function()
    local said = stat({ "--launch", "true", "ls" }).err:gsub("%s+", " ")
    assert.matches("start pmclua in a folder that all nodes see", said)
  end)
end)

describe("results of launches by other words", function()
  it("are no baseline of each other, and no one cell", function()
    local folder, files = support.folder(), {}
    for ranks = 2, 3 do
      files[#files + 1] = ("%s/ranks%d.jsonl"):format(folder, ranks)
      stat { "-r", "6", "--name", "work", "--launch", LAUNCHER .. " " .. ranks, "--store", files[#files],
        "true" }
    end
    files[#files + 1] = folder .. "/alone.jsonl"
    stat { "-r", "6", "--name", "work", "--store", files[#files], "true" }
    local function gate(before, ...)
      return support.pmclua { "gate", before, files[1], "-l", "page_faults <= +900%", ... }
    end
    local other = gate(files[2])
    assert.equal(77, other.status)
    assert.matches("other words of its launcher, '%S+launcher 2' here and '%S+launcher 3' there", other.out)
    assert.matches("launcher 2' here and none there", gate(files[3]).out)
    assert.equal(0, gate(files[2], "--any-arguments").status)
    local merged = support.pmclua { "merge", "--by", "none", "-o", folder .. "/merged", files[1], files[2] }
    assert.not_equal(0, merged.status)
    assert.matches("what work was given is '%S+launcher 3' in ranks3, and '%S+launcher 2' before", merged.err)
    local beside = support.pmclua { "report", unpack(files) }
    assert.matches("files differ in launcher: %S+launcher 2 .*ranks2.jsonl.*launcher 3.*none %(alone.jsonl%)",
      (beside.out:gsub("%s+", " ")))
  end)
end)

describe("what the counts of a launch lack", function()
  it("is what a rank left running, also where the launcher is no parent of it", function()
    local ran = stat { "--launch", LAUNCHER .. " 2", "sh", "-c", "sleep 100 > /dev/null 2>&1 & echo $!" }
    support.output_of("kill " .. ran.out:gsub("%s+", " "))
    assert.matches("left running: %w+ %(process", ran.err)
  end)

  it("is a rank's program that Linux stopped counting", function()
    support.need(support.have_root(), "root is needed to make another user's setuid program")
    local folder = support.folder()
    support.output_of(("cd %s && cp /bin/true suid && chmod 4755 suid && chmod 755 ."):format(folder))
    local ran = stat({ "--launch", LAUNCHER .. " 2", folder .. "/suid" }, { user = true })
    assert.matches("Linux stopped counting 'suid'", ran.err)
  end)
end)

describe("a launch by a rank of another", function()
  local RANK = { PMI_RANK = "1", PMI_SIZE = "3", OMPI_COMM_WORLD_RANK = false, SLURM_PROCID = false }

  local function counts(launcher)
    local store = support.folder() .. "/own"
    local ran = stat({ "--launch", launcher, "--store", store, "true" }, { env = RANK })
    assert.equal(0, ran.status, ran.err)
    local found = {}
    local path = support.output_of("ls " .. store .. "*"):match "[^\n]+"
    require("pmclua.store").open(path).each(function(record)
      found[#found + 1] = record.task or (record.counts[1] and "sum" or record.incomplete)
    end)
    return found
  end

  it("is not numbered as that is", function()
    assert.same({ "sum", 0 }, counts "")
    assert.same({ "sum", 0 }, counts "env A=1")
    assert.same({ "sum", 0, 1 }, counts(LAUNCHER .. " 2"))
  end)
end)

describe("what a launch is asked", function()
  it("compares two programs, rank by rank", function()
    local ran = support.pmclua({ "compare", "-r", "8", "-e", "page-faults", "--launch",
      LAUNCHER .. " {ranks}", "--ranks", "1,2", program(), "ls /" }, { env = OF_OTHERS })
    assert.equal(0, ran.status, ran.err)
    assert.matches("ranks", ran.out)
    assert.matches("MORE", ran.out)
  end)

  it("is none of what is run beside an experiment, or over time", function()
    local command = pmc.command { "true", launch = LAUNCHER .. " 2" }
    local said = "'true' is launched by '.*launcher 2': only an experiment's workloads are"
    local prepared = { events = "page-faults", prepare = command }
    assert.matches(said, support.message_of(pmc.measure, "true", prepared))
    assert.matches(said, support.message_of(pmc.monitor, { command = command, events = "page-faults" }))
  end)

  it("is refused where it cannot be", function()
    local cases = { [{ "--ranks", "2", "true" }] = "%-%-ranks goes with %-%-launch",
      [{ "--launch", "srun -n {ranks}", "true" }] = "how many are {ranks}",
      [{ "--launch", LAUNCHER .. " {ranks}", "--ranks", "two", "true" }] = "numbers of ranks, not 'two'",
      [{ "--launch", LAUNCHER .. " 2", "-I", "100", "true" }] = "neither %-I",
      [{ "--launch", LAUNCHER .. " 2", "-p", "1" }] = "goes with none of %-p",
      [{ "--launch", "/etc/passwd", "true" }] = "cannot execute '/etc/passwd'",
      [{ "--launch", LAUNCHER .. " 2", "--pin", "0", "true" }] = "launch and pin cannot be combined" }
    for words, said in pairs(cases) do
      local ran = stat(words)
      assert.not_equal(0, ran.status)
      assert.matches(said, ran.err)
    end
    assert.matches("launch and delay cannot be combined", support.message_of(pmc.experiment, {
      workloads = { pmc.command { "true", launch = "" } }, delay = "1s" }))
  end)

  it("has a rank's CPU and PMU be those that the events were encoded for", function()
    local raw = { name = "r3c", attr = { type = 4 } }
    local here = { host = "n2", facts = { ["/proc/cpuinfo"] = support.read "/proc/cpuinfo" } }
    assert.is_nil(launches.unlike(raw, here))
    local there = { host = "n2",
      facts = { ["/proc/cpuinfo"] = "vendor_id\t: Other\ncpu family\t: 6\nmodel\t: 1\n" } }
    assert.matches("n2 has another CPU %(Other 6 1.*r3c means something else", launches.unlike(raw, there))
    assert.is_nil(launches.unlike({ name = "page-faults", attr = { type = 1 } }, there))
  end)
end)

describe("pmclua-runner task", function()
  local function task(folder)
    return support.run { require("pmclua.host.paths").runner(), "task", folder, "echo", "ran" }
  end

  local function refused(folder, said)
    local ran = task(folder)
    assert.same({ 125, "" }, { ran.status, ran.out })
    assert.matches(said, ran.err)
  end

  it("runs nothing by a folder or plan that others could write, or that is damaged", function()
    local folder = support.folder()
    refused(folder .. "/none", "does not see")
    local own = folder .. "/own"
    require("pmclua.core").mkdir(own, 448)
    refused(own, "has no plan")
    support.write(own .. "/plan", "nonsense")
    os.execute("chmod 600 " .. own .. "/plan")
    refused(own, "damaged")
    os.execute("chmod 620 " .. own .. "/plan")
    refused(own, "has no plan of this user's alone")
    os.execute(("mv %s/plan %s/other; ln -s ../other %s/plan"):format(own, folder, own))
    refused(own, "has no plan")
    os.execute("chmod 750 " .. own)
    refused(own, "not this user's alone")
    os.execute(("chmod 700 %s; ln -s own %s/link"):format(own, folder))
    refused(folder .. "/link", "does not see")
  end)

  it("is no message of a file that says nothing true", function()
    local core = require "pmclua.core"
    for _, text in ipairs { "", "x", ("\255"):rep(64), ("\0"):rep(64) } do assert.is_nil(core.task(text)) end
    local whole = core.message("task", 7):text("fact", "A=1"):packed()
    assert.same({ launch = 7, facts = { A = "1" }, results = {}, is_whole = false }, core.task(whole))
    for count = 1, #whole - 1 do assert.is_nil(core.task(whole:sub(1, count))) end
    assert.same({}, core.task(whole .. whole:sub(1, 9)).results)
  end)
end)

describe("launchers of MPI", function()
  for name, words in pairs { openmpi = "--allow-run-as-root --oversubscribe", mpich = "" } do
    it("start each rank of " .. name .. " behind its runner", function()
      local mpirun = "mpirun." .. name
      support.need(support.have(mpirun), "there is no " .. mpirun)
      local ran = stat({ "--launch", ("%s %s -n 3"):format(mpirun, words), "--marks", "-j", program() })
      assert.equal(0, ran.status, ran.err)
      local touch = lists.find(json.decode(ran.err).cells, function(cell) return cell.region == "touch" end)
      assert.equal(60, touch.values.page_faults.median)
    end)
  end
end)
