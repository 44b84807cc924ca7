--- heap.lua: what A and B allocate, by the function that allocates it, as ledgers: exact, by DHAT.

local code = require "pmclua.ledger.code"
local lists = require "pmclua.base.lists"
local profiles = require "pmclua.result.profiles"
local simulated = require "pmclua.event.simulated"

local M = {}

--- The events that are told by site.
M.EVENTS = { "valgrind::allocations", "valgrind::allocated-bytes" }

---@class pmclua.WhyAllocations: pmclua.Ledger
---@field of string the event

local function is_of_heap(event) return event.simulated ~= nil and simulated.is_of_heap(event) end

--- Ledgers of the allocation events that both cells have.
---@param why pmclua.Why
---@return pmclua.WhyAllocations[]
function M.of(why)
  local list = {}
  for _, event in ipairs(lists.where(why.result.events, is_of_heap)) do
    local a = profiles.in_order(why.result, why.a.number, event.name)
    local b = profiles.in_order(why.result, why.b.number, event.name)
    -- Each run of a side has the same counts, or says so: nothing is gained by pairs.
    if #a > 0 and #b > 0 then
      local allocations = code.new { a = a, b = b, by = "function", paired = false }
      allocations.of = event.name
      list[#list + 1] = allocations
    end
  end
  return list
end

return M
