--- svg.lua: drawings: the elements that they are made of, and a drawing as a report.

local escape = require("pmclua.report.markup").xml

local M = {}

local DOCUMENT = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d"><style>%s</style>%s</svg>\n'
local LINE = '<line class="%s" x1="%.1f" x2="%.1f" y1="%.1f" y2="%.1f"/>'
local TEXT = '<text class="%s" text-anchor="%s" x="%.1f" y="%.1f">%s</text>'
local RECT = '<rect class="%s" x="%.1f" y="%.1f" width="%.1f" height="%d"/>'

-- Colours of the page (style.lua), which an image cannot see: more in orange, less in blue, also in print and to the
-- colour-blind.
local STYLE = [[
text { fill: #5a6370; font: 13px system-ui, sans-serif; }
line { stroke: #57606a; } .axis { stroke: #d8dee4; } .mark { stroke-dasharray: 4 3; }
.total { fill: #8b949e; } .unsure { fill: #c8ccd1; } .join { stroke: #c8ccd1; stroke-dasharray: 3 3; }
rect.more, text.more { fill: #b34700; } line.more { stroke: #b34700; }
rect.fewer, text.fewer { fill: #0072b2; } line.fewer { stroke: #0072b2; }
polyline { fill: none; stroke: #0072b2; stroke-width: 1.5; }
.band, .dot { fill: #0072b2; } .band { opacity: .18; }
@media (prefers-color-scheme: dark) {
  text { fill: #9aa4b0; } line { stroke: #9aa4b0; } .axis { stroke: #333a42; }
  .total { fill: #6e7681; } .unsure { fill: #444c56; } .join { stroke: #444c56; }
  rect.more, text.more { fill: #e69f00; } line.more { stroke: #e69f00; }
  rect.fewer, text.fewer, .band, .dot { fill: #56b4e9; } line.fewer, polyline { stroke: #56b4e9; }
}]]

--- A drawing of its elements.
---@param width integer
---@param height integer
---@param elements string
---@return string
function M.drawing(width, height, elements) return DOCUMENT:format(width, height, STYLE, elements) end

---@param class string "" is the ordinary one
---@return string
function M.line(class, x1, x2, y1, y2) return LINE:format(class, x1, x2, y1, y2) end

---@param anchor "start"|"middle"|"end"
---@param shown string it is escaped here
---@return string
function M.text(class, anchor, x, y, shown) return TEXT:format(class, anchor, x, y, escape(shown)) end

---@return string
function M.rect(class, x, y, width, height) return RECT:format(class, x, y, width, height) end

return M
