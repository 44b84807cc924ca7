--- encode.lua: turns the parts of a spec into events; the first source that knows a name decides what it is.
--
-- Sources are asked in this order: generic names, which need no file; the PMUs in sysfs; tracefs; vendors' tables;
-- libpfm4. Each event gets the fields listed in README.md. Groups are handled elsewhere (group.lua).

local cache = require "pmclua.event.cache"
local core = require "pmclua.core"
local lazy = require "pmclua.base.lazy"
local lists = require "pmclua.base.lists"
local modifier = require "pmclua.event.modifier"
local names = require "pmclua.event.names"
local number = require "pmclua.event.number"
local pmu = lazy.module "pmclua.event.pmu"
local probe = lazy.module "pmclua.event.probe"
local problem = require "pmclua.event.problem"
local simulated = lazy.module "pmclua.event.simulated"
local system_call = lazy.module "pmclua.event.system_call"
local term = require "pmclua.event.term"
local tool = require "pmclua.event.tool"
local tracepoint = lazy.module "pmclua.event.tracepoint"
local unknown = lazy.module "pmclua.event.unknown"
local vendor = lazy.module "pmclua.event.vendor"

local M = {}

local function tree_of(options)
  return require("pmclua.event.sysfs").tree(options and options.sysfs)
end

-- Modifiers stand behind the closing slash or behind a colon, in the `index`-th word.
local function modifiers_of(item, index)
  local word = item.words[index]
  if item.terms and word then problem.at(word, "modifiers come after the second '/'") end
  if item.words[index + 1] then problem.at(item.words[index + 1], "expected nothing after the modifiers") end
  return item.modifiers or word
end

-- The terms that say an item's event to a PMU by its own name: "cycles,config1=1" for "cycles/config1=1/".
local function terms_for_pmu(item, with_head)
  local given = item.slash and item.text:match("/(.*)/") or ""
  if not with_head then return given end
  local count = number.is_number(item.words[1].text) and 2 or 1
  local head = table.concat(lists.column({ unpack(item.words, 1, count) }, "text"), ":")
  return given == "" and head or head .. "," .. given
end

-- A copy of a generic event for each core PMU of a hybrid CPU; itself elsewhere.
local function on_core_pmus(event, item, options)
  local pmus = tree_of(options):hybrid()
  if #pmus == 0 then return { event } end
  return lists.map(pmus, function(core_pmu)
    local copy = lists.copy(event)
    copy.attr = lists.copy(event.attr)
    if event.attr.type == names.TYPE_RAW then
      copy.attr.type = core_pmu.type
    else
      copy.attr.config = pmu.extend(event.attr.config, core_pmu)
    end
    copy.pmu, copy.terms = core_pmu.name, terms_for_pmu(item, true)
    copy.core_cpus = core_pmu.core_cpus
    return copy
  end)
end

-- Whether the OS kernel knows the config of a generic type: others open, or not, unexplained.
local function is_generic_config(attr)
  if type(attr.config) ~= "number" then return false end
  if attr.type == names.TYPE_CACHE then return cache.name_of(attr.config) ~= nil end
  if attr.type <= names.TYPE_SOFTWARE then return names.name_of(attr.type, attr.config) ~= nil end
  return attr.type == names.TYPE_TRACEPOINT or attr.type == names.TYPE_BREAKPOINT
end

local sources = { [0] = "hardware", "software", "tracepoint", "cache", "raw", "breakpoint" }
local own_pmus = { "software", "tracepoint", [0] = "cpu", [3] = "cpu", [4] = "cpu", [5] = "breakpoint" }

-- Whether each core PMU of a hybrid CPU can count it: it is not yet bound to one by its config's upper half.
local function is_for_any_core(attr)
  if attr.type == names.TYPE_RAW then return true end
  local is_generic = attr.type == names.TYPE_HARDWARE or attr.type == names.TYPE_CACHE
  return is_generic and 0ULL + attr.config < 0x100000000ULL
end

local function is_verified(attr, options)
  if attr.type == names.TYPE_RAW then return pmu.vouches(attr.config, tree_of(options)) end
  return is_generic_config(attr)
end

-- An event whose name says type and config: generic, raw, or the two numbers themselves.
local function encode_numeric(item, type, config, modifier_index, options)
  local attr = { type = type, config = config }
  local modifiers = modifiers_of(item, modifier_index)
  local settings = term.apply(item.terms, attr)
  local event = {
    source = sources[attr.type] or "pmu", pmu = own_pmus[attr.type], attr = attr, settings = settings,
    verified = is_verified(attr, options),
  }
  event.unit = names.unit(attr)
  return is_for_any_core(attr) and on_core_pmus(event, item, options) or { event }, modifiers
end

local function encode_tool(item)
  local event = tool.find(item.words[1].text)
  if not event then return nil end
  if item.terms then
    problem.at(item.words[1], "'%s' has no terms", item.words[1].text)
  end
  local word = item.words[2]
  if word and (word.text ~= "" or item.words[3]) then
    problem.at(word, "'%s' is read from the record: it takes no modifiers", item.words[1].text)
  end
  return { event }
