--- specs.lua: random and mutated event specs.
---
--- What must hold: no spec crashes or hangs the parser; a rejection points into the spec; an accepted spec
--- has a meaning: it can be written down again, and that text is encoded the same way.

local event = require "pmclua.event"
local oracle = require "tests.support.oracle"
local support = require "tests.support"

local perf = support.fixture "perf"
local fixtures = { "x86_intel", "x86_amd", "arm64", "hybrid" }

local generator
local function random(n) return generator:integer(n) end
local function one_of(list) return list[random(#list)] end

local function options_of(fixture)
  return { sysfs = perf .. "/sysfs/" .. fixture, tracefs = perf .. "/tracefs" }
end

local words = { "cycles", "instructions", "branches", "page-faults", "cs", "task-clock", "dummy", "LLC-loads",
  "L1-dcache-load-misses", "node", "branch-misses", "r1a8", "rffffffffffffffff", "0:0", "3:0x10000", "99:7",
  "duration_time", "max_rss", "cpu", "cpu_core", "cpu_atom", "uncore_imc", "uncore_imc_0", "weird", "msr",
  "armv8_pmuv3_0", "hisi_sccl1_ddrc", "intel_pt", "mem:0x1000", "mem:0x1000/8:rw", "sched:sched_switch",
  "raw_syscalls:*", "sched:sched_proc*", "energy-pkg", "mem-loads", "clockticks", "inst_retired", "fixed",
  "uprobe:/bin/true:0x10", "/bin/true:0x40%return", "kprobe:vfs_read", "INST_RETIRED:ANY", "x", "" }
local term_words = { "event=0x3c", "umask=1", "config=0x1", "config1=2", "config2=3", "config3=4", "name=foo",
  "name='a,b/c'", "period=100", "percore", "inv", "edge=1", "cmask=2", "ldlat=30", "split=0xabc", "rev=5",
  "cycles", "tsc", "par", "fixed", "r1a", "freq=1", "event=?", "metric-id=x", "filter='a == 1'", "cpu-cycles",
  "offcore_rsp=0x10003c0002", "hi=3", "long", "clockticks", "cas_count_read", "LLC-loads" }
local letters = { "u", "k", "h", "G", "H", "I", "p", "P", "D", "S", "W", "e", "b", "uk", "ppp", "z" }
local bytes = { "/", ",", ":", "{", "}", "=", "'", " ", "*", "?", "-", "_", ".", "@", "%", "0x", "+", "\0",
  "\n", "\"", "[", "]", "é", "u", "p", "9", "ffffffffffffffffff" }

local function made()
  local text = one_of(words)
  if random(3) == 1 then
    local terms = {}
    for i = 1, random(4) - 1 do terms[i] = one_of(term_words) end
    text = text .. "/" .. table.concat(terms, ",") .. "/" .. (random(2) == 1 and one_of(letters) or "")
  elseif random(3) == 1 then
    text = text .. ":" .. one_of(letters)
  end
  return text
end

local function made_list()
  local items = {}
  for i = 1, random(3) do items[i] = made() end
  local text = table.concat(items, ",")
  if random(4) == 1 then text = "{" .. text .. "}" .. (random(2) == 1 and ":" .. one_of(letters) or "") end
  if random(8) == 1 then text = "label = " .. text end
  return text
end

local function mutated(text)
  for _ = 1, random(3) do
    local at = random(#text + 1)
    local how = random(3)
    if how == 1 then text = text:sub(1, at - 1) .. one_of(bytes) .. text:sub(at)
    elseif how == 2 then text = text:sub(1, at - 1) .. text:sub(at + random(3))
    else text = text:sub(1, at) .. text:sub(random(#text + 1)) end
  end
  return text
end

local corpus = {}
for _, file in ipairs({ "perf-events.tsv", "perf-more.tsv", "perf-thin.tsv" }) do
  for _, case in ipairs(oracle.read(perf .. "/" .. file)) do corpus[#corpus + 1] = case.spec end
end

local function next_spec()
  local how = random(4)
  if how == 1 then return made_list() end
  if how == 2 then return mutated(made_list()) end
  return mutated(one_of(corpus))
end

local flags = { "precise_max", "sample_read", "weak", "bpf", "period", "percore", "tool", "filter",
  "tracepoint" }

-- What differs between an event and the one that its text stands for; nil where nothing does.
local function difference(a, b)
  if (a.attr == nil) ~= (b.attr == nil) then return "attr" end
  for field, value in pairs(a.attr or {}) do
    if b.attr[field] ~= value then return field end
  end
  for field in pairs(b.attr or {}) do
    if a.attr[field] == nil then return field end
  end
  for _, flag in ipairs(flags) do
    if a[flag] ~= b[flag] then return flag end
  end
end

local function check_accepted(spec, events, options)
  for _, one in ipairs(events) do
    local text = event.format(one)
    local again, problem = event.parse(text, options)
    assert(again, ("%q was written as %q: %s"):format(spec, text, problem and problem.message or ""))
    assert(#again == 1, ("%q was written as %q: %d events"):format(spec, text, #again))
    local different = difference(one, again[1])
    assert(not different, ("%q was written as %q: another %s"):format(spec, text, tostring(different)))
  end
  local groups = event.format_list(events)
  local again = event.parse(groups, options)
  assert(again and #again == #events, ("%q was written as %q"):format(spec, groups))
  for i, one in ipairs(events) do assert(one.leader == again[i].leader, ("groups of %q"):format(spec)) end
end

local function check_rejected(spec, problem)
  assert(type(problem.message) == "string" and problem.message ~= "", ("%q: no message"):format(spec))
  assert(problem.position >= 1 and problem.position <= #spec + 1, ("%q: outside"):format(spec))
  assert(problem.position + problem.length <= #spec + 1, ("%q: longer than the spec"):format(spec))
end

--- Tries one spec; whether it was accepted.
---@param numbers pmclua.Random
---@return boolean
return function(numbers)
  generator = numbers
  local spec, options = next_spec(), options_of(one_of(fixtures))
  local events, problem = event.parse(spec, options)
  if events then check_accepted(spec, events, options) else check_rejected(spec, problem) end
  return events ~= nil
end
