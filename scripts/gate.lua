#!/usr/bin/env pmclua
-- Does a change cost more than is allowed? For continuous integration.
--
-- method: each limit is checked in each cell of the new result. `instructions <= +1%` is against the same
--   cell of the baseline and fails only where the whole interval of the ratio is above it;
--   `page_faults <= 5000` is against the median. Without --limit the limits that the experiment declared are
--   checked.
-- usage: pmclua gate BASELINE.jsonl NEW.jsonl [--limit LIMIT]... [--any-host]
-- example:
--   pmclua pages --store before.jsonl
--   pmclua pages --store after.jsonl
--   pmclua gate before.jsonl after.jsonl --limit 'page_faults <= +1%'
--   gate: all 3 limits hold
-- reading: exits 0 where all limits hold, 3 where one fails, 77 where one could not be counted on either side
--   (none fails): what was not counted is never a pass. 2: a limit that makes no sense.
-- caveats: results of different hosts are refused (1) unless --any-host is given. Choose counts that do not
--   depend on the day: instructions rather than times.

local pmc = require "pmclua"

local opt = pmc.options {
  { "limit", short = "l", many = true, value = "LIMIT", help = "as 'instructions <= +1%'" },
  { "any-host", false, help = "compare results of different machines too" },
  { "quiet", false, short = "q", help = "say nothing where all limits hold" },
  { "baseline", argument = true, help = "the stored result that limits are relative to" },
  { "new", argument = true, help = "the stored result that is to stay within them" },
  experiment = false,
}

local STATUS = { pass = 0, fail = 3, uncountable = 77 }

local function check()
  local limits = #opt.limit > 0 and opt.limit or nil
  local baseline = pmc.load(opt.baseline)
  return pmc.load(opt.new):gate { baseline = baseline, limits = limits, any_host = opt.any_host }
end

local ok, gate = pcall(check)
if not ok then pmc.fail(gate) end
if gate.state ~= "pass" or not opt.quiet then print(gate) end
os.exit(STATUS[gate.state], true)
