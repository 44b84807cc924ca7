--- barrier.lua: where the ranks of a launch wait for each other, so that each block begins in all of them at once.
--
-- Invariant: no rank begins a block before the others have ended theirs before it, but for ranks that did not come: each is
-- waited for once, and said. One that has ended, or failed, is not waited for. Each rank adds lines to a file of its own
-- in the job's folder, which all of them see: that needs no library of a launcher. Each launch has its own files.
--
-- The first rank that is still there leads: it reads the files of all others and says "go"; these read its file alone. So
-- a block costs as many readings as there are ranks, not their square.

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
local TAIL, MOST_BYTES = 256, 2 ^ 26             -- two blocks' lines and more; a million blocks

---@class pmclua.job.Barrier
---@field lines pmclua.core.Lines the file of this rank
---@field rank integer
---@field others table<integer, string> files by rank; without those that have ended or were waited for in vain
---@field all string[] files of all ranks
---@field boot string
---@field late table<integer, integer> by rank the block to which it did not come
---@field leads boolean whether this rank is the first of those that are still there
local Barrier = {}
Barrier.__index = Barrier

--- The barrier of this process's launch.
---@param job pmclua.Job
---@return pmclua.job.Barrier? barrier nil: no launcher says how many ranks there are
function M.new(job)
  local rank, size = ranks.number()
  if not (rank and size) then return nil end
  local function path_of(number)
    return ("%s/starts-%s-rank%d"):format(job.folder, ranks.launch(), number)
  end
  os.remove(path_of(rank))
  local lines, code, number = core.lines(path_of(rank), "shared")
  if not lines then refuse("create", path_of(rank), code, number) end
  local self = setmetatable({ job = job, rank = rank, lines = lines, others = {}, all = {}, late = {},
    leads = false, boot = owners.here().boot or "unknown" }, Barrier)
  for other = 0, size - 1 do
    self.all[other + 1] = path_of(other)
    if other ~= rank then self.others[other] = path_of(other) end
  end
  return self
end

-- The block that a rank came to last, or that it said "go" for; 0: none.
local function reached(path, word)
  local file = core.open_plain(path)
  if not file then return 0 end
  local facts = core.stat(path)                     -- NFS knows the size anew where a file was opened
  local tail = "\n" .. (facts and file:read_at(math.max(0, facts.bytes - TAIL), TAIL) or "")
  file:close()
  return tonumber(tail:match(".*\n" .. word .. " (%d+)\n")) or 0
end

local function wait_for(path, word, block, until_ns)
  local pause_ns = FIRST_PAUSE_NS
  while reached(path, word) < block do
    if core.interrupts() > 0 then return true end
    if core.now_ns() > until_ns then return false end
    core.pause(pause_ns)
    pause_ns = math.min(LONGEST_PAUSE_NS, pause_ns * SLOWER)
  end
  return true
end

local function await_rank(self, rank, word, block, until_ns)
  local path = self.others[rank]
  if not wait_for(path, word, block, until_ns) then self.late[rank] = block
  elseif reached(path, word) < PAST_ALL then return end
  self.others[rank] = nil
end

-- Ranks that are complete have nothing to come for.
local function has_to_come(self, rank)
  local comes = self.others[rank] and self.job:state(rank + 1).state ~= "complete"
  if not comes then self.others[rank] = nil end
  return comes
end

local function leader_of(self)
  for other = 0, self.rank - 1 do
    if self.others[other] and (self.leader == other or has_to_come(self, other)) then
      self.leader = other
      return other
    end
  end
end

local function lead(self, block, until_ns)
  for _, rank in ipairs(lists.keys(self.others)) do
    if self.leads or has_to_come(self, rank) then await_rank(self, rank, "came", block, until_ns) end
  end
  self.leads = true
  self.lines:append(("go %d\n"):format(block))
end

--- Waits until all ranks have come to a block.
---@param block integer from 1, warm-ups among them
function Barrier:await(block)
  if block == self.block then return end
  self.block = block
  self.lines:append(("came %d\n"):format(block))
  local until_ns, leader = core.now_ns() + LONGEST_NS, leader_of(self)
  while leader do
    await_rank(self, leader, "go", block, until_ns)
    if self.others[leader] then break end
    leader = leader_of(self)                         -- the one that led has left
  end
  if not leader then lead(self, block, until_ns) end
  self.lines:append(("began %d %.0f %s\n"):format(block, tonumber(core.now_ns()), self.boot))
end

-- The first and last start of each block among the ranks; nil and why if ranks ran on several hosts.
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

--- Remarks on the run: how far apart the ranks began their blocks (from the leader alone), and which ranks were not
--- waited for.
---@return string[]
function Barrier:remarks()
  local list, spreads, starts, why = {}, {}, nil, nil
  if self.leads then starts, why = starts_of(self.all) end
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
  for _, rank in ipairs(lists.keys(self.late)) do
    list[#list + 1] = ("rank %d did not come to block %d within %s: this one went on without it")
      :format(rank, self.late[rank], text.time(LONGEST_NS))
  end
  return list
end

--- Leaves: nobody waits for this rank any more, which may need fewer blocks than others.
function Barrier:close()
  self.lines:append(("go %d\ncame %d\n"):format(PAST_ALL, PAST_ALL))
  self.lines:close()
end

return M
