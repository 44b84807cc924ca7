--- listing.lua: the source lines and the instructions of code that was sampled.
--
-- Files are read when somebody looks, which may be long after the run: what is not there any more, or is not what
-- was sampled, is absent with its reason.
-- A program names its own sources, so its owner decides what is read, and may name /etc/shadow: a file is shown only if
-- that owner could have read it. The name has to come from the program's file here: a stored result may name anything,
-- and a process may have replaced its program, or see other files than its reader does. All other sources are shown
-- only below folders that the reader names.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local packages = require "pmclua.base.packages"

local M = {}

local MOST_BYTES = 2 ^ 24       -- of a source file
local MOST_INSTRUCTIONS = 20000 -- of a function

local function folder_of(path) return path:match "^(.*)/[^/]*$" or "." end

-- Where a source file may be: debug information has a path of the machine where it was compiled.
local function candidates(source, file)
  if source:sub(1, 1) == "/" then return { source } end
  return { source, folder_of(file) .. "/" .. source }
end

local ROOT = 0

-- The owner who chose a program's sources, if that user may see less than the reader; else nil.
local function chooser_of(symbols)
  local owner = symbols:owner()
  return owner ~= ROOT and owner ~= core.uid() and owner or nil
end

-- The text of the first that is there, or why that one cannot be read; and when it was changed.
local function first_text(paths, reader)
  for _, path in ipairs(paths) do
    local facts = core.stat(core.real_path(path) or path)
    if facts then
      local text, why = core.read_plain(path, MOST_BYTES, { reader = reader })
      return text, why, facts.mtime_ns
    end
  end
end

-- Candidates below a folder: the beginning of a path belongs to the machine where the program was compiled.
local function below(folders, source)
  local list = {}
  for _, folder in ipairs(folders) do
    local real, rest = core.real_path(folder), source:gsub("^/*", "")
    while real and rest do
      local path = core.real_path(real .. "/" .. rest)
      if path and path:sub(1, #real + 1) == real .. "/" then list[#list + 1] = path end
      rest = rest:match "^[^/]*/+(.*)$"
    end
  end
  return list
end

local function lines_of(text) return lists.collect((text .. "\n"):gmatch "(.-)\r?\n") end

--- The lines of a source of a program that is here.
---@param source string as the debug information has it
---@param symbols pmclua.core.Symbols of the program or library that was made of it
---@return string[]? lines
---@return string? why there are none
---@return number|ffi.cdata*|nil mtime_ns when it was changed
function M.source(source, symbols)
  local text, why, mtime_ns = first_text(candidates(source, symbols.path), chooser_of(symbols))
  if text then return lines_of(text), nil, mtime_ns end
  return nil, why and "the source cannot be shown: " .. why or "the source is not here"
end

-- Whether the program or library says that one of its instructions comes from a source.
local function says_so(symbols, address, source)
  local code = address and symbols:code(address) or {}
  return lists.any({ code, unpack(code.inlined or {}) }, function(place)
    return place.source == source or place.declared == source
  end)
end

local UNPROVEN = "no program here says that this is its source: "
  .. "--source FOLDER shows it from below that folder"

---@class pmclua.SourceFile a source that was sampled
---@field key string its path, as the debug information has it
---@field path string the program or library
---@field address? number an instruction of it there
---@field build? string the build of the program or library that it has to be; nil: any

--- The lines of a source, of a program that may not be here.
---@param file pmclua.SourceFile
---@param folders? string[] below which it may be, too, whoever names it
---@return string[]? lines
---@return string? why there are none
function M.named_source(file, folders)
  local text = first_text(below(folders or {}, file.key))
  if text then return lines_of(text) end
  local symbols = file.path:sub(1, 1) == "/" and require("pmclua.core.symbols").open(file.path)
  local is_it = symbols and says_so(symbols, file.address, file.key)
    and (not file.build or require("pmclua.profile.mapped").id_of(file.path, symbols) == file.build)
  local lines, why
  if is_it then lines, why = M.source(file.key, symbols) end
  if symbols then symbols:close() end
  return lines, not lines and (why or UNPROVEN) or nil
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

-- Appends the instructions of a range; false where one is not understood. read(offset): the instruction there;
-- place_of(offset): what it belongs to.
local function add_range(list, first, beyond, read, place_of)
  local offset = first
  while offset < beyond and #list < MOST_INSTRUCTIONS do
    local instruction, code = read(offset)
    if not instruction then return false, code end
    local place = place_of(offset) or {}
    local shown = instruction.text ~= "" and instruction.text or "(unknown)"
    list[#list + 1] = { offset = offset, text = shown, line = place.line, source = place.source }
    offset = offset + #instruction.bytes
  end
  return true
end

local REASONS = { ELIBACC = packages.missing "Capstone",
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

-- A listing, unless an instruction of it is not understood, or one of the offsets is within one.
local function checked(list, refused, offsets)
  if refused or #list == 0 then
    return nil, refused and (REASONS[refused] or refused) or "where the function begins is not known"
  end
  local begins = lists.by(list, "offset")
  local are_there = lists.all(offsets, function(offset) return begins[offset] end)
  if not are_there then return nil, "the file is not the one that was sampled" end
  return list
end

local function listed_file(symbols, offsets)
  local list, refused = {}, nil
  for _, range in ipairs(ranges_of(symbols, offsets)) do
    local ok, code = add_range(list, range[1], range[2],
      function(offset) return symbols:instruction(offset) end,
      function(offset) return symbols:code(offset) end)
    if not ok then refused = code end
  end
  return checked(list, refused, offsets)
end

-- Lists kept code: only sampled instructions have lines.
local function listed_kept(file, offsets)
  local list, refused = {}, nil
  local function place_of(offset) return file.places[offset] end
  for _, from in ipairs(lists.keys(file.kept)) do
    local code = file.kept[from]
    local function read(offset)
      local at = offset - from
      return require("pmclua.core.symbols").instruction(code.bytes:sub(at + 1, at + 16), offset)
    end
    if code.machine ~= jit.arch then return nil, REASONS.ENOTSUP end
    local ok, why = add_range(list, from, from + #code.bytes, read, place_of)
    if not ok then refused = why end
  end
  return checked(list, refused, offsets)
end

---@class pmclua.SampledFile
---@field path string of a program or library
---@field build string its build id, or what stands for it
---@field kept table<number, pmclua.KeptCode> by offset
---@field places table<number, pmclua.ProfileAt> what was sampled, by offset

--- The instructions of the functions that hold some offsets: of the file, where it is still the one that was sampled,
--- else of the code that was kept with the profile.
---@param file pmclua.SampledFile
---@param offsets number[]
---@return pmclua.ListedInstruction[]? list
---@return string? why there is none
function M.instructions(file, offsets)
  if file.path:sub(1, 1) ~= "/" then return nil, "it is in no file" end
  local symbols, code = require("pmclua.core.symbols").open(file.path)
  if code == "ELIBACC" then return nil, packages.missing "libdw" end
  if symbols and require("pmclua.profile.mapped").id_of(file.path, symbols) == file.build then
    local list, why = listed_file(symbols, offsets)
    symbols:close()
    return list, why
  end
  if symbols then symbols:close() end
  if next(file.kept) then return listed_kept(file, offsets) end
  return nil, symbols and "the file here is not the one that was sampled, and its code was not kept"
    or "the file is not here, and its code was not kept"
end

return M
