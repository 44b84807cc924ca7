--- mistakes.lua: every mistake in a list of events; the parser stops at the first.

local M = {}

-- Splits a list at commas outside braces, slashes and parentheses.
local function pieces_of(source)
  local list, depth, in_terms, start = {}, 0, false, 1
  for i = 1, #source + 1 do
    local c = source:sub(i, i)
    if c == "/" then in_terms = not in_terms
    elseif c:find "[{(]" then depth = depth + 1
    elseif c:find "[})]" then depth = depth - 1
    elseif c == "" or c == "," and depth == 0 and not in_terms then
      list[#list + 1] = source:sub(start, i - 1):match "^%s*(.-)%s*$"
      start = i + 1
    end
  end
  return list
end

--- The mistakes of a list that does not parse: one for each event that is wrong. If each alone is right, the problem
--- of the whole list.
---@param source string
---@param whole table the problem of the whole list, as the parser has it
---@param options pmclua.event.Options?
---@return { spec: string, problem: table }[]
function M.of(source, whole, options)
  local list = {}
  for _, piece in ipairs(pieces_of(source)) do
    local _, why = require("pmclua.event").parse(piece, options)
    if why then list[#list + 1] = { spec = piece, problem = why } end
  end
  return #list > 1 and list or { { spec = source, problem = whole } }
end

return M
