--- symbol.lua: addresses of what programs call by name, for breakpoints: "mem:counter:w".
--
-- Invariant: an address is given only where it is certain. A program that is loaded anywhere has none before
-- it runs; of one that runs, the addresses are those of this run.

local machine = require "pmclua.host.machine"
local packages = require "pmclua.base.packages"
local symbols = require "pmclua.core.symbols"
local text = require "pmclua.base.text"

local M = {}

local function file_name(path) return text.safe(path:match "[^/]*$") end

local function open(path)
  local list, code = symbols.open(path)
  if list then return list end
  if code == "ELIBACC" then
    return nil, "reading symbols needs elfutils, which is not installed: " .. packages.install "libdw"
  elseif code == "ENOEXEC" then
    return nil, text.safe(path) .. " is neither a program nor a library"
  end
  return nil, ("cannot read the symbols of %s: %s"):format(text.safe(path), code)
end

-- Whether a symbol has a name, which C++ spells in a way of its own: "_ZL8counters" is counters.
local function is_named(symbol, name)
  return symbol == name or symbol:sub(1, 2) == "_Z" and symbols.spell(symbol) == name
end

-- Every object of that name at an address of its own, and the names of all.
local function named(list, name)
  local addresses, at, names = {}, {}, {}
  for object in list:objects() do
    if is_named(object.name, name) and not at[tostring(object.address)] then
      addresses[#addresses + 1] = object
      at[tostring(object.address)] = true
    end
    names[#names + 1] = object.name
  end
  return addresses, names
end

local function missing(name, path, names)
  if #names == 0 then return file_name(path) .. " has no symbols: it was stripped" end
  local hint = text.meant(name, names, "; ")
  return ("%s has no variable or function '%s'%s"):format(file_name(path), text.safe(name), hint)
end

-- The only object of that name; nil, why, and whether there is none at all.
local function find(list, path, name)
  local matches, names = named(list, name)
  if #matches == 0 then return nil, missing(name, path, names), true end
  if #matches > 1 then
    return nil, ("%s has %d symbols named '%s': give the address"):format(file_name(path), #matches, name)
  end
  if matches[1].kind == "threads" then
    return nil, ("'%s' is thread-local: it has no single address to watch"):format(name)
  end
  return matches[1]
end

-- In a program that is to be started.
local function address_in(path, name)
  local list, why = open(path)
  if not list then return nil, why end
  local object, no = find(list, path, name)
  local is_fixed = list:is_fixed()
  list:close()
  if not object then return nil, no end
  if not is_fixed then
    local moves = "'%s' has no address before %s runs, which can be loaded anywhere (a PIE): "
      .. "link it with -no-pie, or count it while it runs, as another process"
    return nil, moves:format(name, file_name(path))
  end
  return object.address
end

--- Looks names up in programs that are to be started, in all of which they must mean the same address.
---@param programs fun(): string[]?, string? their paths; or nil and why they are not known
---@return fun(name: string): number?, string? symbol_address for pmclua.event.Options
function M.in_programs(programs)
  return function(name)
    local paths, unknown = programs()
    if not paths then return nil, unknown end
    local none = #paths == 0 and "'%s' is not an address, and there is no program that could have it"
    if none then return nil, none:format(name) end
    local address
    for _, path in ipairs(paths) do
      local its, why = address_in(path, name)
      if not its then return nil, why end
      if address and its ~= address then
        local why_not = "'%s' is not at the same address in all these programs: measure them one by one"
        return nil, why_not:format(name)
      end
      address = its
    end
    return address
  end
end

-- Files that a process has mapped, with the address of their first byte; the program itself first.
local function mapped(pid)
  local files, seen = {}, {}
  local task = pid ~= "self" and require("pmclua.host.tasks").living(pid) or pid
  for line in (machine.text(("/proc/%s/maps"):format(task)) or ""):gmatch "[^\n]+" do
    local start, path = line:match "^(%x+)%-%x+ %S+ 0+ %S+ %d+%s+(/.*)$"
    if start and not seen[path] then
      files[#files + 1] = { path = path, start = tonumber(start, 16) }
      seen[path] = true
    end
  end
  return files
end

--- Looks names up in a process that runs: in its program, then in its libraries.
---@param pid integer|"self"
---@return fun(name: string): number?, string? symbol_address for pmclua.event.Options
function M.in_process(pid)
  return function(name)
    local files, first_why = mapped(pid), nil
    if #files == 0 then return nil, ("this user may not see what process %s has loaded"):format(pid) end
    for _, file in ipairs(files) do
      local list, why = open(file.path)
      local object, is_missing
      if list then
        object, why, is_missing = find(list, file.path, name)
        local bias = list:is_fixed() and 0 or file.start - list:base()
        list:close()
        if object then return object.address + bias end
        if not is_missing then return nil, why end
      end
      first_why = first_why or why
    end
    return nil, first_why
  end
end

return M
