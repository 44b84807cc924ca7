--- spill.lua: keeps a run's records in memory, or in its file alone once there are many.
--
-- A result holds all numbers of its records in memory. Only a stop rule needs them before the end. So without a
-- stop rule, and with a file, a long run drops them and reads them back at the end: memory does not grow with
-- the number of repetitions.
-- Invariant: a record is in the result, or in the file or in what could not be written to it.

local lazy = require "pmclua.base.lazy"
local results = require "pmclua.result"
local store = lazy.module "pmclua.store"

local M = {}

local MOST_RECORDS = 50000      -- some 10 MB

---@class pmclua.Spill
---@field in_file boolean the records are not in the result
local Spill = {}
Spill.__index = Spill

--- Starts keeping records in `result`.
---@param result pmclua.Result
---@param file pmclua.ResultFile
---@param is_asked? boolean whether a stop rule reads the result during the run
---@return pmclua.Spill
function M.new(result, file, is_asked)
  return setmetatable({ result = result, file = file, held = 0, in_file = false,
    most = is_asked and math.huge or MOST_RECORDS }, Spill)
end

local function read_back(self)
  self.in_file, self.most = false, math.huge
  store.open(self.file.path, self.file.unwritten).each(function(record)
    results.add(self.result, record)
  end, true)
end

--- Adds a record that is about to be stored, or is stored already.
---@param record table
function Spill:add(record)
  if self.in_file and self.file.problem then read_back(self) end
  if self.in_file then return end
  results.add(self.result, record)
  self.held = self.held + 1
  if self.held >= self.most and self.file:is_open() then
    results.clear(self.result)
    self.in_file = true
  end
end

--- Puts everything into the result; the file must be finished. Raises if the file cannot be read back.
function Spill:finish()
  if self.in_file then read_back(self) end
end

return M
