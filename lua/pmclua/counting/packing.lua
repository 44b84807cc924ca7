--- packing.lua: items (events that stay together) into as few passes as first fit finds.
--
-- Invariant: each pass that is returned fitted the PMU when it was tried, and holds the anchors, or as many of
-- them as leave room. The events of a bundle (a metric's) share a pass wherever they fit one, for which an event
-- may be in several passes; what is in no bundle, or does not fit as one, is placed by itself.

local lists = require "pmclua.base.lists"

local M = {}

--- A list with the items that it lacks.
function M.append(list, items) return lists.unique(lists.joined { list, items }) end

---@class pmclua.Packer
---@field fits fun(indices: integer[]): boolean
---@field passes integer[][]
---@field anchors integer[] what each pass begins with
local Packer = {}
Packer.__index = Packer

--- Nothing packed yet.
---@param fits fun(indices: integer[]): boolean whether these events open together and are on the PMU
---@param anchors integer[]
---@return pmclua.Packer
function M.new(fits, anchors)
  return setmetatable({ fits = fits, passes = {}, anchors = anchors }, Packer)
end

-- Both in one list that fits, in either order: some events open behind their own leader alone. Nil: it does not.
function Packer:joined(list, item)
  local longer = M.append(list, item)
  if self.fits(longer) then return longer end
  local turned = #list > 0 and M.append(item, list)
  return turned and self.fits(turned) and turned or nil
end

-- A pass that begins with the anchors, with fewer of them, or with none.
function Packer:fresh(item)
  for count = #self.anchors, 0, -1 do
    local fresh = self:joined({ unpack(self.anchors, 1, count) }, item)
    if fresh then
      self.passes[#self.passes + 1] = fresh
      return true
    end
  end
  return false
end

-- The passes by how many events of an item they lack, first ones first.
function Packer:by_need(item)
  local order, lacks = {}, {}
  for i, pass in ipairs(self.passes) do
    order[i], lacks[i] = i, #M.append(pass, item) - #pass
  end
  table.sort(order, function(a, b) return lacks[a] < lacks[b] or lacks[a] == lacks[b] and a < b end)
  return order, lacks
end

--- Puts an item into the pass that needs fewest more events for it and holds it, else into a new one. False: it
--- fits nowhere.
---@param item integer[]
---@return boolean
function Packer:place(item)
  local order, lacks = self:by_need(item)
  for _, i in ipairs(order) do
    local longer = lacks[i] == 0 and self.passes[i] or self:joined(self.passes[i], item)
    if longer then
      self.passes[i] = longer
      return true
    end
  end
  return self:fresh(item)
end

--- Whether an event is in a pass already.
---@param index integer
---@return boolean
function Packer:has(index)
  return lists.any(self.passes, function(pass) return lists.contains(pass, index) end)
end

return M
