--- simulated.lua: the events that Valgrind counts: "valgrind::instructions" and their like, by names of our own and by
--- Valgrind's.
--
-- Invariant: such an event is never one of the CPU. Its name says valgrind, its status is "simulated", and it has no
-- attr: nothing is opened for it. Each is a sum of Valgrind's own counters, of user space alone.

local lists = require "pmclua.base.lists"

local M = {}

--- The PMU that they are said to be of.
M.PMU = "valgrind"

--- Name, which of Valgrind's counters are summed, what it counts, its unit.
M.events = {
  { "instructions", { "Ir" }, "instructions executed" },
  { "loads", { "Dr" }, "reads of memory" },
  { "stores", { "Dw" }, "writes of memory" },
  { "l1i-misses", { "I1mr" }, "instruction reads that miss the simulated level 1 cache" },
  { "l1d-misses", { "D1mr", "D1mw" }, "reads and writes that miss the simulated level 1 data cache" },
  { "l1d-load-misses", { "D1mr" }, "reads that miss the simulated level 1 data cache" },
  { "l1d-store-misses", { "D1mw" }, "writes that miss the simulated level 1 data cache" },
  { "ll-accesses", { "I1mr", "D1mr", "D1mw" }, "accesses of the simulated last-level cache" },
  { "ll-loads", { "I1mr", "D1mr" }, "reads of the simulated last-level cache, of instructions too" },
  { "ll-stores", { "D1mw" }, "writes of the simulated last-level cache" },
  { "ll-misses", { "ILmr", "DLmr", "DLmw" }, "accesses that miss the simulated last-level cache" },
  { "ll-load-misses", { "ILmr", "DLmr" },
    "reads that miss the simulated last-level cache, of instructions too" },
  { "ll-store-misses", { "DLmw" }, "writes that miss the simulated last-level cache" },
  { "branches", { "Bc" }, "conditional branches executed" },
  { "branch-misses", { "Bcm" }, "conditional branches that the simulated predictor mispredicts" },
  { "indirect-branches", { "Bi" }, "indirect branches executed" },
  { "indirect-misses", { "Bim" }, "indirect branches that the simulated predictor mispredicts" },
  { "allocations", { "tbk" }, "heap blocks allocated by malloc, new and the like; each realloc is one more" },
  { "allocated-bytes", { "tb" }, "bytes of all heap blocks allocated", "bytes" },
  { "peak-heap", { "gb" }, "bytes of the heap blocks that exist at once, at their most", "bytes" },
  { "unread-bytes", { "unread" },
    "bytes of heap blocks that are never read, at least: by chain of calls what is allocated beyond what is "
      .. "read", "bytes" },
  { "Ir", { "Ir" }, "instructions executed, by Valgrind's own name" },
  { "Dr", { "Dr" }, "reads of memory, by Valgrind's own name" },
  { "Dw", { "Dw" }, "writes of memory, by Valgrind's own name" },
  { "I1mr", { "I1mr" }, "level 1 instruction read misses, by Valgrind's own name" },
  { "D1mr", { "D1mr" }, "level 1 data read misses, by Valgrind's own name" },
  { "D1mw", { "D1mw" }, "level 1 data write misses, by Valgrind's own name" },
  { "ILmr", { "ILmr" }, "last-level instruction read misses, by Valgrind's own name" },
  { "DLmr", { "DLmr" }, "last-level data read misses, by Valgrind's own name" },
  { "DLmw", { "DLmw" }, "last-level data write misses, by Valgrind's own name" },
  { "Bc", { "Bc" }, "conditional branches, by Valgrind's own name" },
  { "Bcm", { "Bcm" }, "mispredicted conditional branches, by Valgrind's own name" },
  { "Bi", { "Bi" }, "indirect branches, by Valgrind's own name" },
  { "Bim", { "Bim" }, "mispredicted indirect branches, by Valgrind's own name" },
}

local CACHE = { Dr = true, Dw = true, I1mr = true, D1mr = true, D1mw = true, ILmr = true, DLmr = true,
  DLmw = true }
local BRANCH = { Bc = true, Bcm = true, Bi = true, Bim = true }

-- DHAT's; all others are cachegrind's and callgrind's.
local HEAP = { tbk = true, tb = true, gb = true, unread = true }

local function field_of(name) return ("%s_%s"):format(M.PMU, (name:gsub("-", "_"))) end

