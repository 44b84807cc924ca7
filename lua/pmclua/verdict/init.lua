--- verdict/init.lua: what comparisons, predictions and limits conclude, and when there is enough to tell.
--
-- Invariant: words follow from intervals against margins; the levels of several intervals are corrected
-- so that together they hold. Its modules: verdict/compare.lua two cells, verdict/check.lua what passes or
-- fails, verdict/stop.lua when to stop repeating.

local lazy = require "pmclua.base.lazy"
local multiple = require "pmclua.stats.multiple"
local units = require "pmclua.base.units"

local M = { DEFAULT_LEVEL = multiple.LEVEL, DEFAULT_MARGIN = 0.01, together = multiple.together }

lazy.fields(M, {
  ["pmclua.verdict.compare"] = { "compare", "conclude", "noise_floor", "pair" },
  ["pmclua.verdict.stop"] = { "stop", "looks", "is_look", "look_level" },
})

-- ---- levels and margins ------------------------------------------------------------------------------

--- Whether a verdict says that the two sides differ.
---@param compared { verdict: string? }
---@return boolean
function M.differs(compared) return compared.verdict ~= "same" and compared.verdict ~= "undecided" end

--- The margins of `margin = "1%"` or `{ "1%", instructions = "0.1%" }`.
---@param spec any as a script wrote it
---@param wrong fun(why: string) gets each mistake, to be read on after "margin"
---@return table<string, number> margins shares by field; `default`: of the fields without one, if said
function M.margins(spec, wrong)
  local margins = {}
  for key, value in pairs(type(spec) == "table" and spec or { spec }) do
    local share, why = units.share(value)
    if not share then wrong(" must be " .. why)
    elseif key == 1 then margins.default = share
    elseif type(key) == "string" then margins[require("pmclua.base.text").field(key)] = share
    else wrong ": only one may be without a name" end
  end
  return margins
end

-- ---- the quality of one value ------------------------------------------------------------------------

--- How far a value can be relied upon.
---@param status string of the event, as in its records
---@param summary? table of numbers, as a pmclua.Summary has them; nil where nothing was counted
---@param margin? number share; default 0.01
---@return "exact"|"stable"|"noisy"|"few"|"single"|"sampled"|"scaled"|"unwatched"|string quality any other status is its own
function M.quality(status, summary, margin)
  if status ~= "counted" or not summary then return status end
  if summary.exact and not summary.is_sampled then return "exact" end
  if summary.n == 1 then return "single" end
  if not summary.low then return "few" end
  local width = (summary.high - summary.low) / 2
  local is_narrow = width <= (margin or M.DEFAULT_MARGIN) * math.abs(summary.median)
  return not is_narrow and "noisy" or summary.is_sampled and "sampled" or "stable"
end

return M
