--- units.lua: durations, shares and sizes as people write them, and as reports print them, to numbers.
--
-- Invariant: what a report prints is understood here: "±1 %", "250%", "1.5 ms", "4 KiB". A bare number is a
-- duration in seconds or a size in bytes; a share needs its per cent sign, since 1 could mean 1 % or all.
-- The reason why a value is refused reads on after "NAME is".

local shown = require("pmclua.base.arguments").shown

local M = {}

-- ASCII spellings first; "µ" is both the micro sign and the Greek letter.
local SECONDS = { ns = 1e-9, us = 1e-6, ["\194\181s"] = 1e-6, ["\206\188s"] = 1e-6, ms = 1e-3, s = 1, sec = 1,
  min = 60, h = 3600, d = 86400 }
local BYTES = { B = 1, k = 1e3, kB = 1e3, K = 1024, KB = 1e3, KiB = 1024, M = 2 ^ 20, MB = 1e6, MiB = 2 ^ 20,
  G = 2 ^ 30, GB = 1e9, GiB = 2 ^ 30, T = 2 ^ 40, TB = 1e12, TiB = 2 ^ 40 }

-- The number and the unit of a text: "1.5 ms"; nil where it is neither.
local function parts(value)
  if type(value) ~= "string" then return nil end
  local digits, unit = value:match "^%s*([%d.,]+[eE]?[+-]?%d*)%s*(%S*)%s*$"
  local number = tonumber(digits and (digits:gsub(",(%d%d%d)", "%1")))       -- "2,000 s"
  if not number or number >= math.huge then return nil end
  return number, unit
end

-- The value of a number, or of a text with one of these units; nil where it is neither.
local function scaled(value, units)
  local number, unit = value, ""
  if type(value) ~= "number" then number, unit = parts(value) end
  local factor = unit == "" and 1 or units[unit]
  return number and factor and number * factor
end

local function above_zero(number) return number and number > 0 and number < math.huge and number or nil end

--- Seconds of a duration: a number of seconds, or text with a unit ("200ms", "5 min").
---@param value any
---@return number? seconds above 0; nil: it is no duration
---@return string? why not, with what to write
function M.seconds(value)
  local seconds = above_zero(scaled(value, SECONDS))
  if seconds then return seconds end
  return nil, ('a number of seconds or a string such as "500ms", not %s'):format(shown(value))
end

-- Guesses at what a bare number means.
local function as_percent(value)
  local number = above_zero(tonumber(value))
  if not number then return "" end
  local alone = ('write "%g%%"'):format(number)
  return (number < 1 and ': %s, or "%g%%"' or ": %s"):format(alone, number * 100)
end

--- A share of 1: "1%", "250 %", "±0.1 %".
---@param value any
---@return number? share from 0 (0.01 of "1%"); nil: it is none; nor is a bare number
---@return string? why not, with what to write
function M.share(value)
  local digits = type(value) == "string" and value:gsub("^%s*\194\177", ""):gsub("^%s*%+%-", "")
  local number, unit = parts(digits)
  if unit == "%" then return number / 100 end
  return nil, ('a percentage such as "1%%", not %s%s'):format(shown(value), as_percent(value))
end

--- Bytes of a size: a number of bytes, or text with a unit ("4 KiB", "64K", "1.5 MB").
---@param value any
---@return number? bytes from 0; nil: it is no size
function M.bytes(value)
  local bytes = scaled(value, BYTES)
  return bytes and bytes >= 0 and bytes < math.huge and bytes or nil
end

return M
