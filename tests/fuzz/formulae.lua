--- formulae.lua: mutated formulae of metrics, conditions, predictions and limits.

local input = require "tests.fuzz.input"
local metric = require "pmclua.metric"

local hold, one_of = input.hold, input.one_of

local FORMULAE = { "ipc", "mpki = 1000 * cache_misses / instructions",
  "x = (a - -b) / max(c, 1e-3, d.e:u) [ns]",
  "share = 100 * log(a) / sqrt(abs(b)) [%]", "context_switches > 0 and a <= b or c ~= 1",
  "instructions == 3 * iterations + 2", "cycles == 3 +- 2%", "instructions <= +1%", "page_faults <= 5000" }
local PARSERS = { "parse", "formula", "condition", "comparison", "limit" }
local VALUES = { 0, 1, -1, 1e308, 2 ^ 53, 0.1 }

local function check(random, text, parser)
  local made_of, problem = parser(text)
  if not made_of then
    local place = problem.position
    hold(problem.message ~= "" and place >= 1 and place <= #text + 1, "no message or place", text)
    return false
  end
  local function lookup()
    local value = one_of(random, VALUES)
    if value == -1 then return nil, "not counted" end
    return value
  end
  for _, name in ipairs { "evaluate", "left", "right" } do
    if made_of[name] then
      local value, why = made_of[name](lookup)
      hold(value ~= nil or type(why) == "string", name .. " gives neither a value nor a reason", text)
      hold(type(value) ~= "number" or value == value, name .. " gives no number", text)
    end
  end
  return true
end

--- Tries one formula as everything that it may be; whether it is any of it.
---@param random pmclua.Random
---@return boolean
return function(random)
  local text, accepted = input.mutated(random, one_of(random, FORMULAE)), false
  for _, name in ipairs(PARSERS) do accepted = check(random, text, metric[name]) or accepted end
  return accepted
end