--- The spec of an event.
---@param name string without the PMU's
---@return string
function M.spec(name) return ("%s::%s"):format(M.PMU, name) end

--- The event of a name behind "valgrind::".
---@param name string
---@return pmclua.CodedEvent?
function M.find(name)
  local row = lists.find(M.events, function(row) return row[1] == name end)
  return row and { source = "valgrind", pmu = M.PMU, simulated = { unpack(row[2]) },
    unit = row[4], own_field = field_of(name) }
end

--- The spec of an event by its name in formulae: "valgrind::l1d-misses" for "valgrind_l1d_misses".
---@param field string
---@return string?
function M.spec_of(field)
  local name = lists.find(M.names(), function(name) return field_of(name) == field end)
  return name and M.spec(name)
end

-- Valgrind's counterparts of the generic events: not the same, but all there is where nothing else counts.
local COUNTERPARTS = {
  instructions = "instructions", branches = "branches", ["branch-instructions"] = "branches",
  ["branch-misses"] = "branch-misses", ["cache-references"] = "ll-accesses", ["cache-misses"] = "ll-misses",
  ["L1-dcache-loads"] = "loads", ["L1-dcache-load-misses"] = "l1d-load-misses",
  ["L1-dcache-stores"] = "stores", ["L1-dcache-store-misses"] = "l1d-store-misses",
  ["L1-icache-loads"] = "instructions", ["L1-icache-load-misses"] = "l1i-misses",
  ["LLC-loads"] = "ll-loads", ["LLC-load-misses"] = "ll-load-misses",
  ["LLC-stores"] = "ll-stores", ["LLC-store-misses"] = "ll-store-misses",
  ["branch-loads"] = "branches", ["branch-load-misses"] = "branch-misses",
}

--- The event of Valgrind that counts what a generic one does in user space, by its name without the PMU's. Nil if there
--- is none, as for cycles, or if the event leaves out user space.
---@param event pmclua.CodedEvent
---@return string?
function M.counterpart(event)
  local attr = event.attr
  if not attr or attr.exclude_user == 1 then return nil end
  local config = tonumber(attr.config) or -1
  local name
  if event.source == "hardware" then name = require("pmclua.event.names").name_of(attr.type, config)
  elseif event.source == "cache" then name = require("pmclua.event.cache").name_of(config) end
  return COUNTERPARTS[name]
end

--- The specs of Valgrind's events that would count what could not be opened, each once.
---@param events pmclua.CodedEvent[] or the header's entries
---@return string[]
function M.would_help(events)
  return lists.unique(lists.map(events, function(event)
    local name = event.status == "unsupported" and M.counterpart(event)
    return name and M.spec(name) or nil
  end))
end

--- All names, without the PMU's.
---@return string[]
function M.names() return lists.column(M.events, 1) end

--- The description of an event.
---@param event pmclua.Event
---@return string
function M.description(event)
  local counters = table.concat(event.simulated, "+")
  local row = lists.find(M.events, function(row) return table.concat(row[2], "+") == counters end)
  return row and row[3] or "the sum of " .. counters
end

--- The outcome of trying one: Valgrind has to be there.
---@param event pmclua.Event
---@return pmclua.event.Trial
function M.try(event)
  local note = event.instead_of and ("in place of %s: %s"):format(event.instead_of, event.refusal)
  if require("pmclua.host.tools").find "valgrind" then return { status = "counted", note = note } end
  return { status = "unsupported", note = note,
    why = "Valgrind is not installed: " .. require("pmclua.base.packages").install "Valgrind" }
end

--- Whether DHAT counts an event, in a run of its own, rather than cachegrind.
---@param event pmclua.Event
---@return boolean
function M.is_of_heap(event) return HEAP[event.simulated[1]] or false end

--- The simulations that events of one Valgrind tool need.
---@param events pmclua.Event[]
---@return { cache: boolean, branch: boolean, heap: true? }
function M.needs(events)
  local needs = { cache = false, branch = false, heap = #events > 0 and M.is_of_heap(events[1]) or nil }
  for _, event in ipairs(events) do
    for _, counter in ipairs(event.simulated or {}) do
      needs.cache = needs.cache or CACHE[counter] or false
      needs.branch = needs.branch or BRANCH[counter] or false
    end
  end
  return needs
end

return M
