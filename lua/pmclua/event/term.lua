--- term.lua: the terms between slashes that every kind of event has: config…, name, period, percore.

local bit = require "bit"
local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local number = require "pmclua.event.number"
local problem = require "pmclua.event.problem"

local M = {}

--- The fixed terms, in the order in which they are named to the user.
M.names = { "config", "config1", "config2", "config3", "config4", "name", "period", "percore", "metric-id" }

local fixed, configs = lists.set(M.names), lists.set { unpack(M.names, 1, 5) }

-- Terms of perf that say how to sample or what to inherit: no matter of the event that is counted.
local refused = lists.words [[freq branch_type time call-graph stack-size max-stack nr inherit no-inherit
  overwrite no-overwrite aux-output aux-sample-size aux-action]]

local function read_text(term)
  local value = term.value
  if not value then problem.at(term.name, "'%s' needs a value", term.name.text) end
  local text = value.text
  if value.quoted then
    if not text:find("^[%a_*?%[%]][%w_*?,.:=%[%]-]*$") then
      problem.at(value, "'%s' cannot be a name: letters, digits and _ * ? , . : = [ ] - only", text)
    end
  elseif not text:find("^[%a_*?][%w_*?.:-]*$") then
    problem.at(value, "'%s' cannot be a name without quotes", text)
  elseif fixed[text] or refused[text] or text:find("^r%x+$") then
    problem.at(value, "'%s' is also a term: to use it as a name, put it in quotes", text)
  end
  return text
end

--- The number that a term is given, 1 where it is given none.
---@param term table
---@return ffi.cdata* u64
function M.number(term)
  return term.value and number.read(term.value, term.name.text) or 1ULL
end

local readers = {
  name = read_text,
  ["metric-id"] = read_text,
  period = function(term) return core.exact(M.number(term)) end,
  percore = function(term)
    local value = M.number(term)
    if value > 1ULL then problem.at(term.value, "percore is 0 or 1") end
    return value == 1ULL
  end,
}

local function refuse_twice(seen, term)
  local name = term.name.text
  if seen[name] then problem.at(term.name, "'%s' is given twice", name) end
  seen[name] = true
end

--- Takes the fixed terms out of `terms`. Raises a problem on one that is given twice, that is only for
--- sampling, or whose value is wrong.
---@param terms table[]
---@return table settings name, period, percore, metric-id; configs: field to u64 and term
---@return table[] others in order
function M.split(terms)
  local settings, others, seen = { configs = {} }, {}, {}
  for _, term in ipairs(terms) do
    local name = term.name.text
    refuse_twice(seen, term)
    if refused[name] then
      problem.at(term.name, "'%s' is about sampling or inheriting: a counted event does not use it", name)
    elseif configs[name] then
      settings.configs[name] = { value = M.number(term), term = term }
    elseif readers[name] then
      settings[name] = readers[name](term)
    else
      others[#others + 1] = term
    end
  end
  return settings, others
end

--- The fixed terms alone, for an event whose config its name has already said; a config term replaces it.
---@param terms table[]?
---@param attr table changed
---@return table settings
function M.apply(terms, attr)
  local settings, others = M.split(terms or {})
  if others[1] then
    local name = others[1].name.text
    problem.unknown(others[1].name, M.names, "there is no term '%s' here; terms are %s", name,
      table.concat(M.names, ", "))
  end
  for field, given in pairs(settings.configs) do attr[field] = core.exact(given.value) end
  return settings
end

--- Puts `value` where a format says, its lowest bit into the lowest bit of the format.
---@param format pmclua.event.Format
---@param value ffi.cdata* u64 that fits
---@return ffi.cdata* u64
function M.scatter(format, value)
  local word = 0ULL
  for _, range in ipairs(format.ranges) do
    local width = range[2] - range[1] + 1
    local mask = width >= 64 and bit.bnot(0ULL) or bit.lshift(1ULL, width) - 1
    word = bit.bor(word, bit.lshift(bit.band(value, mask), range[1]))
    value = width >= 64 and 0ULL or bit.rshift(value, width)
  end
  return word
end

--- The bits that a format owns.
---@param format pmclua.event.Format
---@return ffi.cdata* u64
function M.mask(format)
  return M.scatter(format, bit.bnot(0ULL))
end

--- The greatest value that a format holds.
---@param format pmclua.event.Format
---@return ffi.cdata* u64
function M.maximum(format)
  return format.width >= 64 and bit.bnot(0ULL) or bit.lshift(1ULL, format.width) - 1
end

return M
