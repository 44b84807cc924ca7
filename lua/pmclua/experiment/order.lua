--- order.lua: the order in which units are run: interleaved in randomised blocks, so that what drifts
--- with time falls on all of them alike.
--
-- Two units: ABBA or BAAB by chance, each pair of blocks (drift that is linear in time cancels). More:
-- random cyclic Latin squares: in every n blocks each unit stands once in each place. The seed decides.

local random = require("pmclua.lazy").module "pmclua.stats.random"

local order = {}

--- Places 1…n of one block after another.
---@param n integer units
---@param seed integer
---@return fun(): integer[] next_block  a list of unit numbers, each once
function order.blocks(n, seed)
  if n == 1 then return function() return { 1 } end end
  local source = random.new(seed, "order")
  local queue = {}
  local function refill()
    local base = {}
    for i = 1, n do base[i] = i end
    source:shuffle(base)
    local shifts = {}
    for i = 1, n do shifts[i] = i - 1 end
    source:shuffle(shifts)
    if n == 2 then shifts = { 0, 1 } end      -- AB then BA
    for _, shift in ipairs(shifts) do
      local block = {}
      for i = 1, n do block[i] = base[(i - 1 + shift) % n + 1] end
      queue[#queue + 1] = block
    end
  end
  return function()
    if #queue == 0 then refill() end
    return table.remove(queue, 1)
  end
end

return order
