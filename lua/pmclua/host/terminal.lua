--- terminal.lua: what the output of a report can show (width, colour, UTF-8), and text fitted to it.

local text = require "pmclua.base.text"

local M = {}

local WIDTH = 80           -- where nothing says how wide it is
local NARROWEST = 40       -- below it, lines are left to wrap

---@class pmclua.ReportOptions
---@field format? string "table" by default
---@field width? integer columns
---@field colour? boolean
---@field utf8? boolean
---@field separator? string between the fields of CSV, default ","
---@field stream? integer descriptor that the report goes to; nil: nobody knows

local function terminal_width(stream)
  local columns = tonumber(os.getenv "COLUMNS" or "")
  if columns and columns >= 1 then return columns end
  return stream and require("pmclua.core").columns(stream)
end

-- The character set of the locale. Where no variable says anything, UTF-8 is what terminals have.
local function locale_is_utf8()
  for _, name in ipairs { "LC_ALL", "LC_CTYPE", "LANG" } do
    local locale = os.getenv(name)
    if locale and locale ~= "" then return locale:lower():find "utf%-?8" ~= nil end
  end
  return true
end

local function pick(given, detected)
  if given ~= nil then return given end
  return detected
end

--- Fills in what the caller left open, from the stream and the environment (COLUMNS, NO_COLOR, TERM,
--- the locale).
---@param options? pmclua.ReportOptions
---@return { width: integer, colour: boolean, utf8: boolean }
function M.resolve(options)
  options = options or {}
  local dumb, stream = os.getenv "TERM" == "dumb", options.stream
  local is_terminal = stream ~= nil and require("pmclua.core").is_terminal(stream)
  local no_colour = (os.getenv "NO_COLOR" or "") ~= ""
  return {
    width = math.max(NARROWEST, options.width or terminal_width(stream) or WIDTH),
    colour = pick(options.colour, is_terminal and not dumb and not no_colour),
    utf8 = pick(options.utf8, not dumb and locale_is_utf8()),
  }
end

--- Lines no wider than asked: what is longer goes on in the next, two columns further in; no word is cut.
---@param shown string
---@param width integer columns
---@return string
function M.wrapped(shown, width)
  return (shown:gsub("[^\n]+", function(line)
    if text.width(line) <= width then return line end
    local indent = line:match "^ *"
    return indent .. table.concat(text.wrap(line, width - #indent - 2), "\n" .. indent .. "  ")
  end))
end

--- A text in the characters that the output can show.
---@param shown string
---@param options? pmclua.ReportOptions
---@return string
function M.spelled(shown, options) return M.resolve(options).utf8 and shown or text.ascii(shown) end

--- The same, no wider than the output.
---@param shown string
---@param options? pmclua.ReportOptions
---@return string
function M.fit(shown, options) return M.wrapped(M.spelled(shown, options), M.resolve(options).width) end

return M
