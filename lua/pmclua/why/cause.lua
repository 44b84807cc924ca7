--- cause.lua: what a limit that was exceeded consists of: the function, its line, who calls it, and how much.
--
-- Times have their ledgers (collect.lua); counts are told by function and line (experiment/where.lua), and what a time
-- comes from on CPUs by Valgrind's instructions, which are exact. What does not fit into the budget is said.

local lists = require "pmclua.base.lists"
local parts_of = require("pmclua.why.parts").of
local part_words = require("pmclua.why.parts").words
local place_of = require("pmclua.why.parts").place_of
local text = require "pmclua.base.text"
local where = require "pmclua.experiment.where"

local M = {}

---@class pmclua.Cause of the limits in one cell
---@field cell string
---@field limits string[]
---@field sentences string[] what is known, what matters most first
---@field event? string of the parts
---@field unit string
---@field parts pmclua.CausePart[]
---@field why? pmclua.Why
---@field where? pmclua.CodeResult
---@field absent string[] what was not looked into, and why

--- Seconds that may be taken, by default.
M.BUDGET_S = 120
local INSTRUCTIONS = "valgrind::instructions"
local SIMULATED_TIMES, START_S = 80, 1     -- how much longer a run under Valgrind takes, and what comes on top
local EXACT_RUNS, SAMPLED_RUNS = 2, 12
local ALIKE = "no function that was executed reads otherwise: what differs is a macro or constant, the "
  .. "compiler, its options, or where the linker put things"
local MOST_PARTS = require("pmclua.why.parts").MOST

-- ---- words -------------------------------------------------------------------------------------------------

--- Where an exact count differs most: "92 % of it in `compress` (lz4.c:842)"; nil: nowhere.
---@param a table workload
---@param b table
---@param event string
---@param options { timeout?: any }
---@return string?
function M.place(a, b, event, options)
  local code = where.where(a, b, { event = event, repetitions = EXACT_RUNS, lines = true, quiet = true,
    timeout = options.timeout })
  local part = parts_of(code)[1]
  return part and part_words(part)
end

-- "instructions: 960,066 more (+23 %): 99.9 % of it in `work` (w.c:7), called by `parse`, 26 calls instead of 20".
local function sentence_of(code, parts)
  local ledger = code:ledger()
  local total = ledger.total
  local amount = text.value(math.abs(total.difference), ledger.unit)
  local share = total.a > 0 and (" (%s%s)"):format(total.difference > 0 and "+" or "",
    text.percent(total.difference / total.a)) or ""
  local head = ("%s: %s %s%s"):format(code.event, amount, total.difference < 0 and "less" or "more", share)
  if #parts > 0 then return head .. ": " .. table.concat(lists.map(parts, part_words), "; ") end
  local kind = ledger.conclusion.kind
  return kind == "none" and code.event .. ": no function differs, nor does the total"
    or kind == "incomplete" and code.event .. ": " .. ledger.conclusion.why
    or head .. ": no function that could be named"
end

-- ---- what is to be looked into ---------------------------------------------------------------------------

