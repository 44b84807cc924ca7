#!/usr/bin/env pmclua
-- What did an experiment find? A stored result again, in any format.
-- for: compare
--
-- method: computes everything from the stored repetitions, on any machine, with any baseline or metric,
--   at any later time. Several files make one result: by rank if each has its own (mpirun, srun), by host
--   with --by host, else by file, compared with the first.
-- usage: pmclua report [FILE...] [--format F] [--output FILE]
--        pmclua report --how [FILE]
--        pmclua report --list
--        pmclua report --prune [--keep N] [--older-than AGE]
-- example:
--   pmclua pages --store pages.jsonl
--   pmclua report pages.jsonl --format markdown
--   ## What does a fresh page cost?
--
--   **page-faults per iteration · touch · 20 repetitions, 2 warm-ups**
--
--   | pages | median | /page | 95 % interval | shape | quality |
--   | ---: | ---: | ---: | :--- | :--- | :--- |
--   | 1 | 1 | 1 | = |  | exact |
--   | 16 | 16 | 1 | = |  | exact |
--   | 64 | 64 | 1 | = |  | exact |
--
--   **duration\_time per iteration · touch**
--
--   | pages | median | /page | 95 % interval | shape | quality |
--   | ---: | ---: | ---: | :--- | :--- | :--- |
--   | 1 | 6.63 µs | 6.63 µs | 6.47 … 6.72 | ▂▂▅█▄ | noisy |
--   | 16 | 32.80 µs | 2.05 µs | 32.32 … 34.14 | █▄▂▁▂ | noisy |
--   | 64 | 101.7 µs | 1.59 µs | 100.0 … 103.8 | ▃█▇▃▄ | noisy |
-- reading: as the report of the experiment itself. Without a file, the newest stored result.
-- caveats: only --prune deletes results: all but the newest 100 in the user's own folder of results, or
--   as --keep and --older-than say. Results that are being written stay.

local pmc = require "pmclua"

local opt = pmc.options {
  { "format", "table", choices = pmc.formats(), by = "output", value = "F", help = "report format" },
  "show", "columns",
  { "over", value = "FACTOR", help = "rank, host, shard, thread, a factor: its spread, outliers" },
  { "scaling", value = "FACTOR", help = "ranks, threads, …: speed-up, efficiency, serial share" },
  { "weak", false, help = "with --scaling: the work grows with the level" },
  "output", "baseline",
  { "primary", value = "NAME", help = "the event or metric that decides" },
  { "fit", value = "FACTOR", help = "how quantities grow over a numeric factor" },
  { "metrics", short = "M", many = true, value = "FORMULA", help = "additional metrics, such as ipc" },
  { "by", choices = { "file", "rank", "host", "none" }, value = "WHAT", help = "what tells files apart" },
  { "how", false, help = "show how it was made: sources, compiler, programs, arguments" },
  { "list", false, help = "list the stored results, newest first" },
  { "prune", false, help = "delete old stored results" },
  { "keep", type = "integer", value = "N", help = "with --prune: keep the newest N (default 100)" },
  { "older-than", value = "AGE", help = "with --prune: delete only results older than this, e.g. 30d" },
  { "files", {}, type = "string", argument = true, many = true, value = "FILE", help = "stored results" },
  experiment = false,
}

local STATUS = { usage = 2 }

local function size(bytes)
  return bytes < 1e6 and ("%.1f kB"):format(bytes / 1e3) or ("%.1f MB"):format(bytes / 1e6)
end

local function list_stored()
  for _, entry in ipairs(pmc.stored.list()) do
    print(("%s  %10s  %s"):format(os.date("%Y-%m-%d %H:%M", entry.modified), size(entry.bytes), entry.path))
  end
end

local function prune()
  local keep = opt.keep
  if not keep and not opt.older_than then keep = 100 end
  local bytes, removed = 0, pmc.stored.prune { keep = keep, older_than = opt.older_than }
  for _, entry in ipairs(removed) do bytes = bytes + entry.bytes end
  print(("removed %d stored results, %s; %d are left"):format(#removed, size(bytes), #pmc.stored.list()))
end

-- With --scaling, files of several numbers of ranks are one sweep.
local function told_apart_by()
  return opt.by or opt.over == "file" and "file" or opt.scaling and "none" or nil
end

local function load()
  local result = pmc.load { by = told_apart_by(), over = opt.over, unpack(opt.files) }
  return result:with { metrics = #opt.metrics > 0 and opt.metrics or nil, baseline = opt.baseline,
    primary = opt.primary, fit = opt.fit }
end

local function report()
  local to_file = opt.output and opt.output ~= "-"
  local result, put = load(), pmc.output(opt.output)
  if opt.how then return put(result:how()) end
  result:write(put, { format = opt.format, stream = not to_file and 1 or nil,
    show = #opt.show > 0 and opt.show or nil, columns = opt.columns, over = opt.over,
    scaling = opt.scaling, weak = opt.weak or nil })
end

if (opt.keep or opt.older_than) and not opt.prune then
  pmc.fail("--keep and --older-than go with --prune", STATUS.usage)
end
if opt.weak and not opt.scaling then pmc.fail("--weak goes with --scaling", STATUS.usage) end
if opt.scaling and (opt.over or opt.columns or opt.fit) then
  pmc.fail("--scaling does not go with --over, --columns or --fit", STATUS.usage)
end
if (opt.list or opt.prune) and #opt.files > 0 then
  pmc.fail("--list and --prune take no files", STATUS.usage)
end

local ok, problem = pcall(opt.list and list_stored or opt.prune and prune or report)
if not ok then pmc.fail(problem) end
