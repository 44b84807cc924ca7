-- Ranks of a parallel job that run together: each block begins when all have ended the one before.

local support = require "tests.support"
local with = require("tests.support.jobs").with

describe("ranks that run together", function()
  it("begin each block when all have ended the one before, and says how far apart", function()
    local folder = support.folder()
    support.write(folder .. "/sweep.lua", [[
      local length = os.getenv "PMI_RANK" == "1" and "0.02" or "0"
      return require("pmclua").experiment { workloads = { nap = "sleep " .. length, yes = "true" },
        events = "page-faults", repetitions = 4, warmup = 1 }
    ]])
    local got = support.run({ "sh", "-c", [[
      for rank in 0 1 2; do
        PMI_RANK=$rank PMI_SIZE=3 "$1" sweep.lua --job job --together --quiet & pids="$pids $!"
      done
      for pid in $pids; do wait "$pid" || exit 1; done
    ]], "sh", support.program }, { folder = folder, env = with() })
    assert.same({ 0, "" }, { got.status, got.err })
    local first, last = {}, {}
    for rank = 1, 3 do
      require("pmclua.store").open(("%s/job/shard-%d.jsonl"):format(folder, rank)).each(function(record)
        local block = record.index + (record.warmup and 0 or 1)
        first[block] = math.min(first[block] or math.huge, record.start_ns)
        last[block] = math.max(last[block] or 0, record.start_ns + record.wall_ns)
      end)
    end
    for block = 2, 5 do assert.is_true(first[block] >= last[block - 1], block) end
    assert.matches("3 ranks began each block at a barrier, within .- %(median of %d blocks",
      (support.pmclua({ "report", folder .. "/job" }).out:gsub("%s+", " ")))
  end)

  it("do not wait for one that has ended", function()
    local job = { folder = support.folder(), state = function() return { state = "running" } end }
    local function barrier_of(rank)
      return support.with_env(with { PMI_RANK = rank, PMI_SIZE = "2" }, function()
        return require("pmclua.job.barrier").new(job)
      end)
    end
    local one, other = barrier_of "0", barrier_of "1"
    other:close()
    for block = 1, 2 do one:await(block) end
    assert.same({}, one.late)
    one:close()
  end)

  local function barriers_of(job, numbers, size)
    return require("pmclua.base.lists").map(numbers, function(rank)
      return support.with_env(with { PMI_RANK = tostring(rank), PMI_SIZE = tostring(size) }, function()
        return require("pmclua.job.barrier").new(job)
      end)
    end)
  end

  it("read the file of the one that leads alone, and have another where that has left", function()
    local core = require "pmclua.core"
    local job = { folder = support.folder(), state = function() return { state = "running" } end }
    local first, second, last = unpack(barriers_of(job, { 0, 1, 999 }, 1000))
    first.others, second.others = {}, { [0] = second.others[0] }
    first:await(1)
    local opened, open = 0, core.open_plain
    core.open_plain = function(path)
      opened = opened + 1
      return open(path)
    end
    local ok, why = pcall(last.await, last, 1)
    core.open_plain = open
    assert.is_true(ok, why)
    assert.is_true(opened <= 2, opened)
    first:close()
    second:await(2)
    last:await(2)
    assert.same({ false, true, false, {} }, { last.leads, second.leads, last.others[0] ~= nil, last.late })
    for _, one in ipairs { second, last } do one:close() end
  end)

  it("may be more than 8,000", function()
    local job = { folder = support.folder(), state = function() return { state = "complete" } end }
    support.with_env(with { PMI_RANK = "0", PMI_SIZE = "9000" }, function()
      local barrier = require("pmclua.job.barrier").new(job)
      barrier:await(1)
      local own = barrier.all[1]
      for i = 2, 9000 do barrier.all[i] = own end
      assert.matches("9000 ranks began each block at a barrier, within 0 ", barrier:remarks()[1])
      barrier:close()
    end)
  end)
end)
