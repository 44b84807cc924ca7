--- raised.lua: what a script's own code raised: any value, nil included, as a message and where it came from.

local problem = require "pmclua.base.problem"

local M = {}

local Raised = {}

---@class pmclua.Raised
---@field value any what was raised
---@field message string
---@field traceback string the script's frames; of a bug in pmclua all
---@field is_object boolean the value prints itself

-- Frames from here on are those of the command line and the prompt.
local OUR_FRAMES = "\n[^\n]*pmclua[./]cli[:.].*$"
local MOST_FRAMES = 20

local function frame_text(info)
  local place = ("%s:%d"):format(info.short_src, info.currentline)
  if info.what == "main" and not info.name then return place .. ": in main chunk" end
  local name = info.name and ("'%s'"):format(info.name)
    or ("<%s:%d>"):format(info.short_src, info.linedefined)
  return ("%s: in function %s"):format(place, name)
end

-- The frames of the script from a level on, innermost first; whether the innermost frame is pmclua's own.
local function script_frames(level)
  local frames, is_own = {}, nil
  repeat
    local info = debug.getinfo(level, "Snl")
    if info and info.currentline > 0 then
      local is_ours = problem.is_own(info.source)
      if is_own == nil then is_own = is_ours end
      if not is_ours then frames[#frames + 1] = frame_text(info) end
    end
    level = level + 1
  until not info or #frames == MOST_FRAMES
  return frames, is_own
end

-- An object that prints itself is no bug, wherever it was raised.
local function traceback_of(level, is_object)
  local frames, is_own = script_frames(level + 1)
  if is_own and not is_object then return (debug.traceback("", level):sub(2):gsub(OUR_FRAMES, "")) end
  return "stack traceback:\n\t" .. table.concat(frames, "\n\t")
end

local function prints_itself(value)
  local meta = type(value) == "table" and getmetatable(value)
  return type(meta) == "table" and meta.__tostring ~= nil
end

--- A field of an error object, of its own alone: others may raise for names that they do not have.
---@param value any
---@param name string
---@return any
function M.field(value, name) return type(value) == "table" and rawget(value, name) or nil end

--- The text of a raised value.
---@param value any
---@return string
function M.message(value)
  if value == nil then return "error() without a message" end
  local message = M.field(value, "message")
  if type(message) == "string" and not prints_itself(value) then return message end
  if type(value) == "table" and not prints_itself(value) then
    return "error() with a table that has no message"
  end
  local ok, text = pcall(tostring, value)
  return ok and text or "an error whose __tostring raises: " .. tostring(text)
end

-- Whether the stack was full: what is left of it does for little more than debug.traceback.
local function is_overflow(value)
  return type(value) == "string" and value:find("stack overflow", 1, true) ~= nil
end

--- The handler for xpcall around a script's code.
---@param value any
---@param callers? integer functions between the handler and this one; default 0
---@return pmclua.Raised
function M.catch(value, callers)
  if is_overflow(value) then
    return setmetatable({ value = value, message = value, traceback = debug.traceback("", 2):sub(2),
      is_object = false }, Raised)
  end
  local is_object = prints_itself(value)
  return setmetatable({ value = value, message = M.message(value), is_object = is_object,
    traceback = traceback_of(3 + (callers or 0), is_object) }, Raised)
end

--- The result of xpcall with M.catch. On a full stack the handler may not have run.
---@param caught any
---@return pmclua.Raised
function M.of(caught)
  if getmetatable(caught) == Raised then return caught end
  return { value = caught, message = M.message(caught), traceback = "", is_object = prints_itself(caught) }
end

--- An error object of what M.catch was given.
---@param raised pmclua.Raised
---@param fields { code: string, operation: string, before?: string } before: what the message begins with
---@return pmclua.Problem with `value`, what was raised, and `traceback`
function M.problem(raised, fields)
  return problem.problem { code = fields.code, operation = fields.operation,
    message = (fields.before or "") .. raised.message, value = raised.value, traceback = raised.traceback }
end

return M
