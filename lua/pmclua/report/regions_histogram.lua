--- regions_histogram.lua: the calls of a region by what they took of one event, as bars.

local bins = require "pmclua.report.bins"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local STEPS = 12                 -- about as many lines otherwise
local FAR = 16                   -- largest over smallest from which on each octave has a line

local function octave_of(value)
  return value < 1 and 0 or 2 ^ math.floor(math.log(value) / math.log(2) + 1e-9)
end

-- Steps of equal width, or of octaves, and how many calls each has; empty ones between are there, too.
local function steps_of(bars)
  local low, high = bars[1].low, bars[#bars].high
  local by_octave = high >= FAR * math.max(1, low)
  local width = math.max(1, math.ceil((high - low + 1) / STEPS))
  local function next_of(from) return by_octave and math.max(1, 2 * from) or from + width end
  local steps, at = {}, 1
  local from = by_octave and octave_of(low) or low
  while at <= #bars do
    local step = { from = from, to = next_of(from), count = 0 }
    while bars[at] and bars[at].low < step.to do
      step.count, at = step.count + bars[at].count, at + 1
    end
    steps[#steps + 1], from = step, step.to
  end
  return steps
end

--- A histogram, below the region's table; nil where there is nothing to show.
---@param region pmclua.RegionCalls
---@param about pmclua.RegionName
---@param options pmclua.ReportOptions
---@return pmclua.ReportBlock?
function M.block(region, about, options)
  local bars = region:histogram(about.field)
  if #bars == 0 then return nil end
  local steps = steps_of(bars)
  local most = math.max(unpack(lists.column(steps, "count")))
  local rows, scale = {}, about.scale or 1
  local width = math.max(10, require("pmclua.host.terminal").resolve(options).width - 40)
  for i, step in ipairs(steps) do
    rows[i] = { text.value(step.from * scale, about.unit), text.count(step.count),
      bins.bar(step.count / most, width) }
  end
  return { title = {}, rows = rows, notes = {}, follows = true, columns = {
    { name = about.title .. " from", align = "right" }, { name = "calls", align = "right" }, { name = "" } } }
end

return M