end

-- Reads "FAMILY::NAME", three words of which the second is empty: the event's word and its event; nil: the item is of
-- no such family.
local function of_family(item, family, events, complaint)
  local head, second, third = item.words[1], item.words[2], item.words[3]
  if head.text ~= family or not second or second.text ~= "" or not third then return nil end
  local event = events.find(third.text)
  if not event then problem.unknown(third, events.names(), complaint, third.text) end
  if item.terms then problem.at(head, "'%s' has no terms", item.text) end
  return third, event
end

-- "valgrind::NAME".
local function encode_simulated(item)
  local third, event = of_family(item, "valgrind", simulated, "Valgrind counts no '%s'")
  if not third then return nil end
  local head, word = item.words[1], item.words[4]
  if word and (word.text ~= "u" or item.words[5]) then
    problem.at(word, "Valgrind counts user space alone: '%s::%s' takes no modifier but u", head.text,
      third.text)
  end
  return { event }
end

-- "syscalls::NAME".
local function encode_system_call(item)
  local third, event = of_family(item, "syscalls", system_call, "this machine has no system call '%s'")
  if not third then return nil end
  if item.words[4] then
    problem.at(item.words[4], "'%s::%s' takes no modifiers", item.words[1].text, third.text)
  end
  return { event }
end

local function raw_config(word)
  local digits = word.text:match("^r(%x+)$")
  if not digits then return nil end
  local value = core.u64("0x" .. digits)
  if not value then problem.at(word, "%s does not fit in 64 bits", word.text) end
  return value
end

local function encode_pair(item, options)
  local first, second = item.words[1], item.words[2]
  if not number.is_number(first.text) then return nil end
  if not second or second.text == "" then
    local after = first.position + #first.text
    problem.raise(after, 0, "expected ':' and a config after the number of a PMU's type")
  end
  local type = number.read_small(first, 0xffffffff, "a PMU's type")
  local config = core.exact(number.read(second, "a config"))
  return encode_numeric(item, type, config, 3, options)
end

-- Events that are known without reading any file.
local function encode_known(item, options)
  local head = item.words[1]
  local generic = names.find(head.text)
  if generic then return encode_numeric(item, generic.type, generic.config, 2, options) end
  local events = encode_tool(item) or encode_simulated(item) or encode_system_call(item)
  if events then return events end
  local config = cache.find(head)
  if config then return encode_numeric(item, names.TYPE_CACHE, config, 2, options) end
  config = raw_config(head)
  if config then return encode_numeric(item, names.TYPE_RAW, config, 2, options) end
  return encode_pair(item, options)
end

-- One event of one PMU.
local function encode_on(device, terms, position, tree)
  local taken, others = probe.take(device.name, terms)
  local encoding = pmu.encode(device, others, tree)
  local attr = encoding.attr
  local event = {
    source = encoding.legacy and sources[attr.type] or "pmu", pmu = device.name, attr = attr,
    cpus = device.cpus, core_cpus = device.core_cpus, settings = encoding.settings,
    verified = encoding.verified, absent = encoding.absent, placed = encoding.placed,
    alias = encoding.alias and encoding.alias.name,
  }
  local alias = encoding.alias
  if alias then
    event.table, event.description = alias.table, alias.description
    event.unit, event.scale = alias.unit, alias.scale
    event.snapshot, event.per_package = alias.snapshot or nil, alias.per_package or nil
  elseif #terms == 0 then
    event.unit = names.unit(attr)
  end
  probe.locate(event, taken, position)
  return event
end