-- The events of limits that are told by place, and whether a time, or what Linux has on account, is among them.
local function wanted_of(result, limits)
  local events, is_timed = {}, false
  local values, metric = require "pmclua.result.values", require "pmclua.metric"
  for _, formula in ipairs(limits) do
    for _, event in ipairs(values.events_needed(result, metric.limit(formula))) do
      if event.unit == "ns" or event.tool then is_timed = true
      else events[#events + 1] = event.name end
    end
  end
  if is_timed then events[#events + 1] = INSTRUCTIONS end
  return lists.unique(events), is_timed
end

-- Seconds that a run of both cells takes, as far as it was measured.
local function block_s(cells)
  local seconds = 0
  for _, cell in pairs(cells) do
    local timed = lists.find(cell.result.events, function(event) return event.field == "duration_time" end)
      or lists.find(cell.result.events, function(event) return event.unit == "ns" end)
    local median = timed and cell:summary(timed.field).median
    seconds = seconds + (median and tonumber(median) / 1e9 or 0.1)
  end
  return seconds
end

local function why_not(problem) return (tostring(problem):gsub("%s*\n%s*", " ")) end

local function add_why(cause, sides, options, seconds)
  local ok, outcome = pcall(require("pmclua.why.collect").why, sides.a, sides.b, { budget = seconds,
    simulate = false, quiet = true, pin = options.pin, timeout = options.timeout,
    on_failure = options.on_failure, layout = options.layout })
  if not ok then
    cause.absent[#cause.absent + 1] = "what the time consists of: " .. why_not(outcome)
    return
  end
  cause.why = outcome
  table.insert(cause.sentences, 1, (outcome.sentence:gsub("%.$", "")))
end

local function add_code(cause, sides, event, options, left)
  if event:find "^syscalls::" then
    cause.absent[#cause.absent + 1] = event .. " by function: it is a count of whole runs"
    return
  end
  local is_simulated = event:find "^valgrind::" ~= nil
  local has_lines = lists.all({ sides.a, sides.b }, function(side) return side.takes["simulated lines"] end)
  if is_simulated and not has_lines then
    cause.absent[#cause.absent + 1] = event .. " by function: Valgrind tells that of commands alone"
    return
  end
  local runs = is_simulated and EXACT_RUNS or SAMPLED_RUNS
  local each = is_simulated and SIMULATED_TIMES * options.block_s + 2 * START_S or 3 * options.block_s
  if runs * each > left then
    cause.absent[#cause.absent + 1] = ("%s by function: it would take %s, and %s are left (--budget)")
      :format(event, text.duration(runs * each), text.duration(math.max(0, left)))
    return
  end
  local ok, code = pcall(where.where, sides.a, sides.b, { event = event, repetitions = runs, lines = true,
    call_chains = is_simulated, quiet = true, pin = options.pin, timeout = options.timeout,
    simulation = is_simulated and options.simulation or nil })
  if not ok then
    cause.absent[#cause.absent + 1] = ("%s by function: %s"):format(event, why_not(code))
    return
  end
  local parts, reads_alike = parts_of(code)
  cause.sentences[#cause.sentences + 1] = sentence_of(code, parts)
  if reads_alike and #parts > 0 then cause.sentences[#cause.sentences + 1] = ALIKE end
  if #cause.parts == 0 then
    cause.event, cause.unit, cause.parts, cause.where = event, code.unit, parts, code
  end
end

local function add_timed_parts(cause)
  local ledger = cause.why and cause.why.ledger
  if #cause.parts > 0 or not ledger then return end
  local rows = lists.where(ledger.conclusion.names, function(row) return row.line.kind == "code" end)
  cause.event, cause.unit = "duration_time", "ns"
  cause.parts = lists.map({ unpack(rows, 1, MOST_PARTS) }, function(row)
    local place = place_of(row) or {}
    return { name = row.line.name, label = row.label, source = place.source, line = place.first, a = row.a,
      b = row.b, difference = row.difference, low = row.low, high = row.high, share = row.share }
  end)
end

--- Looks for the cause of limits in one cell. Never raises for what cannot be measured: `absent` has the reason.
---@param cells { a: pmclua.Cell, b: pmclua.Cell } the baseline, and the cell
---@param sides { a: table, b: table } their workloads, with levels filled in
---@param limits string[]
---@param options { budget?: number, pin?: string, timeout?: any, on_failure?: string,
---  simulation?: table } budget: seconds
---@return pmclua.Cause
function M.of(cells, sides, limits, options)
  local core = require "pmclua.core"
  local began, budget = core.now_ns(), options.budget or M.BUDGET_S
  local cause = { cell = cells.b:label(), limits = limits, sentences = {}, parts = {}, absent = {},
    unit = "" }
  local function left() return budget - tonumber(core.now_ns() - began) / 1e9 end
  local events, is_timed = wanted_of(cells.b.result, limits)
  local shown = setmetatable({ block_s = block_s(cells) }, { __index = options })
  for _, event in ipairs(events) do
    local is_own = is_timed and event == INSTRUCTIONS
    add_code(cause, sides, event, shown, is_own and left() / 2 or left())
  end
  if is_timed then add_why(cause, sides, options, math.max(1, left())) end
  add_timed_parts(cause)
  return cause
end

return M
