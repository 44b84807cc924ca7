-- An experiment in shards: each process runs its share, the folder has what all of them did.

local lock = require "pmclua.job.lock"
local owners = require "pmclua.job.owner"
local pmc = require "pmclua"
local share = require "pmclua.job.share"
local support = require "tests.support"
local with = require("tests.support.jobs").with

local function task(id, first, last, count)
  return with { SLURM_ARRAY_TASK_ID = id, SLURM_ARRAY_TASK_MIN = first, SLURM_ARRAY_TASK_MAX = last,
    SLURM_ARRAY_TASK_COUNT = count or last - first + 1, SLURM_JOB_ID = 900 + id }
end

-- A script whose first run is killed, where a level is named, in the middle of that level's repetitions.
local SCRIPT = [[
local pmc = require "pmclua"
local count = 0
return pmc.experiment {
  workloads = { "true", { name = "env", "env", "-i" } }, baseline = BASELINE, events = "page-faults",
  factors = { { "n", { 1, 2, 3, 4, 5 } } }, repetitions = 6, warmup = 1,
  prepare = function(levels)
    local victim = os.getenv "KILL_AT"
    count = count + (victim == tostring(levels.n) and 1 or 0)
    if victim and count == 6 then os.execute("kill -9 " .. io.open("/proc/self/stat"):read "*n") end
  end,
}
]]

local function script(baseline)
  local folder = support.folder()
  support.write(folder .. "/sweep.lua", (SCRIPT:gsub("BASELINE", baseline or '"true"')))
  return folder
end

local function run(folder, words, env)
  return support.run({ support.program, "sweep.lua", "--job", "job", unpack(words) }, { folder = folder,
    env = env or with() })
end

local function status(folder, ...)
  return support.run({ support.program, "status", "job", ... }, { folder = folder, env = with() })
end

-- Every repetition of a job once: how many there are, and how many more than once.
local function repetitions(folder)
  local seen, count, twice = {}, 0, 0
  for name in require("lfs").dir(folder .. "/job") do
    if name:find "%.jsonl$" then
      require("pmclua.store").open(folder .. "/job/" .. name).each(function(record)
        local key = ("%s %d %d %s"):format(record.workload, record.levels.n, record.index,
          tostring(record.warmup))
        count, twice = count + 1, twice + (seen[key] and 1 or 0)
        seen[key] = true
      end)
    end
  end
  return count, twice
end

local ALL = 2 * 5 * 7            -- workloads, levels, repetitions with the warm-up

