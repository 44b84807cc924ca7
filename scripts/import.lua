#!/usr/bin/env pmclua
-- What did another benchmark tool measure? As a stored result.
-- for: compare
--
-- method: reads what google/benchmark (--benchmark_out_format=json), criterion (target/criterion),
--   pytest-benchmark (--benchmark-json), `go test -bench`, hyperfine (--export-json), asv and JMH (-rf json)
--   write. Each repetition that the tool kept becomes a repetition here; a benchmark is a workload. Values
--   are taken as they are; throughputs of JMH become times of one operation.
-- usage: pmclua import FILE [--store RESULT.jsonl] [--commit 1a2b3c]
-- example:
--   pmclua compare -r 6 --format hyperfine true 'ls /' >h.json
--   pmclua import h.json
--   true · 6 repetitions · exec to exit, children in
--   event            median  95 % interval         shape   quality
--   duration_time  423.4 µs  411 … 478             █▂▁▁▂   noisy
--   ...
-- reading: without --store the result is shown. Then: pmclua compare old.jsonl new.jsonl, or
--   pmclua gate old.jsonl new.jsonl -l 'duration_time <= +20%'.
-- caveats: `pmclua history` needs to know the commit: asv and pytest-benchmark say it, google/benchmark at least
--   the date; for the others say --commit. What a tool keeps no repetitions of cannot be judged, and is left out
--   with a remark: let google/benchmark repeat (--benchmark_repetitions=10), go test count (-count 10), asv
--   record samples.

local pmc = require "pmclua"

local opt = pmc.options {
  { "store", value = "FILE", help = "store it in this new file" },
  { "commit", value = "HASH", help = "the commit that was measured, for `pmclua history`" },
  "note",
  { "format", "table", choices = pmc.formats(), by = "output", value = "F", help = "report format" },
  "output",
  { "file", argument = true, value = "FILE", help = "what the tool wrote" },
  experiment = false,
}

local ok, result = pcall(pmc.import, opt.file)
if not ok then pmc.fail(result) end
for _, note in ipairs(opt.note) do
  local name, value = note:match "^%s*([^=]-)%s*=%s*(.-)%s*$"
  if not name or name == "" then pmc.fail(("--note takes NAME=TEXT, not '%s'"):format(note), 2) end
  result.header.notes[name] = value
end
if opt.commit then result.header.notes.commit = opt.commit end
if opt.store then
  local stored, why = pcall(result.store, result, opt.store)
  if not stored then pmc.fail(why) end
end
if not opt.store or opt.output then pmc.output(opt.output)(result:report { format = opt.format }) end
