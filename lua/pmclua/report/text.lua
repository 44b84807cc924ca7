--- text.lua: what is said in words, as it is.

local M = {}

--- Writes words.
---@param words string
---@param put fun(piece: string)
function M.write(words, put) put(words) end

return M
