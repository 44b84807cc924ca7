--- barrier.lua: where the ranks of a launch wait for each other, so that each block begins in all of them at once.
--
-- Invariant: no rank begins a block before the others have ended theirs before it, but for ranks that did not come: each is
-- waited for once, and said. One that has ended, or failed, is not waited for. Each rank adds lines to a file of its own
-- in the job's folder, which all of them see: that needs no library of a launcher. Files are of one launch.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local owners = require "pmclua.job.owner"
local ranks = require "pmclua.host.rank"
local refuse = require("pmclua.store.failure").refuse
local text = require "pmclua.base.text"

local M = {}

local LONGEST_NS = 60e9                             -- that a rank is waited for
local FIRST_PAUSE_NS, LONGEST_PAUSE_NS, SLOWER = 1e5, 2e6, 1.5
local PAST_ALL = 2 ^ 53                            -- a block that none is behind
local TAIL, MOST_BYTES = 256, 2 ^ 26             -- two lines and more; a million blocks

---@class pmclua.job.Barrier
---@field lines pmclua.core.Lines the file of this rank
---@field others table<integer, string> files by rank; without those that were waited for in vain
---@field all string[] files of all ranks
---@field boot string
---@field late table<integer, integer> by rank the block to which it did not come
local Barrier = {}
Barrier.__index = Barrier

--- The barrier of this process's launch. Ranks that are complete have nothing to come for.
---@param job pmclua.Job
---@return pmclua.job.Barrier? barrier nil: no launcher says how many ranks there are
function M.new(job)
  local rank, size = ranks.number()
  if not (rank and size) then return nil end
  local function path_of(one) return ("%s/starts-%s-rank%d"):format(job.folder, ranks.launch(), one) end
  os.remove(path_of(rank))
  local lines, code, number = core.lines(path_of(rank), "shared")
  if not lines then refuse("create", path_of(rank), code, number) end
  local self = setmetatable({ lines = lines, others = {}, all = {}, late = {},
    boot = owners.here().boot or "unknown" }, Barrier)
  for one = 0, size - 1 do
    self.all[one + 1] = path_of(one)
    if one ~= rank and job:state(one + 1).state ~= "complete" then self.others[one] = path_of(one) end
  end
  return self
end

-- The block that a rank came to last; 0: none.
local function reached(path)
  local file = core.open_plain(path)
  if not file then return 0 end
  local facts = core.stat(path)                     -- NFS knows the size anew where a file was opened
  local tail = facts and file:read_at(math.max(0, facts.bytes - TAIL), TAIL) or ""
  file:close()
  return tonumber(tail:match ".*\ncame (%d+)\n" or tail:match "^came (%d+)\n") or 0
end

local function wait_for(path, block, until_ns)
  local pause_ns = FIRST_PAUSE_NS
  while reached(path) < block do
    if core.interrupts() > 0 then return true end
    if core.now_ns() > until_ns then return false end
    core.pause(pause_ns)
    pause_ns = math.min(LONGEST_PAUSE_NS, pause_ns * SLOWER)
  end
  return true
end

--- Waits until all ranks have come to a block.
---@param block integer from 1, warm-ups among them
function Barrier:await(block)
  if block == self.block then return end
  self.block = block
  self.lines:append(("came %d\n"):format(block))
  local until_ns = core.now_ns() + LONGEST_NS
  for one, path in pairs(self.others) do
    if not wait_for(path, block, until_ns) then self.late[one], self.others[one] = block, nil end
  end
  self.lines:append(("began %d %.0f %s\n"):format(block, tonumber(core.now_ns()), self.boot))
end

-- The first and last start of each block among the ranks; nil and why where they are of several hosts.
local function starts_of(paths)
  local starts, boots = {}, {}
  for _, path in ipairs(paths) do
    for block, at, boot in (core.read_plain(path, MOST_BYTES) or ""):gmatch "began (%d+) (%d+) (%S+)\n" do
      local ns, known = tonumber(at), starts[block]
      starts[block] = { first = math.min(ns, known and known.first or ns),
        last = math.max(ns, known and known.last or ns), is_shared = known ~= nil }
      boots[boot] = true
    end
  end
  if #lists.keys(boots) <= 1 then return starts end
  return nil, "how far apart their starts are is not known: hosts have clocks of their own"
end

--- What is to be said of the run: how far apart the ranks began their blocks, and which were not waited for.
---@return string[]
function Barrier:remarks()
  local list, spreads = {}, {}
  local starts, why = starts_of(self.all)
  for _, start in pairs(starts or {}) do
    if start.is_shared then spreads[#spreads + 1] = start.last - start.first end
  end
  if why then list[1] = ("%d ranks began each block at a barrier; %s"):format(#self.all, why)
  elseif #spreads > 0 then
    table.sort(spreads)
    local median, most = spreads[math.ceil(#spreads / 2)], spreads[#spreads]
    list[1] = ("%d ranks began each block at a barrier, within %s (median of %s; %s at most)"):format(
      #self.all, text.time(median), text.plural(#spreads, "block"), text.time(most))
  end
  for _, one in ipairs(lists.keys(self.late)) do
    list[#list + 1] = ("rank %d did not come to block %d within %s: this one went on without it")
      :format(one, self.late[one], text.time(LONGEST_NS))
  end
  return list
end

--- Leaves: nobody waits for this rank any more, which may need fewer blocks than others.
function Barrier:close()
  self.lines:append(("came %d\n"):format(PAST_ALL))
  self.lines:close()
end

return M
