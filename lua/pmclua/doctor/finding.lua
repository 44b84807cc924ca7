--- finding.lua: what a check comes to.

local M = {}

---@class pmclua.doctor.Finding
---@field name? string what was looked at
---@field state "good"|"limits"|"blocks" limits: numbers are fewer or less certain; blocks: some are missing
---@field value any the setting as it is read
---@field said string one sentence without its full stop
---@field brief string? the same in few words, of good ones
---@field commands string[]? what to do, for a shell
---@field help string? what to do beside the commands, or instead

--- Nothing stands in the way.
---@param value any
---@param brief string
---@param words string
function M.good(value, brief, words)
  return { state = "good", value = value, brief = brief, said = words }
end

--- Something does; `commands` is one, or several, or none.
---@param state "limits"|"blocks"
---@param value any
---@param words string
---@param commands string|string[]|nil
---@param help string?
function M.obstacle(state, value, words, commands, help)
  if type(commands) == "string" then commands = { commands } end
  return { state = state, value = value, said = words, commands = commands, help = help }
end

return M
