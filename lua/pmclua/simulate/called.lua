--- called.lua: what the calls of some functions cost, from a file of callgrind's.
--
-- A call's cost is that of the function with all that it called. Callgrind gives a function that is entered again while
-- it runs another name ("f'2"), so a recursive call is counted within the outermost one, and once. Functions are told
-- by their file and address: aliases, versions and local names do not matter.

local core = require "pmclua.core"
local symbols = require "pmclua.core.symbols"

local M = {}

--- Callgrind's options: whole names and numbers on each line, with addresses.
M.OPTIONS = { "--dump-instr=yes", "--compress-strings=no", "--compress-pos=no" }

---@class pmclua.Called
---@field name string
---@field calls integer outermost ones
---@field counts table<string, number|ffi.cdata*> their sums by Valgrind's counter

local function key_of(path, address)
  return ("%s\0%s"):format(core.real_path(path) or path, tostring(address))
end

-- The address of a region's first instruction, as its file has it; nil: the file does not say.
local function address_of(point)
  local file = symbols.open(point.file)
  local code = file and file:code(tonumber(point.begins or point.offset))
  if file then file:close() end
  return code and tonumber(code.address)
end

--- The functions of some regions, for `M.sum`.
---@param regions pmclua.Region[] whose first point is a function's entry
---@return table<string, integer>? index of a region by file and address; nil where one cannot be told
---@return string? why
function M.wanted(regions)
  local wanted = {}
  for i, region in ipairs(regions) do
    local point = region.points[1]
    local address = point.kind ~= "from" and point.file and address_of(point)
    if not address then return nil, ("%s is no function that callgrind could count"):format(region.name) end
    wanted[key_of(point.file, address)] = i
  end
  return wanted
end

-- The counts of a line, behind its address and its number in the source.
local function add_counts(into, events, line)
  local next_number = line:gmatch "%S+"
  next_number()
  next_number()
  for _, event in ipairs(events) do
    local digits = next_number()
    if digits then into[event] = core.sum(into[event], core.u64(digits)) end
  end
end

--- Whether callgrind saw code of a file.
---@param file pmclua.OutFile
---@param path string
---@return boolean
function M.has_object(file, path)
  local real = core.real_path(path) or path
  for object in file.text:gmatch "\nc?ob=([^\n]*)" do
    if (core.real_path(object) or object) == real then return true end
  end
  return false
end

--- The cost of the outermost calls of some functions.
---@param file pmclua.OutFile written with M.OPTIONS
---@param wanted table<string, integer> of M.wanted
---@return { calls: integer, counts: table<string, number|ffi.cdata*> }[] by index of the region; none: it was not called
function M.sum(file, wanted)
  local regions, keys = {}, {}
  local object, called_object, called_name, current = nil, nil, nil, nil
  local function region_of(address)
    local of_object = called_object or object or ""
    local key = of_object .. "\0" .. address
    keys[key] = keys[key] or wanted[key_of(of_object, tonumber(address))] or false
    return keys[key]
  end
  for line in file.text:gmatch "[^\n]+" do
    if current then
      if current ~= true then add_counts(current.counts, file.events, line) end
      current, called_object = nil, nil
    elseif line:find "^ob=" then object = line:sub(4)
    elseif line:find "^cob=" then called_object = line:sub(5)
    elseif line:find "^cfn=" then called_name = line:sub(5)
    elseif line:find "^calls=" then
      local calls, address = line:match "^calls=(%d+) (0x%x+)"
      local is_again = called_name:find "'%d+$"
      local index = address and not is_again and region_of(address)
      current = true
      if index then
        regions[index] = regions[index] or { calls = 0, counts = {} }
        current = regions[index]
        current.calls = current.calls + tonumber(calls)
      end
    end
  end
  return regions
end

return M
