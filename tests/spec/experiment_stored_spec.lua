-- Experiments that are stored as they run: read again, resumed, cut short at any moment.

local pmc = require "pmclua"
local support = require "tests.support"

local message_of = support.message_of

local function run(spec, options)
  options = options or {}
  options.quiet = true
  if options.store == nil and not options.resume then options.store = false end
  return pmc.experiment(spec):run(options)
end

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
    assert.matches("it is of another experiment", message_of(run, other, { resume = path }))
    other = spec(4)
    other.inherit = false
    assert.matches("it is of another experiment", message_of(run, other, { resume = path }))
    local text = support.read(path):gsub('"hostname":"[^"]*"', '"hostname":"elsewhere"', 1)
    support.write(path, text)
    assert.matches("it was measured elsewhere", message_of(run, spec(4), { resume = path }))
    text = text:gsub('"hostname":"elsewhere"', '"hostname":"unknown"', 1)
    support.write(path, text)
    assert.equal("complete", run(spec(4), { resume = path }).status)
  end)

  it("keeps every finished repetition when it is killed, and ends well on SIGINT and SIGTERM", function()
    local folder = support.folder()
    local script = support.write(folder .. "/slow.lua", [[
      local pmc = require "pmclua"
      return pmc.experiment { events = { "page-faults" }, workloads = { "sleep 0.05" }, repetitions = 400,
        warmup = 0 }
    ]])
    for signal, status in pairs { INT = 130, TERM = 143, KILL = 137 } do
      local path = ("%s/%s.jsonl"):format(folder, signal)
      -- In the foreground it sends one signal; else two, and the second ends pmclua while it reports.
      local result = support.run { "timeout", "--preserve-status", "--foreground", "-s", signal, "1.2",
        support.program, script, "--store", path, "--quiet", "--output", folder .. "/out" }
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
      [[/ran ] && exec sleep 30; touch ]] .. folder .. [[/ran", shell = true, name = "w" } },
        repetitions = 2, warmup = 0 }
    ]])
    local got = support.run { "timeout", "--preserve-status", "-s", "KILL", "2", support.program, script,
      "--store", path }
    assert.equal(137, got.status)
    assert.equal(1, #pmc.load(path):values "page_faults")
  end)
end)
