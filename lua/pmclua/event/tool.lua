--- tool.lua: what costs nothing to count, since the record of a repetition has it anyway.

local M = {}

--- name, field of the record, unit, what it is.
M.events = {
  { "duration_time", "wall_ns", "ns", "time from start to end by the clock" },
  { "user_time", "user_ns", "ns", "CPU time in user space" },
  { "system_time", "system_ns", "ns", "CPU time in the OS kernel" },
  { "max_rss", "max_rss_bytes", "bytes", "the most memory that was resident at once" },
}

--- The tool event of that name.
---@param name string
---@return table? event
function M.find(name)
  for _, row in ipairs(M.events) do
    if row[1] == name then return { source = "tool", tool = row[2], unit = row[3] } end
  end
end

--- The name of the tool event that is read from a field of the record.
---@param field string
---@return string?
function M.name_of(field)
  for _, row in ipairs(M.events) do
    if row[2] == field then return row[1] end
  end
end

return M