-- Encodes on each PMU that understands the terms; if none does, says why the first does not.
local function encode_on_each(pmus, terms, item, tree)
  local events, first_problem = {}, nil
  for _, device in ipairs(pmus) do
    local event, why = problem.catch(encode_on, device, terms, item.slash or item.position, tree)
    events[#events + 1] = event
    first_problem = first_problem or why
  end
  if #events == 0 then error(first_problem, 0) end
  return events
end

-- The event that PMUs name as the item's first word, with the item's terms.
local function encode_alias_on(pmus, item, tree)
  local terms = lists.append({ { name = item.words[1] } }, item.terms or {})
  local events = encode_on_each(pmus, terms, item, tree)
  for _, event in ipairs(events) do
    if #events > 1 then event.terms = terms_for_pmu(item, true) end
  end
  return events
end

-- "pmu/terms/", or "alias/terms/" of whatever PMUs have such an event.
local function encode_with_terms(item, options)
  local head, tree = item.words[1], tree_of(options)
  local modifiers = modifiers_of(item, 2)
  local pmus = tree:resolve(head.text)
  if #pmus > 0 then
    local events = encode_on_each(pmus, item.terms, item, tree)
    for _, event in ipairs(events) do
      if event.pmu ~= head.text then event.terms = terms_for_pmu(item, false) end
      event.is_alone = #events == 1
    end
    return events, modifiers
  end
  pmus = tree:with_alias(head.text)
  if #pmus == 0 then pmus = vendor.pmus(tree, head.text) end
  if #pmus == 0 then unknown.pmu(head, tree) end
  return encode_alias_on(pmus, item, tree), modifiers
end

-- `pmus_of`: the PMUs that have an event of that name, in sysfs or in tables.
local function encode_alias(item, tree, pmus_of)
  local pmus = pmus_of(tree, item.words[1].text)
  if #pmus == 0 then return nil end
  local modifiers = modifiers_of(item, 2)
  return encode_alias_on(pmus, item, tree), modifiers
end

local function encode_tracepoint(item, options)
  local events = tracepoint.encode(item.words[1], item.words[2], item.terms, options)
  return events, modifiers_of(item, 3)
end

local function encode_words(item, options)
  local events, modifiers = encode_known(item, options)
  if events then return events, modifiers end
  local head, second = item.words[1], item.words[2]
  local is_pair = second ~= nil and second.text ~= ""
  if item.terms then
    if is_pair then return encode_tracepoint(item, options) end
    return encode_with_terms(item, options)
  end
  local tree, is_name = tree_of(options), not second or modifier.plausible(second.text)
  if is_name then
    events, modifiers = encode_alias(item, tree, tree.with_alias)
    if events then return events, modifiers end
  end
  if is_pair and tracepoint.has_system(head.text, options) then return encode_tracepoint(item, options) end
  if is_name then
    events, modifiers = encode_alias(item, tree, vendor.pmus)
    if events then return events, modifiers end
  end
  local event = require("pmclua.event.pfm").encode(item, tree)
  if event then return { event } end
  unknown.event(item, tree, options)
end

local function encode_body(item, options)
  if item.form == "words" then return encode_words(item, options) end
  if item.form == "breakpoint" then
    local event, modifiers = require("pmclua.event.breakpoint").encode(item, options)
    return { event }, modifiers
  end
  return probe.encode(item, tree_of(options), options)
end

-- As asked; but what stands for events of several PMUs, or of a PMU by another name, is named by each
-- event's own PMU: "uncore_imc_0/clockticks/u" for "uncore_imc/clockticks/u" and for "clockticks:u".
local function name_of(event, item, modifiers)
  local base = item.label and item.label.text or event.settings and event.settings.name
  local letters = modifiers and modifiers.text or ""
  if event.terms and not (base and event.is_alone) then
    return base and ("%s/%s/"):format(event.pmu, base) or ("%s/%s/%s"):format(event.pmu, event.terms, letters)
  end
  if base then return base end
  if event.tracepoint then return letters == "" and event.tracepoint or event.tracepoint .. ":" .. letters end
  return event.own_name or item.text
end

-- Its name in formulae; and, of one of several events that a word stands for, the word as such a name.
local function fields_of(event, item)
  local is_one = not event.terms or event.is_alone
  local base = item.label and item.label.text or not is_one and item.text
  local field = (base or event.name):gsub("-", "_")
  if is_one then return field, nil end
  if not item.label and not field:find "^[%w_.:]+$" then return (event.name:gsub("-", "_")), nil end
  return ("%s_%s"):format(event.pmu, field), field
end

-- A breakpoint asked for by numbers: the same bytes have other names.
local function as_breakpoint(attr)
  attr.bp_type, attr.bp_addr, attr.bp_len = 0, attr.config1 or 0, attr.config2 or 0
  attr.config1, attr.config2 = nil, nil
end

-- A field of 0 is an absent one, as it is to the OS kernel; type and config always stand.
local function drop_zeros(attr)
  for field, value in pairs(attr) do
    local stands = field == "type" or field == "config" or field:find("^bp_")
    if value == 0 and not stands then attr[field] = nil end
  end
end

-- From what the sources found to the event that is promised.
local function finish(event, item, modifiers)
  local settings, attr = event.settings or {}, event.attr
  if attr and attr.type == names.TYPE_BREAKPOINT and not attr.bp_type then as_breakpoint(attr) end
  if attr then drop_zeros(attr) end
  event.spec = item.text
  event.name = name_of(event, item, modifiers)
  event.field, event.part_of = fields_of(event, item)
  if event.own_field and not item.label then event.field, event.own_field = event.own_field, nil end
  event.unit, event.scale = event.unit or "", event.scale or 1
  if event.verified == nil then event.verified = true end
  event.period = event.period or settings.period
  event.percore = settings.percore or nil
  event.settings, event.terms, event.is_alone, event.own_name, event.own_field = nil, nil, nil, nil, nil
  return event
end

--- The events that an item stands for, its own modifiers applied. Raises a problem.
---@param item table of the grammar; `text` is its part of the spec
---@param options table?
---@return table[] events
function M.item(item, options)
  local events, modifiers = encode_body(item, options)
  if item.label and #events > 1 and not events[1].terms then
    problem.at(item.label, "'%s' would name %d events", item.label.text, #events)
  end
  for _, event in ipairs(events) do
    if modifiers and event.attr then modifier.apply(event, modifiers, true) end
    finish(event, item, modifiers)
  end
  return events
end

return M
