--- breakpoint.lua: "mem:address[/length][:rwx]", accesses to an address, or its execution.

local core = require "pmclua.core"
local modifier = require "pmclua.event.modifier"
local names = require "pmclua.event.names"
local number = require "pmclua.event.number"
local problem = require "pmclua.event.problem"

local M = {}

-- HW_BREAKPOINT_R, _W, _X of linux/hw_breakpoint.h; an execution breakpoint has the length of a long.
local access_bits = { r = 1, w = 2, x = 4 }
local DATA_LENGTH, CODE_LENGTH = 4, 8
-- The longest range that any CPU watches (POWER: 512 bytes; x86 and Arm: 8).
local LONGEST = 512

local function read_access(token)
  local bits = 0
  for i = 1, #token.text do
    local letter = token.text:sub(i, i)
    local value = access_bits[letter]
    if not value then
      local help = modifier.plausible(letter) and ", and modifiers follow another ':'" or ""
      problem.raise(token.position + i - 1, 1, "'%s' is not an access: r, w and x are%s", letter, help)
    end
    if math.floor(bits / value) % 2 == 1 then
      problem.raise(token.position + i - 1, 1, "the access '%s' is given twice", letter)
    end
    bits = bits + value
  end
  return bits
end

local function read_address(token, options)
  if token.text:find("^%d") then return number.read(token, "an address") end
  local resolve = options and options.symbol_address
  if not resolve then
    problem.at(token, "'%s' is not an address, and there is no program whose symbol it could be", token.text)
  end
  local address, why = resolve(token.text)
  if not address then problem.at(token, "%s", why or "no such symbol") end
  return 0ULL + address
end

local function read_length(token, bits)
  if not token then return bits == access_bits.x and CODE_LENGTH or DATA_LENGTH end
  local length = number.read_small(token, LONGEST, "the length")
  if length == 0 then problem.at(token, "a breakpoint of 0 bytes can never be hit") end
  return length
end

-- "rwu" is "rw:u", as for perf, where no other modifiers follow.
local function split_word(word)
  local access, rest = word.text:match "^([rwx]+)(%a*)$"
  if not access or rest == "" or not modifier.plausible(rest) then return word end
  return { text = access, position = word.position }, { text = rest, position = word.position + #access }
end

--- Splits the words after the address into accesses and modifiers: "rw:u", "u" or ":".
local function split(words)
  local first, second = words[1], words[2]
  if words[3] then problem.at(words[3], "expected nothing after the modifiers") end
  if not first then return nil, nil end
  if first.text:find("[rwx]") then
    if second then return first, second end
    return split_word(first)
  end
  if second then problem.at(second, "expected nothing after the modifiers") end
  return nil, first
end

--- Encodes a breakpoint. Raises a problem.
---@param item table of the grammar
---@param options table? `symbol_address`: function(name) to its address, or nil and why not
---@return table event
---@return pmclua.event.Token? modifiers
function M.encode(item, options)
  local access, modifiers = split(item.words)
  local bits = access and read_access(access) or access_bits.r + access_bits.w
  return {
    source = "breakpoint", pmu = "breakpoint",
    attr = {
      type = names.TYPE_BREAKPOINT, config = 0, bp_type = bits,
      bp_addr = core.exact(read_address(item.address, options)),
      bp_len = read_length(item.length, bits),
    },
  }, modifiers
end

--- The accesses of a bp_type, as text.
---@param bits integer
---@return string
function M.access(bits)
  local text = ""
  for _, letter in ipairs({ "r", "w", "x" }) do
    if math.floor(bits / access_bits[letter]) % 2 == 1 then text = text .. letter end
  end
  return text
end

return M
