-- What samples of arm64 accessed, by registers that QEMU had before and behind each instruction: fixtures/arm64/record.

local core_data = require "pmclua.core.data"
local ffi = require "ffi"
local support = require "tests.support"

-- All 64 bits of a number in hexadecimal.
local function wide(hex)
  local high, low = hex:match "^(%x-)(%x?%x?%x?%x?%x?%x?%x?%x)$"
  return tonumber(high ~= "" and high or "0", 16) * 0x100000000ULL + tonumber(low, 16)
end

-- Functions with their bytes, instructions by address, and the states in their order.
local function recorded()
  local found = { by_address = {}, functions = {}, states = {} }
  local registers = {}
  for line in io.lines(support.fixture "arm64/samples.txt") do
    local name = line:match "^function (.*)$"
    local address, word, text = line:match "^(%x+)\t(%x+)\t(.*)$"
    local at, changes = line:match "^@(%x+) (.*)$"
    if name then
      table.insert(found.functions, { name = name, code = {} })
    elseif address then
      local owner = found.functions[#found.functions]
      owner.start = owner.start or tonumber(address, 16)
      local value = tonumber(word, 16)
      table.insert(owner.code, string.char(value % 256, math.floor(value / 2 ^ 8) % 256,
        math.floor(value / 2 ^ 16) % 256, math.floor(value / 2 ^ 24)))
      found.by_address[tonumber(address, 16)] = { text = text, owner = owner }
    elseif at then
      for register, value in changes:gmatch "(%d+)=(%x+)" do registers[tonumber(register)] = wide(value) end
      local copy = {}
      for i = 0, 31 do copy[i] = registers[i] end
      table.insert(found.states, { at = tonumber(at, 16), registers = copy })
    end
  end
  for _, owner in ipairs(found.functions) do owner.code = table.concat(owner.code) end
  return found
end

local function register_of(name, registers)
  local is_word, digits = name:match "^([xw])(%d+)$"
  if name == "sp" then return registers[31] end
  local value = registers[tonumber(digits)]
  return is_word == "w" and value % 2ULL ^ 32 or value
end

-- The address that an instruction accesses, by its text; nil: it accesses none.
local function address_of(text, registers)
  local inner = text:match "%[([^%]]+)%]"
  if not inner then return nil end
  local base, rest = inner:match "^(%w+),?%s*(.*)$"
  local address = register_of(base, registers)
  local constant = rest:match "^#(-?%d+)$"
  if constant then return address + ffi.cast("uint64_t", ffi.cast("int64_t", tonumber(constant))) end
  local index, how = rest:match "^([xw]%d+),?%s*(.*)$"
  if not index then return address end
  local value = register_of(index, registers)
  if how:find "^sxtw" then value = ffi.cast("uint64_t", ffi.cast("int64_t", ffi.cast("int32_t", value))) end
  return address + value * 2 ^ tonumber(how:match "#(%d+)" or 0)
end

-- The sample behind each access: what is found, and what is true.
local function each_access(found)
  local i = 0
  return function()
    while i < #found.states - 1 do
      i = i + 1
      local before, behind = found.states[i], found.states[i + 1]
      local instruction = found.by_address[before.at]
      local truth = address_of(instruction.text, before.registers)
      local owner = instruction.owner
      if truth and found.by_address[behind.at].owner == owner then
        local access = assert(core_data.trace { machine = "arm64", code = owner.code, start = owner.start,
          instruction = behind.at, registers = behind.registers })
        return instruction.text, truth, access
      end
    end
  end
end

local FAMILIES = { "ldadd", "ldset", "swp", "casp", "cas", "ldapr", "ldapur", "stlur" }

describe("samples of arm64", function()
  setup(function()
    support.need(require("pmclua.core").can_load "libcapstone.so.4", "no Capstone")
  end)

  it("tell what was accessed, and no address that is said to be exact is wrong", function()
    local all, exact = 0, 0
    for text, truth, access in each_access(recorded()) do
      all = all + 1
      if access.certainty == "exact" or access.certainty == "redone" then
        if access.kind == "access" then
          exact = exact + 1
          assert.equal(text .. tostring(truth), text .. tostring(access.address + 0ULL))
        end
      end
    end
    assert.is_true(all > 400 and exact > 0.75 * all, ("%d of %d"):format(exact, all))
  end)

  it("include atomic instructions, which read and write", function()
    local seen = {}
    for text, truth, access in each_access(recorded()) do
      local name = text:match "^(%a+)"
      local family
      for _, known in ipairs(FAMILIES) do family = family or name:match("^" .. known) end
      if family then
        assert.equal(text .. "access", text .. access.kind)
        assert.equal(text .. tostring(not family:find "^ldap"), text .. tostring(access.is_write))
        if access.certainty == "exact" then
          assert.equal(text .. tostring(truth), text .. tostring(access.address + 0ULL))
        end
        seen[family] = (seen[family] or 0) + 1
      end
    end
    for _, family in ipairs(FAMILIES) do
      assert.is_true((seen[family] or 0) > 10, family .. " " .. tostring(seen[family]))
    end
  end)
end)
