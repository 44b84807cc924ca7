--- split.lua: what the records of a result say besides their levels, as a factor: host, shard, file, rank; threads as
--- parts.
--
-- Invariant: each record is in the cell of its own attribute. A factor that only told files apart goes: the ranks of a
-- host are one cell, whose repetitions are numbered on from file to file.

local cell_key = require "pmclua.result.cell_key"
local explain = require "pmclua.explain"
local lists = require "pmclua.base.lists"
local results = require "pmclua.result"
local text = require "pmclua.base.text"

local M = {}

-- A file's own fact, or those of the files it was merged from.
local function of_source(read_source, read_header)
  return function(header, record)
    local source = header.sources and header.sources[record.source or 1]
    if source then return read_source(source) end
    return read_header and read_header(header)
  end
end

local function host_of(header, record) return record.host or (header.host or {}).hostname end

local ATTRIBUTES = {
  host = host_of,
  node = host_of,
  shard = of_source(function(source) return source.shard end,
    function(header) return (header.shard or {}).index end),
  rank = of_source(function(source) return source.rank end, function(header) return header.rank end),
  file = of_source(function(source)
    return (source.path:match "[^/]*$":gsub("%.gz$", ""):gsub("%.jsonl$", ""))
  end),
}

--- The names of what can be split by.
M.NAMES = lists.append(lists.keys(ATTRIBUTES), { "thread" })

--- How the records of one result become those of another that has one factor more.
---@class pmclua.Split
---@field name string the factor
---@field header table of the result that is made
---@field home? integer[] the cell here of each cell of the records' header; nil: by thread
local Split = {}
Split.__index = Split

-- The header without the factor that told files apart, and the new cell of each old one.
local function joined(header, name, keep)
  local gone, own, home, at = not keep and header.unpaired, lists.copy(header), {}, {}
  own.cells = {}
  for i, cell in ipairs(header.cells) do
    local levels = gone and lists.without(cell.levels, gone) or lists.copy(cell.levels)
    local key = cell_key.of(cell.workload, levels)
    if not at[key] then
      at[key] = #own.cells + 1
      own.cells[at[key]] = lists.copy(cell)
      own.cells[at[key]].levels = levels
    end
    home[i] = at[key]
  end
  own.factors = lists.where(header.factors, function(factor) return factor[1] ~= gone end)
  table.insert(own.factors, { name, {} })
  if gone then own.unpaired = name end
  if gone and type(own.baseline) == "table" and own.baseline[gone] ~= nil then own.baseline = nil end
  return own, home, gone
end

