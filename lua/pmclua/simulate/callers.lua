--- callers.lua: call chains of a command, by one more run under callgrind: exact, with how often each was called.
--
-- Callgrind keeps apart what a function does for each chain of callers ("f'g'main"). A function that calls itself stays
-- the same frame.

local out_file = require "pmclua.simulate.out_file"
local spell = require("pmclua.core.symbols").spell

local M = {}

local MOST_FRAMES = 64          -- of a chain; what is further out is unknown

--- Callgrind's options. Names are told as symbols: those that a demangler makes may have a "'".
M.OPTIONS = { ("--separate-callers=%d"):format(MOST_FRAMES), "--demangle=no" }

--- The outermost frame of chains that are longer.
M.UNKNOWN = "[caller unknown]"

local NAMELESS = "code without symbols"         -- as profile.lua has it

--- The name of a frame in chains: "f'2" is f, entered again; "0x4a10" has no name.
---@param said string the symbol
---@return string? frame
function M.frame(said)
  if said:find "^%d+$" then return nil end
  if said:find "^0x%x+$" or said == "???" then return NAMELESS end
  return (spell((said:gsub("@@.*$", ""))):gsub("[;%c]", ":"))
end

-- "main;g;f" of "f'g'main'(below main)".
local function chain_of(self, context)
  local known = self.known[context]
  if known then return known end
  local names, count = {}, 0
  for said in context:gmatch "[^']+" do
    local name = M.frame(said)
    count = count + 1
    if name then table.insert(names, 1, name) end
    if name == "main" then break end
  end
  if count >= MOST_FRAMES and names[1] ~= "main" then table.insert(names, 1, M.UNKNOWN) end
  self.known[context] = table.concat(names, ";")
  return self.known[context]
end

local function add(map, key, count) map[key] = (map[key] or 0) + count end

--- The cost of each chain, and how often its last function was called from the one before it.
---@param files pmclua.OutFile[] of one run, written with M.OPTIONS
---@param counters string[] whose sum is asked for
---@return table<string, number> chains "main;f;g"
---@return table<string, integer> calls by chain
function M.of(files, counters)
  local self, chains, calls = { known = {} }, {}, {}
  for _, file in ipairs(files) do
    for _, line in ipairs(out_file.lines(file)) do
      local chain = chain_of(self, line.fn)
      local called = line.inclusive and chain_of(self, line.called)
      if called and called ~= chain then add(calls, called, line.calls) end
      for _, counter in ipairs(line.inclusive and {} or counters) do
        add(chains, chain, tonumber(line.counts[counter] or 0))
      end
    end
  end
  for chain, count in pairs(chains) do
    if count == 0 then chains[chain] = nil end
  end
  return chains, calls
end

return M
