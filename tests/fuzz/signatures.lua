--- signatures.lua: calls of all public functions with wrong arguments, as the table of signatures has them.
--
-- One argument, option or item is replaced by a value that is odd. It must be refused in words, at the line of the
-- caller, unless its type takes it; some values no type takes. Nothing may crash or hang.

local entries = require "pmclua.public.entries"
local input = require "tests.fuzz.input"
local lfs = require "lfs"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local types = require "pmclua.public.types"

local one_of = input.one_of

local function cyclic()
  local list = { 1 }
  list[2], list.self = list, list
  return setmetatable(list, { __tostring = function() return "cyclic" end })
end

-- What nothing takes that says a type.
local POISON = { 0 / 0, 1 / 0, -1 / 0, "a\0b", coroutine.create(function() end),
  function() error "called" end, cyclic(), newproxy() }
-- What some take. Paths among them lead nowhere, and numbers ask for nothing that takes long.
local ODD = { -1, 0, 0.001, 1e300, -1e300, 2 ^ 53 + 2, 1e10, "", "/no/such/folder/x",
  ("é/"):rep(300), "/%s%d\27[2J/", "nan", "0", {}, { {} }, { false }, { 1, nil, 3 }, { [0.5] = 1 },
  { nosuch = 1 }, true, false, "1%", "%d", "-5%", { { "n", { 0 / 0 } } }, { { "n", { 1, 1 / 0 } } },
  { n = { 1, "1" } },
  { interval = 0 / 0 }, { interval = "1%", repetitions = 1 / 0 }, { repetitions = -1 }, { time = 1 / 0 },
  { "1%", x = -1 }, { element = 5 }, { element = "n *" }, { build = "make" }, { build = "a\0{seed}" },
  { workload = 0 / 0 }, { [true] = 1 }, { commit = {} }, { "marks", entries = 5 }, { regions = {} },
  { { from = "a" } }, { "page-faults", ring_bytes = 0 / 0 }, { "a\0b" }, { environment = {} }, "marks" }

-- ---- arguments that are right ----------------------------------------------------------------------------

local SIMPLE = { string = "page-faults", name = "page-faults", path = "/no/such/folder/x", boolean = true,
  number = 1, integer = 1, u64 = 1, level = 0.9, duration = "1ms", share = "5%", any = 1,
  ["function"] = function() end }

local objects = {}

-- An object of a class, as its entry says how to get one.
local function object_of(entry)
  if objects[entry.name] == nil then
    local chunk = assert(loadstring(entry.example .. "\nreturn " .. entry.prefix, entry.name))
    local ok, object = pcall(setfenv(chunk, setmetatable({ pmc = pmc }, { __index = _G })))
    objects[entry.name] = ok and object or false       -- some take rights, or programs
  end
  return objects[entry.name]
end

local right

local function right_one(one)
  if one.kind == "literal" then return one.literal end
  if one.kind == "list" then return { right(one.items) } end
  if one.kind == "class" then return object_of(one.entry) end
  if one.kind == "simple" then
    local value = SIMPLE[one.name]
    if type(value) == "number" and one.least then return one.least end
    return value == nil and {} or value
  end
  local options = {}
  for _, key in ipairs(one.entry.order) do
    local field = one.entry.fields[key]
    local place = key == "[]" and 1 or tonumber(key:match "^%[(%d)%]$") or key
    if not field.optional and key ~= "[name]" then
      options[place] = right(types.read(field.type, one.entry.topic))
    end
  end
  return options
end

right = function(alternatives) return right_one(alternatives[1]) end

-- What runs something runs nothing that takes long.
local RUNS = lists.set { "pmc.measure", "pmc.compare", "pmc.topdown", "pmc.where", "pmc.why", "pmc.regions",
  "pmc.script", "experiment:run" }
local DECLARES = lists.set { "pmc.measure", "pmc.compare", "pmc.experiment", "pmc.topdown" }
local QUICK = { workloads = { function() end }, repetitions = 1, warmup = 0, events = "page-faults" }

-- ---- one call ----------------------------------------------------------------------------------------------

-- To get one takes seconds.
local LEFT_OUT = lists.set { "truths:object", "overheads:object" }

-- They print, end the script, close what others need, or take seconds: called where they must refuse.
local ONLY_REFUSED = lists.set { "pmc.say", "pmc.fail", "pmc.help", "pmc.machine", "pmc.doctor.examine",
  "pmc.doctor.truths", "pmc.doctor.overhead", "monitor:next",
  "monitor:close", "group:close", "open_event:close", "pmc.stored.prune", "pmc.stored.merge",
  "pmc.events.list", "pmc.events.find", "pmc.events.silences", "pmc.events.nearest" }

-- Without an argument they wait for an end, or print.
local WITHOUT = lists.set { "target:wait", "gate:write", "where:write" }

local functions

local function all_functions()
  functions = functions or lists.where(entries.all(), function(entry)
    local class = entry.name:match "^(.*):"
    local can_try = entry.kind == "function" and not LEFT_OUT[entry.name]
    return can_try and (not class or object_of(entries.find(class)) ~= false)
  end)
  return functions
