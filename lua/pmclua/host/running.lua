--- running.lua: the script that runs in this process. The command line sets it; messages and the header of a result
--- tell of it.

local M = {}

---@class pmclua.Script
---@field word string as the command line has it: a path, or a name
---@field path? string as given, or found; nil: it came by standard input
---@field name string without folder and ".lua"
---@field folder string where its sources are looked for; "." when it has no file
---@field modules? string the same folder from the root, where its modules are looked for; nil: it has no file
---@field args string[] the arguments that nothing has taken yet
---@field words string[] all arguments, as they were given
---@field given? table options of all experiments that pmc.options has met, by field
---@field taken? boolean an experiment has read args and given

--- nil at the prompt and for -e.
---@type pmclua.Script?
M.script = nil

return M
