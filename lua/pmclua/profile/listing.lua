--- listing.lua: the source lines and the instructions of code that was sampled.
--
-- Files are read when somebody looks, which may be long after the run: what is not there any more, or is not what
-- was sampled, is absent with its reason.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"

local M = {}

local MOST_BYTES = 2 ^ 24       -- of a source file
local MOST_INSTRUCTIONS = 20000 -- of a function

local function folder_of(path) return path:match "^(.*)/[^/]*$" or "." end

-- Where a source file may be: debug information has a path of the machine where it was compiled.
local function candidates(source, file)
  if source:sub(1, 1) == "/" then return { source } end
  return { source, folder_of(file) .. "/" .. source }
end

--- The lines of a source file.
---@param source string as the debug information has it
---@param file string the program or library that was made of it
---@return string[]? lines
---@return string? why there are none
function M.source(source, file)
  for _, path in ipairs(candidates(source, file)) do
    local opened = core.stat(path) and io.open(path, "rb")
    local text = opened and opened:read(MOST_BYTES)
    if opened then opened:close() end
    if text then
      local lines = {}
      for line in (text .. "\n"):gmatch "(.-)\r?\n" do lines[#lines + 1] = line end
      return lines
    end
  end
  return nil, "the source is not here"
end

-- The function that holds an instruction: offsets of its first byte and behind its last; nil: unknown.
local function range_of(symbols, offset)
  local code = symbols:code(offset)
  if not code or not code.start then return nil end
  local first = offset - (code.address - code.start)
  return first, first + code.bytes
end

---@class pmclua.ListedInstruction
---@field offset number
---@field text string
---@field line? integer
---@field source? string

-- Appends the instructions of a range; false where one is not understood.
local function add_range(list, symbols, first, beyond)
  local offset = first
  while offset < beyond and #list < MOST_INSTRUCTIONS do
    local one, code = symbols:instruction(offset)
    if not one then return false, code end
    local place = symbols:code(offset) or {}
    list[#list + 1] = { offset = offset, text = one.text ~= "" and one.text or "(unknown)", line = place.line,
      source = place.source }
    offset = offset + #one.bytes
  end
  return true
end

local REASONS = { ELIBACC = "Capstone is not installed (Debian: libcapstone4)",
  ENOTSUP = "it is code of another machine", EILSEQ = "an instruction was not understood" }

-- The ranges that hold some offsets, in order; those that no function is known to hold are left out.
local function ranges_of(symbols, offsets)
  local ranges, beyond = {}, -1
  table.sort(offsets)
  for _, offset in ipairs(offsets) do
    if offset >= beyond then
      local first, last = range_of(symbols, offset)
      if first then
        ranges[#ranges + 1] = { first, last }
        beyond = last
      end
    end
  end
  return ranges
end

--- The instructions of the functions that hold some offsets.
---@param file string a program or library
---@param offsets number[] in the file
---@return pmclua.ListedInstruction[]? list
---@return string? why there is none
function M.instructions(file, offsets)
  if file:sub(1, 1) ~= "/" then return nil, "it is in no file" end
  local symbols, code = require("pmclua.core.symbols").open(file)
  if not symbols then
    return nil, code == "ELIBACC" and "elfutils (libdw1) is not installed" or "the file is not here"
  end
  local list, why = {}, nil
  for _, range in ipairs(ranges_of(symbols, offsets)) do
    local ok, refused = add_range(list, symbols, range[1], range[2])
    if not ok then why = REASONS[refused] or refused end
  end
  symbols:close()
  if why or #list == 0 then return nil, why or "where the function begins is not known" end
  local begins = lists.by(list, "offset")
  local are_there = lists.all(offsets, function(offset) return begins[offset] end)
  if not are_there then return nil, "the file is not the one that was sampled" end
  return list
end

return M
