--- callers.lua: call chains of a command, by one more run under callgrind: exact, with how often each was called.
--
-- Callgrind keeps apart what a function does for each chain of callers ("f'g'main"). A function that calls itself stays
-- the same frame.

local lists = require "pmclua.base.lists"
local out_file = require "pmclua.simulate.out_file"
local spell = require("pmclua.core.symbols").spell

local M = {}

local MOST_FRAMES = 64          -- of a chain; what is further out is unknown

--- Callgrind's options. Names are told as symbols: those that a demangler makes may have a "'".
M.OPTIONS = { ("--separate-callers=%d"):format(MOST_FRAMES), "--demangle=no" }

--- The outermost frame of chains that are longer.
M.UNKNOWN = "[caller unknown]"

local NAMELESS = "code without symbols"         -- as profile.lua has it

-- The full name of a function; nil: "f'2" is f, entered again.
local function full_name(frame_text)
  if frame_text:find "^%d+$" then return nil end
  if frame_text:find "^0x%x+$" or frame_text == "???" then return NAMELESS end
  return (spell((frame_text:gsub("@@.*$", ""))))
end

--- The name of a frame in chains: "f'2" is f, entered again; "0x4a10" has no name.
---@param frame_text string the symbol
---@return string? frame
function M.frame(frame_text)
  local full = full_name(frame_text)
  return full and (full:gsub("[;%c]", ":"))
end

-- Notes which of several functions of one name the first of a context is, as its lines' files say.
local function add_first(self, line)
  local symbol = line.fn:match "^[^']+"
  self.homes_of[symbol] = self.homes_of[symbol] or self.homes(full_name(symbol))
  local frame = self.homes_of[symbol][line.file]
  if not frame then return end
  local known = self.first[line.fn]
  self.first[line.fn] = (known == nil or known == frame) and frame
end

-- The frame of a function that stands in a context at some place.
local function frame_at(self, context, at, frame_text)
  local homes = self.homes_of[frame_text]
  local own = homes and next(homes) and self.first[context:sub(at)]
  if own then return own end
  local frame = self.frames[frame_text]
  if frame == nil then
    frame = M.frame(frame_text) or false
    self.frames[frame_text] = frame
  end
  return frame
end

-- "main;g;f" of "f'g'main'(below main)".
local function chain_of(self, context)
  local known = self.known[context]
  if known then return known end
  local names, count = {}, 0
  for at, part in context:gmatch "()([^']+)" do
    local name = frame_at(self, context, at, part)
    count = count + 1
    if name then table.insert(names, 1, name) end
    if name == "main" then break end
  end
  if count >= MOST_FRAMES and names[1] ~= "main" then table.insert(names, 1, M.UNKNOWN) end
  self.known[context] = table.concat(names, ";")
  return self.known[context]
end

local function add(map, key, count) map[key] = (map[key] or 0) + count end

local function none() return {} end

local function last_of(chain) return chain:match "^.*;(.*)$" or chain end

---@class pmclua.SimulatedCallSite a source line of a function that calls another one
---@field frame string of the caller
---@field callee string frame
---@field full string the caller's full name
---@field source? string nil: not known, as the line
---@field line? integer
---@field calls integer
---@field cost number of the calls, with all that they call
---@field inlined? table[] what the line was copied with, as a profile's lines have it

local function add_site(sites, line, chain, called, cost)
  local caller, callee = last_of(chain), last_of(called)
  local key = table.concat({ caller, callee, line.file, line.line }, "\0")
  local site = sites[key]
  if not site then
    local is_told = line.line > 0
    site = { frame = caller, callee = callee, full = full_name(line.fn:match "^[^']+"),
      source = is_told and line.file or nil, line = is_told and line.line or nil, calls = 0, cost = 0 }
    sites[key], sites[#sites + 1] = site, site
  end
  site.calls, site.cost = site.calls + line.calls, site.cost + cost
end

--- The cost of each chain, how often its last function was called from the one before it, and from which lines.
---@param files pmclua.OutFile[] of one run, written with M.OPTIONS
---@param counters string[] whose sum is asked for
---@param homes? fun(full: string): table<string, string> by source file, the frames of functions of one full name
---@return table<string, number> chains "main;f;g"
---@return table<string, integer> calls by chain
---@return pmclua.SimulatedCallSite[]
function M.of(files, counters, homes)
  local self = { known = {}, frames = {}, first = {}, homes_of = {}, homes = homes or none }
  local chains, calls, sites = {}, {}, {}
  local lines = lists.joined(lists.map(files, out_file.lines))
  for _, line in ipairs(lines) do add_first(self, line) end
  for _, line in ipairs(lines) do
    local chain = chain_of(self, line.fn)
    local called = line.inclusive and chain_of(self, line.called)
    local cost = out_file.sum_of(counters, line.counts)
    if called and called ~= chain then add(calls, called, line.calls) end
    if called then add_site(sites, line, chain, called, cost) end
    if not line.inclusive then add(chains, chain, cost) end
  end
  for chain, count in pairs(chains) do
    if count == 0 then chains[chain] = nil end
  end
  return chains, calls, lists.append({}, sites)
end

return M
