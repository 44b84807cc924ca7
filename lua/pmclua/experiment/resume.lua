--- resume.lua: finds what a stored run still lacks.
--
-- A run is resumed only by the same plan: events, workloads, cells, passes, order and seed. Any difference would mix
-- two experiments in one result, so it is refused.

local lists = require "pmclua.base.lists"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local hosts = require "pmclua.result.hosts"
local cell_key = require "pmclua.result.cell_key"
local planner = require("pmclua.base.lazy").module "pmclua.experiment.plan"
local records = require "pmclua.experiment.record"

local M = {}

local function refuse(path, why, hint)
  error(explain.problem { code = "ERESUME", operation = "resume",
    message = ("cannot resume %s: %s"):format(path, why), hint = hint }, 0)
end

--- A text that is the same for the same value: maps by sorted keys.
local function canonical(value)
  if type(value) ~= "table" then return type(value) == "cdata" and core.decimal(value) or tostring(value) end
  return "{" .. table.concat(lists.assignments(value, canonical), ",") .. "}"
end

--- The hash of all that makes two plans the same experiment.
---@param declaration pmclua.Declaration
---@param plan pmclua.Plan
---@return string
function M.identity(declaration, plan)
  local events = lists.map(declaration.events, function(event)
    return { event.field, event.tool, event.simulated or event.opened or event.attr, event.status }
  end)
  local workloads = lists.map(declaration.workloads, function(workload)
    return { workload.name, workload.kind, workload:identity() }
  end)
  local cells = lists.map(plan.cells, function(cell) return { cell.workload.name, cell.levels } end)
  local passes, regions = lists.column(plan.passes, "events"), declaration.regions
  return core.hash(canonical { events, workloads, cells, passes, declaration.seed, declaration.warmup,
    declaration.iterations, target = declaration.target and declaration.target.name,
    delay = declaration.delay, inherit = declaration.inherit, layout = declaration.layout,
    build = declaration.build and declaration.build:identity(), pin = declaration.pin,
    read = declaration.read,
    regions = regions and { regions.kind, regions.entries or false, regions.spec or false,
      regions.by },
    reject_if = declaration.reject_if and declaration.reject_if.formula })
end

local ELSEWHERE = "one cell would be of two machines; --any-%s does it all the same, and each repetition "
  .. "names its host"

local function check_host(path, stored, here, options)
  local name, is_cpu = hosts.other_machine(stored, here)
  if not name or options.any_cpu or options.any_host and not is_cpu then return end
  if options.any_name and name == "hostname" then return end
  refuse(path, ("it was measured elsewhere: %s was '%s' and is now '%s'"):format(name, tostring(stored[name]),
    tostring(here[name])), ELSEWHERE:format(is_cpu and "cpu" or "host"))
end

-- The parts of a plan that both headers have, in the order in which they are asked after.
local PARTS = { { "events", "events" }, { "workloads", "workloads" }, { "factors", "factors" },
  { "cells", "cells" }, { "pass_events", "passes" }, { "warmup", "warm-ups" }, { "iterations", "iterations" },
  { "target", "target" }, { "delay", "delay" }, { "inherit", "inherit" }, { "layout", "layout" },
  { "layout_runs", "number of repetitions of a layout" }, { "reject_if", "condition reject_if" } }

-- The facts of a part in a header, as far as they decide.
local function part_of(header, name)
  local list, decisive = header[name], {}
  for i, item in ipairs(type(list) == "table" and list or {}) do
    if name == "events" then decisive[i] = { item.spec or item.name, item.status }
    elseif name == "workloads" then decisive[i] = { item.name, item.kind }
    elseif name == "cells" then decisive[i] = { item.workload, item.levels }
    else decisive[i] = item end
  end
  return canonical(type(list) == "table" and decisive or list)
end

local function difference(stored, here)
  for _, part in ipairs(PARTS) do
    if part_of(stored, part[1]) ~= part_of(here, part[1]) then
      return ("its %s differ"):format(part[2])
    end
  end
end

-- ---- several files merged --------------------------------------------------------------------------------

local PART_BY_PART = "resume each of its files, then merge them again"

local function is_merged(header) return #(header.sources or {}) > 1 end

--- Puts the cells of a plan in the order of a file that was merged: its records have their numbers.
---@param path string
---@param stored table header
---@param plan pmclua.Plan changed
function M.order(path, stored, plan)
  if not is_merged(stored) then return end
  if stored.unpaired then
    refuse(path, ("its files are told apart by %s, which no experiment measures"):format(stored.unpaired),
      PART_BY_PART)
  end
  local place = {}
  for i, cell in ipairs(stored.cells) do place[cell_key.of(cell.workload, cell.levels)] = i end
  for _, cell in ipairs(plan.cells) do
    cell.index = place[cell_key.of(cell.workload.name, cell.levels)]
    if not cell.index then
      refuse(path, "a cell of this experiment is in none of its files",
        "run it into a file, and merge that too")
    end
  end
  table.sort(plan.cells, function(a, b) return a.index < b.index end)
end

-- Levels come in the order of the files.
local function levels_of(factors)
  return canonical(lists.map(factors or {}, function(factor)
    local levels = lists.map(factor[2], tostring)
    table.sort(levels)
    return { factor[1], levels }
  end))
end

