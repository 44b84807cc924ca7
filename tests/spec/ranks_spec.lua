-- Several processes of one job: each rank stores its own result, which are read as one.

local pmc = require "pmclua"
local rank = require "pmclua.host.rank"
local support = require "tests.support"

local NONE = { OMPI_COMM_WORLD_RANK = false, PMI_RANK = false, PMIX_RANK = false, SLURM_PROCID = false,
  SLURM_STEP_ID = false }

local function as(variables, fn)
  local all = {}
  for name, value in pairs(NONE) do all[name] = value end
  for name, value in pairs(variables) do all[name] = value end
  return support.with_env(all, fn)
end

local function hostname() return require("pmclua.host.machine").line "/proc/sys/kernel/hostname" end

describe("a rank", function()
  it("is what mpirun, MPICH's and Slurm's launchers say", function()
    for _, name in ipairs { "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK" } do
      as({ [name] = "3" }, function() assert.equal(3, (rank.number())) end)
    end
    as({ SLURM_PROCID = "3", SLURM_STEP_ID = "0", SLURM_STEP_NUM_TASKS = "8" }, function()
      assert.same({ 3, 8 }, { rank.number() })
    end)
    as({}, function() assert.is_nil(rank.number()) end)
    as({ PMI_RANK = "x" }, function() assert.is_nil(rank.number()) end)
    as({ PMI_RANK = "1", PMI_SIZE = "99999999999999" }, function() assert.same({ 1 }, { rank.number() }) end)
  end)

  it("is none in a batch script, for which Slurm sets SLURM_PROCID, too", function()
    as({ SLURM_PROCID = "0" }, function() assert.is_nil(rank.number()) end)
    as({ SLURM_PROCID = "0", SLURM_STEP_ID = "4294967291" }, function() assert.is_nil(rank.number()) end)
  end)

  it("has one name of a launch, another where Slurm starts its job again", function()
    local seen = {}
    for _, again in ipairs { false, "1", "2" } do
      support.with_env({ SLURM_JOB_ID = "7", SLURM_STEP_ID = "0", SLURM_RESTART_COUNT = again,
        PMIX_NAMESPACE = false, OMPI_MCA_ess_base_jobid = false }, function()
        assert.equal(rank.launch(), rank.launch())
        seen[rank.launch()] = true
      end)
    end
    assert.equal(3, #require("pmclua.base.lists").keys(seen))
  end)

  it("stands with its host in names of files", function()
    as({ PMI_RANK = "3" }, function()
      local own = hostname():gsub("[^%w._-]+", "-") .. "-rank3"
      assert.equal("matrix-" .. own, rank.name "matrix")
      assert.equal("a.b/out-" .. own .. ".jsonl", rank.path "a.b/out.jsonl")
      assert.equal("a.b/out-" .. own, rank.path "a.b/out")
    end)
    as({}, function() assert.equal("out.jsonl", rank.path "out.jsonl") end)
  end)

  it("stands in the header and in the report of what it stored", function()
    local path = support.folder() .. "/out.jsonl"
    as({ SLURM_PROCID = "5", SLURM_STEP_ID = "0" }, function()
      local r = pmc.measure("true", { events = "page-faults", repetitions = 6, store = path, quiet = true })
      assert.matches("%-rank5%.jsonl$", r.path)
      assert.equal(5, pmc.load(r.path).header.rank)
      assert.matches("rank 5, on " .. hostname(), tostring(r), 1, true)
    end)
  end)

  it("writes what it says of limits to its own file", function()
    local path = support.folder() .. "/gate.json"
    as({ PMI_RANK = "2" }, function()
      local r = pmc.measure("true", { events = "page-faults", repetitions = 2, store = false, quiet = true })
      r:gate { limits = { "page_faults < 100000" } }:write(path)
      assert.matches('"pass"', support.read(rank.path(path)), 1, true)
    end)
    assert.is_false(support.exists(path))
  end)

  it("resumes its own file", function()
    local path = support.folder() .. "/out.jsonl"
    as({ PMI_RANK = "1" }, function()
      local spec = { events = "page-faults", repetitions = 6, store = path, quiet = true, seed = 3 }
      local first = pmc.measure("true", spec)
      support.write(first.path, (support.read(first.path):gsub('{"kind":"end".*$', "")))
      spec.store, spec.resume = nil, path
      assert.equal(first.path, pmc.measure("true", spec).path)
    end)
  end)
end)

describe("the ranks of a launch", function()
  local function stat(number, words, options)
    local variables = { PMI_RANK = number, PMI_SIZE = "4" }
    for name, value in pairs(NONE) do variables[name] = variables[name] or value end
    return support.pmclua({ "stat", "-e", "page-faults", unpack(words) },
      support.merged({ env = variables }, options))
  end

  it("report once, and each to a file of its own", function()
    local folder = support.folder()
    local first, other = stat("0", { "true" }), stat("2", { "true" })
    assert.matches("page%-faults", first.err)
    assert.matches("rank 0 of 4 alone; the others' are not kept", (first.err:gsub("%s+", " ")))
    assert.same({ 0, "", "" }, { other.status, other.out, other.err })
    for _, number in ipairs { "0", "2" } do
      local ran = stat(number, { "-o", "out.txt", "--store", "out.jsonl", "true" }, { folder = folder })
      assert.equal(0, ran.status, ran.err)
      local name = ("%s/out-%s-rank%s"):format(folder, hostname(), number)
      assert.matches("page%-faults", support.read(name .. ".txt"))
      assert.is_true(support.exists(name .. ".jsonl"))
    end
    assert.is_false(support.exists(folder .. "/out.txt"))
  end)

  it("end as their programs did, and say what went wrong", function()
    assert.equal(3, stat("2", { "sh", "-c", "exit 3" }).status)
    local missing = stat("2", { "/no/such/program" })
    assert.equal(127, missing.status)
    assert.matches("no such file", missing.err)
  end)

  it("have one run with marks, or are told how to have more", function()
    local refused = stat("0", { "-r", "2", "--marks", "true" })
    assert.equal(125, refused.status)
    assert.matches("MPI can begin once in a launch.*%-%-launch 'srun %-n 4'", (refused.err:gsub("%s+", " ")))
    assert.equal(0, stat("0", { "--marks", "true" }).status)
  end)

  it("of an experiment report once, too", function()
    local script = support.write(support.folder() .. "/one.lua", [[
      return require("pmclua").experiment { workloads = { "true" }, events = "page-faults", repetitions = 2 }
    ]])
    for number, said in pairs { ["0"] = "page%-faults", ["1"] = "^$" } do
      local variables = { PMI_RANK = number, PMI_SIZE = "2" }
      for name, value in pairs(NONE) do variables[name] = variables[name] or value end
      local ran = support.pmclua({ script, "--no-store", "--quiet" }, { env = variables })
      assert.equal(0, ran.status, ran.err)
      assert.matches(said, ran.out)
    end
  end)
end)

describe("under mpirun", function()
  local ROOT = { OMPI_ALLOW_RUN_AS_ROOT = "1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM = "1" }

  it("two ranks write two files, which are reported, compared and merged", function()
    support.need(support.have "mpirun", "no mpirun (tests/packages others)")
    local folder = support.folder()
    local script = support.write(folder .. "/job.lua", [[
      return require("pmclua").experiment { workloads = { "true", "ls /" }, events = "page-faults",
        repetitions = 6 }
    ]])
    local job = support.run({ "mpirun", "--oversubscribe", "-n", "2", support.program, script, "--quiet",
      "--store", folder .. "/out.jsonl" }, { env = ROOT, limit_s = 60 })
    assert.equal(0, job.status, job.err)
    local files = {}
    for name in require("lfs").dir(folder) do
      if name:find "%-rank%d%.jsonl$" then files[#files + 1] = folder .. "/" .. name end
    end
    table.sort(files)
    assert.equal(2, #files)
    assert.matches("rank0.jsonl$", files[1])
    local both = support.pmclua { "report", files[1], files[2] }
    assert.matches("rank +true +± +ls / +±\n +0 +%d[^\n]+\n +1 +%d", both.out)
    local by_host = support.pmclua { "report", "--by", "host", files[1], files[2] }
    assert.matches("12 repetitions", by_host.out, 1, true)
    local compared = support.pmclua { "compare", files[1], files[2] }.out
    assert.matches("rank = 1 against rank = 0", compared, 1, true)
    assert.equal(0, support.pmclua({ "merge", "-o", folder .. "/all.jsonl", files[1], files[2] }).status)
    assert.equal(both.out, support.pmclua({ "report", folder .. "/all.jsonl" }).out)
  end)
end)
