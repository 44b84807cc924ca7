--- chains.lua: what the first thread waited for: another thread or process of the command, and what that one did
--- meanwhile, followed through any number of them. In which function one was at work its samples tell.

local chains = require "pmclua.profile.chains"
local ledger = require "pmclua.ledger"
local lists = require "pmclua.base.lists"

local M = {}

local PAGE_UNKNOWN = 65535

-- The call that is most made at a place; nil: none was traced there.
local function call_at(calls, place)
  local name, most = nil, 0
  for _, site in ipairs(place ~= PAGE_UNKNOWN and calls.sites or {}) do
    if site.place == place and site.count > most then name, most = site.name, site.count end
  end
  return name
end

local MOST = 0.5                -- of a thread's samples, or of what they differ by: where that is, it works

local function functions_of(sides, thread)
  local more, all = {}, {}
  for sign, side in pairs { [-1] = sides.a, [1] = sides.b } do
    for i, profile in ipairs(side.profiles or {}) do
      for name, count in pairs(profile.threads and profile.threads[tostring(thread)] or {}) do
        local ns = count * side.scale[i] / side.n
        more[name], all[name] = (more[name] or 0) + sign * ns, (all[name] or 0) + ns
      end
    end
  end
  return more, all
end

-- The function that has most of some sums, of which some may be below 0; nil: none has half.
local function main_part(sums)
  local whole, most = 0, nil
  for _, name in ipairs(lists.keys(sums)) do
    whole = whole + math.abs(sums[name])
    if not most or math.abs(sums[name]) > math.abs(sums[most]) then most = name end
  end
  return most and math.abs(sums[most]) >= MOST * whole and most or nil
end

local function new_functions(sides)
  return setmetatable({}, { __index = function(known, thread)
    local more, all = functions_of(sides, thread)
    local name = main_part(more) or main_part(all)
    known[thread] = name and chains.bare_name(name) or false
    return known[thread]
  end })
end

local function what_of(calls, chain, functions)
  if chain.what == "work" then
    local name = functions[chain.thread]
    return name and "at work in " .. name or "at work"
  end
  if chain.what == "ready" then return "waiting for a CPU" end
  local name = call_at(calls, chain.place)
  return name and "in " .. name or "asleep or blocked"
end

local function label_of(calls, chain, functions)
  local who = ("%s %d"):format(chain.is_process and "process" or "thread", chain.thread)
  local what = what_of(calls, chain, functions)
  return ("%s: %s %s, %s"):format(chain.name, chain.is_end and "end of" or "for", who, what)
end

--- The scale from the first thread's time off CPU in a traced repetition to one that is not traced.
---@param side pmclua.WhySide
---@param i integer the repetition
---@return number
function M.scale_of(side, i)
  local off = lists.sum(side.calls[i].rows, function(row) return row.is_first and row.blocked_ns or 0 end)
  return off > 0 and side.off_cpu_time[i] / off or 0
end

local function add(lines, sides, key, i, chain, functions)
  local label = label_of(sides[key].calls[i], chain, functions)
  local line = lines[label]
  if not line then
    line = { key = label, label = label, name = label, kind = "wait", chain = chain, a = {}, b = {} }
    for side in pairs { a = true, b = true } do
      for k = 1, sides[side].n do line[side][k] = 0 end
    end
    lines[label], lines[#lines + 1] = line, line
  end
  line[key][i] = line[key][i] + chain.ns * M.scale_of(sides[key], i)
end

--- The first thread's time off CPU as lines, by what others did meanwhile; nil: it waited for nobody.
---@param sides { a: pmclua.WhySide, b: pmclua.WhySide } with `calls`
---@param options { paired: boolean, groups?: integer[], margin: number, total: pmclua.LedgerRow } total: of the time
---@return pmclua.Ledger?
function M.of(sides, options)
  local lines, functions = {}, new_functions(sides)
  for _, key in ipairs { "a", "b" } do
    for i, calls in ipairs(sides[key].calls or {}) do
      for _, chain in ipairs(calls.chains) do add(lines, sides, key, i, chain, functions) end
    end
  end
  if #lines == 0 then return nil end
  local waits = ledger.new { unit = "ns", overlaps = true, paired = options.paired, groups = options.groups,
    a = sides.a.off_cpu_time, b = sides.b.off_cpu_time, lines = { unpack(lines) } }
  local least = options.margin * math.max(options.total.a, math.abs(options.total.difference))
  for _, row in ipairs(waits.lines) do row.trifle = math.abs(row.difference) < least or nil end
  return waits
end

--- The part of a side's waits in which others worked or waited for a CPU, by call: { call = ns by repetition }.
---@param side pmclua.WhySide with `calls`
---@return table<string, number[]>
function M.worked(side)
  local worked = {}
  for i, calls in ipairs(side.calls) do
    for _, chain in ipairs(calls.chains) do
      if chain.what ~= "call" then
        local list = worked[chain.name] or {}
        worked[chain.name] = list
        list[i] = (list[i] or 0) + chain.ns * M.scale_of(side, i)
      end
    end
  end
  return worked
end

return M