-- Checks each file of a merged one, and keeps in which file's blocks each cell ran.
local function check_merged(path, stored, header, options)
  local provenance, remark = require "pmclua.experiment.provenance", nil
  local before = setmetatable({ factors = header.factors }, { __index = stored })
  local why = levels_of(stored.factors) ~= levels_of(header.factors) and "its factors differ"
    or difference(before, header)
  if why then refuse(path, "it is from another experiment: " .. why, PART_BY_PART) end
  if not stored.seed then refuse(path, "its files were drawn from different seeds", PART_BY_PART) end
  for _, source in ipairs(stored.sources) do
    local name = ("%s, of %s"):format(path, source.path)
    local changed = provenance.difference(source.how, header.how)
    if changed then refuse(name, changed, "one result would mix both: measure it again") end
    check_host(name, source, header.host, options)
    remark = remark or provenance.other_environment(source.how, header.how)
  end
  for i, cell in ipairs(header.cells) do cell.run, cell.given = stored.cells[i].run, stored.cells[i].given end
  header.sources = stored.sources
  return remark
end

--- Checks that a stored run has this plan, the same programs and this host. Returns what is to be known of
--- what differs all the same, if anything does.
---@param path string
---@param stored pmclua.store.Stored
---@param header table of this run
---@param options { any_host: boolean?, any_cpu: boolean?, any_name: boolean? } any_host: another host, microcode or OS
---  kernel will do; any_cpu: another CPU, too; any_name: another host of the same kind
---@return string?
function M.check(path, stored, header, options)
  if is_merged(stored.header) then return check_merged(path, stored.header, header, options) end
  local changed = require("pmclua.experiment.provenance").difference(stored.header.how, header.how)
  if stored.header.identity ~= header.identity then
    local why = difference(stored.header, header) or changed
    refuse(path, "it is from another experiment" .. (why and ": " .. why or ""),
      "its events, workloads, levels and warm-up must be those of this one")
  end
  if changed then refuse(path, changed, "one result would mix both: measure it again") end
  check_host(path, stored.header.host or {}, header.host, options)
  return require("pmclua.experiment.provenance").other_environment(stored.header.how, header.how)
end

--- The steps that a run has done already.
---@class pmclua.Done
---@field iterations table<string, integer> by cell and pass: what its kernel's were found to be; of a fit the most
---@field entries table<string, integer> by record.entry_key: the last number that one had
---@field last integer the last repetition that was begun
---@field process integer the last process of a kernel
---@field header table with the repetitions of each cell, as its end line has them where that was read
---@field process_size? integer the most repetitions that one had; nil: no process has a number
---@field simulated table[] what may be known of simulated passes
local Done = {}
Done.__index = Done

--- Begins to note what a stored run of this plan has.
---@param declaration pmclua.Declaration
---@param header table of the stored run
---@return pmclua.Done
function M.done(declaration, header)
  return setmetatable({ header = header, simulated = {}, indices = {}, iterations = {}, entries = {},
    last = 0, process = 0, sizes = {}, warmup = declaration.warmup,
    counts = planner.iteration_counts(declaration), choice = planner.choices(declaration) }, Done)
end

local function key_of(cell, pass) return ("%d/%d"):format(cell, pass) end

--- The repetitions of a cell and pass that are done, as a set.
local function indices_of(self, cell, pass, warmup)
  local key = ("%d/%d/%s"):format(cell, pass, tostring(warmup))
  self.indices[key] = self.indices[key] or {}
  return self.indices[key]
end

-- A part has a number of its own, and comes after its repetition.
local function take_part(self, part)
  if not part.region then return end
  local key = records.entry_key(part.cell, part.pass, part.warmup, part.region)
  self.entries[key] = math.max(self.entries[key] or 0, part.index)
end

-- Counts without times may be Valgrind's (simulate/init.lua).
local function note_simulated(self, record)
  local is_counted = record.outcome == "done" and not record.warmup and next(record.counts or {}) ~= nil
  if not is_counted or next(record.enabled or {}) then return end
  table.insert(self.simulated, { cell = record.cell, pass = record.pass, counts = record.counts,
    outcome = record.outcome, index = record.index })
end

-- Counts the repetitions of a cell's process.
local function note_process(self, record)
  if not record.process then return end
  local key = ("%d/%d/%d"):format(record.cell, record.pass, record.process)
  self.sizes[key] = (self.sizes[key] or 0) + 1
  self.process_size = math.max(self.process_size or 0, self.sizes[key])
end

--- Notes a stored record.
---@param record table
function Done:take(record)
  if cell_key.is_part(record) then return take_part(self, record) end
  if record.outcome ~= "rejected" or not (record.why or ""):find "^reject_if" then
    indices_of(self, record.cell, record.pass, record.warmup)[record.index] = true
  end
  self.process = math.max(self.process, record.process or 0)
  if not record.warmup then
    self.last = math.max(self.last, record.index)
    note_process(self, record)
  end
  note_simulated(self, record)
  local choice = self.choice(record.warmup and record.index or record.index + self.warmup)
  local key = key_of(record.cell, record.pass)
  self.iterations[key] = self.iterations[key]
    or record.iterations and record.iterations / choice * self.counts
end

--- How many iterations a cell's kernel was found to need in a pass; of a fit the most.
---@param cell integer
---@param pass integer
---@return integer?
function Done:iterations_of(cell, pass) return self.iterations[key_of(cell, pass)] end

--- Whether a step of the plan is done.
---@param step table
---@return boolean
function Done:has(step)
  return indices_of(self, step.cell.index, step.pass, step.warmup)[step.index] == true
end

return M
