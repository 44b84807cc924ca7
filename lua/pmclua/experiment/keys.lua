--- keys.lua: one checker for each key of a declaration: the script's value in, the checked value out.
--
-- A checker reports every mistake through `wrong(form, …)` and goes on, so that all come out at once.

local explain = require "pmclua.explain"
local checking = require "pmclua.base.arguments"
local lists = require "pmclua.base.lists"
local shellwords = require "pmclua.workload.shellwords"
local units = require "pmclua.base.units"
local asked = require "pmclua.counting.asked"
local meant, sorted_keys, spelled, shown = checking.meant, checking.keys, checking.spelled, checking.shown

local M = {}

-- ---- one checker a key: value in, value out; mistakes go to `wrong` ----

local check = {}

function check.pin(value, wrong, key)
  local problem
  if type(value) == "string" then problem = select(2, require("pmclua.workload.pinning").cpus(value)) end
  if type(value) ~= "string" then problem = ("it must be a string, not %s"):format(shown(value)) end
  if problem then wrong("%s: %s", key, problem) end
  return value
end

-- Symbols in "mem:counter:w" are those of the programs that the experiment starts.
local function options_for(spec)
  -- Limits bring the events that they need.
  return { may_be_empty = spec and spec.gate ~= nil, symbol_address = function(name)
    local programs = require("pmclua.workload.programs").of(spec and spec.workloads)
    return require("pmclua.event.symbol").in_programs(programs)(name)
  end }
end

function check.events(value, wrong, _, experiment)
  return asked.events(value, wrong, options_for(experiment))
end
check.metrics = asked.metrics

local function check_factor(name, levels, wrong)
  if type(name) ~= "string" or not name:match "^[%a_][%w_]*$" then
    wrong("a factor's name must be a word, not '%s'", tostring(name))
  elseif name == "workload" then
    wrong "a factor cannot be called workload: that name stands for the workloads"
  end
  if type(levels) ~= "table" or #levels == 0 then
    wrong("factor %s needs a list of levels", tostring(name))
    levels = {}
  end
  asked.say_stray("factor " .. tostring(name), levels, wrong)
  local seen = {}
  for _, level in ipairs(levels) do
    local kind = type(level)
    if kind ~= "number" and kind ~= "string" and kind ~= "boolean" then
      wrong("factor %s: a level cannot be a %s; use numbers, strings or booleans", tostring(name), kind)
    elseif kind == "number" and (level ~= level or math.abs(level) == math.huge) then
      wrong("factor %s: %s is not a level; use finite numbers", tostring(name), tostring(level))
    end
    if seen[tostring(level)] then
      wrong("factor %s has the level %s twice", tostring(name), tostring(level))
    end
    seen[tostring(level)] = true
  end
  return { name = tostring(name), levels = levels }
end

-- Refuses what would be ignored in { name, { levels } }; pmc.commits names a folder there.
local function check_pair(pair, number, wrong)
  for key in pairs(type(pair) == "table" and pair or {}) do
    if key ~= 1 and key ~= 2 and key ~= "folder" then
      local form = 'factor %d must be { "name", { level, … } }, without %s'
      wrong(form, number, type(key) == "number" and "a third entry" or "'" .. tostring(key) .. "'")
      return
    end
  end
end

function check.factors(value, wrong)
  local factors, seen = {}, {}
  if type(value) ~= "table" then
    wrong("factors must be a list of { name, { levels } }, not a %s", type(value))
    return factors
  end
  local pairs_of = {}
  if #value > 0 then
    asked.say_stray("factors", value, wrong, function(key, levels)
      return ('{ "%s", { %s } }'):format(key, tostring(levels))
    end)
    for i, pair in ipairs(value) do
      check_pair(pair, i, wrong)
      pairs_of[i] = type(pair) == "table" and { pair[1], pair[2], pair.folder } or { pair, nil }
    end
  else
    for i, name in ipairs(sorted_keys(value)) do pairs_of[i] = { name, value[name] } end
  end
  for i, pair in ipairs(pairs_of) do
    factors[i] = check_factor(pair[1], pair[2], wrong)
    factors[i].folder = pair[3]
    if seen[pair[1]] then wrong("the factor %s is declared twice", tostring(pair[1])) end
    seen[tostring(pair[1])] = true
  end
  return factors
