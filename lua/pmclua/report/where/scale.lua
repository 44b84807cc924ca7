--- scale.lua: the numbers of one ledger in one unit, so that they can be added by eye.

local lists = require "pmclua.base.lists"
local number = require "pmclua.base.number"
local text = require "pmclua.base.text"

local M = {}

local TIMES = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "µs" }, { 1, "ns" } }
local COUNTS = { { 1e9, "G" }, { 1e6, "M" }, { 1e3, "K" } }
local FULL = 1e7                -- counts below this are shown in full
local MOST_DIGITS = 1e12        -- exact ones, of which each counts, below this

---@class pmclua.LedgerScale
---@field unit string "ms", "M", ""
---@field ledger_unit string of the ledger: "ns", ""
local Scale = {}
Scale.__index = Scale

local function first_reached(scales, value, least)
  return number.scale(scales, value, least) or scales[#scales]
end

local function is_whole(ledger)
  return lists.all(lists.joined { ledger.lines, ledger.rest }, function(row)
    return row.a % 1 == 0 and (row.b or 0) % 1 == 0
  end)
end

-- Four digits of the total.
local function decimals_of(value)
  return math.max(0, math.min(9, 3 - math.floor(math.log10(math.max(value, 1e-9)))))
end

--- The scale of a ledger.
---@param ledger pmclua.Ledger
---@return pmclua.LedgerScale
function M.of(ledger)
  local total = math.max(ledger.total.a, ledger.total.b or 0)
  local self = setmetatable({ size = 1, unit = ledger.unit, ledger_unit = ledger.unit }, Scale)
  if ledger.unit == "ns" then
    self.size, self.unit = unpack(first_reached(TIMES, total, 1))
  elseif total >= FULL and not (ledger.exact and total < MOST_DIGITS and is_whole(ledger)) then
    local scale = first_reached(COUNTS, total, 10)
    self.size, self.unit = scale[1], ledger.unit == "" and scale[2] or scale[2] .. " " .. ledger.unit
  end
  self.decimals = decimals_of(total / self.size)
  if self.size == 1 then self.decimals = is_whole(ledger) and 0 or math.max(1, self.decimals) end
  return self
end

local MOST_DECIMALS = 6

--- "4.70"; what these decimals would show as 0 has one digit that is not: "0.0003".
---@param value number
---@return string
function Scale:value(value)
  local shown = text.decimal(value / self.size, self.decimals)
  if value == 0 or shown:find "[1-9]" then return shown end
  local needed = math.ceil(-math.log10(math.abs(value) / self.size))
  return text.decimal(value / self.size, math.min(MOST_DECIMALS, math.max(needed, self.decimals)))
end

--- "+4.70", "-0.30", "0"
---@param value number
---@return string
function Scale:signed(value)
  if value == 0 then return "0" end
  local shown = self:value(value)
  return value > 0 and shown:find "[1-9]" and "+" .. shown or shown
end

--- "4.21 … 5.19"; "=" for what is known without an interval, "–" where there is none.
---@param row pmclua.LedgerRow
---@return string
function Scale:interval(row)
  if row.exact or row.low and row.low == row.high then return "=" end
  if not row.low then return "–" end
  return self:value(row.low) .. " … " .. self:value(row.high)
end

return M
