-- A run's numbers: in memory while they are few, in their file while they are many.

local pmc = require "pmclua"
local made = require "tests.support.results"
local results = require "pmclua.result"
local spill = require "pmclua.experiment.spill"
local result_file = require "pmclua.experiment.result_file"
local support = require "tests.support"

local FEW = 3

-- Stores and holds records of which a result holds FEW at most; `before` is called before each of them.
local function take(count, before, is_asked)
  local header, path = made.header(), support.folder() .. "/run.jsonl"
  local result = results.new(header)
  local file = result_file.open({ store = path }, header)
  local held = spill.new(result, file, is_asked)
  if not is_asked then held.most = FEW end
  local most = 0
  for i = 1, count do
    if before then before(i, file) end
    local record = made.record({ 7, 1000 + i, 5 }, { iterations = 1 })
    record.index = i
    held:add(record)
    file:add(record)
    most = math.max(most, #result:values("instructions", { n = 256 }))
  end
  file:finish "complete"
  held:finish()
  return result, most, file
end

local function expected(count)
  local values = {}
  for i = 1, count do values[i] = 1000 + i end
  return values
end

describe("a result of many repetitions", function()
  it("holds few of them while it runs, and all of them at the end", function()
    local result, most = take(20)
    assert.same(expected(20), result:values("instructions", { n = 256 }))
    assert.is_true(most <= FEW)
  end)

  it("holds all of them where a rule looks at them while it runs", function()
    local result, most = take(20, nil, true)
    assert.same(expected(20), result:values("instructions", { n = 256 }))
    assert.equal(20, most)
  end)

  it("has every one of them where the disk is full halfway through a line", function()
    local real
    local result, _, file = take(20, function(i, file)
      if i ~= 5 then return end
      file.writer:flush()
      real = file.writer.lines
      file.writer.lines = {
        -- One whole line, and a part of the next that cannot be taken back.
        append = function(_, text)
          local whole = text:find "\n"
          real:append(text:sub(1, whole + 10))
          return whole, "ENOSPC", 28
        end,
        close = function() real:close() end,
      }
    end)
    assert.matches("No space left", tostring(file.problem))
    assert.same(expected(20), result:values("instructions", { n = 256 }))
  end)

  it("is what its file says after a real run", function()
    local path, count = support.folder() .. "/real.jsonl", 50100
    local kernel = pmc.kernel { name = "nothing", symbol = "nothing",
      code = "#include <stdint.h>\nvoid nothing(void *state, uint64_t n) { (void)state; (void)n; }" }
    local options = { events = { "page-faults" }, repetitions = count, warmup = 0, iterations = 1,
      quiet = true,
      store = path }
    local found, stored = pmc.measure(kernel, options):values "page_faults",
      pmc.load(path):values "page_faults"
    assert.same({ count, count }, { #found, #stored })
    for i = 1, count do
      if found[i] ~= stored[i] then assert.equal(stored[i], found[i]) end
    end
  end)
end)