end

-- "f (2)" where there is an "f" already.
local function another_name(name, seen)
  local other, count = name, 1
  while seen[other] do
    count = count + 1
    other = ("%s (%d)"):format(name, count)
  end
  return other
end

local function spelled_workload(key, value)
  if type(value) ~= "string" then return ('it alone, with name = "%s" among its options'):format(key) end
  return ('pmc.command { %q, name = "%s" }'):format(value, key)
end

function check.workloads(value, wrong)
  local workload = require "pmclua.workload"
  if type(value) ~= "table" or getmetatable(value) then value = { value } end
  local list, seen = {}, {}
  local keys = #value > 0 and value or sorted_keys(value)
  if #value > 0 then asked.say_stray("workloads", value, wrong, spelled_workload) end
  for i, item in ipairs(keys) do
    local name
    if #value == 0 then name, item = item, value[item] end
    local made, why = workload.from(item, name)
    if made then
      list[#list + 1] = made
      -- At the prompt all functions stand in line 1. A command against itself shows what chance alone does.
      if (made.is_unnamed or type(item) == "string") and not name then
        made.name = another_name(made.name, seen)
      end
      if seen[made.name] then
        wrong("two workloads are called '%s': give one a name of its own, name = \"...\"", made.name)
      end
      seen[made.name] = true
    else
      wrong("workload %d: %s", i, why)
    end
  end
  if #keys == 0 then wrong "workloads is empty: name at least one" end
  return list
end

function check.per(value, wrong)
  if type(value) ~= "table" then
    wrong("per must be a map such as { element = \"n * n\" }, not a %s", type(value))
    return nil
  end
  local name, text = next(value)
  if not name or next(value, name) then wrong 'per takes one name and one formula: { element = "n * n" }' end
  if not name then return nil end
  if type(name) ~= "string" then
    wrong('per takes a name and a formula: { element = "%s" }', tostring(text))
    return nil
  end
  local formula, problem = require("pmclua.metric").parse(("%s = %s"):format(name, tostring(text)))
  if not formula then wrong("per %s: %s", name, problem.message) end
  return { name = name, formula = tostring(text), metric = formula }
end

function check.baseline(value, wrong, key)
  if type(value) == "string" then return { workload = value } end
  if type(value) ~= "table" or next(value) == nil or value[1] ~= nil then
    wrong("%s must be a workload's name or a partial cell such as { n = 256 }", key)
    return nil
  end
  return value
end
check.against = check.baseline

-- "commit=1a2b3c" as a name and a text.
local function split_note(item)
  if type(item) ~= "string" then return nil end
  return item:match "^%s*([%w_.-]+)%s*=%s*(.-)%s*$"
end

--- { commit = "1a2b3c" }; also of a list of "NAME=TEXT", as the command line has them.
function check.notes(value, wrong)
  local notes = {}
  for key, item in pairs(type(value) == "table" and value or { value }) do
    local name, note = key, item
    if type(key) == "number" then name, note = split_note(item) end
    local is_text = type(note) == "string" or type(note) == "number"
    if type(name) == "string" and is_text then notes[name] = tostring(note)
    else wrong('notes must be texts by name: { commit = "1a2b3c" }, --note commit=1a2b3c; not %s',
      shown(item)) end
  end
  return notes
end

local function whole(least)
  return function(value, wrong, key)
    local is_count = type(value) == "number" and value % 1 == 0 and value >= least and value < 2 ^ 53
    if not is_count then
      wrong("%s must be a whole number of at least %d, not %s", key, least, shown(value))
    end
    return value
  end
end
--- A number; a list of at least two, or "fit", for a line through the counts of several.
function check.iterations(value, wrong, key)
  if value == "fit" then return value end
  if type(value) == "string" then
    wrong('iterations must be a number, a list of at least two, or "fit", not %s%s', shown(value),
      meant(value, { "fit" }))
    return nil
  end
  if type(value) ~= "table" then return whole(1)(value, wrong, key) end
  for _, count in ipairs(value) do whole(1)(count, wrong, key) end
  asked.say_stray(key, value, wrong)
  if #value < 2 then wrong 'iterations must be a number, a list of at least two, or "fit"' end
  return value
end

-- A value that one of the readers of base/units.lua takes.
local function quantity(read)
  return function(value, wrong, key)
    local number, why = read(value)
    if not number then wrong("%s must be %s", key, why) end
    return number
  end
end
local duration, share = quantity(units.seconds), quantity(units.share)
check.timeout, check.delay = duration, duration

local function one_of(...)
  local words = { ... }
  return function(value, wrong, key)
    if lists.contains(words, value) then return value end
    wrong("%s must be one of %s, not %s%s", key, table.concat(words, ", "), shown(value), meant(value, words))
  end
end
local layout_word = one_of("fixed", "randomise")

function check.margin(value, wrong)
  return require("pmclua.verdict").margins(value, function(why) wrong("margin%s", why) end)
end

--- A formula over counts by one of metric's readers.
local function formula(value, wrong, key, read)
  local parsed, problem
  if type(value) == "string" then parsed, problem = read(value)
  else problem = { message = "it is a " .. type(value) .. ", not a string" } end
  if not parsed then wrong("%s: %s", key, explain.spec(tostring(value), problem)) end
  return parsed
end

function check.regions(value, wrong)
  local is_marks = value == "marks" or type(value) == "table" and value[1] == "marks"
  local regions, why = require("pmclua.experiment." .. (is_marks and "marking" or "following")).regions(value)
  if not regions then wrong("%s", why) end
  return regions
end

function check.reject_if(value, wrong, key)
  return formula(value, wrong, key, require("pmclua.metric").condition)
end

local function formulae(read)
  return function(value, wrong, key)
    local given = type(value) == "table" and value or { value }
    asked.say_stray(key, given, wrong, spelled.condition)
    return lists.map(given, function(text) return formula(text, wrong, key, read) end)
  end
end

-- "rows: misses == 0.25" is about one workload; within a name no blank follows a ':'.
local function prediction(text)
  local workload, rest = text:match "^(.-):%s+(.*)$"
  local parsed, problem = require("pmclua.metric").comparison(rest or text)
  if parsed then parsed.workload, parsed.formula = workload, text end
  return parsed, problem
end

check.expect = formulae(prediction)
check.gate = formulae(function(text) return require("pmclua.metric").limit(text) end)

function check.simulation(value, wrong)
  return require("pmclua.simulate.surroundings").check(value, wrong)
end

function check.fit(value, wrong) return require("pmclua.result.growth").read(value, wrong) end

local STOP = { interval = true, repetitions = true, time = true }

--- { interval = ratio, repetitions = n, seconds = s }, at least one of them; { own = function } of a function, which
--- the declaration's repetitions limit.
function check.stop(value, wrong, _, experiment)
  if type(value) == "function" then
    local most = experiment and experiment.repetitions
    return { own = value, repetitions = type(most) == "number" and most or nil }
  end
  if type(value) ~= "table" or next(value) == nil then
    wrong('stop must be a table such as { interval = "0.5%%", repetitions = 200, time = "5min" } '
      .. "or a function, not %s", require("pmclua.public.types").shown(value))
    return nil
  end
  for key in pairs(value) do
    if not STOP[key] then wrong("stop has no '%s'%s", tostring(key), meant(key, sorted_keys(STOP))) end
  end
  local rule = { repetitions = value.repetitions }
  if value.interval then rule.interval = share(value.interval, wrong, "stop.interval") end
  if value.time then rule.seconds = duration(value.time, wrong, "stop.time") end
  if value.repetitions then whole(1)(value.repetitions, wrong, "stop.repetitions") end
  if not (value.repetitions or value.time) then wrong "stop needs a limit: repetitions or time" end
  return rule
end

local SAMPLE_FLAGS = { "call_chains", "lines", "trust_maps", "data", "heap", "confirm" }

--- Fields of the events that are sampled; their events are `sampled`, until they are among the others.
function check.sample(value, wrong)
  local ring_bytes, flags = nil, {}
  if type(value) == "table" then
    ring_bytes = value.ring_bytes
    for _, name in ipairs(SAMPLE_FLAGS) do
      flags[name] = value[name] or nil
      if type(value[name] or false) ~= "boolean" then wrong("sample.%s must be true or false", name) end
    end
    value = { unpack(value) }
    local is_size = ring_bytes == nil or type(ring_bytes) == "number" and ring_bytes >= 4096
      and math.log(ring_bytes) / math.log(2) % 1 == 0
    if not is_size then wrong "sample.ring_bytes must be a power of two from 4096 on" end
  end
  local sampled = asked.events(value, function(form, ...) wrong("sample: " .. form, ...) end)
  for i, event in ipairs(sampled) do
    if event.tool then wrong("sample: %s is read once, at the end: it cannot be sampled", event.name) end
    if event.leader and event.leader ~= i then wrong "sample: each event is sampled by itself, without {}" end
  end
  local fields = lists.column(sampled, "field")
  fields.events, fields.ring_bytes = sampled, ring_bytes
  for name, flag in pairs(flags) do fields[name] = flag end
  return fields
end

--- { holds = function(levels, workload), needs = names }.
function check.only_if(value, wrong, key)
  if type(value) == "function" then return { holds = value, needs = {} } end
  if type(value) ~= "string" then
    wrong("%s must be a condition on factors or a function of the levels, not %s", key, shown(value))
    return nil
  end
  local condition = formula(value, wrong, key, require("pmclua.metric").condition)
  if not condition then return nil end
  local function holds(levels)
    return condition.evaluate(function(name) return levels[name] end) == true
  end
  return { holds = holds, needs = condition.needs }
end

local LAYOUT_KEYS = lists.set { "build", "folders", "shuffle" }

-- The command that makes a layout, of words that are its own or a shell's.
local function build_command(value)
  if not value.folders and not value.shuffle then return value.build end
  local folders = value.folders or { "." }
  if value.shuffle then return require("pmclua.workload.relink").words(value.build, folders) end
  return { "/bin/sh", "-c", table.concat(lists.map(folders, function(folder)
    return ("(cd -- %s || exit\n%s\n)"):format(shellwords.join { folder }, value.build)
  end), " && ") }
end

-- A word, or { build = a command with {seed} }, which draws layouts too.
function check.layout(value, wrong, key)
  if type(value) ~= "table" then return layout_word(value, wrong, key) end
  for name in pairs(value) do
    if not LAYOUT_KEYS[name] then
      wrong("layout has no key '%s', only build, folders, shuffle", tostring(name))
    end
  end
  if type(value.build) ~= "string" or not (value.shuffle or value.build:find("{seed}", 1, true)) then
    wrong('layout.build must be a command with {seed} in it: { build = "make SEED={seed}" }; of one without, '
      .. "shuffle = true links again what it has linked")
    return nil
  end
  for _, folder in ipairs(value.folders or {}) do
    if require("lfs").attributes(folder, "mode") ~= "directory" then
      wrong("layout: there is no folder '%s' to build in", folder)
      return nil
    end
  end
  local words = build_command(value)
  local spec = type(words) == "table" and lists.copy(words) or { words }
  spec.stderr, spec.name = "capture", value.build:find("{seed}", 1, true) and value.build
    or value.build .. ", layout {seed}"
  local command, why = require("pmclua.workload").from(spec)
  if not command then
    wrong("layout.build: %s", why)
    return nil
  end
  command.relinks = value.shuffle or nil
  return { build = command }
end

local function hook(value, wrong, key)
  if type(value) == "function" then return value end
  local command, why = require("pmclua.workload").from(value)
  if not command then wrong("%s must be a function or a command: %s", key, why) end
  return command
end
check.setup, check.prepare, check.conclude, check.cleanup = hook, hook, hook, hook

M.check = check

return M
