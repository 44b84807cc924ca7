--- profile_table.lua: profiles of one workload as tables of functions, for people.

local grid = require "pmclua.report.grid"
local number = require "pmclua.base.number"
local text = require "pmclua.base.text"

local M = {}

local REST = {
  lost = "lost: no room in a ring", unmapped = "of no known file", throttled = "held back by Linux",
  tasks_too_short = "begun when a task ended", kernel_unsampled = "in Linux, not sampled",
  missed_ticks = "missed ticks",
}

local function base_of(path) return path:match "[^/]+$" or path end

-- Lines of all repetitions by function; and the order in which they are shown.
local function sums_of(profiles)
  local sums, order, total = {}, {}, 0
  local function add(key, fn, file, count, samples, is_rest)
    if not sums[key] then
      sums[key] = { fn = fn, file = file, count = 0, samples = 0, is_rest = is_rest }
      order[#order + 1] = sums[key]
    end
    sums[key].count, sums[key].samples = sums[key].count + count, sums[key].samples + samples
  end
  for _, profile in ipairs(profiles) do
    total = total + profile.total
    for _, line in ipairs(profile.lines) do
      local file = base_of(line.file)
      add(("%s\0%s\0%s"):format(file, line.fn, line.source or ""), line.fn, file, line.count, line.samples)
    end
    for name, count in pairs(profile.rest) do add(name, "(" .. REST[name] .. ")", "", count, 0, true) end
  end
  table.sort(order, function(a, b)
    if a.is_rest ~= b.is_rest then return b.is_rest or false end
    if a.count ~= b.count then return a.count > b.count end
    return a.fn .. a.file < b.fn .. b.file
  end)
  return order, total
end

local COLUMNS = { { name = "function" }, { name = "file", drop = 2 }, { name = "count", align = "right" },
  { name = "share", align = "right" }, { name = "samples", align = "right", drop = 1 } }

local function row_of(line, runs, total, unit)
  return { text.safe(line.fn), text.safe(line.file), number.value(line.count / runs, unit),
    number.percent(line.count / total), line.is_rest and "" or number.count(line.samples) }
end

-- Functions below this share are one line.
local LEAST_SHARE = 0.005

local function rows_of(profiles)
  local order, total = sums_of(profiles)
  local rows, others, unit = {}, { fn = nil, file = "", count = 0, samples = 0, n = 0 }, profiles[1].unit
  local rest = {}
  for _, line in ipairs(order) do
    if line.is_rest then rest[#rest + 1] = row_of(line, #profiles, total, unit)
    elseif line.count >= LEAST_SHARE * total then rows[#rows + 1] = row_of(line, #profiles, total, unit)
    else
      others.count, others.samples = others.count + line.count, others.samples + line.samples
      others.n = others.n + 1
    end
  end
  others.fn = ("%s below %s"):format(text.plural(others.n, "other", "others"), number.percent(LEAST_SHARE))
  if others.n > 0 then rows[#rows + 1] = row_of(others, #profiles, total, unit) end
  for _, row in ipairs(rest) do rows[#rows + 1] = row end
  rows[#rows + 1] = { "total", "", number.value(total / #profiles, unit), "100 %", "" }
  return rows
end

local function by_event(profiles)
  local lists, order = {}, {}
  for _, profile in ipairs(profiles) do
    if not lists[profile.event] then
      lists[profile.event] = {}
      order[#order + 1] = lists[profile.event]
    end
    table.insert(lists[profile.event], profile)
  end
  return order
end

local function title_of(name, profiles)
  local periods, exact = {}, profiles[1].exact
  for i, profile in ipairs(profiles) do periods[i] = profile.period end
  local how = exact and "each recorded: exact" or ("a sample each %s, about"):format(
    number.value(periods[1], profiles[1].unit))
  return ("%s of %s · %s · %s"):format(profiles[1].event, name,
    #profiles == 1 and "1 repetition" or ("mean of %d repetitions"):format(#profiles), how)
end

local WIDTH = 100

--- The tables, one for each event.
---@param where pmclua.Where
---@return string
function M.text(where)
  local lines = {}
  for _, profiles in ipairs(by_event(where.profiles)) do
    if #lines > 0 then lines[#lines + 1] = "" end
    lines[#lines + 1] = title_of(text.safe(where.result.header.workloads[1].name), profiles)
    for _, line in ipairs(grid.lines({ columns = COLUMNS, rows = rows_of(profiles) }, WIDTH)) do
      lines[#lines + 1] = line
    end
  end
  for _, remark in ipairs(where.result.remarks or {}) do lines[#lines + 1] = remark end
  for _, event in ipairs(where.result.events) do
    local said = event.why or event.note
    if said then lines[#lines + 1] = ("%s: %s"):format(event.name, text.safe(said)) end
  end
  return table.concat(lines, "\n")
end

return M
