--- anchors.lua: which events passes are compared by: slots, cycles and instructions, one of each.

local M = {}

-- The names that Linux and vendors have for them.
local ANCHORS = {
  slots = { "slots", "topdown.slots" },
  cycles = { "cycles", "cpu-cycles", "cpu_cycles", "cpu_clk_unhalted.thread", "cpu_clk_unhalted.thread_p",
    "ls_not_halted_cyc" },
  instructions = { "instructions", "inst_retired", "inst_retired.any", "inst_retired.any_p", "ex_ret_instr" },
}
local IN_ORDER = { "slots", "cycles", "instructions" }

local anchor_of_name = {}
for kind, names in pairs(ANCHORS) do
  for _, name in ipairs(names) do anchor_of_name[name] = kind end
end

--- The kind of anchor that an event is, and a key that also tells the kind of core of a hybrid CPU.
---@param event pmclua.Event
---@return "slots"|"cycles"|"instructions"|nil kind
---@return string? key
function M.kind(event)
  if not event.attr or event.attr.exclude_user then return nil end
  local config = tonumber(event.attr.config or 0)
  local name = event.name:lower():gsub("^%w+/(.*)/$", "%1"):gsub(":%a*$", "")
  local kind = anchor_of_name[name]
  if event.attr.type == 0 then
    -- Above the lower half: which kind of core.
    kind = config % 2 ^ 32 == 0 and "cycles" or config % 2 ^ 32 == 1 and "instructions" or nil
  end
  local core = event.attr.type == 0 and math.floor(config / 2 ^ 32) or event.core_cpus or 0
  return kind, kind and ("%s/%s"):format(kind, core)
end

--- The first of each kind, slots before cycles before instructions.
---@param events pmclua.Event[]
---@param usable integer[] indices of those that may be one
---@return integer[] indices
function M.of(events, usable)
  local anchors, seen = {}, {}
  for _, wanted in ipairs(IN_ORDER) do
    for _, index in ipairs(usable) do
      local kind, key = M.kind(events[index])
      if kind == wanted and not seen[key] then
        seen[key] = true
        anchors[#anchors + 1] = index
      end
    end
  end
  return anchors
end

return M
