--- generic_list.lua: a fast path for lists of plain generic names, the most common specs.
--
-- Invariant: the grammar would read the same; everything else, mistakes included, is left to it. (LPeg and the
-- grammar take 1.2 ms to load, as long as the rest of a short run.)

local names = require "pmclua.event.names"
local tool = require "pmclua.event.tool"

local M = {}

local PMU = { [names.TYPE_HARDWARE] = "cpu", [names.TYPE_SOFTWARE] = "software" }

local function event_of(word, options)
  local generic = names.find(word)
  -- Generic hardware events stand for several on a hybrid CPU.
  local is_several = generic and generic.type == names.TYPE_HARDWARE
    and #require("pmclua.event.sysfs").tree(options and options.sysfs):hybrid() > 0
  local event = generic and not is_several and { source = generic.source, pmu = PMU[generic.type],
    attr = { type = generic.type, config = generic.config }, unit = names.unit(generic) }
    or not generic and tool.find(word)
  if not event then return nil end
  event.spec, event.name, event.field, event.verified = word, word, (word:gsub("-", "_")), true
  event.scale = 1
  return event
end

--- The events of a spec that consists of such names only; nil for any other.
---@param source string
---@param options pmclua.event.Options?
---@return pmclua.Event[]?
function M.parse(source, options)
  if not source:find "^[%a_][%w_,-]*$" then return nil end
  local events = {}
  for word in (source .. ","):gmatch "([^,]*)," do
    local event = event_of(word, options)
    if not event then return nil end
    events[#events + 1] = event
  end
  return events
end

return M
