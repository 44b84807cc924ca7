--- markup.lua: escapes text from outside for HTML, XML and Markdown.

local text = require "pmclua.base.text"

local M = {}

local ESCAPES = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["'"] = "&#39;" }

--- Escapes text for an element or an attribute of HTML and XML.
---@param s any
---@return string
function M.xml(s) return (text.safe(tostring(s)):gsub("[&<>\"']", ESCAPES)) end

--- Escapes text for a paragraph or table of Markdown.
---@param s string
---@return string
function M.markdown(s)
  return (s:gsub("[\\`*_%[%]|~#]", "\\%0"):gsub("&", "&amp;"):gsub("<", "&lt;"):gsub(">", "&gt;"))
end

local NO_BREAK = "\194\160"             -- a blank that a page shows

--- A cell of a table as it is indented in a terminal: pages show no blanks that a text begins with.
---@param s string escaped
---@return string
function M.indented(s)
  return (s:gsub("^ +", function(blanks) return NO_BREAK:rep(2 * #blanks) end))
end

return M
