--- several.lua: all that is wrong with a list of events in one text, where its parser stops at the first.

local M = {}

-- The events of a list at commas outside of braces, slashes and brackets.
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

--- Everything that is wrong with a list that does not parse: each of its events that is none. Where they are only
--- wrong together, the one problem of the whole.
---@param source string
---@param said table what the parser said of it
---@param options pmclua.event.Options?
---@return { spec: string, problem: table }[]
function M.of(source, said, options)
  local list = {}
  for _, piece in ipairs(pieces_of(source)) do
    local _, why = require("pmclua.event").parse(piece, options)
    if why then list[#list + 1] = { spec = piece, problem = why } end
  end
  return #list > 1 and list or { { spec = source, problem = said } }
end

return M
