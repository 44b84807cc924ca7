--- history.lua: values by commit: of an experiment with commits as a factor, or of stored results that know their
-- commits.

local DEFAULT_MARGIN = require("pmclua.verdict").DEFAULT_MARGIN
local complete = require("pmclua.base.lazy").module "pmclua.result.complete"
local lists = require "pmclua.base.lists"
local problem = require "pmclua.base.problem"
local repository = require "pmclua.commits.repository"
local steps = require "pmclua.commits.steps"
local units = require "pmclua.base.units"

local M = {}

local FACTOR, CHANGED = "commit", "+"   -- CHANGED ends the name of a commit with changes that are not committed

---@class pmclua.HistoryPoint
---@field commit string its short name
---@field value number the median
---@field low? number
---@field high? number
---@field n integer
---@field ratio? number to the point before
---@field step? number percent, where a segment begins here

---@class pmclua.HistorySeries
---@field workload string with the levels of other factors
---@field event string
---@field unit string
---@field points pmclua.HistoryPoint[] in the order of commits

---@class pmclua.History
---@field commits table[] name, and as far as git knows them hash, subject, author, date; in order
---@field series pmclua.HistorySeries[]
---@field left_out? { commit: string, title: string, why: string }[] what was counted in part, and is no point
local History = require("pmclua.public.class").new("commits", "history", "left_out")

History.__tostring = function(self) return self:report() end

-- ---- commits -------------------------------------------------------------------------------------------

-- The repository of a folder; nil: there is none, and a history has only names.
local function repository_of(folder)
  local ok, opened = pcall(repository.open, folder or ".")
  return ok and opened or nil
end

local function described(name, commit)
  return { name = name, hash = commit.hash, subject = commit.subject, author = commit.author,
    date = commit.date }
end

-- The commits of the names, in git's order if it knows all of them; CHANGED ones after their commits.
local function known(names, repo)
  local list = lists.map(names, function(name)
    local is_there, commit = pcall(function() return repo:commit(repo:resolve((name:gsub("%+$", "")))) end)
    return described(name, is_there and commit or {})
  end)
  local hashes = lists.unique(lists.column(list, "hash"))
  if #lists.column(list, "hash") < #list then return list end
  local place = {}
  for i, hash in ipairs(repo:order(hashes)) do place[hash] = i end
  table.sort(list, function(a, b)
    if a.hash ~= b.hash then return place[a.hash] < place[b.hash] end
    return a.name < b.name
  end)
  return list
end

-- ---- points --------------------------------------------------------------------------------------------

