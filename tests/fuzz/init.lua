--- fuzz: what reads texts and files of others, given mutated ones. The C parts are beside it (*.c).
---
--- A target makes one input from a random generator and tries it. It raises where something does not hold:
--- an input is understood or refused in words, never with a bug's message, and what is printed of it has no
--- control characters.

local dkjson = require "dkjson"
local event = require "pmclua.event"
local filter = require "pmclua.explain.filter"
local json = require "pmclua.json"
local lfs = require "lfs"
local made = require "tests.support.results"
local metric = require "pmclua.metric"
local pmc = require "pmclua"
local support = require "tests.support"
local tracepoint = require "pmclua.event.tracepoint"

local M = {}

local function one_of(random, list) return list[random:integer(#list)] end

-- What texts are broken with: ends of numbers, brackets, quotes, bytes that are no text.
local PIECES = { "0", "-1", "1e999", "18446744073709551616", "0x", "nan", "null", "[", "]", "{", "}", "(",
  ")",
  ",", ":", ";", "/", "=", "'", '"', "\\", "%", "-", "+", " ", "\t", "\n", "\r", "\0", "\27[2J", "\255", "é",
  ("9"):rep(400), ("["):rep(300), ("("):rep(300) }

--- Some bytes replaced, cut out, put in or moved.
local function mutated(random, text)
  for _ = 1, random:integer(4) do
    local at, length = random:integer(#text + 1), random:integer(9) - 1
    local how = random:integer(8)
    if how == 1 then text = text:sub(1, at - 1)
    elseif how == 2 then text = text:sub(1, at) .. text:sub(random:integer(#text + 1))
    else text = text:sub(1, at - 1) .. one_of(random, PIECES) .. text:sub(at + length) end
  end
  return text
end

-- What does not hold, told from what pmclua refuses.
local Broken = { __tostring = function(broken) return broken.what end }

local function hold(condition, what, input)
  if condition then return end
  error(setmetatable({ what = ("%s: %q"):format(what, tostring(input):sub(1, 2000)) }, Broken), 0)
end

--- Calls fn; where it raises it must be with words for the user. Whether it did not.
local function refused_in_words(input, fn, ...)
  local ok, problem = pcall(fn, ...)
  if ok then return true end
  if getmetatable(problem) == Broken then error(problem, 0) end
  local said = tostring(problem)
  hold(not said:find "^[%w_./]+:%d+:" and not said:find "^%[", said, input)
  hold(not said:gsub("\n", ""):find "%c", "control characters in: " .. said, input)
  return false
end

-- ---- formulae ----

local FORMULAE = { "ipc", "mpki = 1000 * cache_misses / instructions",
  "x = (a - -b) / max(c, 1e-3, d.e:u) [ns]",
  "share = 100 * log(a) / sqrt(abs(b)) [%]", "context_switches > 0 and a <= b or c ~= 1",
  "instructions == 3 * iterations + 2", "cycles == 3 +- 2%", "instructions <= +1%", "page_faults <= 5000" }
local PARSERS = { "parse", "formula", "condition", "comparison", "limit" }
local VALUES = { 0, 1, -1, 1e308, 2 ^ 53, 0.1 }

local function check_formula(random, text, parser)
  local made_of, problem = parser(text)
  if not made_of then
    local place = problem.position
    hold(problem.message ~= "" and place >= 1 and place <= #text + 1, "no message or place", text)
    return false
  end
  local function lookup()
    local value = one_of(random, VALUES)
    if value == -1 then return nil, "not counted" end
    return value
  end
  for _, name in ipairs { "evaluate", "left", "right" } do
    if made_of[name] then
      local value, why = made_of[name](lookup)
      hold(value ~= nil or type(why) == "string", name .. " gives neither a value nor a reason", text)
      hold(type(value) ~= "number" or value == value, name .. " gives no number", text)
    end
  end
  return true
end

local function formula(random)
  local text, accepted = mutated(random, one_of(random, FORMULAE)), false
  for _, name in ipairs(PARSERS) do accepted = check_formula(random, text, metric[name]) or accepted end
  return accepted
end

-- ---- stored results ----

local function stored_text()
  local records = made.records { { 7, 8, 9 }, { 10, 11, 13 }, { 0, 1, 0 } }
  records[4] = made.record({ 1, 2, 3 }, { index = 9, outcome = "signalled", signal = 11, why = "crashed" })
  return support.read(made.stored(support.folder() .. "/made.jsonl", made.header(), records))
end

-- The last are words for what is written in their place.
local OTHERS = { -1, 0, 0.5, 1e300, 2 ^ 53, "", "x\27[31m", "=1+1", true, "NULL", "EMPTY", "LIST", "MAP",
  "DEEP" }
local WRITTEN = { NULL = "null", EMPTY = "[]", LIST = '[1,"a"]', MAP = '{"a":1}', DEEP = ("["):rep(70)
  .. ("]"):rep(70) }

local function encoded(value) return (json.encode(value):gsub('"(%u+)"', WRITTEN)) end

--- One member of a table, at any depth, made another value or taken away.
local function with_another(random, value)
  local keys = {}
  for key in pairs(value) do keys[#keys + 1] = key end
  if #keys == 0 then return end
  table.sort(keys, function(a, b) return tostring(a) < tostring(b) end)
  local key = one_of(random, keys)
  if type(value[key]) == "table" and random:integer(4) > 1 then return with_another(random, value[key]) end
  if random:integer(6) > 1 then value[key] = one_of(random, OTHERS)
  elseif type(key) == "number" then table.remove(value, key)
  else value[key] = nil end
end

--- The first line with another member, or a later one, whose members have an order, with another value.
local function with_another_line(random, text)
  local header, rest = text:match "^([^\n]*)\n(.*)$"
  if random:integer(2) == 1 then
    local value = dkjson.decode((header:gsub("%[%[%[%[+%]*", "0")), 1,
      json.null)  -- too deep to be written again
    if type(value) ~= "table" then return text end
    with_another(random, value)
    return encoded(value) .. "\n" .. rest
  end
  local places = {}
  for place in rest:gmatch '":()' do places[#places + 1] = place end
  local at = one_of(random, places)
  local after = rest:match('^[%d.-]+()', at) or rest:match('^"[^"]*"()', at) or rest:match("^%b[]()", at)
    or at
  return header .. "\n" .. rest:sub(1, at - 1) .. encoded(one_of(random, OTHERS)) .. rest:sub(after)
end

local FORMATS = { "table", "csv", "json", "markdown", "html" }

local function read_and_report(path)
  local result = pmc.load(path)
  for _, format in ipairs(FORMATS) do
    local text = result:report { format = format } or ""
    hold(not text:gsub("[\n\t]", ""):find "%c", "control characters in " .. format, text)
  end
end

local base, place
local function stored(random)
  base, place = base or stored_text(), place or support.folder() .. "/mutated.jsonl"
  local text = base
  for _ = 1, random:integer(2) do text = with_another_line(random, text) end
  if random:integer(4) == 1 then text = mutated(random, text) end
  support.write(place, text)
  return refused_in_words(text, read_and_report, place)
end

-- ---- trees of files ----

local function files_of(folder, list)
  list = list or {}
  for name in lfs.dir(folder) do
    local path = folder .. "/" .. name
    if name ~= "." and name ~= ".." then
      list[#list + 1] = path
      if lfs.symlinkattributes(path, "mode") == "directory" then files_of(path, list) end
    end
  end
  table.sort(list)
  return list
end

-- What a file or a folder of a tree becomes, by shell words: $1 is it.
local CHANGES = { 'rm -rf "$1"; ln -s /dev/zero "$1"', 'rm -rf "$1"', 'rm -rf "$1"; mkdir "$1"',
  'rm -rf "$1"; ln -s "$1" "$1"',
  'rm -rf "$1"; ln -s .. "$1"', 'rm -rf "$1"; : >"$1"', 'rm -rf "$1"; yes event=1, | head -c 1000000 >"$1"',
  'chmod 000 "$1"' }

-- `endless`: whether it may become a file without end.
local function change(random, path, endless)
  local text = lfs.symlinkattributes(path, "mode") == "file" and support.read(path)
  if text and random:integer(3) > 1 then
    support.write(path, mutated(random, text))
  elseif lfs.symlinkattributes(path) then
    os.execute(("set -- %s; { %s; } 2>/dev/null"):format(support.quote(path),
      CHANGES[endless and random:integer(#CHANGES) or random:integer(#CHANGES - 1) + 1]))
  end
end

--- A copy of a tree with some of it changed, for `fn`; removed afterwards.
local function in_changed_tree(random, tree, changes, endless, fn)
  local folder = support.folder()
  os.execute(("cp -R %s/. %s"):format(support.quote(tree), support.quote(folder)))
  local files = files_of(folder)
  for _ = 1, random:integer(changes) do change(random, one_of(random, files), endless) end
  local ok, problem = pcall(fn, folder)
  os.execute(("chmod -R u+rwX %s 2>/dev/null; rm -rf %s"):format(support.quote(folder),
    support.quote(folder)))
  if not ok then error(problem, 0) end
  return problem
end

local TREES = { "x86_intel", "x86_amd", "arm64", "hybrid" }
local SPECS = { "cycles", "cpu/event=0x3c,umask=1,cmask=2/", "cpu_core/cycles/", "instructions:u",
  "LLC-loads",
  "uncore_imc/clockticks/", "cas_count_read", "msr/tsc/", "energy-pkg", "intel_pt//", "weird/split=5/",
  "hisi_sccl1_ddrc/flux_rd/", "armv8_pmuv3_0/long,event=1/", "mem-loads", "sched:sched_switch", "*/cycles/" }

local function try_specs(options, specs)
  for _, spec in ipairs(specs) do
    local events, problem = event.parse(spec, options)
    hold(events or problem.message ~= "", "no message", spec)
    for _, one in ipairs(events or {}) do event.format(one) end
  end
end

local function sysfs(random)
  local tree = support.fixture("perf/sysfs/" .. one_of(random, TREES))
  return in_changed_tree(random, tree, 12, true, function(folder)
    return refused_in_words(folder, function()
      try_specs({ sysfs = folder, tracefs = support.fixture "perf/tracefs" }, SPECS)
      event.list { sysfs = folder }
    end)
  end)
end

local FORMAT = [[
name: sched_switch
ID: 316
format:
	field:unsigned short common_type;	offset:0;	size:2;	signed:0;
	field:char prev_comm[16];	offset:8;	size:16;	signed:0;
	field:pid_t prev_pid;	offset:24;	size:4;	signed:1;
	field:__data_loc char[] name;	offset:32;	size:4;	signed:0;

print fmt: "prev_comm=%s prev_pid=%d", REC->prev_comm, REC->prev_pid
]]
local FILTERS = { "prev_pid == 1", "prev_comm ~ \"a*\" && (prev_pid > 0", "pid=3", "name and 1" }

local function tracefs(random)
  return in_changed_tree(random, support.fixture "perf/tracefs", 6, false, function(folder)
    local path = folder .. "/events/sched/sched_switch"
    if lfs.attributes(path, "mode") == "directory" then
      support.write(path .. "/format", mutated(random, FORMAT))
    end
    local options = { sysfs = support.fixture "perf/sysfs/x86_intel", tracefs = folder }
    return refused_in_words(folder, function()
      try_specs(options, { "sched:sched_switch", "sched:*", "*:*",
        "syscalls:sys_enter_getppid/filter='a==1'/" })
      local fields = tracepoint.fields(folder, "sched:sched_switch")
      for _, text in ipairs(FILTERS) do filter.why(mutated(random, text), fields) end
      event.list { tracefs = folder }
    end)
  end)
end

-- ---- all ----

--- Name, what tries one input, how many the suite tries, and the modules that it is about.
---@type { [1]: string, [2]: fun(random: pmclua.Random): boolean, [3]: integer, [4]: string[] }[]
M.TARGETS = {
  { "spec", require "tests.fuzz.specs", 20000, { "event.grammar", "event.encode", "event.pmu",
    "event.format" } },
  { "formula", formula, 3000, { "metric", "metric.grammar", "metric.evaluate" } },
  { "stored", stored, 300, { "store.header", "store.members", "store.reader", "store.decode",
    "store.shape" } },
  { "sysfs", sysfs, 25, { "event.sysfs", "event.list" } },
  { "tracefs", tracefs, 40, { "event.tracepoint", "explain.filter" } },
}

--- Tries a target `count` times, the same each time for one seed. Raises with the input that broke it.
---@param name string
---@param count integer
---@param seed integer
---@return integer accepted how many inputs were understood
function M.try(name, count, seed)
  local random, accepted = require("pmclua.stats").random(seed, "fuzz " .. name), 0
  for _, target in ipairs(M.TARGETS) do
    for _ = 1, target[1] == name and count or 0 do accepted = accepted + (target[2](random) and 1 or 0) end
  end
  return accepted
end

return M
