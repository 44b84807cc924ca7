--- origin.lua: which function makes that a function costs more: itself, or one that calls it more often or with more to do.
--
-- From the function that has the cost its callers are followed, each time the one whose chains to it grew most in all. One
-- that is called more often itself, by as much as it grew, only passes it on. Of the others the first whose source reads
-- otherwise is the origin; where none does, the first of which the source is known, or that is in the program.
-- ledger/callers.lua explains the difference of a whole program, also without debug information.
-- Invariant: functions are those of the source, with what was copied into others apart.

local chains = require "pmclua.profile.chains"
local identity = require "pmclua.profile.identity"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local MOST = 0.5                -- of what a function grew by: as much more calls explain it
local LITTLE = 0.1              -- of what a function grew by

---@class pmclua.OriginStep a function on the way from one that grew to its outermost caller
---@field fn string
---@field full string
---@field declared? string
---@field key string
---@field source? string of the line where it is on the way: its own, or where it calls
---@field line? integer
---@field callee? string that it calls there; nil: the cost is its own
---@field calls? { a: number, b: number } how often it calls that
---@field passes boolean it is called more often, by as much as it grew
---@field is_changed boolean its source reads otherwise
---@field is_known boolean the text of its source is known
---@field is_in_program? boolean it is the program's, not a library's

---@class pmclua.Origins
local Origins = {}
Origins.__index = Origins

-- ---- what profiles hold --------------------------------------------------------------------------------------

local function base_name(source) return text.base_name(source or "") end

local function key_of(full, declared) return full .. "\0" .. base_name(declared) end

--- The key of a function of the source.
---@param place pmclua.CodePlace
---@return string
function M.key(place) return key_of(place.full, place.declared) end

-- The functions that a line is in, innermost first, each with the place in it.
local function stack_of(own, inlined, source, line)
  local stack = {}
  for _, call in ipairs(inlined or {}) do
    stack[#stack + 1] = { fn = call.fn, full = identity.full(call), declared = call.declared, source = source,
      line = line }
    source, line = call.source, call.line
  end
  stack[#stack + 1] = { fn = own.fn, full = identity.full(own), declared = own.source, source = source,
    line = line, is_in_program = own.is_in_program }
  for _, step in ipairs(stack) do step.key = key_of(step.full, step.declared) end
  return stack
end

local function new_sides(fields)
  fields.a, fields.b = 0, 0
  return fields
end

-- Each source by its last name: of lines of calls the debug information has the path as the compiler was given it.
local function note_source(self, side, source)
  local paths, name = self.paths[side], base_name(source)
  if paths[name] == nil then paths[name] = source elseif paths[name] ~= source then paths[name] = false end
end

local function note_range(self, side, step)
  local range = self.ranges[side][step.key] or { first = step.line, last = step.line, source = step.source,
    lines = {} }
  if step.source ~= range.source then return end
  range.first, range.last = math.min(range.first, step.line), math.max(range.last, step.line)
  range.lines[step.line] = true
  self.ranges[side][step.key] = range
end

-- Where the counts of a function are: in which symbol, and copied there by way of which others.
local function add_held(self, side, frame, stack, count)
  local key = stack[1].key
  local held = self.held[key] or {}
  local way = frame .. "\0" .. table.concat(lists.column(stack, "full"), "\0")
  held[way] = held[way] or new_sides { frame = frame }
  held[way][side] = held[way][side] + count
  if side == "b" or not held[way].stack then held[way].stack = stack end
  self.held[key] = held
end

local function add_lines(self, side, profile, share)
  for _, line in ipairs(profile.lines) do
    local frame = chains.frames(line)
    self.symbols[frame] = line
    for _, at in ipairs(line.at or {}) do
      local stack = stack_of(line, at.inlined, at.source or line.source, at.line)
      local inner = stack[1]
      if inner.source and inner.line then
        note_source(self, side, inner.source)
        note_range(self, side, inner)
      end
      add_held(self, side, frame, stack, at.count * share)
    end
  end
end