-- The cell of a level: that of the plan for the first level that it has, a new one for each further one.
local function place(self, old, level)
  local home = self.home[old]
  local known = self.places[home] or {}
  self.places[home] = known
  if known[level] then return known[level] end
  local cells, factor = self.header.cells, self.header.factors[#self.header.factors]
  local at, planned = home, cells[home]
  if next(known) then
    at = #cells + 1
    cells[at] = lists.copy(planned)
    cells[at].levels = lists.copy(planned.levels)
  end
  cells[at].levels[self.name] = level
  if not lists.contains(factor[2], level) then table.insert(factor[2], level) end
  known[level] = at
  return at
end

-- Makes a rank of a launch a repetition of its node, numbered alike in all workloads. Whether the record
-- belongs to a node: a launch as a whole belongs to none.
local function is_of_node(self, record, level)
  if not self.launched[record.workload] then return true end
  if not record.task then return false end
  local numbers = self.numbers[level] or { count = 0 }
  self.numbers[level] = numbers
  local key = ("%d/%d/%s/%d"):format(record.source or 1, record.index,
    tostring(record.warmup), record.task)
  if not numbers[key] then numbers.count, numbers[key] = numbers.count + 1, numbers.count + 1 end
  record.index, record.task = numbers[key], nil
  return true
end

-- Gives a record its cell, and a number that no repetition of another file there has.
local function move(self, record, most)
  local level = ATTRIBUTES[self.name](self.header, record)
  if level == nil or not is_of_node(self, record, level) then return nil end
  local old = record.cell
  record.cell = place(self, old, level)
  -- Workloads of one file go on from the same number: they are paired by it.
  local taken, from = self.taken[level] or { most = 0, before = {} }, self.levels[old] or 0
  self.taken[level] = taken
  taken.before[from] = taken.before[from] or taken.most
  local before = self.levels[old] and taken.before[from] or 0
  record.index = record.index + before
  taken.most = math.max(taken.most, most and most + before or record.index)
  return record
end

local OF_THREAD = { "workload", "levels", "cell", "pass", "index", "order", "warmup", "outcome", "exit",
  "iterations", "region", "host", "source", "process", "incomplete" }

local function add_threads(result, record)
  for number, thread in ipairs(record.threads or {}) do
    local own = { thread = number, counts = thread.counts, enabled = thread.enabled,
      running = thread.running }
    for _, name in ipairs(OF_THREAD) do own[name] = record[name] end
    results.add(result, own)
  end
end

local function highest(first, packed, values)
  local start, most = packed.starts.index, 0
  for k = 1, packed.n do most = math.max(most, values[start + k]) end
  return most + first.index - values[start + 1]
end

local function launched_of(header, name)
  if name ~= "host" and name ~= "node" then return {} end
  return lists.set(lists.column(lists.where(header.workloads or {}, function(workload)
    return workload.launch ~= nil
  end), "name"))
end

--- How records of a header are split; nil: they are as they come, for the header has such a factor.
---@param header table of a stored or merged result
---@param name string of M.NAMES
---@param keep? boolean the factor that tells files apart stays
---@return pmclua.Split?
function M.new(header, name, keep)
  local has_factor = lists.any(header.factors, function(factor) return factor[1] == name end)
  -- Ranks that a launcher started are parts of a record: result/ranks.lua.
  local of_tasks = name == "rank" and not header.rank and not lists.any(header.sources or {}, function(source)
    return source.rank ~= nil
  end)
  if has_factor or of_tasks or not lists.contains(M.NAMES, name) then return nil end
  if name == "thread" then return setmetatable({ name = name, header = header }, Split) end
  local own, home, gone = joined(header, name, keep)
  local levels = lists.map(header.cells, function(cell) return gone and cell.levels[gone] or false end)
  return setmetatable({ name = name, header = own, home = home, levels = levels, places = {}, taken = {},
    numbers = {}, launched = launched_of(header, name) }, Split)
end

--- The receivers of records for a result of the split's header, one by one and packed.
---@param result pmclua.Result
---@return fun(record: table), fun(first: table, packed: table, values: table, events: table?): boolean
function Split:takers(result)
  local function take(record)
    if self.name ~= "thread" then record = move(self, record) end
    if record then results.add(result, record) end
    if self.name == "thread" then add_threads(result, record) end
  end
  return take, function(first, packed, values, events)
    -- A packed line has one host, file and thread.
    if self.name ~= "thread" then first = move(self, first, highest(first, packed, values)) end
    return first == nil or results.add_packed(result, first, packed, values, events)
  end
end

local LACKS = { thread = "no repetition was counted by thread: kernels with several threads are, and "
  .. "--marks of a program with several",
  shard = "no file is of a job's shard" }

local function comes_before(a, b)
  if type(a) == type(b) then return a < b end
  return type(a) == "number"
end

--- Ends the splitting; raises where no record had the attribute.
---@param result pmclua.Result
function Split:finish(result)
  local is_thread = self.name == "thread"
  local levels = not is_thread and self.header.factors[#self.header.factors][2]
  local has_any = is_thread and lists.any(result:list(true), function(cell) return cell.thread ~= nil end)
    or levels and #levels > 0
  if not has_any then explain.misuse(("over %s: %s"):format(self.name,
    LACKS[self.name] or "no record says which " .. text.safe(self.name) .. " it is of"), 4) end
  if levels then table.sort(levels, comes_before) end
end

return M