describe("a job", function()
  it("is one sweep of all its shards, told apart by nothing", function()
    local folder = script()
    for i = 1, 3 do assert.equal(0, run(folder, { "--shard", i .. "/3" }).status) end
    assert.same({ ALL, 0 }, { repetitions(folder) })
    local result = pmc.load(folder .. "/job")
    assert.equal(10, #result:list())
    assert.equal(1, #result.header.factors)
    assert.same({}, result.problems)
    assert.equal(5, #result:compare().pairs)
    assert.equal(6, result:compare().pairs[1].pairs)
    assert.matches("\n5 ", pmc.load(folder .. "/job"):report())
  end)

  it("has one seed, whoever begins", function()
    local folder = script()
    for i = 2, 1, -1 do run(folder, { "--shard", i .. "/2" }) end
    local seeds = {}
    for i = 1, 2 do seeds[i] = pmc.load(("%s/job/shard-%d.jsonl"):format(folder, i)).header.seed end
    assert.equal(seeds[1], seeds[2])
  end)

  it("does nothing where a shard is complete", function()
    local folder = script()
    run(folder, { "--shard", "1/5" })
    local before = support.read(folder .. "/job/shard-1.jsonl")
    local again = run(folder, { "--shard", "1/5" })
    assert.equal(0, again.status)
    assert.matches("complete: nothing to do", again.err)
    assert.equal(before, support.read(folder .. "/job/shard-1.jsonl"))
  end)

  it("goes on with a shard that was killed: nothing is lost, nothing is there twice", function()
    local folder = script()
    for i = 1, 5 do run(folder, { "--shard", i .. "/5" }, with { KILL_AT = i < 5 and i or nil }) end
    local killed = status(folder)
    assert.equal(3, killed.status)
    assert.matches("failed +4", killed.out)
    assert.equal("1-4\n", status(folder, "--array").out)
    for i = 1, 5 do assert.equal(0, run(folder, { "--shard", i .. "/5" }).status) end
    assert.equal(0, status(folder).status)
    assert.same({ ALL, 0 }, { repetitions(folder) })
  end)

  it("survives two arrays at once on one folder", function()
    local folder = script()
    local words = {}
    for _ = 1, 2 do
      for i = 1, 3 do
        words[#words + 1] = ("%s sweep.lua --job job --quiet --shard %d/3 &"):format(support.program, i)
      end
    end
    words[#words + 1] = "wait"
    local both = support.run({ "sh", "-c", table.concat(words, "\n") }, { folder = folder, env = with() })
    assert.equal("", both.err)
    assert.same({ ALL, 0 }, { repetitions(folder) })
    assert.equal(0, status(folder).status)
  end)

  it("says of missing shards that they are missing", function()
    local folder = script()
    run(folder, { "--shard", "2/4" })
    assert.matches("missing shards: 1,3-4 (3 of 4", pmc.load(folder .. "/job"):report(), 1, true)
    local json = require("dkjson").decode(status(folder, "--json").out)
    assert.equal("missing", json.list[1].state)
    assert.equal("complete", json.list[2].state)
  end)

  it("is refused a folder without a name, which would be that of the root", function()
    local refused = run(script(), { "--job", "", "--shard", "1/2" })
    assert.same({ 2, "pmclua: --job takes a folder, not ''\n" }, { refused.status, refused.err })
  end)

  it("quotes a folder's name in the commands that it tells", function()
    local folder, words = script(), { support.program, "sweep.lua", "--shard", "1/2", "--job", "my job" }
    local begun = support.run(words, { folder = folder, env = with() })
    assert.matches("`pmclua status 'my job'` says what is missing, `pmclua report 'my job'`", begun.err, 1,
      true)
    local said = support.run({ support.program, "report", "my job" }, { folder = folder, env = with() })
    assert.matches("see `pmclua status 'my job'`", said.out, 1, true)
  end)

  it("keeps what failed, and why", function()
    local folder = support.folder()
    support.write(folder .. "/sweep.lua", [[
      return require("pmclua").experiment { workloads = "false", events = "page-faults", repetitions = 3 }
    ]])
    assert.equal(1, run(folder, { "--shard", "1/1" }).status)
    assert.matches("failed +1 +1: false: ", status(folder).out)
  end)
end)

describe("the shard of a process", function()
  it("is that of its array task", function()
    local folder = script()
    for id = 10, 14 do assert.equal(0, run(folder, {}, task(id, 10, 14)).status) end
    assert.same({ ALL, 0 }, { repetitions(folder) })
    assert.matches("complete +5 +10%-14", status(folder).out)
  end)

  it("stays the same in an array of the missing ones alone", function()
    local folder = script()
    for id = 0, 4, 2 do run(folder, {}, task(id, 0, 4)) end
    assert.equal("1,3\n", status(folder, "--array").out)
    for id = 1, 3, 2 do assert.equal(0, run(folder, {}, task(id, 1, 3, 2)).status) end
    assert.same({ ALL, 0 }, { repetitions(folder) })
  end)

  it("is not guessed: of an irregular array, of nothing, of a task of another job", function()
    local folder = script()
    assert.equal(2, run(folder, {}, task(7, 1, 9, 3)).status)
    assert.equal(2, run(folder, {}).status)
    assert.equal(2, run(folder, { "--shard", "0/3" }).status)
    assert.equal(2, run(folder, { "--shard", "4/3" }).status)
    assert.equal(2, run(folder, { "--shard", "three" }).status)
    run(folder, { "--shard", "1/3" })
    local other = run(folder, {}, task(9, 9, 9))
    assert.equal(1, other.status)
    assert.matches("array task 9 is none of this job: it has 1-3", other.err, 1, true)
  end)

  it("is its rank in a step, and not in a batch script", function()
    local folder = script()
    local in_step = with { SLURM_PROCID = 1, SLURM_STEP_ID = 0, SLURM_STEP_NUM_TASKS = 5, SLURM_JOB_ID = 5 }
    assert.equal(0, run(folder, {}, in_step).status)
    assert.is_true(support.exists(folder .. "/job/shard-2.jsonl"))
    local in_script = with { SLURM_PROCID = 0, SLURM_NTASKS = 5, SLURM_STEP_ID = 4294967291 }
    assert.equal(2, run(script(), {}, in_script).status)
  end)

  it("has nothing to run where there are more shards than parts", function()
    local folder = script()
    local none = run(folder, { "--shard", "7/9" })
    assert.equal(0, none.status)
    assert.matches("nothing to run: there are 5 parts", none.err)
  end)

  it("goes on with another CPU's shard where it is told to", function()
    local folder = script()
    local path = folder .. "/job/shard-1.jsonl"
    run(folder, { "--shard", "1/5" }, with { KILL_AT = "1" })
    support.write(path, (support.read(path):gsub('"cpu":"[^"]*"', '"cpu":"another CPU"', 1)))
    local refused = run(folder, { "--shard", "1/5" })
    assert.equal(1, refused.status)
    assert.matches("--any-cpu does it all the same", refused.err, 1, true)
    assert.equal(1, run(folder, { "--shard", "1/5", "--any-host" }).status)
    local done = run(folder, { "--shard", "1/5", "--any-cpu" })
    assert.same({ 0, "" }, { done.status, done.err:match "cannot resume" or "" })
    assert.same({ 14, 0 }, { repetitions(folder) })
    assert.equal(0, run(folder, { "--shard", "2/5" }).status)
  end)

  it("is of the same script, arguments and division as the others", function()
    local folder = script()
    run(folder, { "--shard", "1/3" })
    for _, words in ipairs { { "--shard", "1/4" }, { "--shard", "1/3", "--shard-by", "blocks" },
      { "--shard", "1/3", "--repetitions", "9" } } do
      local refused = run(folder, words)
      assert.equal(1, refused.status)
      assert.matches("use another folder", refused.err)
    end
    support.write(folder .. "/sweep.lua", support.read(folder .. "/sweep.lua") .. "\n-- changed\n")
    assert.matches("another text of sweep.lua", run(folder, { "--shard", "2/3" }).err)
  end)
end)

describe("a share", function()
  local function cells()
    local list = {}
    for n = 1, 4 do
      for _, name in ipairs { "a", "b" } do
        list[#list + 1] = { index = #list + 1, workload = { name = name }, levels = { n = n } }
      end
    end
    return list
  end

  local function sizes(declaration, count)
    local list = {}
    for index = 1, count do
      declaration.share = { by = "cells", index = index, count = count }
      list[index] = #share.cells(declaration, cells())
    end
    return list
  end

  it("has a cell with its baseline", function()
    assert.same({ 2, 2, 2, 2, 0 }, sizes({ baseline = { workload = "a" } }, 5))
    assert.same({ 4, 4, 0 }, sizes({ baseline = { n = 2 } }, 3))
    assert.same({ 8, 0 }, sizes({ baseline = { n = 2, workload = "a" } }, 2))
    assert.same({ 3, 3, 2 }, sizes({}, 3))
  end)

  it("by blocks has all cells and a part of the repetitions", function()
    local folder = script()
    for i = 1, 4 do
      assert.equal(0, run(folder, { "--shard", i .. "/4", "--shard-by", "blocks" }).status)
    end
    local result = pmc.load(folder .. "/job")
    assert.equal(6, #result:values("page_faults", { workload = "true", n = 3 }))
    assert.equal(6, result:compare().pairs[1].pairs)
  end)
end)

describe("a shard's lock", function()
  local function owner(changes)
    local one = owners.here()
    for name, value in pairs(changes) do one[name] = value end
    return one
  end

  local function held_by(changes)
    local folder = support.folder()
    support.write(folder .. "/s.1", require("pmclua.base.json").encode(owner(changes)))
    return folder
  end

  it("is had by one, until it lets go", function()
    local folder = support.folder()
    local mine = lock.take(folder, "s")
    local none, who, state = lock.take(folder, "s")
    assert.is_nil(none)
    assert.equal(require("pmclua.core").pid(), who.pid)
    assert.equal("running", state)
    mine:release()
    assert.is_table(lock.take(folder, "s"))
  end)

  it("is taken from a process that has ended, and from one before a reboot or a requeue", function()
    assert.is_table(lock.take(held_by { pid = 2 ^ 22 + 1 }, "s"))
    assert.is_table(lock.take(held_by { start = 1 }, "s"))
    assert.is_table(lock.take(held_by { boot = "another" }, "s"))
    support.with_env({ SLURM_JOB_ID = "7", SLURM_RESTART_COUNT = "1" }, function()
      assert.is_table(lock.take(held_by { host = "n9", boot = "another", job = "7", restart = 0 }, "s"))
    end)
  end)

  it("stays that of a process elsewhere, which is named", function()
    support.with_env({ SLURM_JOB_ID = false, PATH = "/nowhere" }, function()
      local none, who, state = lock.take(held_by { host = "n9", boot = "another", pid = 12, job = "7" }, "s")
      assert.is_nil(none)
      assert.is_nil(state)
      assert.equal("n9, process 12, Slurm job 7", owners.name(who))
    end)
  end)
end)

describe("folders of jobs", function()
  it("are compared with each other and with files, each by its own name", function()
    local folder = script()
    for _, job in ipairs { "job", "job2" } do
      for i = 1, 2 do
        support.run({ support.program, "sweep.lua", "--job", job, "--shard", i .. "/2" }, { folder = folder,
          env = with() })
      end
    end
    support.run({ support.program, "sweep.lua", "--store", "plain.jsonl", "--quiet" }, { folder = folder,
      env = with() })
    local result = pmc.load { folder .. "/job", folder .. "/plain.jsonl" }
    assert.same({ "job", "plain" }, result.factor_by_name.file[2])
    assert.equal(20, #result:list())
    for _, cell in ipairs(result:list()) do assert.equal(6, cell.repetitions) end
    local compared = support.run({ support.program, "compare", "job", "job2" }, { folder = folder,
      env = with() })
    assert.equal(0, compared.status)
    assert.matches("baseline file = job\n", compared.out, 1, true)
    assert.matches("corrected for 10 comparisons", compared.out, 1, true)
    local gated = support.run({ support.program, "gate", "job", "job2", "-l", "page_faults <= +50%" },
      { folder = folder, env = with() })
    assert.equal(0, gated.status, gated.err)
    os.remove(folder .. "/job/shard-2.jsonl")
    assert.matches("job: missing shards: 2", table.concat(pmc.load { folder .. "/job",
      folder .. "/plain.jsonl" }.problems, "\n"))
  end)
end)
