--- callers.lua: what functions cost with all that they call, of one program or of B against A; and which function's
--- calls make the difference.
--
-- Invariant: a function's cost is that of all chains that it is in, each once, however often it is there. So functions
-- overlap: their costs do not add up.
--
-- ledger/origin.lua asks a question like this one by another rule. It begins with one function of the source and goes
-- outwards, by source text and lines of calls: without debug information it has no step. Here the difference of the whole
-- program is followed inwards, by names of symbols and builds, which are always known; and nobody is named where no
-- callee is known to differ.

local chains = require "pmclua.profile.chains"
local ledger = require "pmclua.ledger"
local lists = require "pmclua.base.lists"
local match = require "pmclua.ledger.match"

local M = {}

local MOST = 0.5                -- of the difference: as much makes a callee its trunk
local LEAST_KNOWN = 0.1         -- of the difference, in chains that are complete

local function parts_of(profile) return profile.iterations or 1 end

-- ---- functions -----------------------------------------------------------------------------------------

local function line_for(lines, name, sides)
  local line = lines[name]
  if not line then
    line = { key = name, label = name, name = name, own = {}, samples = 0 }
    for side, profiles in pairs(sides) do
      line[side], line.own[side] = {}, {}
      for i = 1, #profiles do line[side][i], line.own[side][i] = 0, 0 end
    end
    lines[name], lines[#lines + 1] = line, line
  end
  return line
end

local function add_chain(lines, sides, side, i, profile, chain, count)
  local seen, line = {}, nil
  for name in chain:gmatch "[^;]+" do
    line = name ~= chains.UNKNOWN and line_for(lines, name, sides) or nil
    if line and not seen[name] then
      seen[name] = true
      line[side][i] = line[side][i] + count / parts_of(profile)
      line.samples = line.samples + count / profile.period
    end
  end
  if line then line.own[side][i] = line.own[side][i] + count / parts_of(profile) end
end

local function lines_of(sides)
  local lines = {}
  for side, profiles in pairs(sides) do
    for i, profile in ipairs(profiles) do
      for chain, count in pairs(profile.chains) do add_chain(lines, sides, side, i, profile, chain, count) end
    end
  end
  return lists.append({}, lines)
end

-- ---- the chain that grew most --------------------------------------------------------------------------

local function nodes_of(tree, chain)
  local node, path = tree.root, { tree.root }
  for name in chain:gmatch "[^;]+" do
    local own = node.children[name]
    if not own then
      own = { name = name, children = {}, a = 0, b = 0, own = { a = 0, b = 0 }, calls = {} }
      node.children[name], tree.all[#tree.all + 1] = own, own
    end
    node, path[#path + 1] = own, own
  end
  return path
end

local function add_profile(tree, side, profile)
  local parts = parts_of(profile)
  for chain, count in pairs(profile.chains) do
    local path = nodes_of(tree, chain)
    for _, node in ipairs(path) do node[side] = node[side] + count / parts end
    path[#path].own[side] = path[#path].own[side] + count / parts
  end
  for chain, count in pairs(profile.calls or {}) do
    local path = nodes_of(tree, chain)
    local calls = path[#path].calls
    calls[side] = (calls[side] or 0) + count / parts
  end
end

-- The chains of both sides as a tree: means, and how often each function was called from the one above it.
local function tree_of(sides)
  local root = { children = {}, a = 0, b = 0, own = { a = 0, b = 0 }, calls = {} }
  local tree = { root = root, all = { root } }
  for side, profiles in pairs(sides) do
    for _, profile in ipairs(profiles) do add_profile(tree, side, profile) end
    for _, node in ipairs(tree.all) do
      node[side], node.own[side] = node[side] / #profiles, node.own[side] / #profiles
      node.calls[side] = node.calls[side] and node.calls[side] / #profiles
    end
  end
  return root
end

local function largest_callee(node, whole, differing)
  local largest, most = nil, 0
  for _, name in ipairs(lists.keys(node.children)) do
    local child = node.children[name]
    local share = (child.b - child.a) / whole
    if differing[name] and share > most then largest, most = child, share end
  end
  return largest, most
end

-- From the outermost function on to where most of the difference is; `trunk`: how far one callee has most of it all.
local function path_of(root, differing)
  local whole, path, trunk = root.b - root.a, {}, nil
  local node, most = largest_callee(root, whole, differing)
  while node do
    if most < MOST then trunk = trunk or #path end
    if most <= (path[#path] and (path[#path].own.b - path[#path].own.a) / whole or 0) then break end
    path[#path + 1] = node
    node, most = largest_callee(node, whole, differing)
  end
  return path, trunk or #path
end

local function same_functions(sides)
  local kinds, same = { a = {}, b = {} }, {}
  for side, profiles in pairs(sides) do
    for _, profile in ipairs(profiles) do
      for _, line in ipairs(profile.lines) do
        local name = profile.shorten(chains.frames(line))
        kinds[side][name] = kinds[side][name] or {}
        kinds[side][name][match.build_of { build_id = line.build_id, held_in = line.file }] = true
        if line.text then kinds[side][name][line.text] = true end
      end
    end
  end
  for name, ours in pairs(kinds.a) do
    for kind in pairs(ours) do same[name] = same[name] or kinds.b[name] and kinds.b[name][kind] end
  end
  return same
end

-- Whether a function is called more or less often from the one above it; where nobody counted that: on one side alone,
-- though the other has something of the one above it, too.
local function is_called_otherwise(above, node)
  if next(node.calls) then return node.calls.a ~= node.calls.b end
  return (node.a == 0) ~= (node.b == 0) and above.a > 0 and above.b > 0
end

-- The function of a path that makes the difference: the first of the trunk that calls its successor more or less often;
-- else the last one that is not the same on both sides.
local function maker_of(path, trunk, sides)
  for k = 2, math.min(trunk + 1, #path) do
    if is_called_otherwise(path[k - 1], path[k]) then return k - 1 end
  end
  local same = same_functions(sides)
  for k = trunk, 1, -1 do
    if not same[path[k].name] then return k end
  end
  return trunk
end

---@class pmclua.GrownChain
---@field names string[] from the outermost function on: the callee with the largest part of the difference
---@field maker string the function that makes the difference
---@field maker_share number of the difference that is within the maker
---@field leaf string the last one
---@field leaf_share number
---@field difference number means, B's less A's
---@field calls? { a: number, b: number } of what the maker calls next

-- Chains that lost their beginning do not tell the caller.
local function leave_out(root, unknown)
  if not unknown then return end
  root.a, root.b, root.children[unknown.name] = root.a - unknown.a, root.b - unknown.b, nil
end

-- The outermost function is named only if the difference is its own: no callee is known to differ.
local function says_nothing(path, whole)
  local own = path[1].own
  return not path[2] and (own.b - own.a) / whole < MOST
end

local function grown(sides, names)
  local root = tree_of(sides)
  local whole = root.b - root.a
  leave_out(root, root.children[chains.UNKNOWN])
  if (root.b - root.a) / whole < LEAST_KNOWN then return nil end
  local path, trunk = path_of(root, lists.set(lists.column(names, "key")))
  if trunk < 1 or says_nothing(path, whole) then return nil end
  local k = maker_of(path, trunk, sides)
  local maker, below, leaf = path[k], path[k + 1], path[#path]
  return { names = lists.column(path, "name"), difference = whole,
    maker = maker.name, maker_share = (maker.b - maker.a) / whole,
    leaf = leaf.name, leaf_share = (leaf.b - leaf.a) / whole,
    calls = below and next(below.calls) and { a = below.calls.a or 0, b = below.calls.b or 0 } or nil }
end

local function by_shown(by_chain, shorten)
  local shown = {}
  for chain, count in pairs(by_chain or {}) do shown[shorten(chain)] = count end
  return shown
end

local function shown_sides(asked)
  local shorten = chains.shortener(lists.column(lists.joined { asked.a, asked.b or {} }, "chains"))
  local sides = {}
  for side, profiles in pairs { a = asked.a, b = asked.b } do
    sides[side] = lists.map(profiles, function(profile)
      return { chains = by_shown(profile.chains, shorten), calls = by_shown(profile.calls, shorten),
        lines = profile.lines, iterations = profile.iterations, period = profile.period, shorten = shorten }
    end)
  end
  return sides
end

--- The ledger of functions with all that they call; nil: a side has no call chains. Its rows' lines have `own`: what
--- the function takes itself in each repetition of `a` and `b`. Where A and B differ, the ledger has `grown`.
---@param asked pmclua.CodeAsked
---@return pmclua.Ledger?
function M.new(asked)
  for _, profiles in pairs { a = asked.a, b = asked.b } do
    if not lists.all(profiles, function(profile) return profile.chains end) then return nil end
  end
  local sides, first, totals = shown_sides(asked), asked.a[1], {}
  for side, profiles in pairs { a = asked.a, b = asked.b } do
    totals[side] = lists.map(profiles, function(profile) return profile.total / parts_of(profile) end)
  end
  local callers = ledger.new { unit = first.unit or "", a = totals.a, b = totals.b, lines = lines_of(sides),
    overlaps = true, exact = asked.exact, paired = asked.paired, groups = asked.groups,
    is_rounded = first.iterations ~= nil, incomplete = asked.incomplete }
  callers.grown = asked.b and callers.differs and grown(sides, callers.conclusion.names) or nil
  return callers
end

return M
