--- latex.lua: a report as LaTeX: a table with booktabs for each block, its headline as caption, its notes below.
--
-- Invariant: names and reasons are text: what LaTeX would act upon in them is escaped. The document needs
-- \usepackage{booktabs,graphicx,textcomp}; signs beyond ASCII become commands, so any engine takes it.

local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local COMMANDS = { ["\\"] = "\\textbackslash{}", ["{"] = "\\{", ["}"] = "\\}", ["&"] = "\\&", ["%"] = "\\%",
  ["$"] = "\\$", ["#"] = "\\#", ["_"] = "\\_", ["~"] = "\\textasciitilde{}", ["^"] = "\\textasciicircum{}",
  ["<"] = "\\textless{}", [">"] = "\\textgreater{}", ["|"] = "\\textbar{}", ['"'] = "\\textquotedbl{}" }
local SIGNS = { ["…"] = "\\ldots{}", ["·"] = "$\\cdot$", ["–"] = "--", ["−"] = "$-$", ["±"] = "$\\pm$",
  ["×"] = "$\\times$", ["µ"] = "\\textmu{}", ["²"] = "$^2$", ["³"] = "$^3$", ["√"] = "$\\surd$",
  ["≤"] = "$\\leq$", ["≥"] = "$\\geq$", ["→"] = "$\\to$" }

-- Quotes as they are need an encoding that not every document has.
COMMANDS['"'] = "''"

local function escape(s)
  local plain = text.safe(s):gsub("[\\{}&%%$#_~^<>|\"]", COMMANDS):gsub("`([^`]*)`", "\\texttt{%1}")
  plain = plain:gsub("%-%-+", function(dashes) return ("-"):rep(#dashes, "{}") end)       -- "--" is an option's
  plain = plain:gsub("\\textasciicircum{}(-?[%d.]*%d)", "$^{%1}$")
  return (plain:gsub("[\194-\244][\128-\191]*", function(sign) return SIGNS[sign] or text.ascii(sign) end))
end

-- A number followed by a unit stays on its line.
local function unbroken(s) return (s:gsub("(%d) (\\?[%a%%])", "%1~%2")) end

local function cell_text(s)
  local blanks, rest = (s or ""):match "^( *)(.*)$"
  return ("\\quad "):rep(math.ceil(#blanks / 2)) .. unbroken(escape(rest))
end

-- A distribution drawn in characters has no place here.
local function kept(columns)
  local places = {}
  for k, column in ipairs(columns) do
    if column.name ~= "shape" and not column.is_shape then places[#places + 1] = k end
  end
  return places
end

local function spec_of(column) return (column.align or "left") == "left" and "l" or "r" end

local function row_line(row, places, columns)
  local cells = {}
  for _, k in ipairs(places) do
    if not (row.span and k > row.span) then
      local shown = cell_text(row[k])
      if row.strong == k or row.tones and (row.tones[k] == "good" or row.tones[k] == "bad") then
        shown = ("\\textbf{%s}"):format(shown)
      end
      if row.span == k then
        local rest = #lists.where(places, function(place) return place >= k end)
        shown = ("\\multicolumn{%d}{%s}{%s}"):format(rest, k == 1 and "l" or spec_of(columns[k]), shown)
      end
      cells[#cells + 1] = shown
    end
  end
  return table.concat(cells, " & ") .. " \\\\"
end

-- Scales a table that is too wide.
local AT_MOST_A_LINE = "\\resizebox{\\ifdim\\width>\\linewidth\\linewidth\\else\\width\\fi}{!}{%"

local function add_table(lines, shown)
  local places = kept(shown.columns)
  local specs = lists.map(places, function(k) return spec_of(shown.columns[k]) end)
  lists.append(lines, { AT_MOST_A_LINE, ("\\begin{tabular}{%s}"):format(table.concat(specs)), "\\toprule" })
  lines[#lines + 1] = row_line(lists.column(shown.columns, "name"), places, shown.columns)
  lines[#lines + 1] = "\\midrule"
  for _, row in ipairs(shown.rows) do lines[#lines + 1] = row_line(row, places, shown.columns) end
  lists.append(lines, { "\\bottomrule", "\\end{tabular}}" })
end

local function notes_of(notes) return lists.map(notes, function(note) return unbroken(escape(note)) end) end

local function add_block(lines, shown)
  lists.append(lines, { "\\begin{table}[htbp]", "\\centering" })
  if #shown.title > 0 then
    local title = lists.map(shown.title, function(part) return unbroken(escape(part)) end)
    lines[#lines + 1] = ("\\caption{%s}"):format(table.concat(title, ", "))
  end
  if #shown.columns > 0 then add_table(lines, shown) end
  local notes = notes_of(shown.notes)
  if #notes > 0 then
    lines[#lines + 1] = ("\\par\\smallskip\\parbox{\\linewidth}{\\footnotesize %s}"):format(
      table.concat(notes, "\\\\\n"))
  end
  lists.append(lines, { "\\end{table}", "" })
end

--- Writes a report as LaTeX, to be included by \input.
---@param report pmclua.Report
---@param put fun(piece: string)
function M.write(report, put)
  local lines = { "% needs \\usepackage{booktabs,graphicx,textcomp}" }
  if report.question then lines[#lines + 1] = "\\paragraph{" .. escape(report.question) .. "}" end
  if report.sentence then lines[#lines + 1] = escape(report.sentence) .. "\n" end
  for _, shown in ipairs(report.blocks) do
    if not shown.drawing then add_block(lines, shown) end
  end
  lists.append(lines, lists.map(notes_of(report.notes), function(note)
    return "{\\footnotesize " .. note .. "\\par}"
  end))
  put(table.concat(lines, "\n") .. "\n")
end

return M
