--- remarks.lua: remarks on a run, in the order in which they were first made, each once.

local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.Remarks a list of texts
local Remarks = {}
Remarks.__index = Remarks

---@return pmclua.Remarks
function M.new() return setmetatable({}, Remarks) end

---@param remark string
function Remarks:add(remark)
  if not lists.contains(self, remark) then self[#self + 1] = remark end
end

---@param remarks string[]
function Remarks:append(remarks)
  for _, remark in ipairs(remarks) do self:add(remark) end
end

return M
