--- unverified.lua: codes of which nothing says that the PMU has them.
--
-- A PMU of Arm opens a code that it lacks, and counts 0: such a 0 is no count. Any other count shows that the
-- code is there, and then its zeros are counts, too.

local M = {}

M.STATUS = "unverified"

--- Why there is no number where all that was read is 0.
M.WHY = "it read only 0; nothing says that the PMU has this code"

--- Whether a 0 of this event may mean that the PMU has not its code.
---@param event pmclua.Event or the header's entry of one
---@return boolean
function M.is(event) return event.verified == false end

return M
