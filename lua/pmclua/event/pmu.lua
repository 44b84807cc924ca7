--- pmu.lua: the terms of "pmu/term=value,…/" to the fields of an attr.
--
-- The user's terms are laid out by the PMU's format files and ORed, as the OS kernel's own aliases are.
-- An alias's term gives way to the user's of the same name (perf ORs them, which counts a third event).
-- A config word must agree with the terms that lie in it.

local architectural = require("pmclua.base.lazy").module "pmclua.event.architectural"
local bit = require "bit"
local cache = require "pmclua.event.cache"
local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local names = require "pmclua.event.names"
local problem = require "pmclua.event.problem"
local sysfs = require "pmclua.event.sysfs"
local term = require "pmclua.event.term"
local text = require "pmclua.base.text"

local M = {}

-- PMUs of the OS kernel itself: there is nothing to vouch for.
local own = { software = true, tracepoint = true, breakpoint = true, uprobe = true, kprobe = true }

-- The greatest number up to 3 whose bit is set in a capability's bitmap; 0 is always allowed.
local function period_of(bitmap)
  for n = 3, 1, -1 do
    if bit.band(bitmap, bit.lshift(1, n)) ~= 0 then return n end
  end
  return 0
end

-- perf's settings for Intel PT without a config: tools/perf/arch/x86/util/intel-pt.c.
local function processor_trace_defaults(pmu)
  local defaults = {}
  local function add(name, value)
    if pmu:format(name) then defaults[#defaults + 1] = { name = name, value = 0ULL + value } end
  end
  local function bitmap(name, switch)
    local is_off = pmu:capability(switch) == "0"
    return is_off and 0 or tonumber(pmu:capability(name) or "0", 16)
  end
  local mtc_periods = bitmap("mtc_periods", "mtc")
  local psb_periods = mtc_periods ~= 0 and bitmap("psb_periods", "psb_cyc") or 0
  add("tsc", 1)
  if mtc_periods ~= 0 then
    add("mtc", 1)
    add("mtc_period", period_of(mtc_periods))
  end
  if psb_periods ~= 0 then add("psb_period", period_of(psb_periods)) end
  add("pt", 1)
  add("branch", 1)
  return defaults
end

-- "event=0x3c,inv,rev=?" to a list of name and u64, or "?" where the user must say; no value if it is no number.
local function alias_terms(alias)
  if not alias.parsed then
    alias.parsed = {}
    for part in alias.terms:gmatch("[^,]+") do
      local name, value = part:match("^%s*([^=%s]+)=?(%S*)%s*$")
      if name and value ~= "?" then value = core.u64(value == "" and "1" or value) end
      table.insert(alias.parsed, { name = name or part,
        value = value ~= "?" and value and 0ULL + value or value })
    end
  end
  return alias.parsed
end

-- The PMU's own name of a generic event; or how libpfm4 is asked for what perf has in tables of its own.
local function other_name(pmu, name)
  local generic = names.find(name)
  if generic and pmu:alias(generic.name) then return generic.name end
  local is_vendors = name:find "[%u.]" and core.pfm.encode(name)
  return is_vendors and ("libpfm4 knows it: write %s without the PMU"):format(name) or nil
end

local function unknown(pmu, given)
  local name = given.name.text
  if given.value and pmu:alias(name) then
    problem.at(given.name, "'%s' is an event of the PMU %s: it takes no value", name, pmu.name)
  end
  local formats = table.concat(pmu:format_names(), ", ")
  local has = formats == "" and "config, config1 and so on" or formats .. ", config, config1 and so on"
  local known = lists.joined { pmu:alias_names(), pmu:format_names(), term.names }
  problem.hinted(given.name, other_name(pmu, name) or text.nearest(name, known),
    "the PMU %s has no term or event '%s'; its terms are %s", pmu.name, name, has)
end

-- Generic events of one core PMU of a hybrid CPU: "cpu_core/cycles/".
local function legacy_of(pmu, given, tree)
  for _, core_pmu in ipairs(tree:hybrid()) do
    if core_pmu.name == pmu.name then
      local generic = names.find(given.name.text)
      if generic and generic.source == "hardware" then
        return { type = generic.type, config = generic.config }
      end
      local config = not generic and cache.find(given.name)
      return config and { type = names.TYPE_CACHE, config = config }
    end
  end
end

local function is_one(given)
  return not given.value or given.value.text == "1"
end

local function take_alias(reading, given, alias)
  if reading.alias then
    problem.at(given.name, "'%s' and '%s' are two events: give one", reading.alias.name, alias.name)
  end
  reading.alias, reading.alias_token = alias, given.name
end

local function take_raw(reading, given)
  if reading.configs.config then problem.at(given.name, "config is given twice") end
  local digits = given.name.text:match("^r0?x?(%x+)$")
  local value = core.u64("0x" .. digits)
  if not value then problem.at(given.name, "%s does not fit in 64 bits", given.name.text) end
  reading.configs.config = { value = 0ULL + value, term = given }
end

local function take_format(reading, given, format)
  local value = term.number(given)
  if value > term.maximum(format) then
    problem.at(given.value, "%s is at most 0x%x", given.name.text, term.maximum(format))
  end
  table.insert(reading.formats, { name = given.name.text, format = format, value = value })
  reading.given[given.name.text] = true
end

local function classify(reading, given, pmu, tree)
  local name = given.name.text
  if name:sub(1, 1) == "@" then
    problem.at(given.name, "a term with @ configures a tracing driver, which is not part of a counted event")
  end
  local format, alias = pmu:format(name), is_one(given) and pmu:alias(name)
  if format then return take_format(reading, given, format) end
  if alias then return take_alias(reading, given, alias) end
  if not given.value and name:find("^r%x+$") or name:find("^r0x%x+$") then return take_raw(reading, given) end
  local legacy = is_one(given) and legacy_of(pmu, given, tree)
  local tabled = not legacy and is_one(given) and require("pmclua.event.vendor").alias(tree, pmu, name)
  if tabled then return take_alias(reading, given, tabled) end
  if not legacy then unknown(pmu, given) end
  if reading.legacy then problem.at(given.name, "only one event can be named here") end
  reading.legacy, reading.legacy_token = legacy, given.name
end

local function add_default(reading, pmu, default)
  local format, alias = pmu:format(default.name), reading.alias
  if default.value == "?" then
    problem.at(reading.alias_token, "%s needs the term %s=VALUE", alias.name, default.name)
  elseif format and alias and default.value and 0ULL + default.value > term.maximum(format) then
    problem.at(reading.alias_token, "%s is %s=0x%x, and the PMU %s has %s up to 0x%x", alias.name,
      default.name, default.value, pmu.name, default.name, term.maximum(format))
  elseif format and default.value then
    table.insert(reading.formats,
      { name = default.name, format = format, value = default.value, alias = alias and alias.name })
  elseif default.name:find("^config%d?$") and default.value then
    reading.configs[default.name] =
      { value = default.value, term = { name = reading.alias_token }, alias = alias.name }
  else
    problem.at(reading.alias_token, "the PMU %s does not understand the terms that %s gives for %s: %s",
      pmu.name, alias.table or "sysfs", alias.name, alias.terms)
  end
end

-- Defaults for terms that the user left open: the alias's, or the PMU's own.
local function add_defaults(reading, pmu)
  local defaults = reading.alias and alias_terms(reading.alias)
    or pmu.name == "intel_pt" and not reading.configs.config and processor_trace_defaults(pmu) or {}
  for _, default in ipairs(defaults) do
    if not reading.given[default.name] and not reading.configs[default.name] then
      add_default(reading, pmu, default)
    end
  end
end

-- Config words join the terms where both agree: where a word has bits in a term's place they are the same.
local function join(reading)
  local words = {}
  for _, placed in ipairs(reading.formats) do
    local field = placed.format.field
    placed.bits = term.scatter(placed.format, placed.value)
    words[field] = bit.bor(words[field] or 0ULL, placed.bits)
  end
  for _, placed in ipairs(reading.formats) do
    local given = reading.configs[placed.format.field]
    local there = given and bit.band(given.value, term.mask(placed.format)) or 0ULL
    if there ~= 0ULL and there ~= placed.bits then
      problem.at(given.term.name, "'%s' and '%s' set the same bits to different values",
        given.term.name.text, placed.name)
    end
  end
  for field, given in pairs(reading.configs) do words[field] = bit.bor(words[field] or 0ULL, given.value) end
  return words
end

--- How each field came about, for people.
local function placements(reading)
  local placed = {}
  local function add(field, name, value, bits, alias)
    value = core.exact(value)
    placed[#placed + 1] = { field = field, term = name, value = value, bits = bits, alias = alias }
  end
  for _, each in ipairs(reading.formats) do
    add(each.format.field, each.name, each.value, each.format.bits, each.alias)
  end
  for field, given in pairs(reading.configs) do add(field, field, given.value, nil, given.alias) end
  return placed
end

local function encode_legacy(reading, pmu)
  if reading.alias or reading.formats[1] or reading.configs.config then
    problem.at(reading.legacy_token, "'%s' is a generic event: it takes no terms of the PMU",
      reading.legacy_token.text)
  end
  local attr = { type = reading.legacy.type, config = M.extend(reading.legacy.config, pmu) }
  for field, given in pairs(reading.configs) do attr[field] = core.exact(given.value) end
  return attr
end

--- The config of a generic event for one core PMU: PERF_PMU_TYPE_SHIFT of linux/perf_event.h.
---@param config number
---@param pmu pmclua.event.Pmu
---@return number|ffi.cdata*
function M.extend(config, pmu)
  return core.exact(bit.bor(0ULL + config, bit.lshift(0ULL + pmu.type, 32)))
end

local function encode_alias(pmu, name)
  local reading = { formats = {}, configs = {}, given = {}, alias = pmu:alias(name) }
  if not reading.alias then return nil end        -- there by name, and empty or not to be read
  reading.alias_token = { text = name, position = 1 }
  local ok, words = pcall(function()
    add_defaults(reading, pmu)
    return join(reading)
  end)
  return ok and core.exact(words.config or 0ULL) or nil
end

-- Whether the code is that of the event that a table names. Formulae add terms of their own:
-- "cpu/INT_MISC.RECOVERY_CYCLES,cmask=1,edge/".
local function is_tabled(reading)
  return reading.alias and reading.alias.table and not reading.given.event and not reading.configs.config
end

-- A table is for a kind of CPU; on Arm sysfs knows better what this PMU has.
local function is_verified(reading, pmu, attr)
  if own[pmu.name] or reading.legacy then return true end
  local is_plain = reading.alias and not next(reading.given) and not next(reading.configs)
  if is_plain and not reading.alias.table then return true end
  if is_tabled(reading) and not architectural.is_arm(pmu.name) then return true end
  return sysfs.vouches(pmu, attr.config, encode_alias)
end

local LACKS = "this PMU lacks it, or a hypervisor hides it: Linux would name it in %s/events"

local function why_lacking(pmu, config)
  local is_lacking = architectural.is_nameable(pmu, config) and not sysfs.vouches(pmu, config, encode_alias)
  return is_lacking and LACKS:format(pmu.path) or nil
end

--- Whether the PMU of a CPU names an event of this config, so that a raw code is one that it has.
---@param config number|ffi.cdata*
---@param tree pmclua.event.Tree
---@return boolean
function M.vouches(config, tree)
  return lists.any(tree:core_pmus(), function(pmu) return sysfs.vouches(pmu, config, encode_alias) end)
end

--- Why the CPUs' PMUs do not have the event of a config; nil where one may have it.
---@param config number|ffi.cdata*
---@param tree pmclua.event.Tree
---@return string?
function M.why_lacking(config, tree)
  local pmus = tree:core_pmus()
  local may_have = lists.any(pmus, function(pmu) return not why_lacking(pmu, config) end)
  return not may_have and pmus[1] and why_lacking(pmus[1], config) or nil
end

---@class pmclua.event.Encoding
---@field attr table ABI field to number or u64
---@field settings table name, period, percore: see pmclua.event.term
---@field alias pmclua.event.Alias?
---@field verified boolean
---@field absent string? why this PMU does not have the event that a table names
---@field placed table[] field, term, value, bits, alias

--- Encodes an event of `pmu`. Raises a problem.
---@param pmu pmclua.event.Pmu
---@param terms table[] of the grammar
---@param tree pmclua.event.Tree
---@return pmclua.event.Encoding
function M.encode(pmu, terms, tree)
  local settings, others = term.split(terms)
  local reading = { formats = {}, given = {}, configs = settings.configs }
  for _, given in ipairs(others) do classify(reading, given, pmu, tree) end
  local attr
  if reading.legacy then
    attr = encode_legacy(reading, pmu)
  else
    add_defaults(reading, pmu)
    attr = { type = pmu.type, config = 0 }
    for field, word in pairs(join(reading)) do attr[field] = core.exact(word) end
  end
  return { attr = attr, settings = settings, alias = reading.alias,
    absent = is_tabled(reading) and why_lacking(pmu, attr.config) or nil,
    verified = is_verified(reading, pmu, attr), legacy = reading.legacy, placed = placements(reading) }
end

return M
