--- problem.lua: error objects: what was refused or misused, as what happened, why and what to do.
--
-- Invariant: an error object prints as one paragraph that a person can act upon; `code`, `operation`,
-- `event`, `message` and `hint` are for programs. Misuse points at the caller's line, what the environment
-- refuses at nobody's. Rules that turn an errno into a sentence are in explain/.

local M = {}

---@class pmclua.Problem
---@field code? string the errno's name ("EACCES"), or another word in capitals
---@field operation? string "open", "execute", "compile", …
---@field event? string name of the event that it concerns
---@field message string what happened and why
---@field reason? string why alone, where `message` says first what happened
---@field hint? string what to do
---@field misuse? boolean the script's mistake, not the environment's
---@field where? string "script.lua:12", of misuse
---@field value? any what a script's own code raised
---@field traceback? string the script's frames, where its own code raised
local Problem = {}
Problem.__index = Problem

--- A message and its traceback; the message alone where it says the only place.
---@param message string
---@param traceback? string "stack traceback:" and a line for each frame
---@return string
function M.with_traceback(message, traceback)
  local first, others = (traceback or ""):match "^[^\n]*\n\t([^\n]*)(.*)$"
  local place = first and first:match "^(.-:%d+:)"
  local is_known = not place or others == "" and message:find(place, 1, true)
  return is_known and message or message .. "\n" .. traceback
end

function Problem:__tostring()
  local message = self.where and self.where .. ": " .. self.message or self.message
  if self.hint then message = message .. (message:find "\n" and "\n" or "; ") .. self.hint end
  return M.with_traceback(message, self.traceback)
end

-- A text whose lines move no cursor: names in it come from anywhere.
local function harmless(lines)
  return lines and (lines:gsub("[^\n]+", require("pmclua.base.text").safe))
end

--- An error object.
---@param fields { code: string, operation?: string, event?: string, message: string, hint?: string,
---   status?: integer }  status: the exit status that it stands for where nothing catches it
---@return pmclua.Problem
function M.problem(fields)
  fields.message, fields.hint = harmless(fields.message), harmless(fields.hint)
  return setmetatable(fields, Problem)
end

--- A function that raises error objects of one operation.
---@param operation string
---@return fun(code: string, message: string, hint?: string)
function M.raiser(operation)
  return function(code, message, hint)
    error(M.problem { code = code, operation = operation, message = message, hint = hint }, 0)
  end
end

--- Raises for a format of a report that there is not.
---@param form string what is said, with "%s" for the format: "a gate has no format '%s'"
---@param format any
---@param formats string[] that there are
function M.no_format(form, format, formats)
  local text = require "pmclua.base.text"
  local message = form:format(text.safe(tostring(format)))
  error(M.problem { code = "EFORMAT", operation = "report", message = message,
    hint = text.meant_or_all(format, formats) }, 0)
end

--- Whether a value is one of these objects.
---@param value any
---@return boolean
function M.is(value) return getmetatable(value) == Problem end

-- ---- misuse -------------------------------------------------------------------------------------------

-- Chunk names of pmclua's own modules begin so: "@pmclua." where they are embedded, else a folder.
local OWN = debug.getinfo(1, "S").source:gsub("base[./]problem%.?l?u?a?$", "")

--- Whether a chunk is one of pmclua's own modules.
---@param source string as debug.getinfo has it
---@return boolean
function M.is_own(source)
  return source:sub(1, #OWN) == OWN or source .. "." == OWN
end

-- The first frame that is neither C nor ours: the line that the user wrote.
local function users_line()
  local level = 3
  while true do
    local info = debug.getinfo(level, "Sl")
    if not info then return nil end
    if info.what ~= "C" and not M.is_own(info.source) and info.currentline > 0 then
      return ("%s:%d"):format(info.short_src, info.currentline)
    end
    level = level + 1
  end
end

--- Raises what is a mistake in the calling script, at the line of the script: the nearest caller
--- outside pmclua, however deep inside pmclua it was noticed.
---@param message string
---@param level? integer where there is no such caller: as for error(), from who calls this; default 2
function M.misuse(message, level)
  local where = users_line()
  if not where then
    local info = debug.getinfo((level or 2) + 1, "Sl")
    -- A script that returns a call leaves no frame: no place is better than one of ours.
    local is_theirs = info and info.currentline > 0 and not M.is_own(info.source)
    where = is_theirs and ("%s:%d"):format(info.short_src, info.currentline) or nil
  end
  error(M.problem { code = "EINVAL", operation = "use", message = message, misuse = true, where = where }, 0)
end

--- A value of a script's options as a reader of base/units.lua gives it. Raises misuse where it is none.
---@param read fun(value: any): any, string?
---@param value any
---@param form string of the message, with "%s" for why: "build_timeout: %s"
---@return any nil: no value is given
function M.asked(read, value, form)
  if value == nil then return nil end
  local result, why = read(value)
  return result or M.misuse(form:format(why), 4)
end

--- Words of a command line that are wrong, as an error object: exit status 2.
---@param message string
---@return pmclua.Problem
function M.usage_error(message)
  return M.problem { code = "EINVAL", operation = "use", message = message, misuse = true, status = 2 }
end

return M
