--- cpu.lua: what vendors' tables call this CPU: "GenuineIntel-6-6A-6", "0x00000000410fd0c0".
--
-- PERF_CPUID says it instead, as it does for perf.

local core = require "pmclua.core"

local M = {}

local BEGINNING = 4096            -- bytes: the first CPU's part of /proc/cpuinfo

local function x86(cpuinfo)
  local function value(key) return cpuinfo:match("\n" .. key .. "%s*:%s*([^\n]+)") end
  local vendor, family, model = value "vendor_id", tonumber(value "cpu family"), tonumber(value "model")
  if not vendor or not family or not model then return nil end
  return ("%s-%d-%X-%X"):format(vendor, family, model, tonumber(value "stepping") or 0)
end

-- The first of the kinds of cores that Linux describes.
local function arm(root)
  local text = core.read_beginning(root .. "/devices/system/cpu/cpu0/regs/identification/midr_el1", 32)
  return text and text:match "^0x%x+"
end

local function power(cpuinfo)
  local version = cpuinfo:match "%(pvr (%x+ %x+)%)"
  return version and "0x" .. version:gsub(" ", "")
end

--- The identifier of this CPU in tables; nil where nothing says it.
---@param root string of sysfs
---@return string?
function M.identifier(root)
  local asked = os.getenv "PERF_CPUID"
  if asked and asked ~= "" then return asked end
  local cpuinfo = "\n" .. (core.read_beginning("/proc/cpuinfo", BEGINNING) or "")
  return x86(cpuinfo) or arm(root) or power(cpuinfo)
end

-- POSIX brackets in a mapfile's patterns of identifiers; perf's use few.
local CLASSES = { ["[[:xdigit:]]"] = "%x", ["[[:digit:]]"] = "%d" }

-- The alternatives of "A-(B|C)-D", without brackets: "A-B-D", "A-C-D".
local function alternatives(pattern)
  local before, inside, after = pattern:match "^(.-)(%b())(.*)$"
  if not before then return { pattern } end
  local list = {}
  for alternative in (inside:sub(2, -2) .. "|"):gmatch "(.-)|" do
    for _, rest in ipairs(alternatives(after)) do list[#list + 1] = before .. alternative .. rest end
  end
  return list
end

local MOST = 256                  -- alternatives

local function lua_pattern(identifier_pattern)
  local out, at = {}, 1
  while at <= #identifier_pattern do
    local class = identifier_pattern:match("^%[%[:%l+:%]%]", at)
    local set = not class and identifier_pattern:match("^%[[^%]]+%]", at)
    local sign = identifier_pattern:sub(at, at)
    if class then out[#out + 1] = CLASSES[class] or "."
    elseif set then out[#out + 1] = set
    elseif sign == "." or sign == "*" or sign == "+" or sign == "?" then out[#out + 1] = sign
    else out[#out + 1] = (sign:gsub("%W", "%%%0")) end
    at = at + #(class or set or sign)
  end
  return "^" .. table.concat(out) .. "$"
end

-- An identifier of x86 without a stepping matches any.
local function shorter(identifier)
  return identifier:match "^(.*%-%d+%-%x+)%-%x+$" or identifier
end

--- Whether a pattern of a mapfile means this CPU.
---@param pattern string an extended regular expression of brackets, classes and alternatives
---@param identifier string
---@return boolean
function M.matches(pattern, identifier)
  local short = shorter(identifier)
  local has_few = pattern:find "%)" and select(2, pattern:gsub("%b()", "")) <= 3
  local whole = has_few and alternatives(pattern) or { pattern }
  for i = 1, math.min(#whole, MOST) do
    local ok, is_match = pcall(function()
      local lua = lua_pattern(whole[i])
      return identifier:find(lua) ~= nil or short:find(lua) ~= nil
    end)
    if ok and is_match then return true end
  end
  return false
end

--- Whether two identifiers of Arm's name one kind of core: variant and revision may differ.
---@param pattern string
---@param identifier string
---@return boolean
function M.is_same_arm(pattern, identifier)
  local a, b = tonumber(pattern), tonumber(identifier)
  if not a or not b then return false end
  local bit = require "bit"
  local mask = 0xff00fff0
  return bit.band(a % 2 ^ 32, mask) == bit.band(b % 2 ^ 32, mask)
end

return M
