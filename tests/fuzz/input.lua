--- input.lua: ways to break a text, and what must hold for every input.

local M = {}

---@generic Item
---@param random pmclua.Random
---@param list Item[]
---@return Item
function M.one_of(random, list) return list[random:integer(#list)] end

-- What texts are broken with: ends of numbers, brackets, quotes, bytes that are no text.
local PIECES = { "0", "-1", "1e999", "18446744073709551616", "0x", "nan", "null", "[", "]", "{", "}", "(",
  ")", ",", ":", ";", "/", "=", "'", '"', "\\", "%", "-", "+", " ", "\t", "\n", "\r", "\0", "\27[2J", "\255",
  "é", ("9"):rep(400), ("["):rep(300), ("("):rep(300) }

--- Some bytes replaced, cut out, put in or moved, or the end cut off.
---@param random pmclua.Random
---@param text string
---@return string
function M.mutated(random, text)
  for _ = 1, random:integer(4) do
    local at, length = random:integer(#text + 1), random:integer(9) - 1
    local how = random:integer(8)
    if how == 1 then text = text:sub(1, at - 1)
    elseif how == 2 then text = text:sub(1, at) .. text:sub(random:integer(#text + 1))
    else text = text:sub(1, at - 1) .. M.one_of(random, PIECES) .. text:sub(at + length) end
  end
  return text
end

-- What does not hold, told from what pmclua refuses.
local Broken = { __tostring = function(broken) return broken.what end }

--- Raises unless it holds.
---@param condition any
---@param what string
---@param input any
function M.hold(condition, what, input)
  if condition then return end
  error(setmetatable({ what = ("%s: %q"):format(what, tostring(input):sub(1, 4000)) }, Broken), 0)
end

--- Calls fn; where it raises it must be with words for the user. Whether it did not.
---@param input any
---@param fn function
---@param ... any its arguments
---@return boolean
function M.refused_in_words(input, fn, ...)
  local ok, problem = pcall(fn, ...)
  if ok then return true end
  if getmetatable(problem) == Broken then error(problem, 0) end
  local said = tostring(problem)
  local is_bug = said:find "%.lua:%d+:" or said:find "pmclua[%w_.]*:%d+:" or said:find "^%["
  M.hold(not is_bug, said, input)
  M.hold(not said:gsub("\n", ""):find "%c", "control characters in: " .. said, input)
  return false
end

return M