local function add_chains(self, side, profile, share)
  for chain, count in pairs(profile.chains) do
    local names = lists.collect(chain:gmatch "[^;]+")
    local leaf = names[#names]
    self.leaves[leaf] = self.leaves[leaf] or {}
    local known = self.leaves[leaf][chain] or new_sides { names = names }
    known[side] = known[side] + count * share
    self.leaves[leaf][chain] = known
  end
  for chain, count in pairs(profile.calls or {}) do
    local calls = self.calls[chain] or new_sides {}
    calls[side] = calls[side] + count * share
    self.calls[chain] = calls
  end
end

-- Call sites by the functions that are called, the same line of both sides as one.
local function add_sites(self, side, profile, share)
  for _, call in ipairs(profile.sites or {}) do
    local id = call.line
      and (self.pairing:line(side, call.source, call.line) or call.source .. "\0" .. call.line)
    local key = table.concat({ call.frame, call.callee, id or "" }, "\0")
    local site = self.sites[key]
    if not site then
      site = new_sides { frame = call.frame, callee = call.callee, calls = new_sides {} }
      self.sites[key], self.sites[#self.sites + 1] = site, site
    end
    site[side] = site[side] + call.cost * share
    site.calls[side] = site.calls[side] + call.calls * share
    if side == "b" or not site.at then site.at = call end
  end
end

--- The callers that profiles know.
---@param a table[] profiles of A, with chains
---@param b table[]
---@param pairing pmclua.SourcePairing
---@return pmclua.Origins
function M.new(a, b, pairing)
  local self = setmetatable({ pairing = pairing, paths = { a = {}, b = {} }, ranges = { a = {}, b = {} },
    held = {}, symbols = {}, leaves = {}, calls = {}, sites = {} }, Origins)
  for side, profiles in pairs { a = a, b = b } do
    for _, profile in ipairs(profiles) do
      local share = 1 / #profiles / (profile.iterations or 1)
      add_lines(self, side, profile, share)
      add_chains(self, side, profile, share)
      add_sites(self, side, profile, share)
    end
  end
  return self
end

-- ---- a step --------------------------------------------------------------------------------------------------

local function path_of(self, source)
  return self.paths.b[base_name(source)] or self.paths.a[base_name(source)] or source
end

local OTHER = { a = "b", b = "a" }

-- Whether lines of a side read otherwise; not where the other side has that source and its text is not known.
local function reads_otherwise(self, side, source, first_line, last)
  local path = self.paths[OTHER[side]][base_name(source)]
  local is_compared = path == nil or path and self.pairing:differs(OTHER[side], path, 1, 1) ~= nil
  return is_compared and self.pairing:differs(side, source, first_line, last) or false
end

-- Whether the source of a function reads otherwise, between its first and last line that were executed.
local function is_changed(self, key)
  for side, ranges in pairs(self.ranges) do
    local range = ranges[key]
    if range and reads_otherwise(self, side, range.source, range.first, range.last) then return true end
  end
  return false
end

--- Whether all functions that were executed and of which the source is known, at least one, read alike on both sides.
---@return boolean
function Origins:reads_alike()
  local keys = lists.joined { lists.keys(self.ranges.a), lists.keys(self.ranges.b) }
  local is_known = lists.any(keys, function(key)
    local range = self.ranges.b[key]
    return range and self.pairing:differs("b", range.source, range.first, range.last) ~= nil
  end)
  return is_known and not lists.any(keys, function(key) return is_changed(self, key) end)
end

-- Whether as much more calls of the function that stands `outwards` from the end of chains explain what these grew by.
local function is_called_more(self, entries, outwards)
  local explained, grown, apart, calls_apart = 0, 0, new_sides {}, new_sides {}
  for _, entry in ipairs(entries) do
    local calls = self.calls[table.concat(entry.names, ";", 1, #entry.names - outwards)] or new_sides {}
    grown = grown + entry.b - entry.a
    if calls.a > 0 and calls.b > 0 then
      explained = explained + entry.a * (calls.b / calls.a - 1)
    elseif calls.a + calls.b > 0 then
      for side in pairs(self.ranges) do
        apart[side], calls_apart[side] = apart[side] + entry[side], calls_apart[side] + calls[side]
      end
    end
  end
  local is_elsewhere = calls_apart.a > 0 and calls_apart.b > 0       -- the same calls, on chains of other names
  explained = explained
    + (is_elsewhere and apart.a * (calls_apart.b / calls_apart.a - 1) or apart.b - apart.a)
  return grown ~= 0 and explained / grown >= MOST
end

-- The chains of a caller: of the one whose chains grew most, the way that `sign` says.
local function next_caller(entries, outwards, sign)
  local groups, largest, most = {}, nil, nil
  for _, entry in ipairs(entries) do
    local name = entry.names[#entry.names - outwards]
    if name and name ~= chains.UNKNOWN then
      groups[name] = groups[name] or { grown = 0 }
      groups[name].grown = groups[name].grown + sign * (entry.b - entry.a)
      table.insert(groups[name], entry)
    end
  end
  for _, name in ipairs(lists.keys(groups)) do
    if not most or groups[name].grown > most then largest, most = name, groups[name].grown end
  end
  return largest, groups[largest]
end

-- The line from which a function's calls of another one grew most, and how often that was called from all lines.
local function site_of(self, frame, callee, sign)
  local best, calls = nil, new_sides {}
  for _, site in ipairs(self.sites) do
    if site.frame == frame and site.callee == callee then
      local grown = sign * (site.b - site.a)
      if not best or grown > best.grown then best = { grown = grown, at = site.at } end
      calls.a, calls.b = calls.a + site.calls.a, calls.b + site.calls.b
    end
  end
  return best and best.at, calls
end

-- Whether a step is in a source that is known, and is no system's header.
local function is_own(self, step)
  if not step.line or step.source:find "^/usr/include/" or step.source:find "^/usr/lib/" then return false end
  return self.pairing:differs("b", step.source, step.line, step.line) ~= nil
end

local function add_steps(self, steps, stack, passes, callee, calls)
  for _, step in ipairs(stack) do
    callee = callee and (self.symbols[callee] or {}).fn or callee
    step.source = step.source and path_of(self, step.source)
    step.passes, step.callee, step.calls = passes, callee, calls
    step.is_changed = is_changed(self, step.key)
    step.is_known = is_own(self, step)
    local is_same = steps[1] and steps[#steps].key == step.key          -- a part of a function that was split off
    if not is_same then steps[#steps + 1] = step end
    callee = callee or step.fn
  end
end

-- Adds the recursion of a function that mostly calls itself through code copied into it.
local function add_recursion(self, steps, frame, entries, outwards, sign)
  local at, calls = site_of(self, frame, frame, sign)
  local outer = 0
  for _, entry in ipairs(entries) do
    local own = self.calls[table.concat(entry.names, ";", 1, #entry.names - outwards)]
    outer = outer + (own and own.b or 0)
  end
  if at and at.inlined and calls.b > outer then
    local stack = stack_of(self.symbols[frame], at.inlined, at.source, at.line)
    stack[#stack] = nil
    add_steps(self, steps, stack, false, frame, calls)
  end
end

local function copied(stack) return lists.map(stack, lists.copy) end

local function widest(self, key, sign)
  local held, best = self.held[key] or {}, nil
  for _, way in ipairs(lists.keys(held)) do
    local grown = sign * (held[way].b - held[way].a)
    if not best or grown > best.grown then
      best = { grown = grown, stack = held[way].stack, frame = held[way].frame }
    end
  end
  return best
end

-- ---- the way -------------------------------------------------------------------------------------------------

--- The way from a function that differs to its outermost caller.
---@param key string of the function
---@param sign number 1: it costs more; -1: less
---@return pmclua.OriginStep[] empty: no chain has it
function Origins:way(key, sign)
  local steps, from = {}, widest(self, key, sign)
  if not from then return steps end
  local by_chain = self.leaves[from.frame] or {}
  local entries = lists.map(lists.keys(by_chain), function(chain) return by_chain[chain] end)
  add_steps(self, steps, copied(from.stack), is_called_more(self, entries, 0))
  local frame, outwards = from.frame, 0
  while true do
    add_recursion(self, steps, frame, entries, outwards, sign)
    outwards = outwards + 1
    local caller, of_caller = next_caller(entries, outwards, sign)
    if not caller then return steps end
    local at, calls = site_of(self, caller, frame, sign)
    local own = self.symbols[caller] or { fn = caller }
    add_steps(self, steps, stack_of(own, at and at.inlined, at and at.source, at and at.line),
      is_called_more(self, of_caller, outwards), frame, at and calls)
    entries, frame = of_caller, caller
  end
end

local function first(steps, ...)
  local conditions = { ... }
  for k, step in ipairs(steps) do
    if lists.all(conditions, function(condition) return condition(step) end) then return k end
  end
end

local function is_other(step) return step.is_changed end
local function makes(step) return not step.passes end
local function is_known(step) return step.is_known end
local function is_in_program(step) return step.is_in_program end

--- The step of a way that is the origin.
---@param steps pmclua.OriginStep[]
---@return integer its number; 1 where nothing tells
function M.of(steps)
  return first(steps, is_other, makes) or first(steps, is_other) or first(steps, makes, is_known)
    or first(steps, makes, is_in_program) or 1
end

-- The line that reads otherwise nearest to another one; of lines that were executed, if some are.
local function nearest_change(self, range, line)
  local nearest, best = {}, {}
  for at = range.first, range.last do
    local away, kind = math.abs(at - line), range.lines[at] and "run" or "other"
    local is_new = reads_otherwise(self, "b", range.source, at, at)
    if is_new and (not best[kind] or away < best[kind]) then nearest[kind], best[kind] = at, away end
  end
  return nearest.run or nearest.other
end

--- The line of a function's source to look at: of those that read otherwise the one that grew most or, where these have
--- little of it, the one that is nearest to where it grew.
---@param key string of the function
---@param lines { source: string, line: integer, grown: number }[] where it grew, in its direction
---@return { source: string, line: integer }?
function Origins:line(key, lines)
  local whole, most, most_changed = 0, nil, nil
  for _, line in ipairs(lines) do
    whole = whole + line.grown
    if not most or line.grown > most.grown then most = line end
    local is_new = reads_otherwise(self, "b", line.source, line.line, line.line)
    if is_new and (not most_changed or line.grown > most_changed.grown) then most_changed = line end
  end
  if most_changed and most_changed.grown >= LITTLE * whole then return most_changed end
  local range = self.ranges.b[key]
  if not (most and range and range.source == most.source) then return most end
  local nearest = nearest_change(self, range, most.line)
  return nearest and { source = range.source, line = nearest } or most
end

return M
