--- probe_code.lua: writes functions, as machine code, that have the first instruction and the return of others, so
--- that probing them costs the same. Linux emulates some probed instructions and single-steps the rest, which takes
--- ten times as long.
--
-- Such a function is the instruction, code that restores the stack pointer, and the return. It comes in four
-- copies: one probed at both ends, one at its entry, one not at all; and the return alone, not probed.
--
-- Invariant: no function changes anything outside the process that runs it (core/runner/probing/probed.c), and each returns
-- whatever its instruction does, or that process dies.

local bit = require "bit"
local ffi_arch = require("jit").arch

local M = {}

M.SLOT, M.COPIES, M.ALIGNMENT = 128, 4, 65536      -- bytes: a page has no more anywhere
M.FULL, M.ENTRY, M.PLAIN, M.BARE = 0, 1, 2, 3      -- which copy

local LANDING = 112                                -- of a jump to another function, in a slot

local function word(value)
  local bytes = {}
  for i = 1, 4 do bytes[i] = string.char(bit.band(bit.rshift(value, 8 * (i - 1)), 255)) end
  return table.concat(bytes)
end

local function number(bytes)
  local a, b, c, d = bytes:byte(1, 4)
  return a + b * 2 ^ 8 + c * 2 ^ 16 + d * 2 ^ 24
end

-- ---- x86-64 --------------------------------------------------------------------------------------------

local x86 = { nop = "\144", ret = "\195" }

--- An instruction at `at` whose relative address becomes `target`.
function x86.towards(instruction, at, target)
  local bytes, from, count = instruction.bytes, instruction.relative, instruction.relative_bytes
  if count == 0 then return bytes end
  return bytes:sub(1, from) .. word(target - at - #bytes):sub(1, count) .. bytes:sub(from + count + 1)
end

--- mov data(%rip), %rsp
function x86.restore(at, data) return "\72\139\37" .. word(data - at - 7) end

function x86.is_plain_return(instruction) return instruction.is_return end

-- ---- arm64 ---------------------------------------------------------------------------------------------

local arm64 = { nop = word(0xd503201f), ret = word(0xd65f03c0) }

-- The bits of a relative address: which instructions, how many bits, from which on.
local FORMS = {
  { mask = 0x7c000000, value = 0x14000000, bits = 26, from = 0 },      -- b, bl
  { mask = 0xff000000, value = 0x54000000, bits = 19, from = 5 },      -- b.cond
  { mask = 0x7e000000, value = 0x34000000, bits = 19, from = 5 },      -- cbz, cbnz
  { mask = 0x7e000000, value = 0x36000000, bits = 14, from = 5 },      -- tbz, tbnz
  { mask = 0x3b000000, value = 0x18000000, bits = 19, from = 5 },      -- ldr, relative
}

function arm64.towards(instruction, at, target)
  local value = number(instruction.bytes)
  for _, form in ipairs(FORMS) do
    if bit.band(value, form.mask) == bit.tobit(form.value) then
      local ones = bit.lshift(bit.lshift(1, form.bits) - 1, form.from)
      local address = bit.band(bit.lshift((target - at) / 4, form.from), ones)
      return word(bit.bor(bit.band(value, bit.bnot(ones)), address))
    end
  end
  return instruction.bytes
end

local function load_from(register, at, data)
  return word(bit.bor(0x58000000, bit.lshift((data - at) / 4, 5), register))
end

--- The return address, too: ldr x30, data + 8; ldr x16, data; mov sp, x16
function arm64.restore(at, data)
  return load_from(30, at, data + 8) .. load_from(16, at + 4, data) .. word(0x9100021f)
end

-- Another one goes elsewhere, or wants a signed address.
function arm64.is_plain_return(instruction) return instruction.bytes == arm64.ret end

-- ---- functions -----------------------------------------------------------------------------------------

local machine = ({ x64 = x86, arm64 = arm64 })[ffi_arch]

--- Whether functions can be written for this machine.
---@return boolean
function M.is_known() return machine ~= nil end

--- Replaces an instruction that must not be executed; Linux does not emulate this one either.
---@return pmclua.core.Instruction
function M.stand_in()
  local bytes = machine == x86 and "\72\131\236\8" or word(0xd10043ff)       -- sub $8, %rsp; sub sp, sp, #16
  return { bytes = bytes, relative = 0, relative_bytes = 0 }
end

-- The instruction at `at`, with nothing else than itself and its own data as its goal.
local function executed(instruction, at, data)
  if instruction.jumps then return machine.towards(instruction, at, at + #instruction.bytes) end
  return instruction.reads and machine.towards(instruction, at, data + 64) or instruction.bytes
end

-- A jump or return that leaves the function at `at`, as close to `instruction` as possible.
local function leaving(instruction, at, slot, data)
  if machine.is_plain_return(instruction) then return instruction.bytes end
  if instruction.is_return then return machine.ret end
  if instruction.jumps then return machine.towards(instruction, at, slot + LANDING) end
  local bytes = executed(instruction, at, data)
  return bytes .. machine.restore(at + #bytes, data) .. machine.ret
end

local function fill(bytes, size) return bytes .. machine.nop:rep((size - #bytes) / #machine.nop) end

-- One copy, and where in it the return is.
local function copy(kind, slot, data, is_bare)
  local code = ""
  if not (is_bare or kind.is_whole) then
    code = executed(kind.first, slot, data)
    code = code .. machine.restore(slot + #code, data)
  end
  local return_at = #code
  local last = is_bare and { bytes = machine.ret, is_return = true } or kind.last
  code = code .. leaving(last, slot + return_at, slot, data)
  return fill(fill(code, LANDING) .. machine.ret, M.SLOT), return_at
end

---@class pmclua.ProbeKind what its probes cost is the same for all functions of a kind
---@field first pmclua.core.Instruction
---@field last pmclua.core.Instruction
---@field is_whole boolean its first instruction leaves it
---@field is_return_probe? boolean
---@field slot integer? where its copies are
---@field return_at integer? in a copy

--- The code of all kinds, with two functions of nothing in front, at 0 and M.SLOT: `kind.slot` and
--- `kind.return_at` are filled in.
---@param kinds pmclua.ProbeKind[]
---@return string bytes code, then as many zeros of data
---@return integer code_bytes
function M.write(kinds)
  local count = 2 + M.COPIES * #kinds
  local code_bytes = math.ceil(count * M.SLOT / M.ALIGNMENT) * M.ALIGNMENT
  local mark = fill(machine.nop .. machine.ret, M.SLOT)
  local parts = { mark, mark }
  for _, kind in ipairs(kinds) do
    kind.slot = #parts * M.SLOT
    for number_of = 0, M.COPIES - 1 do
      local slot, return_at = copy(kind, #parts * M.SLOT, code_bytes, number_of == M.BARE)
      parts[#parts + 1] = slot
      if number_of == M.FULL then kind.return_at = return_at end
    end
  end
  return fill(table.concat(parts), code_bytes) .. ("\0"):rep(M.ALIGNMENT), code_bytes
end

return M
