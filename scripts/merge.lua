#!/usr/bin/env pmclua
-- Several stored results as one: from ranks, machines or days.
-- for: compare
--
-- method: copies the repetitions as they are. What distinguished the files becomes a factor: rank if each
--   file has its own, else file. With --by host, the ranks of a host form one cell.
-- usage: pmclua merge [--by file|rank|host|none] -o OUTPUT FILE FILE...
-- example:
--   pmclua pages --store monday.jsonl
--   pmclua pages --store tuesday.jsonl
--   pmclua merge -o all.jsonl monday.jsonl tuesday.jsonl
--   132 records of 2 files in all.jsonl
-- reading: the new file is a stored result like any other: `pmclua report all.jsonl`.
-- caveats: measurements in different files were not interleaved: they are compared unpaired, and whatever
--   changed between the files (the machine's state, the day) is part of the difference.

local pmc = require "pmclua"

local opt = pmc.options {
  { "output", short = "o", value = "FILE", help = "file to write" },
  { "by", choices = { "file", "rank", "host", "none" }, value = "WHAT", help = "what tells files apart" },
  { "files", argument = true, many = true, help = "stored results" },
  experiment = false,
}

if not opt.output then pmc.fail("where to? usage: pmclua merge -o OUTPUT FILE FILE...", 2) end
if #opt.files < 2 then pmc.fail("it takes at least two files", 2) end

local ok, records = pcall(pmc.stored.merge, { by = opt.by, unpack(opt.files) }, opt.output)
if not ok then pmc.fail(records) end
print(("%d records of %d files in %s"):format(records, #opt.files, opt.output))
