--- doctor/init.lua: what this machine can count, what stands in the way, and whether its figures are true.
--
--     print(pmc.doctor.examine())
--
-- Invariant: what is said to count was tried; every finding that limits something comes with what to do.

local counters = require "pmclua.doctor.counters"
local lists = require "pmclua.base.lists"
local machine_of = require "pmclua.doctor.machine"

local M = {}

---@class pmclua.Examination
---@field machine table pmc.machine()'s facts
---@field kinds pmclua.doctor.Kind[]
---@field pmus pmclua.doctor.Pmu[]
---@field findings pmclua.doctor.Finding[] in the order in which they are told
---@field can_count boolean anything at all
local Examination = require("pmclua.public.class").new("tools", "examination")

--- The same as plain data, for JSON.
---@return table
function Examination:object()
  return { format = 1, machine = self.machine, kinds = self.kinds, pmus = self.pmus, findings = self.findings,
    can_count = self.can_count }
end

--- One screen, of at most 80 columns.
function Examination:__tostring() return require("pmclua.doctor.screen").examination(self) end

local CHECKERS = { "pmclua.doctor.rights", "pmclua.doctor.surroundings", "pmclua.doctor.tools" }

local function take(findings, name, finding)
  if not finding then return end
  finding.name = name
  findings[#findings + 1] = finding
end

--- Findings from the files of a machine: what limits counting, and what does not.
---@param root pmclua.doctor.Machine|string the folder of its files
---@param tried { has_pmu: boolean } what was tried before
---@return pmclua.doctor.Finding[]
function M.findings(root, tried)
  local findings = {}
  if type(root) == "string" then root = machine_of.new(root) end
  for _, module in ipairs(CHECKERS) do
    for _, row in ipairs(require(module).checks) do take(findings, row.name, row.check(root, tried)) end
  end
  return findings
end

--- Looks at this machine, as this user.
---@return pmclua.Examination
function M.examine()
  local machine = machine_of.new()
  local self = setmetatable({ machine = require("pmclua.host.machine").facts(), kinds = counters.kinds(),
    pmus = counters.pmus(require("pmclua.event.sysfs").tree()) }, Examination)
  local has_pmu = lists.any(self.pmus, function(pmu) return pmu.kind == "core" end)
  self.findings = M.findings(machine, { has_pmu = has_pmu })
  take(self.findings, "user-space reads", counters.user_reads(machine, has_pmu))
  self.can_count = lists.any(self.kinds, function(kind) return kind.status == "counted" end)
  return self
end

--- Runs every ground truth that this machine can.
---@param each? fun(truth: pmclua.doctor.Truth) gets each as it is known
---@return pmclua.doctor.Truths
function M.truths(each) return require("pmclua.doctor.truths").run(each) end

--- How CPUs, caches and memory hang together, and what of them this process may use.
---@param root? string the folder of a recorded sysfs tree
---@return pmclua.Topology
function M.topology(root) return require("pmclua.doctor.topology").read(root) end

--- Measures what measuring costs, by each way in which counts are read.
---@return pmclua.doctor.Overheads
function M.overhead() return require("pmclua.doctor.overhead").run() end

return M
