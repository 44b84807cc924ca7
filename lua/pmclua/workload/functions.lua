--- functions.lua: functions as regions: where each is entered and left.
--
--     local found = functions.find("lib.so:parse*", { program = "/usr/bin/xmllint" })
--
-- Invariant: no function is followed in part: each of its exits that can be found has a point. A function that
-- cannot be followed raises a problem that says why and what to do.

local explain = require "pmclua.explain"
local files = require "pmclua.event.function_files"
local lists = require "pmclua.base.lists"
local named = require "pmclua.event.functions"
local text = require "pmclua.base.text"

local M = {}

local PROBE_HINT = "return probes are possible (returns = \"probe\", --return-probes): they abort C++ "
  .. "programs that throw through the function, and miss returns beyond 64 nested calls"

-- ---- points --------------------------------------------------------------------------------------------

local function exit_points(symbol, exits, path, region)
  local has_return = lists.any(exits, function(exit) return not exit.tail end)
  for _, exit in ipairs(exits) do
    local kind = exit.tail and has_return and "tail" or "return"
    if exit.offset == symbol.offset then
      -- Its only instruction begins and ends each call.
      region.points = { { kind = "whole", file = path, offset = exit.offset } }
      table.insert(region.notes,
        "its first instruction leaves it: there is nothing between its entry and its return")
      return
    end
    table.insert(region.points, { kind = kind, file = path, offset = exit.offset })
  end
  if not has_return then
    table.insert(region.notes, "it ends in a call of another function: counted only until then")
  end
end

local STANDS = "its entry's probe stands at +%d, the first instruction that Linux emulates: what comes "
  .. "before is not counted"
local STEPPED = "Linux steps the instruction at its entry: each call costs some microseconds more than others"

-- The probe of an entry goes to an instruction that Linux emulates, where every call passes one. The function begins
-- where it did, for who counts calls by its address.
local function place_entry(symbol, body, region)
  local entry = region.points[1]
  if entry.kind ~= "entry" then return end
  if body.probe_at and body.probe_at ~= symbol.offset then
    entry.offset, entry.begins = body.probe_at, symbol.offset
    table.insert(region.notes, STANDS:format(body.probe_at - symbol.offset))
  end
  if body.is_stepped then table.insert(region.notes, STEPPED) end
end

local function add_returns(list, symbol, path, region)
  local exits, body = named.returns(list, symbol, PROBE_HINT)
  exit_points(symbol, exits, path, region)
  place_entry(symbol, body, region)
  region.loops = body.loops_to_entry
  if body.loops_to_entry and body.calls then
    table.insert(region.notes,
      "a loop in it begins at its entry: a call left by an exception may be merged with the next one")
  end
end

local function note_inlined(list, symbol, region)
  local inlined = list:inlined(symbol.plain, symbol.index)
  if inlined and inlined.places > 0 then
    table.insert(region.notes, ("also inlined into its callers in %s%s: these calls are not seen")
      :format(text.plural(inlined.places, "place"), named.source_of(inlined)))
  end
end

---@class pmclua.Region a part of a run: where it begins and ends
---@field name string shown
---@field points pmclua.core.Point[]
---@field loops boolean? its code jumps to its own entry
---@field switches boolean? stacks of its program are known not to be its threads'
---@field notes string[] what a reader of its numbers should know

-- Every Go program has this function, which starts a goroutine.
local function is_go(list) return #list:match "runtime.newproc" > 0 end

--- Whether a program is known to switch stacks on its threads.
---@param program string? path
---@return boolean
function M.switches_stacks(program)
  local ok, list = pcall(files.of_file, program or "")
  return ok and is_go(list)
end

local function region_of(list, symbol, path, options, name)
  local region = { name = name, notes = {}, switches = is_go(list),
    points = { { kind = "entry", file = path, offset = symbol.offset } } }
  if options.returns == "probe" then
    table.insert(region.points, { kind = "return_probe", file = path, offset = symbol.offset })
    table.insert(region.notes, "return probes: a C++ exception through it aborts the program, and "
      .. "returns beyond 64 nested calls are missed")
  else
    add_returns(list, symbol, path, region)
  end
  note_inlined(list, symbol, region)
  return region
end

--- A pattern leaves out functions that cannot be followed; one that is named must be followed.
local function add_region(regions, skipped, is_pattern, ...)
  if not is_pattern then
    regions[#regions + 1] = region_of(...)
    return
  end
  local ok, region = pcall(region_of, ...)
  if ok then regions[#regions + 1] = region
  elseif explain.is(region) then skipped[#skipped + 1] = region
  else error(region, 0) end
end

--- Regions of all functions that a name means. Raises a problem.
---@param spec string "compute", "ns::parse", "lib.so:parse*", "/path/of/file:f"
---@param image pmclua.functions.Image
---@param options? { returns?: "probe" }
---@return pmclua.Region[]
---@return pmclua.Problem[] skipped of a pattern: why functions were left out
function M.find(spec, image, options)
  local file, name = files.split(spec)
  local path = files.file(file, image)
  local matches, list = named.match(files.of_file(path), path, name)
  local regions, skipped, names = {}, {}, named.names(list, matches)
  local is_pattern = #matches > 1 and name:find "[*?%[]" ~= nil
  for _, symbol in ipairs(matches) do
    if symbol.imported and #matches == 1 then named.raise_imported(symbol, path, image) end
    if symbol.indirect and not is_pattern then named.raise_indirect(list, symbol) end
    if not symbol.imported and not symbol.indirect then
      add_region(regions, skipped, is_pattern, list, symbol, path, options or {},
        names[symbol])
    end
  end
  if #regions == 0 and skipped[1] then error(skipped[1], 0) end
  if #regions == 0 then named.raise_unknown(list, path, name, file ~= nil, image) end
  return regions, skipped
end

return M
