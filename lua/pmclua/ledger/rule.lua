--- rule.lua: the rule by which lines of a total are named, written once: every ledger, table and document
--- has it from here.
--
-- A line is named where Student's t of its mean difference is rejected by Holm's procedure over all lines of its
-- ledger; its interval is that of the same test. One repetition in which something else had the CPU for long widens
-- the interval of a mean beyond any use, and the signs of the pairs do not mind: where these alone differ, at the level
-- of that step, the line is skewed, which is shown and not named.

local M = {}

M.PROCEDURE = "Holm's procedure"

--- The level of the verdicts on all lines together. At 95 %, one ledger in twenty would name a line beside the true
--- cause.
M.LEVEL = 0.99

--- Below this nothing is named, unless it is known without statistics.
M.FEWEST_PAIRS = 10

--- Samples of a line in all repetitions of both sides: below it the line joins the others.
M.FEWEST_SAMPLES = 20

--- The level of intervals without a verdict: of the total, the part not attributed, medians.
M.INTERVAL_LEVEL = require("pmclua.stats.multiple").LEVEL

return M
