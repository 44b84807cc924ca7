--- functions.lua: functions by the names that people write, as regions: where each is entered and left.
--
--     local found = functions.find("lib.so:parse*", { program = "/usr/bin/xmllint" })
--
-- Invariant: a name that is not found, or cannot be followed, raises a problem that says why and what to
-- do; a function is never followed by half: every way out of it that can be known has its point.

local explain = require "pmclua.explain"
local files = require "pmclua.workload.function_files"
local symbols = require "pmclua.core.symbols"
local text = require "pmclua.text"

local M = {}

local function problem(code, message, hint)
  error(explain.problem { code = code, operation = "find", message = message, hint = hint }, 0)
end

-- ---- names that are not there --------------------------------------------------------------------------

local MOST_COMPARED = 50000      -- names: more take seconds to compare

local function all_names(list)
  local names, seen = {}, {}
  for i = 1, math.min(list.count, MOST_COMPARED) do
    local symbol = list:at(i)
    if symbol and not symbol.imported and not symbol.part and not seen[symbol.plain] then
      names[#names + 1], seen[symbol.plain] = symbol.plain, true
    end
  end
  return names
end

local function containing(names, name)
  local found = {}
  for _, other in ipairs(names) do
    local has_it = #name >= 3 and other:lower():find(name:lower(), 1, true)
    if has_it and #found < 3 then found[#found + 1] = other end
  end
  return found
end

local function in_other_file(name, place)
  for _, path in ipairs(files.loaded(place)) do
    local list = path ~= place.program and symbols.open(path)
    local found = list and list:match(name) or {}
    local is_there = found[1] and not found[1].imported
    if list then list:close() end
    if is_there then return path:match "[^/]*$" end
  end
end

local function said_place(inlined)
  return inlined.file and (" (%s:%d)"):format(inlined.file:match "[^/]*$", inlined.line) or ""
end

local function raise_inlined(name, shown, inlined)
  problem("EINLINED", ("'%s' was compiled into its callers in %s%s: %s has no calls of it to count"):format(
    text.safe(name), text.plural(inlined.places, "place"), said_place(inlined), shown),
    "declare it __attribute__((noinline)), or build with -fno-inline")
end

local function raise_unknown(list, path, name, file_given, place)
  local shown = text.safe(path:match "[^/]*$")
  local inlined = not name:find "[*?]" and list:inlined(name)
  if inlined and inlined.places > 0 then raise_inlined(name, shown, inlined) end
  local names = all_names(list)
  if #names == 0 then
    problem("ENOENT", ("%s has no symbols: it was stripped"):format(shown),
      "install its debug symbols (a -dbgsym package), or build it without strip")
  end
  local other = not file_given and in_other_file(name, place)
  if other then
    problem("ENOENT", ("'%s' is not in %s but in a library"):format(text.safe(name), shown),
      ("name both: '%s:%s'"):format(other, name))
  end
  local nearest, similar = text.nearest(name, names), containing(names, name)
  problem("ENOENT", ("%s has no function '%s'"):format(shown, text.safe(name)),
    nearest and ("did you mean '%s'?"):format(nearest)
      or #similar > 0 and "there is " .. text.list(similar, "or")
      or not inlined and "without debug information (-g) it cannot be said whether it was inlined" or nil)
end

-- ---- functions that cannot be followed as they are -----------------------------------------------------

local function raise_imported(symbol, path, place)
  local shown = text.safe(path:match "[^/]*$")
  local other = in_other_file(symbol.name, place)
  problem("ENOENT", ("%s calls '%s' but does not have it"):format(shown, symbol.shown),
    other and ("name its library, too: '%s:%s'"):format(other, symbol.name) or nil)
end

local function raise_indirect(list, symbol)
  local choices = {}
  local bare = symbol.name:gsub("^_+", "")
  for _, other in ipairs(list:match(("*%s_*"):format(bare))) do
    local is_choice = other.plain:gsub("^_+", ""):sub(1, #bare + 1) == bare .. "_"
      and not other.indirect and not other.plain:find "_ifunc$"
    if is_choice and #choices < 4 then choices[#choices + 1] = other.plain end
  end
  problem("EINDIRECT", ("'%s' is chosen at run time among several functions"):format(symbol.shown),
    #choices > 0 and "name the one that is used here: " .. text.list(choices, "or") or nil)
end

local PROBE_HINT = "return probes can be asked for (returns = \"probe\", --return-probes): they abort C++ "
  .. "programs that throw through the function, and miss returns beyond 64 calls within each other"

local CANNOT = {
  ELIBACC = "finding the returns of '%s' takes Capstone, which is not installed (libcapstone4)",
  ENOTSUP = "the returns of '%s' cannot be found: its machine is none that Capstone 4 knows",
  ENODATA = "the returns of '%s' cannot be found: where it ends is not known",
  EIO = "'%s' reaches beyond the end of its file",
}

local function raise_no_exits(symbol, code, body)
  if code == "EILSEQ" then
    local where = body.unknown_at - symbol.address
    problem(code,
      ("the returns of '%s' cannot be found: Capstone 4 does not know the instruction at +0x%x")
        :format(symbol.shown, where), PROBE_HINT)
  end
  problem(code, (CANNOT[code] or "the returns of '%s' cannot be found"):format(symbol.shown), PROBE_HINT)
end

-- ---- points --------------------------------------------------------------------------------------------

local function exit_points(symbol, exits, path, region)
  local has_return = false
  for _, exit in ipairs(exits) do has_return = has_return or not exit.tail end
  for _, exit in ipairs(exits) do
    local kind = exit.tail and has_return and "tail" or "return"
    if exit.offset == symbol.offset then
      -- Its only instruction is reached by every call, and ends each.
      region.points = { { kind = "whole", file = path, offset = exit.offset } }
      return
    end
    table.insert(region.points, { kind = kind, file = path, offset = exit.offset })
  end
  if #exits > 0 and not has_return then
    table.insert(region.notes, "it ends in a call of another function: counted until there")
  end
end

local function add_returns(list, symbol, path, region)
  local exits, body, facts = list:exits(symbol.index)
  if not exits then raise_no_exits(symbol, body, facts) end
  if #exits == 0 then
    problem("ENORETURN",
      ("'%s' has no return instruction: it never returns, or ends in a jump through a pointer")
        :format(symbol.shown), PROBE_HINT)
  end
  exit_points(symbol, exits, path, region)
  region.loops = body.loops_to_entry
  if body.loops_to_entry and body.calls then
    table.insert(region.notes,
      "a loop in it begins at its entry: a call left by an exception may be joined to the next one")
  end
end

local function note_inlined(list, symbol, region)
  local inlined = list:inlined(symbol.plain, symbol.index)
  if inlined and inlined.places > 0 then
    table.insert(region.notes, ("also compiled into its callers in %s%s: these calls are not seen")
      :format(text.plural(inlined.places, "place"), said_place(inlined)))
  end
end

---@class pmclua.Region a part of a run: where it begins and ends
---@field name string shown
---@field points pmclua.core.Point[]
---@field loops boolean? its code jumps to its own entry
---@field notes string[] what a reader of its numbers should know

local function region_of(list, symbol, path, options)
  local region = { name = symbol.shown, notes = {},
    points = { { kind = "entry", file = path, offset = symbol.offset } } }
  if options.returns == "probe" then
    table.insert(region.points, { kind = "return_probe", file = path, offset = symbol.offset })
  else
    add_returns(list, symbol, path, region)
  end
  note_inlined(list, symbol, region)
  return region
end

--- Of several functions, one that cannot be followed is left out and not a reason to follow none.
local function add_region(regions, skipped, is_pattern, ...)
  if not is_pattern then
    regions[#regions + 1] = region_of(...)
    return
  end
  local ok, found = pcall(region_of, ...)
  if ok then regions[#regions + 1] = found
  elseif explain.is(found) then skipped[#skipped + 1] = found
  else error(found, 0) end
end

--- Regions of all functions that a name means. Raises a problem.
---@param spec string "compute", "ns::parse", "lib.so:parse*", "/path/of/file:f"
---@param place pmclua.functions.Place
---@param options? { returns?: "probe" }
---@return pmclua.Region[]
---@return pmclua.Problem[] skipped of a pattern: why functions were left out
function M.find(spec, place, options)
  local file, name = files.split(spec)
  local path = files.file(file, place)
  local list = files.of_file(path)
  local found, regions, skipped = list:match(name), {}, {}
  local is_pattern = #found > 1 and name:find "[*?%[]" ~= nil
  for _, symbol in ipairs(found) do
    if symbol.imported and #found == 1 then raise_imported(symbol, path, place) end
    if symbol.indirect and not is_pattern then raise_indirect(list, symbol) end
    if not symbol.imported and not symbol.indirect then
      add_region(regions, skipped, is_pattern, list, symbol, path, options or {})
    end
  end
  if #regions == 0 and skipped[1] then error(skipped[1], 0) end
  if #regions == 0 then raise_unknown(list, path, name, file ~= nil, place) end
  return regions, skipped
end

--- The one function that a name means, and its file. Raises a problem.
---@param spec string
---@param place pmclua.functions.Place
---@return pmclua.core.Symbol
---@return string path
---@return pmclua.core.Symbols
function M.one(spec, place)
  local file, name = files.split(spec)
  local path = files.file(file, place)
  local list = files.of_file(path)
  local found = list:match(name)
  if #found == 0 then raise_unknown(list, path, name, file ~= nil, place) end
  if #found > 1 then
    problem("ESEVERAL", ("'%s' means %s of %s"):format(text.safe(name), text.plural(#found, "function"),
      text.safe(path)), ("one of them is '%s'"):format(found[1].shown))
  end
  if found[1].imported then raise_imported(found[1], path, place) end
  if found[1].indirect then raise_indirect(list, found[1]) end
  return found[1], path, list
end

--- The offset in a file of a function, for probes of other kinds.
---@param path string
---@param name string
---@return number? offset
---@return string? why not
function M.offset(path, name)
  local ok, symbol = pcall(M.one, path .. ":" .. name, { program = path })
  if not ok then return nil, tostring(symbol) end
  return symbol.offset
end

return M
