--- functions.lua: functions by the names that people write: "compute", "lib.so:parse", "/path/of/file:f".
--
-- Invariant: a name that is not found, or that cannot be probed, raises a problem that says why and what to
-- do.

local apart = require("pmclua.base.lazy").module "pmclua.base.apart"
local files = require "pmclua.event.function_files"
local lists = require "pmclua.base.lists"
local packages = require "pmclua.base.packages"
local signature = require "pmclua.event.signature"
local symbols = require "pmclua.core.symbols"
local text = require "pmclua.base.text"
local unreadable = require("pmclua.base.lazy").module "pmclua.event.unread"

local M = {}

local problem = files.problem

-- ---- names that are not there --------------------------------------------------------------------------

local MOST_COMPARED = 50000      -- names: more take seconds to compare

local function all_names(list)
  local names = {}
  for i = 1, math.min(list.count, MOST_COMPARED) do
    local symbol = list:at(i)
    if symbol and not symbol.imported and not symbol.part then names[#names + 1] = symbol.plain end
  end
  return lists.unique(names)
end

local function containing(names, name)
  local matches = lists.where(#name >= 3 and names or {}, function(other)
    return other:lower():find(name:lower(), 1, true)
  end)
  return { unpack(matches, 1, 3) }
end

local function in_other_file(name, image)
  for _, path in ipairs(files.loaded(image)) do
    local list = path ~= image.program and symbols.open(path)
    local matches = list and list:match(name) or {}
    local is_there = matches[1] and not matches[1].imported
    if list then list:close() end
    if is_there then return path:match "[^/]*$" end
  end
end

--- Where the source has a function that was compiled into its callers: " (file.c:12)"; "" where nobody says.
---@param inlined table as Symbols:inlined gives it
---@return string
function M.source_of(inlined)
  return inlined.file and (" (%s:%d)"):format(inlined.file:match "[^/]*$", inlined.line) or ""
end

local function raise_inlined(name, shown, inlined)
  problem("EINLINED", ("'%s' was inlined into its callers in %s%s: %s has no calls of it to count"):format(
    text.safe(name), text.plural(inlined.places, "place"), M.source_of(inlined), shown),
    "declare it __attribute__((noinline)), or build with -fno-inline")
end

local function raise_other_parameters(overloads, shown, name)
  local spellings = {}
  for i = 1, math.min(3, #overloads) do spellings[i] = ("'%s'"):format(text.safe(overloads[i].shown)) end
  if #spellings == 0 then return end
  problem("ENOENT", ("%s has no function '%s'"):format(shown, text.safe(name)),
    "there is " .. text.list(spellings, "or"))
end

--- Raises why a file has no function of that name.
---@param list pmclua.core.Symbols
---@param path string
---@param name string
---@param file_given boolean whether the file was named, too
---@param image pmclua.functions.Image
function M.raise_unknown(list, path, name, file_given, image)
  local shown = text.safe(path:match "[^/]*$")
  local bare = signature.name(name)
  local inlined = not name:find "[*?]" and list:inlined(bare)
  if inlined and inlined.places > 0 then raise_inlined(name, shown, inlined) end
  local names = all_names(list)
  if #names == 0 then
    problem("ENOENT", ("%s has no symbols: it was stripped"):format(shown),
      "install its debug symbols (a -dbgsym package), or build it without strip")
  end
  local other = not file_given and in_other_file(name, image)
  if other then
    problem("ENOENT", ("'%s' is not in %s but in a library"):format(text.safe(name), shown),
      ("name both: '%s:%s'"):format(other, name))
  end
  if bare ~= name then raise_other_parameters(list:match(bare), shown, name) end
  local unread = unreadable.sentences(list, path)
  local similar = containing(names, bare)
  problem("ENOENT", ("%s has no function '%s'"):format(shown, text.safe(name)),
    text.meant(bare, names) or #similar > 0 and "there is " .. text.list(similar, "or")
      or unread[1]
      or not inlined and "without debug information (-g) pmclua cannot tell whether it was inlined" or nil)
end

-- ---- functions that cannot be probed -------------------------------------------------------------------

--- Raises that a file only calls a function.
---@param symbol pmclua.core.Symbol
---@param path string
---@param image pmclua.functions.Image
function M.raise_imported(symbol, path, image)
  local shown = text.safe(path:match "[^/]*$")
  local other = in_other_file(symbol.name, image)
  problem("ENOENT", ("%s calls '%s' but does not contain it"):format(shown, symbol.shown),
    other and ("name its library, too: '%s:%s'"):format(other, symbol.name) or nil)
end

--- Raises that a function is chosen at run time, and names those it is chosen of.
---@param list pmclua.core.Symbols
---@param symbol pmclua.core.Symbol
function M.raise_indirect(list, symbol)
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

-- ---- the function that is meant -------------------------------------------------------------------------

-- Functions of one name: static ones are in several source files.
local FORMS = { {}, { source = 1 }, { source = 2 }, { source = math.huge }, { source = 1, address = true } }

--- The names of some functions of a file, no two alike: those of one name with their source file.
---@param list pmclua.core.Symbols
---@param matches pmclua.core.Symbol[]
---@return table<pmclua.core.Symbol, string>
function M.names(list, matches)
  return apart.names(matches, FORMS, function(symbol, form)
    local declared = form.source and (list:code(symbol.offset) or {}).declared
    local name = symbol.shown
    if declared then name = ("%s (%s)"):format(name, apart.tail(declared, form.source)) end
    return form.address and ("%s at 0x%x"):format(name, symbol.address) or name
  end)
end

-- The functions that such a name means: "touch (b/util.c)".
local function match_shown(list, name)
  local matches = signature.match(list, (name:gsub(" at 0x%x+$", ""):gsub(" %b()$", "")))
  return lists.where(matches, function(symbol) return M.names(list, matches)[symbol] == name end)
end

--- The functions of a file that a name means; where it has none, with the debug information that servers may have.
---@param list pmclua.core.Symbols
---@param path string
---@param name string
---@return pmclua.core.Symbol[]
---@return pmclua.core.Symbols
function M.match(list, path, name)
  local matches = signature.match(list, name)
  if #matches == 0 and name:find " %b()" then matches = match_shown(list, name) end
  local has_no_more = #matches > 0 or list:has_debug_information()
  local completed = not has_no_more and files.completed(path)
  if not completed then return matches, list end
  return signature.match(completed, name), completed
end

--- The one function that a name means, and its file. Raises a problem.
---@param spec string
---@param image pmclua.functions.Image
---@return pmclua.core.Symbol
---@return string path
---@return pmclua.core.Symbols
function M.one(spec, image)
  local file, name = files.split(spec)
  local path = files.file(file, image)
  local matches, list = M.match(files.of_file(path), path, name)
  if #matches == 0 then M.raise_unknown(list, path, name, file ~= nil, image) end
  if #matches > 1 then
    problem("ESEVERAL", ("'%s' means %s of %s"):format(text.safe(name), text.plural(#matches, "function"),
      text.safe(path)), ("one of them is '%s'"):format(M.names(list, matches)[matches[1]]))
  end
  if matches[1].imported then M.raise_imported(matches[1], path, image) end
  if matches[1].indirect then M.raise_indirect(list, matches[1]) end
  return matches[1], path, list
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

-- ---- where a function is left ----------------------------------------------------------------------------

local NO_RETURNS = {
  ELIBACC = "the returns of '%s' need " .. packages.missing("Capstone", ", which is not installed"),
  ENOTSUP = "the returns of '%s' cannot be found: Capstone 4 does not know its machine",
  ENODATA = "the returns of '%s' cannot be found: its end is not known",
  EIO = "'%s' reaches beyond the end of its file",
  EILSEQ = "the returns of '%s' cannot be found: Capstone 4 does not know the instruction at +0x%x",
  ENORETURN = "'%s' has no return instruction: it never returns, or ends in a jump through a pointer",
}

--- Where a function can be left. Raises a problem where that cannot be found.
---@param list pmclua.core.Symbols
---@param symbol pmclua.core.Symbol
---@param hint? string what to do instead
---@return { offset: integer, tail: boolean }[] exits at least one
---@return pmclua.core.Body
function M.returns(list, symbol, hint)
  local exits, body, unread = list:exits(symbol.index)
  if exits and #exits > 0 then return exits, body end
  local code = exits and "ENORETURN" or body
  local at = code == "EILSEQ" and unread.unknown_at - symbol.address or nil
  local form = NO_RETURNS[code] or "the returns of '%s' cannot be found"
  problem(code, form:format(symbol.shown, at), hint)
end

--- The instructions in a file by which a function is left, those that jump to another function too.
---@param path string
---@param name string
---@return { offset: number, tail: boolean, into: number }[]? exits into: bytes behind the function's beginning
---@return boolean|string jumps_out it may also be left by a jump that is not among them; or why there are none
function M.exits(path, name)
  local ok, symbol, _, list = pcall(M.one, path .. ":" .. name, { program = path })
  if not ok then return nil, tostring(symbol) end
  local is_read, exits, body = pcall(M.returns, list, symbol)
  if not is_read then return nil, tostring(exits) end
  for _, exit in ipairs(exits) do exit.into = exit.offset - symbol.offset end
  return exits, body.jumps_out
end

return M
