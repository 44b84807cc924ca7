--- json.lua: the facts of a report as one JSON object.
--
-- Invariant: integers are exact to 2^64-1, absent is null beside a reason, the keys and their order do not depend on
-- the data. report/README.md says what each key is.

local M = {}

---@class pmclua.ReportFacts: pmclua.JsonOptions
---@field value table as base/json.lua writes it; long lists may be made as they are written

--- Writes facts, in pieces.
---@param facts pmclua.ReportFacts
---@param put fun(piece: string)
function M.write(facts, put)
  require("pmclua.base.json").write(put, facts.value, facts)
  put "\n"
end

return M
