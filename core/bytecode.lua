-- bytecode.lua: bytecode of LuaJIT 2.1 that is the same each time it is made of the same source.
--
-- string.dump writes the named fields of a table's constants in the order of their hashes, and hashes have another
-- seed in each process. Their order means nothing to whoever loads them: here it is that of their bytes.
-- The format is that of LuaJIT's lj_bcdump.h; no constant moves but these.

local STRIPPED = 2                                                      -- a flag of the file
local CHILD, TABLE, I64, U64, COMPLEX, TEXT = 0, 1, 2, 3, 4, 5          -- kinds of constants
local INTEGER, NUMBER = 3, 4                                            -- of values in tables; texts as constants

-- A number of 7 bits a byte, the lowest first, and where it ends.
local function read_number(code, at)
  local value, weight = 0, 1
  repeat
    local byte = code:byte(at)
    value, weight, at = value + byte % 128 * weight, weight * 128, at + 1
  until byte < 128
  return value, at
end

local function skip_numbers(code, at, count)
  for _ = 1, count do at = select(2, read_number(code, at)) end
  return at
end

-- Where a value in a table ends.
local function skip_value(code, at)
  local kind
  kind, at = read_number(code, at)
  if kind >= TEXT then return at + kind - TEXT end
  return skip_numbers(code, at, kind == INTEGER and 1 or kind == NUMBER and 2 or 0)
end

-- A table whose fields are sorted, and where it ends.
local function sorted_table(code, at)
  local list, items, behind = {}, read_number(code, at)
  local fields, from = read_number(code, behind)
  for _ = 1, items do from = skip_value(code, from) end
  local head = code:sub(at, from - 1)
  at = from
  for i = 1, fields do
    local stop = skip_value(code, skip_value(code, at))
    list[i], at = code:sub(at, stop - 1), stop
  end
  table.sort(list)
  return head .. table.concat(list), at
end

local NUMBERS = { [CHILD] = 0, [I64] = 2, [U64] = 2, [COMPLEX] = 4 }

-- A function with its tables sorted; `at` is where it begins, behind its length.
local function sorted_function(code, at, stop, is_stripped)
  local done, upvalues, pieces = at, code:byte(at + 3), {}
  local constants, behind = read_number(code, at + 4)
  local instructions, from = read_number(code, skip_numbers(code, behind, 1))
  if not is_stripped then
    local debug_bytes
    debug_bytes, from = read_number(code, from)
    if debug_bytes > 0 then from = skip_numbers(code, from, 2) end
  end
  at = from + 4 * instructions + 2 * upvalues
  for _ = 1, constants do
    local kind, value = read_number(code, at)
    if kind == TABLE then
      pieces[#pieces + 1] = code:sub(done, value - 1)
      pieces[#pieces + 1], at = sorted_table(code, value)
      done = at
    elseif kind >= TEXT then at = value + kind - TEXT
    else at = skip_numbers(code, value, NUMBERS[kind]) end
  end
  return table.concat(pieces) .. code:sub(done, stop - 1)
end

--- string.dump's output with the fields of each table in one order.
return function(code)
  local flags, at = read_number(code, 5)
  local is_stripped = math.floor(flags / STRIPPED) % 2 == 1
  if not is_stripped then
    local bytes
    bytes, at = read_number(code, at)
    at = at + bytes
  end
  local pieces = { code:sub(1, at - 1) }
  while true do
    local bytes, from = read_number(code, at)
    if bytes == 0 then break end
    pieces[#pieces + 1] = code:sub(at, from - 1) .. sorted_function(code, from, from + bytes, is_stripped)
    at = from + bytes
  end
  local sorted = table.concat(pieces) .. code:sub(at)
  assert(#sorted == #code and loadstring(sorted), "this LuaJIT writes bytecode in another way")
  return sorted
end
