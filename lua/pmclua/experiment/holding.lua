--- holding.lua: the numbers of a run in its result, or in its file while they are many.
--
-- A result holds every number of its records in memory. Only a rule that stops adaptively looks at them
-- before the end: without one, and with a file, they are dropped when they are many and read back at the
-- end, so that memory does not grow with repetitions.
-- Invariant: a record is in the result, or in the file and what could not be written to it.

local store = require("pmclua.base.lazy").module "pmclua.store"

local M = {}

local MOST_RECORDS = 50000      -- some 10 MB

---@class pmclua.Holding
---@field in_file boolean the records are not in the result
local Holding = {}
Holding.__index = Holding

--- Begins to hold records in `result`.
---@param result pmclua.Result
---@param storing pmclua.Storing
---@param is_asked boolean whether the result is looked at while it runs
---@return pmclua.Holding
function M.new(result, storing, is_asked)
  return setmetatable({ result = result, storing = storing, held = 0, in_file = false,
    most = is_asked and math.huge or MOST_RECORDS }, Holding)
end

local function read_back(self)
  self.in_file, self.most = false, math.huge
  for record in store.open(self.storing.path, self.storing.unwritten).records do self.result:add(record) end
end

--- Takes a record that is stored next, or is already.
---@param record table
function Holding:add(record)
  if self.in_file and self.storing.problem then read_back(self) end
  if self.in_file then return end
  self.result:add(record)
  self.held = self.held + 1
  if self.held >= self.most and self.storing:is_open() then
    self.result:clear()
    self.in_file = true
  end
end

--- Has everything in the result, once the file is finished. Raises where it cannot be read back.
function Holding:finish()
  if self.in_file then read_back(self) end
end

return M
