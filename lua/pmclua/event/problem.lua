--- problem.lua: what is wrong with a spec, and where.
--
-- Inside pmclua.event a mistake in a spec is raised as a problem; only event.parse and event.format_* catch it, so
-- other errors are never mistaken for one.

local M = {}

---@class pmclua.event.Problem
---@field message string what is wrong
---@field position integer byte in the spec, from 1
---@field length integer bytes that it concerns, 0 at the end of the spec
---@field hint string? the nearest valid word; or, with blanks in it, what to do
local Problem = {}
Problem.__index = Problem

function Problem:__tostring()
  return self.message
end

local function throw(position, length, hint, format, ...)
  local message = format:format(...)
  error(setmetatable({ message = message, position = position, length = length, hint = hint }, Problem), 0)
end

--- Raises a problem.
---@param position integer byte in the spec, from 1
---@param length integer
---@param format string of the message, as string.format has it
function M.raise(position, length, format, ...)
  throw(position, length, nil, format, ...)
end

--- Raises a problem about a part of the spec.
---@param token pmclua.event.Token
---@param format string of the message
function M.at(token, format, ...)
  throw(token.position, #token.text, nil, format, ...)
end

--- Raises a problem about a part of the spec, with a hint.
---@param token pmclua.event.Token
---@param hint string? a valid word, or what to do
---@param format string of the message
function M.hinted(token, hint, format, ...)
  throw(token.position, #token.text, hint, format, ...)
end

--- Raises a problem about a word that is none of `candidates`, with the nearest of them as the hint.
---@param token pmclua.event.Token
---@param candidates string[]
---@param format string of the message
function M.unknown(token, candidates, format, ...)
  M.hinted(token, require("pmclua.base.text").nearest(token.text, candidates), format, ...)
end

--- Calls `f(...)`: its first result, or nil and the problem that it raised. Other errors pass through.
---@return any result
---@return pmclua.event.Problem? problem
function M.catch(f, ...)
  local ok, result = pcall(f, ...)
  if ok then return result end
  if getmetatable(result) == Problem then return nil, result end
  error(result, 0)
end

return M
