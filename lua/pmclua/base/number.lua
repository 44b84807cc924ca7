--- number.lua: numbers as people read them: "128,441,020", "41.20 ms", "1.20 M", "0.4 %".
--
-- Invariant: a number is never shown with digits that it does not have: what is whole is shown whole
-- or in a unit, and a u64 beyond 2^53 is shown to its last digit. LuaJIT formats numbers itself, so no
-- locale has a say.

local M = {}

local ABSENT = "–"

local function grouped(digits)
  return (digits:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", ""))
end

-- Digits of a whole number; cdata is an exact u64.
local function whole(value)
  if type(value) == "cdata" then return ("%u"):format(value) end
  return ("%.0f"):format(math.abs(value))
end

--- To `decimals` places, with separators: "41,203.12".
---@param value number
---@param decimals integer
---@return string
local function decimal(value, decimals)
  local sign = value < 0 and "-" or ""
  local int, fraction = (("%%.%df"):format(decimals)):format(math.abs(value)):match "^(%d+)(.*)$"
  if not tonumber((int .. fraction):match "[1-9]") then sign = "" end
  return sign .. grouped(int) .. fraction
end

M.decimal = decimal

-- Values that neither digits nor units can show.
local function odd(value)
  if value == nil then return ABSENT end
  if type(value) == "number" and value - value ~= 0 then
    return value ~= value and "not a number" or value > 0 and "infinite" or "-infinite"
  end
end

-- Places behind the point that a number with this uncertainty has two digits of.
local function places(half)
  return half > 0 and math.max(0, 1 - math.floor(math.log10(half * 1.0000001))) or 0
end

-- A fraction: "212.3", "4.00", "0.0123"; below 0.0001 in powers of ten.
local function fraction(value)
  local size = math.abs(value)
  if size < 1e-4 then return ("%.2e"):format(value) end
  if size < 0.001 then return decimal(value, 6) end
  if size < 0.1 then return decimal(value, 4) end
  return decimal(value, size < 1 and 3 or size < 99.995 and 2 or size < 999.95 and 1 or 0)
end

--- A count: whole numbers to the last digit with separators; what is not whole (a cost per iteration)
--- with two places, one from 100 on, three digits below 1.
---@param value? number|ffi.cdata* nil: absent; cdata: an exact u64
---@return string
function M.count(value)
  local odd_text = odd(value)
  if odd_text then return odd_text end
  if type(value) == "cdata" then return grouped(whole(value)) end
  if value % 1 == 0 then return decimal(value, 0) end
  return fraction(value)
end

-- ---- with a unit in front of which thousands are taken ----------------------------------------------

local DECIMAL = { { 1e15, " P" }, { 1e12, " T" }, { 1e9, " G" }, { 1e6, " M" }, { 1e3, " K" } }
local BINARY = { { 2 ^ 50, " PiB" }, { 2 ^ 40, " TiB" }, { 2 ^ 30, " GiB" }, { 2 ^ 20, " MiB" },
                 { 2 ^ 10, " KiB" }, { 1, " B" } }
local TIME = { { 1e9, " s" }, { 1e6, " ms" }, { 1e3, " µs" }, { 1, " ns" } }

--- Whether a value is a number, and neither infinite nor none.
---@param value any
---@return boolean
function M.is_finite(value)
  return type(value) == "number" and value == value and math.abs(value) < math.huge
end

--- The first scale that a value reaches; nil: none.
---@param scales { [1]: number }[] the largest first
---@param value number
---@param least? number of each scale, default 1
---@return table?
function M.scale(scales, value, least)
  for _, scale in ipairs(scales) do
    if value >= scale[1] * (least or 1) then return scale end
  end
end

-- The scale of `value` once it is rounded to the digits shown, so that 999,996 does not become "1000.00 K".
local function scale_of(value, scales) return M.scale(scales, math.abs(value), 0.99995) end

local function in_scale(value, scale)
  local scaled = value / scale[1]
  return decimal(scaled, math.abs(scaled) >= 99.995 and 1 or 2)
end

--- A count in few letters: "128.4 M", "1.20 M"; below 10,000 as it is.
---@param value? number|ffi.cdata*
---@return string
function M.short(value)
  local odd_text = odd(value)
  if odd_text then return odd_text end
  if type(value) == "cdata" then value = tonumber(whole(value)) end
  if math.abs(value) < 10000 then return M.count(value) end
  local scale = scale_of(value, DECIMAL)
  return in_scale(value, scale) .. scale[2]
end

local function time_scale(value) return scale_of(value, TIME) or TIME[#TIME] end

--- A measured time: "416 ns", "41.20 ms", "1.30 s".
---@param ns? number nanoseconds
---@return string
function M.time(ns)
  local odd_text = odd(ns)
  if odd_text then return odd_text end
  local scale = time_scale(ns)
  return (scale[1] > 1 and in_scale(ns, scale) or M.count(ns)) .. scale[2]
end

--- A waiting time: "8 s", "2 min 05 s", "1 h 02 min".
---@param seconds? number
---@return string
function M.duration(seconds)
  local odd_text = odd(seconds)
  if odd_text then return odd_text end
  if seconds < 10 and seconds % 1 ~= 0 then return ("%.1f s"):format(seconds) end
  local s = math.floor(seconds + 0.5)
  if s < 60 then return ("%d s"):format(s) end
  if s < 3600 then return ("%d min %02d s"):format(math.floor(s / 60), s % 60) end
  return ("%d h %02d min"):format(math.floor(s / 3600), math.floor(s % 3600 / 60))
end

--- An amount of memory: "64 KiB", "1.50 MiB".
---@param bytes? number
---@return string
function M.bytes(bytes)
  local odd_text = odd(bytes)
  if odd_text then return odd_text end
  local scale = scale_of(bytes, BINARY) or BINARY[#BINARY]
  local scaled = bytes / scale[1]
  return (scaled % 1 == 0 and decimal(scaled, 0) or in_scale(bytes, scale)) .. scale[2]
end

--- A ratio of two like quantities: "0.930", "1.000", "12.3", "1,204".
---@param value? number
---@return string
function M.ratio(value)
  local odd_text = odd(value)
  if odd_text then return odd_text end
  local size = math.abs(value)
  if size >= 1000 then return decimal(value, 0) end
  if size >= 100 then return decimal(value, 1) end
  if size >= 10 then return decimal(value, 2) end
  if size ~= 0 and size < 0.01 then return fraction(value) end
  return decimal(value, 3)
end

--- A share as percent: 0.004 is "0.4 %", 0.62 "62 %", 1 "100 %".
---@param share? number
---@return string
function M.percent(share)
  local odd_text = odd(share)
  if odd_text then return odd_text end
  local value = 100 * share
  local size = math.abs(value)
  local decimals = size >= 9.95 and 0 or size >= 0.095 and 1 or size >= 0.0095 and 2 or 3
  if size ~= 0 and size < 0.0005 then return ("%.0e %%"):format(value) end
  return (decimal(value, decimals):gsub("%.0+$", "")) .. " %"
end

--- A value in the unit of its event or metric: "ns" is a time, "B" memory, "%" a share of 1, "" a
--- count; any other unit follows the number.
---@param value? number|ffi.cdata*
---@param unit? string
---@return string
function M.value(value, unit)
  if value == nil then return ABSENT end
  if unit == "ns" then return M.time(value) end
  if unit == "B" then return M.bytes(value) end
  if unit == "%" then return M.percent(value) end
  if unit == nil or unit == "" then return M.count(value) end
  return M.count(value) .. " " .. unit
end

-- A count in a unit for thousands, to a place that the unit would not show otherwise.
local function short_count(value, half)
  local scale = scale_of(value, DECIMAL)
  return decimal(value / scale[1], math.min(3, places(half / scale[1]))) .. scale[2]
end

--- A value to two digits of its uncertainty, but to no more than it is shown with else: "9.1 µs", "128.44 M".
---@param value number
---@param half number half of its interval; 0: it is exact
---@param unit? string as for value
---@return string
function M.rounded(value, half, unit)
  local full = M.value(value, unit)
  if half ~= half or half <= 0 or half == math.huge or unit == "B" or unit == "%" then return full end
  if (unit or "") == "" and math.abs(value) >= 10000 and half >= 100 then return short_count(value, half) end
  local digits, rest = full:match "^%-?([%d,.]+)(.*)$"
  local shown = digits and tonumber((digits:gsub(",", "")))
  if not shown or shown == 0 or rest:find "^e" then return full end
  local scale = math.abs(value) / shown
  return decimal(value / scale, math.min(places(half / scale), #(digits:match "%.(%d*)$" or ""))) .. rest
end

--- A difference: with its sign.
---@param value number
---@param unit? string as for value
---@return string
function M.signed(value, unit)
  local sign = value == 0 and "" or value > 0 and "+" or "-"
  return sign .. M.value(math.abs(value), unit)
end

-- `decimals` places, or as many more as tell low from high.
local function pair(low, high, decimals)
  while decimals < 6 and math.abs(high - low) < 0.999 * 10 ^ -decimals do decimals = decimals + 1 end
  return decimal(low, decimals) .. " … " .. decimal(high, decimals)
end

local function interval_scale(like, unit)
  if unit == "ns" then return time_scale(like) end
  if unit == "B" then return scale_of(like, BINARY) or BINARY[#BINARY] end
  if math.abs(like) >= 10000 then return scale_of(like, DECIMAL) end
  return { 1, "" }
end

--- An interval in the scale of the value that it belongs to: "127.9 … 129.2 M", "41.06 … 41.49" (a
--- time's unit stands beside the value already). An interval of no width is "=".
---@param low? number
---@param high? number
---@param like number the value
---@param unit? string as for value
---@param is_rounded? boolean to two digits of half its width
---@return string
function M.interval(low, high, like, unit, is_rounded)
  if low == nil or high == nil then return ABSENT end
  if low == high then return "=" end
  if unit == "%" then return (M.percent(low):gsub(" %%$", "")) .. " … " .. M.percent(high) end
  local scale = interval_scale(like, unit)
  local named = unit ~= "ns" and unit ~= "B"      -- those stand beside the value already
  if scale[1] == 1 and low % 1 == 0 and high % 1 == 0 then
    return M.count(low) .. " … " .. M.count(high)
  end
  local a, b = low / scale[1], high / scale[1]
  local decimals = math.max(math.abs(a), math.abs(b)) >= 99.995 and 1 or 2
  if is_rounded then decimals = math.min(decimals, places(math.abs(b - a) / 2)) end
  return pair(a, b, decimals) .. (named and scale[2] or "")
end

--- The interval of a ratio: "0.924 … 0.937", "0.97 … 1.09".
---@param low? number
---@param high? number
---@return string
function M.ratio_interval(low, high)
  if low == nil or high == nil then return ABSENT end
  if low == high then return "=" end
  return pair(low, high, high - low >= 0.095 and 2 or 3)
end

--- The mark of a number that was scaled up, not counted: "~1,204,331".
---@param s string
---@return string
function M.approximate(s) return "~" .. s end

return M
