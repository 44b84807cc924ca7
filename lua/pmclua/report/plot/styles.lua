--- styles.lua: how gnuplot draws each style of series, in pictures and on character terminals.

local M = {}

-- Okabe and Ito's colours, which the colour-blind can tell ("Color Universal Design", 2008); yellow, which
-- is faint on white, is left out.
local COLOURS = { "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#000000", "#7F7F7F" }
local POINTS = { 7, 5, 9, 11, 13, 4, 6, 8 }          -- filled and open shapes of gnuplot
-- Series are told apart without colours, too, in print.
local DASHES = { "solid", "(16,9)", "(3,7)", "(16,7,3,7)", "(26,9)", "(16,7,3,7,3,7)", "(8,8)", "(26,7,8,7)" }
M.COLOURS = #COLOURS

--- A number as gnuplot reads it.
---@param value number
---@return string
function M.number(value)
  if value ~= value or math.abs(value) == math.huge then return "NaN" end
  return ("%.17g"):format(value)
end

local function colour(series) return COLOURS[(series.colour - 1) % #COLOURS + 1] end
local function dashes(series) return DASHES[(series.colour - 1) % #DASHES + 1] end
-- On a character terminal series are told apart by these, none of which its lines, bars and axes are drawn with.
local LETTERS = "oxasvznh"

--- The letter of a series on a character terminal.
---@param series pmclua.ChartSeries
---@return string
function M.letter(series)
  local index = (series.colour - 1) % #LETTERS + 1
  return LETTERS:sub(index, index)
end

local function shape(series) return POINTS[(series.colour - 1) % #POINTS + 1] end

local function curve(series)
  return { ("using 1:2 with %s lw 2 dt %s lc rgb '%s'"):format(series.style, dashes(series), colour(series)) }
end

-- How each style is drawn, and the columns that it takes; a style may be drawn in two layers.
M.PICTURE = {
  points = function(series)
    return { ("using 1:2 with points pt %d ps 0.6 lc rgb '%s'"):format(shape(series), colour(series)) }
  end,
  lines = curve, steps = curve,
  curve = function(series)
    return { ("using 1:2 with lines lw 2 lc rgb '%s'"):format(colour(series)) }
  end,
  beyond = function(series)
    return { ("using 1:2 with lines lw 2 dt 3 lc rgb '%s'"):format(colour(series)) }
  end,
  marked = function(series)
    return { ("using 1:2:3:4 with yerrorbars pt %d ps 0.9 lw 1.5 lc rgb '%s'"):format(shape(series),
      colour(series)) }
  end,
  marks = function(series)
    local look = ("lw 1.5 lc rgb '%s'"):format(colour(series))
    return { ("using 1:2 with linespoints pt %d ps 0.9 dt %s %s"):format(shape(series), dashes(series), look),
      ("using 1:2:3:4 with yerrorbars pt %d ps 0.9 %s"):format(shape(series), look) }
  end,
  across = function(series)
    return { ("using 1:2:3:4 with xerrorbars pt %d ps 0.9 lw 1.5 lc rgb '%s'"):format(shape(series),
      colour(series)) }
  end,
  mark_line = function() return { "using 1:2 with lines lw 1 dt solid lc rgb '#888888'" } end,
  boxes = function(series)
    local look = ("lw 1.5 lc rgb '%s'"):format(colour(series))
    return { ("using 1:3:2:6:5:(%s) with candlesticks whiskerbars 0.5 fs solid 0.25 %s"):format(
        M.number(series.width or 0.5), look),
      ("using 1:4:4:4:4:(%s) with candlesticks lw 3 lc rgb '%s'"):format(M.number(series.width or 0.5),
        colour(series)) }
  end,
  bars = function(series)
    return { ("using 1:2:3 with boxes fs solid 0.7 noborder lc rgb '%s'"):format(colour(series)) }
  end,
}

-- From 0 to a value, to the right or to the left, and the value's interval.
function M.PICTURE.rows(series)
  local sides = "using (0):2:($1 < 0 ? $1 : 0):($1 < 0 ? 0 : $1):($2 - $3 / 2):($2 + $3 / 2)"
  return { ("%s with boxxyerror fs solid 0.7 noborder lc rgb '%s'"):format(sides, colour(series)),
    "using 1:2:4:5 with xerrorbars pt -1 lw 1 lc rgb '#444444'" }
end

-- Bars in the colour of the axes, and then the letters over them.
local function with_bars(direction, series)
  return { ("using 1:2:3:4 with %serrorbars lt black pt '%s'"):format(direction, M.letter(series)),
    ("using 1:2 with points pt '%s'"):format(M.letter(series)) }
end

-- A character terminal has neither boxes nor bars of its own worth reading.
M.TEXT = {
  marks = function(series) return with_bars("y", series) end,
  across = function(series) return with_bars("x", series) end,
  mark_line = function() return { "using 1:2 with lines lt black" } end,
  boxes = function() return { "using 1:4:3:5 with yerrorbars pt '#'" } end,
  bars = function() return { "using 1:2 with impulses" } end,
  points = function(series) return { ("using 1:2 with points pt '%s'"):format(M.letter(series)) } end,
  rows = function(series)
    return { "using (0):2:1:(0) with vectors nohead",
      ("using 1:2 with points pt '%s'"):format(M.letter(series)) }
  end,
  lines = function() return { "using 1:2 with lines" } end,
  curve = function() return { "using 1:2 with points pt '.'" } end,
  beyond = function() return { "using 1:2 every 8 with points pt ':'" } end,
  steps = function() return { "using 1:2 with steps" } end,
}

M.TEXT.marked = M.TEXT.marks

return M