end

local function takes_any(kind)
  return kind:find "any" or kind:find "function" or kind:find "workload" or kind:find "table"
end

local function is_keys(one) return one.kind == "record" or one.kind == "keys" end

-- An argument with one thing in it replaced. Whether no type takes that.
local function broken(random, alternatives, name)
  local poisoned = random:integer(2) == 1
  local value = one_of(random, poisoned and POISON or ODD)
  local options = lists.find(alternatives, is_keys)
  if not options or random:integer(4) == 1 then
    if random:integer(8) == 1 then value = nil end
    return value, poisoned
  end
  local record, table = options.entry, right_one(options)
  for quick, other in pairs(DECLARES[name] and QUICK or {}) do
    table[quick] = record.fields[quick] and other or nil
  end
  local key = one_of(random, record.order)
  local takes_all = takes_any(record.fields[key].type) or record.fields["..."]
  key = key == "[]" and 2 or tonumber(key:match "^%[(%d)%]$") or key
  if key == "[name]" then key = "n" end
  if random:integer(10) == 1 then key = one_of(random, { "nosuch", 7, 0.5, true, "é\0" }) end
  table[key] = value
  return table, poisoned and not takes_all
end

local function arguments_of(random, entry)
  local list, count, must_fail = {}, 0, false
  local wrong = #entry.arguments > 0 and random:integer(#entry.arguments) or 0
  for i, argument in ipairs(entry.arguments) do
    local alternatives = types.read(argument.type, entry.topic)
    count = count + 1
    if i == wrong then
      local poisoned
      list[count], poisoned = broken(random, alternatives, entry.name)
      local is_left_out = argument.optional and list[count] == nil
      must_fail = poisoned and not takes_any(argument.type) and not is_left_out
    elseif argument.optional then count = count - 1
    else list[count] = right(alternatives) end
    if i < wrong and argument.optional then count = count + 1 end
  end
  -- One too many, where the last is right.
  if #entry.arguments == 0 or random:integer(20) == 1 then
    count = count + 1
    list[count], must_fail = 5, #entry.arguments == 0
  end
  return list, count, must_fail
end

local function function_of(entry)
  local module, field = entry.name:match "^pmc%.([%w_]+)%.([%w_]+)$"
  if module then return pmc[module][field] end
  return pmc[entry.name:match "^pmc%.([%w_]+)$"]
end

local function keys_of(table_of_options)
  local words = {}
  for key, value in pairs(table_of_options) do
    words[#words + 1] = ("%s = %s"):format(tostring(key), tostring(value))
  end
  return table.concat(words, ", ")
end

local function shown(entry, list, count)
  local words = {}
  for i = 1, count do
    local value = list[i]
    local is_plain = type(value) == "table" and not types.class_of(value)
    words[i] = is_plain and "{ " .. keys_of(value) .. " }" or tostring(value)
  end
  return ("%s(%s)"):format(entry.name, table.concat(words, ", "))
end

local function finish(result)
  local class = types.class_of(result)
  if class == "group" or class == "open_event" or class == "monitor" then result:close() end
end

-- Calls `fn` where what it writes is in the way of nobody: some odd values are names of files.
local function in_own_folder(fn, ...)
  local before = lfs.currentdir()
  assert(lfs.chdir(os.getenv "TMPDIR" or "/tmp"))
  local list = { pcall(fn, ...) }
  assert(lfs.chdir(before))
  return list[1], list[2]
end

local THIS = "signatures.lua:"

return function(random)
  local entry = one_of(random, all_functions())
  local class, method = entry.name:match "^(.*):(.*)$"
  local list, count, must_fail = arguments_of(random, entry)
  local what, fn = shown(entry, list, count), not class and function_of(entry) or nil
  if class then
    local object = object_of(entries.find(class))
    if random:integer(20) == 1 then           -- with a dot instead of the colon
      object, must_fail = one_of(random, { 5, "x", {}, newproxy(), pmc.self() }), class ~= "target"
    end
    table.insert(list, 1, object)
    count, fn = count + 1, object_of(entries.find(class))[method]
  end
  if WITHOUT[entry.name] and list[2] == nil then return true end
  if ONLY_REFUSED[entry.name] and not must_fail then return true end
  -- Nothing is run but what is refused.
  if RUNS[entry.name] and not must_fail and random:integer(50) > 1 then return true end
  local result
  local ok = input.refused_in_words(what, function()
    local done, found = in_own_folder(fn, unpack(list, 1, count))
    if done then
      result = found
      return
    end
    if type(found) == "string" and found:find "called$" then error("its own error", 0) end
    local is_misuse = type(found) == "table" and rawget(found, "misuse") and not found.status
    local is_here = not is_misuse or found.where and found.where:find(THIS, 1, true)
    input.hold(is_here, "not at the caller's line: " .. tostring(found), what)
    error(is_misuse and found.message or found, 0)
  end)
  input.hold(not (ok and must_fail), "it was accepted", what)
  if ok then finish(result) end
  return ok
end
