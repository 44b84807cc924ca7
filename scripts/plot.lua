#!/usr/bin/env pmclua
-- What does it look like? Plots of results, counts over time, calls.
-- for: compare
--
-- method: gnuplot draws stored results: `distribution` (every value, quartiles, extremes), `ecdf` (share
--   of repetitions up to a value), `factor` (medians with 95 % intervals against a factor), `staircase` (the
--   same as plateaus), `fit` (the same with the curve that fits best, dashed beyond the data, and its
--   residuals), `scatter` (every value and that curve), `forest` (every verdict: ratios and intervals),
--   `regression` (counts over iterations, with their line and residuals), `order` (values in time order),
--   `histogram`, `roofline` (rates under measured roofs: see `pmclua roofline`), `scaling` (speed-up over
--   ranks or threads, the ideal line, the law fitted; --weak: scaled speed-up).
--   Files of `pmclua monitor --json` are plotted over `time`, those of `pmclua regions --store` as a
--   `histogram` of calls, several in the same bins.
-- usage: pmclua plot [FILE...] [--kind K] [--name EVENT] [-o FILE]
-- example:
--   pmclua pages --store pages.jsonl
--   pmclua plot pages.jsonl --kind ecdf
--   What does a fresh page cost?
--   share of repetitions up to a value
--
--   share of repetitions
--         1 +-+ *                                        #                    $
--             | *                                        #                    $
--             | *                                        #                    $
--       0.8 +-| *                                        #                    $
--             | *                                        #                    $
--             | *                                        #                    $
--       0.6 +-| *                                        #                    $
--             | *                                        #                    $
--             | *                                        #                    $
--             | *                                        #                    $
--       0.4 +-| *                                        #                    $
--             | *                                        #                    $
--             | *                                        #                    $
--       0.2 +-| *                                        #                    $
--             | *                                        #                    $
--             | *                                        #                    $
--         0 +-+-----------------------------------------------------------------+
--               +                                 +
--               1                                10
--                                  page-faults per iteration
--     *** pages 1    ### pages 16    $$$ pages 64
-- reading: without -o the plot is text for the terminal. Without a file it shows the newest stored
--   result. The axis is logarithmic if the cells lie far apart.
-- caveats: needs gnuplot (gnuplot-nox is enough). A chart holds a limited number of cells and says how
--   many it left out; --only n=512 selects.

local pmc = require "pmclua"

local KINDS = { "distribution", "ecdf", "factor", "staircase", "scatter", "fit", "forest", "regression",
  "order", "histogram", "roofline", "scaling", "time" }

local STATUS = { usage = 2 }

local opt = pmc.options {
  { "kind", short = "k", choices = KINDS, value = "K", help = "kind of plot" },
  { "name", short = "n", value = "EVENT", help = "event or metric (default: the primary one)" },
  { "output", short = "o", value = "FILE", help = "write the picture to FILE: .svg .png .pdf .eps .txt" },
  { "format", choices = pmc.formats "plot", value = "F",
    help = "picture format, whatever FILE is called" },
  { "only", old = "where", short = "w", many = true, value = "NAME=LEVEL", help = "only these cells" },
  { "metrics", short = "M", many = true, value = "FORMULA", help = "additional metrics, such as ipc" },
  { "by", choices = { "file", "rank", "host" }, value = "WHAT", help = "what distinguishes several files" },
  { "over", value = "FACTOR", help = "with --kind scaling: ranks, threads (default: most levels)" },
  { "weak", false, help = "with --kind scaling: the work grows with the level" },
  { "width", type = "integer", value = "N", help = "pixels, or characters of text" },
  { "height", type = "integer", value = "N", help = "pixels, or characters of text" },
  { "files", {}, type = "string", argument = true, many = true, value = "FILE", help = "stored results" },
  experiment = false,
}

local function conditions()
  local list = {}
  for _, word in ipairs(opt.only) do
    local name, level = word:match "^([%a_][%w_]*)=(.+)$"
    if not name then error({ misuse = true, message = "--only takes NAME=LEVEL, not " .. word }, 0) end
    list[name] = tonumber(level) or level
  end
  return list
end

-- A monitor's output is no stored result: it is plotted as it is.
local function source()
  local files = { by = opt.by or opt.kind == "scaling" and "none" or nil, unpack(opt.files) }
  if #files > 0 and not files.by and #opt.only + #opt.metrics == 0 then return { unpack(files) } end
  local result = pmc.load(files)
  if #opt.metrics > 0 then result = result:with { metrics = opt.metrics } end
  return #opt.only > 0 and result:only(conditions()) or result
end

if (opt.over or opt.weak) and opt.kind ~= "scaling" then
  pmc.fail("--over and --weak go with --kind scaling", STATUS.usage)
end

local function draw()
  local plot = pmc.plot(source(),
    { kind = opt.kind, name = opt.name, over = opt.over, weak = opt.weak or nil, width = opt.width,
      height = opt.height })
  if opt.output and opt.output ~= "-" then return plot:write(opt.output, opt.format) end
  io.write(plot:render(opt.format or "text"))
end

local ok, problem = pcall(draw)
if not ok then pmc.fail(problem) end
