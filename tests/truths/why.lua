-- why.lua: does `pmclua why` name what was planted?
--
-- usage: ./pmclua tests/truths/why.lua [ROUNDS] [PAIRS] [NAME...]     (make check-why)
-- Each pair of programs is held against each other ROUNDS times (20), PAIRS (30) interleaved pairs each. The planted
-- line must come first in 19 of 20, and nothing may be named for equals in 19 of 20.

dofile((debug.getinfo(1, "S").source:sub(2):gsub("truths/[^/]*$", "")) .. "support/program.lua")

local why = require "tests.support.why"

local rounds, pairs_each = tonumber(arg[1]) or 20, tonumber(arg[2]) or 30
local names = #arg > 2 and { unpack(arg, 3) } or why.names

local function round_of(name)
  local found = why.find(name, { repetitions = pairs_each, budget = 600 })
  local gap = 0
  for _, row in ipairs(found.time.rest) do gap = math.max(gap, math.abs(row.a), math.abs(row.b)) end
  return why.is_right(name, found), found, gap / found.time.total.a
end

local failed = false
for _, name in ipairs(names) do
  local right, worst = 0, 0
  for _ = 1, rounds do
    local is_right, found, gap = round_of(name)
    right, worst = right + (is_right and 1 or 0), math.max(worst, gap)
    if not is_right then print("  " .. name .. ": " .. found.sentence) end
  end
  print(("%-14s %d of %d; times add up within %.2g %%"):format(name, right, rounds, 100 * worst))
  failed = failed or right < math.ceil(0.95 * rounds) or worst > 0.01
end
why.clean_up()
os.exit(failed and 1 or 0)
