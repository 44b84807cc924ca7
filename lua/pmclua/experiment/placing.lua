--- placing.lua: workloads as the session knows them, with their code where a layout has it.
--
-- A kernel that is compiled here is linked anew for each place of its code; a command is built anew by
-- the script's own command, `layout = { build = "make … {seed}" }`. Invariant: a place is made once,
-- before its first repetition, and never while something is measured.

local heap_log = require("pmclua.base.lazy").module "pmclua.experiment.heap_log"
local core = require "pmclua.core"
local explain = require "pmclua.explain"
local hooks = require "pmclua.experiment.hooks"
local idle_build = require("pmclua.base.lazy").module "pmclua.experiment.idle_build"
local lists = require "pmclua.base.lists"

local M = {}

---@class pmclua.Placing
local Placing = {}
Placing.__index = Placing

---@param declaration pmclua.Declaration
---@param session pmclua.Session
---@param counter? table what counts instead of the runner
---@return pmclua.Placing
function M.new(declaration, session, counter)
  return setmetatable({ declaration = declaration, session = session, counter = counter, known = {},
    built = {}, remarks = {},
    in_place = declaration.build ~= nil and not M.names_seed(declaration) }, Placing)
end

--- Whether a command has a name for each place of its code: {seed} in one of its words. Else each build
--- replaces the one before.
---@param declaration pmclua.Declaration
---@return boolean
function M.names_seed(declaration)
  return lists.any(declaration.workloads, function(workload)
    return lists.any(workload.argv or {}, function(word) return word:find("{seed}", 1, true) end)
  end)
end

--- The levels of a cell; where commands are built for a layout, with its `seed`.
---@param declaration pmclua.Declaration
---@param cell table of plan.cells
---@param code? integer the layout's seed of where code lies
---@return table
function M.levels(declaration, cell, code)
  if not declaration.build then return cell.levels end
  local levels = lists.copy(cell.levels)
  levels.seed = code or 0
  return levels
end

-- The levels of a build: where it keeps links, these, and whether it has to make them first.
local function build_levels(self, levels)
  if not self.declaration.build.relinks then return levels end
  levels = lists.copy(levels)
  levels.links = require("pmclua.workload.relink").folder()
  levels.first = self.has_links and "" or "first"
  return levels
end

local function failed(build, line, result)
  local why = result.errors and result.errors:match "[^\n]+" or build:complaint(result) or "it failed"
  return explain.problem { code = "EBUILD", operation = "build",
    message = ("layout: build: '%s' failed: %s"):format(line, why),
    hint = "the command must build by itself, for any number in place of {seed}" }
end

local function build_once(self, cell, code)
  if not self.declaration.build then return end
  local build, levels = self.declaration.build, M.levels(self.declaration, cell, code)
  local key = require("pmclua.workload.shellwords").fill(build.name, levels)
  if self.built[key] then return end
  if self.in_place then self.built = {} end
  local workloads = self.declaration.workloads
  local before = self.in_place and idle_build.programs(workloads, levels) or {}
  local interrupts = core.interrupts()
  local result = self.session:run_only(function(message)
    build:define(message, build_levels(self, levels), { session = self.session })
  end)
  local is_built = result.outcome == "done" and result.exit == 0 and not build:complaint(result)
  if not is_built and core.interrupts() > interrupts then error(hooks.INTERRUPTED, 0) end
  if not is_built then error(failed(build, key, result), 0) end
  local note = not self.remarks[1] and idle_build.said(workloads, levels, before)
  if note then
    require("pmclua.host.output").note("%s", note)
    self.remarks[1] = note
  end
  self.built[key], self.has_links = true, true
end

local function define(self, cell, code)
  return self.session:workload(function(message)
    local workload = self.counter and self.counter:workload(cell.workload) or cell.workload
    workload:define(message, M.levels(self.declaration, cell, code), { session = self.session,
      pin = self.declaration.pin, code = code, compiled = cell.compiled,
      log = self.declaration.sample and heap_log.of(self.declaration) })
  end)
end

--- Builds what a layout needs, for whoever runs the workload without the session.
---@param cell table of plan.cells
---@param its_layout? table
function Placing:prepare(cell, its_layout) build_once(self, cell, its_layout and its_layout.code or 0) end

--- The session's number of a cell's workload. One place is known at a time, as a layout does not come
--- back.
---@param cell table of plan.cells
---@param code? integer
---@return integer
function Placing:id(cell, code)
  local known = self.known[cell.index]
  if known and known.code == code then return known.id end
  build_once(self, cell, code or 0)
  if known then self.session:forget(known.id) end
  self.known[cell.index] = { code = code, id = define(self, cell, code) }
  return self.known[cell.index].id
end

--- Leaves programs that were linked again as their build had made them.
function Placing:restore()
  local build = self.declaration.build
  if not (build and build.relinks and self.has_links) then return end
  if core.interrupts() < 2 then return build_once(self, { levels = {} }, 0) end
  require("pmclua.host.output").note("programs are left as they were linked last: build them anew")
end

--- Ends a cell's workload.
---@param index integer of the cell
function Placing:forget(index)
  if self.known[index] then self.session:forget(self.known[index].id) end
  self.known[index] = nil
end

return M