-- A cell's series: its workload and its levels but for the commit and the file.
local function series_name(cell)
  local parts = { cell.workload }
  for _, name in ipairs(lists.keys(cell.levels)) do
    if name ~= FACTOR and name ~= "file" then
      parts[#parts + 1] = ("%s = %s"):format(name, tostring(cell.levels[name]))
    end
  end
  return table.concat(parts, ", ")
end

-- The series of an event or a metric in cells like this one.
local function series_of(self, by_name, cell, about, field)
  local key = series_name(cell) .. "\0" .. field
  if not by_name[key] then
    by_name[key] = { workload = series_name(cell), event = about.name,
      unit = about.unit or "", points = {}, by = {} }
    self.series[#self.series + 1] = by_name[key]
  end
  return by_name[key]
end

local function add_cell(self, by_name, result, cell, commit)
  for _, about in ipairs(lists.joined { result.events, result.metrics }) do
    local field = about.field or about.name
    local summary, why = cell:summary(field), complete.of_cell(cell, field)
    if why then
      self.left_out[#self.left_out + 1] = { commit = commit, title = summary.title, why = why }
    elseif summary.n > 0 and summary.median then
      local series = series_of(self, by_name, cell, about, field)
      local point = { commit = commit, value = summary.median, low = summary.low, high = summary.high,
        n = summary.n }
      series.points[#series.points + 1], series.by[commit] = point, point
    end
  end
end

local function error_of(point)
  if not (point.low and point.value > 0 and point.low > 0) then return 0 end
  return 100 * math.log(point.high / point.low) / 4
end

-- Neighbours' ratios, and where segments begin.
local function finish(series, commits, margin)
  series.points = lists.map(commits, function(commit) return series.by[commit.name] end)
  series.by = nil
  local values, errors = {}, {}
  for i, point in ipairs(series.points) do
    local before = series.points[i - 1]
    if before and before.value > 0 then point.ratio = point.value / before.value end
    values[i], errors[i] = point.value > 0 and 100 * math.log(point.value) or nil, error_of(point)
  end
  if #values < #series.points or #values == 0 then return end
  local segments = steps.segments(values, errors, margin)
  for i = 2, #segments do
    series.points[segments[i].first].step =
      100 * (math.exp((segments[i].mean - segments[i - 1].mean) / 100) - 1)
  end
end

local function new(list, commits, margin)
  local self, by_name = setmetatable({ commits = commits, series = {}, left_out = {} }, History), {}
  for _, entry in ipairs(list) do
    for cell in entry.result:cells() do
      local name = entry.commit or cell.levels[FACTOR]
      if name then add_cell(self, by_name, entry.result, cell, tostring(name)) end
    end
  end
  for _, series in ipairs(self.series) do finish(series, commits, margin) end
  return self
end

-- ---- where they come from ------------------------------------------------------------------------------

local NAME_DIGITS = 9                   -- of a hash that a file has; git and people take less

-- The commit of a result: its note's, else what was checked out, CHANGED or not; of another tool's result
-- without one, its date; nil: it does not say.
local function commit_of(header)
  local how = header.how or {}
  local noted = (header.notes or {}).commit
  if noted or not how.commit then return noted or header.name == "import" and header.started or nil end
  return how.commit:sub(1, NAME_DIGITS) .. ((how.changes or 0) > 0 and CHANGED or "")
end

-- Stored results, those of folders among them, without one.
local function paths_of(files, except)
  local core, machine = require "pmclua.core", require "pmclua.host.machine"
  local all = lists.joined(lists.map(files, function(path)
    if require("lfs").attributes(path, "mode") ~= "directory" then return { path } end
    local names = lists.where(machine.entries(path), function(name) return name:find "%.jsonl%f[.%z]" end)
    return lists.map(names, function(name) return path:gsub("/+$", "") .. "/" .. name end)
  end))
  local own = except and core.real_path(except)
  return lists.where(all, function(path) return not own or core.real_path(path) ~= own end)
end

local function of_files(options, margin)
  local files, names = {}, {}
  local paths = paths_of(options.files, options.except)
  if #paths == 0 then
    error(problem.problem { code = "ENOENT", operation = "read", message = "there are no stored results in "
      .. table.concat(options.files, ", ") }, 0)
  end
  for i, path in ipairs(paths) do
    local result = require("pmclua.result.files").load(path)
    local has_factor = lists.find(result.header.factors, function(factor) return factor[1] == FACTOR end)
    local name = not has_factor and commit_of(result.header) or nil
    if not (has_factor or name) then
      error(problem.problem { code = "EINVAL", operation = "read",
        message = path .. ": it does not know its commit",
        hint = result.header.name == "import" and "import it with --commit HASH"
          or "measure in a checkout, or with --note commit=HASH" }, 0)
    end
    files[i] = { result = result, commit = name }
    lists.append(names, has_factor and has_factor[2] or { name })
  end
  -- Dates have an order of their own.
  if lists.all(names, function(name) return tostring(name):find "^%d%d%d%d%-%d%d%-%d%dT" ~= nil end) then
    table.sort(names)
  end
  local repo = repository_of(options.folder)
  local self = new(files, known(lists.unique(lists.map(names, tostring)), repo), margin)
  self.files = files
  return self
end

local function of_commits(options, margin)
  local factor, commits = require("pmclua.commits.factor").built(options)
  local result = require("pmclua.experiment").declare { name = "history", workloads = { options.workload },
    factors = { factor }, events = options.events, repetitions = options.repetitions or 5, warmup = 1,
    timeout = options.timeout, pin = options.pin, seed = options.seed,
    simulate = options.simulate or nil }:run { store = options.store or false, resume = options.resume,
    quiet = options.quiet }
  if result.problem then error(result.problem, 0) end
  return new({ { result = result } }, lists.map(commits, function(commit)
    return described(commit.name, commit)
  end), margin)
end

--- Values by commit, of commits that are built and run now, or of stored results.
---@param options table of history_options
---@return pmclua.History
function M.history(options)
  local margin = 100 * (options.margin and units.share(options.margin) or DEFAULT_MARGIN)
  if options.files then return of_files(options, margin) end
  return of_commits(options, margin)
end

-- Whether a limit is on what a series shows.
local function is_limited(series, limits)
  local field = series.event:gsub("%W+", "_")
  return lists.any(limits, function(limit) return limit:find("%f[%w_]" .. field .. "%f[^%w_]") ~= nil end)
end

--- The stored results since the last step of what limits are on, or of anything where limits name no series: runs of one
--- baseline. Older ones would pool costs from before and after a step.
---@param limits string[]
---@return pmclua.Result[] none of a history that was measured now
function History:baseline(limits)
  local place, first = {}, 1
  for i, commit in ipairs(self.commits) do place[commit.name] = i end
  local limited = lists.where(self.series, function(series) return is_limited(series, limits) end)
  for _, series in ipairs(#limited > 0 and limited or self.series) do
    for _, point in ipairs(series.points) do
      if point.step then first = math.max(first, place[point.commit]) end
    end
  end
  return lists.map(self.files or {}, function(file)
    return file.commit and place[tostring(file.commit)] >= first and file.result or nil
  end)
end

--- Searches the commit of each step of a series by bisect.
---@param options table of bisect_options, without good and bad
---@return pmclua.Bisection[]
function History:refine(options)
  local bisections, seen = {}, {}
  for _, series in ipairs(self.series) do
    for i, point in ipairs(series.points) do
      local good = series.points[i - 1]
      local key = good and point.step and good.commit .. ".." .. point.commit
      if key and not seen[key] then
        seen[key] = true
        local own = lists.copy(options)
        own.good, own.bad, own.events = good.commit, point.commit, { series.event }
        bisections[#bisections + 1] = require("pmclua.commits.bisect").bisect(own)
      end
    end
  end
  return bisections
end

return M
