--- order.lua: the order of runs: units are interleaved in randomised blocks, so that drift affects all alike.
--
-- Two units: each pair of blocks is ABBA or BAAB by chance (linear drift cancels). More: random cyclic Latin squares:
-- in every n blocks each unit has each position once. The seed determines the order.

local random = require("pmclua.base.lazy").module "pmclua.stats.random"

local order = {}

--- The order of units in one block after another.
---@param n integer units
---@param seed integer
---@return fun(): integer[] next_block  a list of unit numbers, each once
function order.blocks(n, seed)
  if n == 1 then return function() return { 1 } end end
  local source, base, shifts, used = random.new(seed, "order"), nil, nil, n
  -- A square is its first block and by how much each block is shifted: n numbers, not n².
  local function draw_square()
    base, shifts, used = {}, {}, 0
    for i = 1, n do base[i], shifts[i] = i, i - 1 end
    source:shuffle(base)
    source:shuffle(shifts)
    if n == 2 then shifts = { 0, 1 } end      -- AB then BA
  end
  return function()
    if used == n then draw_square() end
    used = used + 1
    local block = {}
    for i = 1, n do block[i] = base[(i - 1 + shifts[used]) % n + 1] end
    return block
  end
end

return order
