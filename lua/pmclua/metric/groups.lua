--- groups.lua: metric groups, each a text file NAME.group: a sentence, events, and metrics over them.
--
--     Branches, and how many of them the CPU predicts wrongly.
--
--     events
--       branches
--       misses = branch-misses
--
--     metrics
--       miss_rate = misses / branches [%]: share of branches predicted wrongly
--
-- A metric goes on in lines that begin with no `name =`. Several pairs of sections are variants for other machines
-- ("events on Intel clients"): a metric has the first whose events open. Lines that begin with # are comments.
--
-- Invariant: a file that is not understood to its last line is refused, with the line. Formulae are parsed later, by
-- whoever asks for a metric.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local paths = require "pmclua.host.paths"
local text = require "pmclua.base.text"

local M = {}

local MOST_BYTES = 2 ^ 16
local ENDING = ".group"

---@class pmclua.MetricGroup
---@field name string
---@field path string
---@field meaning string its sentence
---@field sets pmclua.MetricSet[] variants for other machines

---@class pmclua.MetricSet
---@field where string? on which machines
---@field events { spec: string, fields: string[], line: integer }[]
---@field metrics { name: string, source: string, meaning: string, line: integer }[] source: name = formula [unit]

-- ---- reading -------------------------------------------------------------------------------------------

--- An error in a group, as text.
---@param group pmclua.MetricGroup
---@param line integer
---@param message string
---@return string
function M.mistake(group, line, message)
  return ("%s:%d: %s"):format(text.safe(group.path), line, text.safe(message))
end

local function refuse(group, line, message) error(M.mistake(group, line, message), 0) end

-- The fields of an event, or of the members of a {group}, by which formulae name them.
local function fields_of(group, line, spec)
  local fields = {}
  for word in (spec:match "^{(.*)}$" or spec):gmatch "[^,]+" do
    local label = word:match "^%s*([%a_][%w_-]*)%s*="
    if not label and word:find "/" then
      refuse(group, line, ("give '%s' a name: NAME = %s"):format(spec, spec))
    end
    fields[#fields + 1] = text.field(label or word:match "^%s*(.-)%s*$")
  end
  return fields
end

local function add_event(group, set, line, spec)
  local is_single = spec:find "^{.*}$" or spec:find "=" or not spec:find "[%s,]"
  if not is_single then refuse(group, line, "one event a line, or a {group}") end
  table.insert(set.events, { spec = spec, line = line, fields = fields_of(group, line, spec) })
end

local function add_metric(group, set, line, written)
  local name, last = written:match "^([%a_][%w_]*)%s*=[^=]", set.metrics[#set.metrics]
  if name then table.insert(set.metrics, { name = name, line = line, written = written })
  elseif last then last.written = last.written .. " " .. written
  else refuse(group, line, "a metric is written NAME = FORMULA [UNIT]: MEANING") end
end

-- Takes a heading. Returns the reader of its section's lines; nil: the line is no heading.
local function heading(group, line, written)
  local where = written:match "^events%s*$" and "" or written:match "^events%s+on%s+(.-)%s*$"
  local set = group.sets[#group.sets]
  if where then
    if set and #set.metrics == 0 then refuse(group, line, "the events before have no metrics") end
    table.insert(group.sets, { where = where ~= "" and where or nil, events = {}, metrics = {} })
    return add_event
  elseif written:find "^metrics%s*$" then
    if not set or #set.events == 0 then refuse(group, line, "metrics come after their events") end
    return add_metric
  end
  if set then
    refuse(group, line, ("there is no section '%s', only 'events' and 'metrics'; what they have is indented")
      :format(written))
  end
end

-- Separates the meaning from the formula, in which ":" stands between other characters alone.
local function finish(group)
  if group.meaning == "" then refuse(group, 1, "it begins with a sentence that says what it is about") end
  local last = group.sets[#group.sets]
  if not last or #last.metrics == 0 then refuse(group, group.lines, "it has no metrics") end
  for _, set in ipairs(group.sets) do
    local seen = {}
    for _, metric in ipairs(set.metrics) do
      if seen[metric.name] then refuse(group, metric.line, ("'%s' is there twice"):format(metric.name)) end
      seen[metric.name] = true
      metric.source, metric.meaning = metric.written:match "^(.-)%s*:%s+(.*)$"
      metric.source, metric.meaning = metric.source or metric.written:gsub(":$", ""), metric.meaning or ""
    end
  end
end

--- A group of its file's text. Raises a text that says which line is wrong.
---@param written string
---@param path string
---@return pmclua.MetricGroup
function M.read(written, path)
  local group = { name = path:match "([^/]*)%.group$", path = path, meaning = "", sets = {}, lines = 0 }
  local add
  for line in (written .. "\n"):gmatch "(.-)\r?\n" do
    group.lines = group.lines + 1
    local bare = line:match "^%s*(.-)%s*$"
    if bare ~= "" and bare:sub(1, 1) ~= "#" then
      local section = not line:find "^%s" and heading(group, group.lines, line)
      if section then add = section
      elseif add then add(group, group.sets[#group.sets], group.lines, bare)
      else group.meaning = (group.meaning .. " " .. bare):match "^%s*(.*)$" end
    end
  end
  finish(group)
  return group
end

--- The specs of the events that formulae of these names need, in their order; nil and the first name that has none.
---@param set pmclua.MetricSet
---@param needs string[]
---@return string[]? specs
---@return string? missing
function M.specs(set, needs)
  local specs = {}
  for _, name in ipairs(needs) do
    local event = lists.find(set.events, function(event) return lists.contains(event.fields, name) end)
    if not event then return nil, name end
    specs[#specs + 1] = event.spec
  end
  return lists.unique(specs)
end

-- ---- finding -------------------------------------------------------------------------------------------

-- The running script's, the user's, pmclua's own: the first that has a file wins.
local function folders()
  local data = paths.data()
  local own, users = paths.scripts() .. "/groups", data and data .. "/groups"
  return lists.joined { { paths.script_folder }, { users or nil }, { own } }
end

-- A group, or nil and why it cannot be read.
local function load(path)
  local written, why = core.read_plain(path, MOST_BYTES)
  if not written then return nil, why end
  local ok, group = pcall(M.read, written, path)
  if ok then return group end
  return nil, group
end

--- The path of a group: of its name, or a path that ends in ".group"; nil where there is none.
---@param name string
---@return string?
function M.path(name)
  if name:sub(-#ENDING) == ENDING then return name:find "/" and name or "./" .. name end
  if not name:find "^[%w_]+$" then return nil end
  local candidates = lists.map(folders(), function(folder) return folder .. "/" .. name .. ENDING end)
  return lists.find(candidates, function(path) return core.stat(path) ~= nil end)
end

--- A group by its name or path.
---@param name string
---@return pmclua.MetricGroup? group nil where there is none
---@return string? why where there is one, and it cannot be read
function M.named(name)
  local path = M.path(name)
  if path then return load(path) end
end

local all

--- Every group that can be read, pmclua's own first, each folder's by name. Says once which files are no groups.
---@return pmclua.MetricGroup[]
function M.all()
  if all then return all end
  all = {}
  local list = folders()
  for i = #list, 1, -1 do
    for _, file in ipairs(require("pmclua.host.machine").entries(list[i])) do
      if file:sub(-#ENDING) == ENDING then
        local group, why = load(list[i] .. "/" .. file)
        if not group then require("pmclua.host.output").note("%s", why) end
        all[#all + 1] = group
      end
    end
  end
  return all
end

return M
