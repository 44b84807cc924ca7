--- reach.lua: which functions each file of specs enters, in its own process and in all that it starts.
--
-- Invariant: the tree that is asked is a copy, in which each function says that it was entered; no line
-- moves.
-- The answer is kept with a digest of the sources and specs that it is of.

local support = require "tests.support"
local tokens = require "tests.mutants.tokens"

local M = {}

local HERE = support.root .. "/tests/mutants/"
local LIMIT_S = 600                 -- for one file of specs
local SIZE = 65536                  -- bytes of the map of C functions: PMCLUA_HITS in hits.h

local function sh(line) return support.output_of(line) end

--- The files that mutants are drawn from.
---@return { path: string, language: "lua"|"c" }[]
function M.sources()
  local list = {}
  for path in sh(("cd %s && find lua/pmclua core -name '*.lua' -o -name '*.c' | LC_ALL=C sort"):format(
    support.quote(support.root))):gmatch "[^\n]+" do
    if path:find "^lua/" or path:find "%.c$" then
      list[#list + 1] = { path = path, language = path:find "%.c$" and "c" or "lua" }
    end
  end
  return list
end

--- A fresh copy of the tree in build/mutants/NAME, not built.
---@param name string
---@return string folder
function M.copy(name)
  local folder = support.root .. "/build/mutants/" .. name
  assert(0 == os.execute(("rm -rf %s && mkdir -p %s && cd %s && tar -cf - --exclude=./build --exclude=./.git "
    .. "--exclude=./pmclua . | tar -xf - -C %s"):format(support.quote(folder), support.quote(folder),
    support.quote(support.root), support.quote(folder))))
  return folder
end

--- Builds a tree; warnings are none of a mutant's errors.
---@param folder string
---@param more? string options of make
---@return boolean built
function M.make(folder, more)
  return 0 == os.execute(("make -s -j2 -C %s WARN=-w %s all >%s/make.log 2>&1"):format(support.quote(folder),
    more or "", support.quote(folder)))
end

-- Inserts `call` at the start of each function, last to first, so that places hold.
local function instrument(text, language, first, call)
  local _, starts = tokens.of(text, language)
  for k = #starts, 1, -1 do
    if starts[k] then text = text:sub(1, starts[k] - 1) .. call:format(first + k) .. text:sub(starts[k]) end
  end
  return text, #starts
end

local LUA_HEAD = "local __hit = require'pmclua.hits' "

-- Instruments the tree: of each id the path and scope. A Lua file that has no room for one more upvalue stays as
-- it is; no spec seems to enter it.
local function instrument_tree(folder)
  local ids, count = {}, 0
  for _, source in ipairs(M.sources()) do
    local file, is_lua = folder .. "/" .. source.path, source.language == "lua"
    local text, functions = instrument(support.read(file), source.language, count,
      is_lua and " __hit(%d) " or " pmclua_hit(%d); ")
    if is_lua then text = LUA_HEAD .. text end
    if not is_lua or loadstring(text) then support.write(file, text) end
    for k = 1, functions do ids[count + k] = source.path .. ":" .. k end
    count = count + functions
  end
  assert(count < SIZE)
  support.write(folder .. "/lua/pmclua/hits.lua", support.read(HERE .. "hits.lua"))
  return ids
end

-- The ids that a run has left in its two files.
local function entered(lua_file, c_file, ids)
  local list = {}
  for id in support.read(lua_file):gmatch "%d+" do
    local name = ids[tonumber(id)]
    if name then list[name] = true end            -- none: a process that was killed in the middle of a line
  end
  local bytes = support.read(c_file)
  for id = 1, #ids do
    if bytes:byte(id + 1) == 1 then list[ids[id]] = true end
  end
  return list
end

local function run(folder, spec, scratch, ids)
  local lua_file, c_file = scratch .. "/lua", scratch .. "/c"
  support.write(lua_file, "")
  support.write(c_file, ("\0"):rep(SIZE))
  os.execute(("chmod 0777 %s && chmod 0666 %s %s"):format(scratch, lua_file, c_file))
  local began_ns = require("pmclua.core").now_ns()
  os.execute(("cd %s && PMCLUA_MUTANTS_HITS=%s PMCLUA_MUTANTS_HITS_C=%s timeout -k 10 %d build/pmclua "
    .. "tests/support/specs.lua x %s >/dev/null 2>&1"):format(folder, lua_file, c_file, LIMIT_S, spec))
  return entered(lua_file, c_file, ids), (require("pmclua.core").now_ns() - began_ns) / 1e9
end

-- Words of the variable SPECS, each part of a spec's name; without it all specs.
local ONLY = os.getenv "SPECS" or ""

local function is_asked_for(spec)
  if ONLY == "" then return true end
  for word in ONLY:gmatch "%S+" do
    if spec:find(word, 1, true) then return true end
  end
  return false
end

local function digest()
  local list = "find lua/pmclua core tests/spec -type f | LC_ALL=C sort | xargs cat | sha256sum"
  return sh(("cd %s && %s"):format(support.quote(support.root), list)):match "%x+" .. " " .. ONLY
end

local function load_map(file, wanted)
  local lines = support.exists(file) and support.lines_of(file) or {}
  if lines[1] ~= wanted then return nil end
  local map = {}
  for i = 2, #lines do
    local spec, seconds, rest = lines[i]:match "^(%S+) (%S+) (.*)$"
    map[#map + 1] = { spec = spec, seconds = tonumber(seconds), entered = {} }
    for id in rest:gmatch "%S+" do map[#map].entered[id] = true end
  end
  return map
end

---@class tests.Reach
---@field spec string its path
---@field seconds number that it took
---@field entered table<string, true> "path:scope" of functions; scope 0 is a file's own chunk

--- What each file of specs enters, the quickest first.
---@param scratch string a folder for what specs say
---@return tests.Reach[]
function M.map(scratch)
  local file, wanted = support.root .. "/build/mutants/map.txt", digest()
  local known = load_map(file, wanted)
  if known then return known end
  local folder = M.copy "map"
  local ids = instrument_tree(folder)
  local more = ("CPPFLAGS='-include %shits.h'"):format(HERE)
  assert(M.make(folder, more), "the instrumented tree does not build")
  local map = {}
  local specs = sh(("cd %s && ls tests/spec/*_spec.lua"):format(support.quote(folder)))
  for spec in specs:gmatch "[^\n]+" do
    if is_asked_for(spec) then
      local list, seconds = run(folder, spec, scratch, ids)
      map[#map + 1] = { spec = spec, seconds = seconds, entered = list }
      io.stderr:write(("\rmutants: %d files of specs looked at"):format(#map))
    end
  end
  io.stderr:write "\n"
  table.sort(map, function(a, b) return a.seconds < b.seconds end)
  local lines = { wanted }
  for _, row in ipairs(map) do
    local list = {}
    for id in pairs(row.entered) do list[#list + 1] = id end
    lines[#lines + 1] = ("%s %.2f %s"):format(row.spec, row.seconds, table.concat(list, " "))
  end
  support.write(file, table.concat(lines, "\n") .. "\n")
  return map
end

return M
