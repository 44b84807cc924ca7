--- files.lua: results from stored files, and several files as one.
--
-- Invariant: a result that was loaded is what the run had; what a file lacks stands in its problems.

local explain = require "pmclua.explain"
local hosts = require "pmclua.result.hosts"
local lists = require "pmclua.base.lists"
local refuse = require("pmclua.store.failure").refuse
local results = require "pmclua.result"
local store = require "pmclua.store"
local text = require "pmclua.base.text"
local merge = require("pmclua.base.lazy").module "pmclua.result.merge"

local M = {}

local function new_result(header, path)
  local ok, result = pcall(results.new, header)
  return ok and result or refuse("read", path, tostring(result))
end

-- The empty result of a header, what takes its records, and what ends that: `over` is what they are to be told apart by.
local function receiver(header, path, over, keep)
  local split = over and require("pmclua.result.split").new(header, over, keep)
  if split then
    local result = new_result(split.header, path)
    local take, take_packed = split:takers(result)
    return result, take, take_packed, function() split:finish(result) end
  end
  local result = new_result(header, path)
  return result, function(record) results.add(result, record) end, function(...)
    return results.add_packed(result, ...)
  end, function() end
end

-- The hosts of files that were read, where they are several: those that a run went on on are known after its records.
local function hosts_of(files)
  return hosts.several(lists.joined(lists.map(files, function(file)
    return lists.joined { file.header.hosts or {}, file.hosts }
  end)))
end

local function load_one(path, over)
  local stored = store.open(path)
  local result, take, take_packed, finish = receiver(stored.header, path, over)
  stored.each(take, true, function(first, _, packed, values) return take_packed(first, packed, values) end)
  finish()
  result.status, result.problems, result.waits = stored.status, stored.problems, stored.waits
  result.remarks = { unpack(stored.remarks) }
  result.header.hosts = hosts_of { stored }
  result.path = not stored.is_stream and path or nil
  return result
end

local function open_all(paths)
  local files = lists.map(paths, function(path)
    local file = store.open(path)
    file.pause()
    return file
  end)
  return files, lists.column(files, "header")
end

local function merged_headers(headers, paths, by, origins)
  local ok, header, maps = pcall(merge.headers, headers, paths, by, origins)
  if not ok then explain.misuse("load: " .. tostring(header), 4) end
  return header, maps
end

local function shards_of(folder)
  local job, paths, lacking = require("pmclua.job.folder").open(folder), {}, {}
  for _, shard in ipairs(job:states()) do
    local is_begun = shard.state == "complete" or (shard.repetitions or 0) > 0
    if is_begun and require("pmclua.core").stat(shard.path) then paths[#paths + 1] = shard.path end
    if shard.state ~= "complete" then
      lacking[shard.state] = lacking[shard.state] or {}
      table.insert(lacking[shard.state], shard.task)
    end
  end
  return paths, lists.map(lists.keys(lacking), function(state)
    local tasks = require("pmclua.base.text").ranges(lacking[state])
    return ("%s shards: %s (%d of %d; see `pmclua status %s`)"):format(state, tasks, #lacking[state],
      job.shards, require("pmclua.workload.shellwords").join { text.safe(folder) })
  end), job
end

-- Remarks that not all files have get the file's name.
local function joined_remarks(files, paths)
  local all = {}
  for i, file in ipairs(files) do
    lists.append(all, lists.map(file.remarks, function(remark) return { text = remark, path = paths[i] } end))
  end
  return lists.joined(lists.map(lists.groups(all, function(note) return note.text end), function(same)
    if #same == #files then return { same.key } end
    return lists.map(same, function(note) return ("%s: %s"):format(note.path, note.text) end)
  end))
end

-- Hands the records of all files to `take`, or packed lines to `take_packed`, renumbered. Returns how they ended, what
-- they lack, and their remarks.
local function read_all(files, paths, header, maps, take, take_packed)
  local status, problems = "complete", {}
  for i, file in ipairs(files) do
    local renumber = merge.renumber(maps[i], header)
    file.each(function(record) take(renumber(record)) end, false, take_packed
      and function(first, most, packed, values)
        return take_packed(renumber(first, most), packed, values, maps[i].events)
      end)
    if file.status ~= "complete" then status = file.status end
    lists.append(problems, lists.map(file.problems, function(problem)
      return ("%s: %s"):format(paths[i], problem)
    end))
  end
  return status, problems, joined_remarks(files, paths)
end

-- Many files are large and are only kept: a collection would double their memory, and that of reports.
local GC_PAUSE = 150

local function load_several(paths, by, over, origins)
  collectgarbage("setpause", GC_PAUSE)
  local files, headers = open_all(paths)
  local header, maps = merged_headers(headers, paths, by, origins)
  local result, take, take_packed, finish = receiver(header, paths[1], over, by == "file")
  result.status, result.problems, result.remarks = read_all(files, paths, header, maps, take, take_packed)
  result.header.hosts = hosts_of(files)
  finish()
  return result
end

local function is_job(path) return require("pmclua.job.folder").is(path) end

local function nothing_of(folder)
  error(explain.problem { code = "ENODATA", operation = "load",
    message = ("%s: no shard has stored anything yet"):format(text.safe(folder)) }, 0)
end

-- A job's shards as one sweep; where each ran all of it, one file for each rank.
local function load_job(folder, by, over)
  local paths, lacks, job = shards_of(folder)
  if #paths == 0 then nothing_of(folder) end
  local result = load_several(paths, by or job.by == "ranks" and "rank" or "none", over)
  -- The folder says more of a shard that runs or failed than its file.
  local own = lists.where(result.problems, function(problem) return not problem:find "it has no end line" end)
  result.problems = lists.joined { own, lacks }
  return result
end

local function load_mixed(paths, by, over)
  local files, origins, lacks = {}, {}, {}
  for _, path in ipairs(paths) do
    local own, own_lacks = { path }, {}
    if is_job(path) then own, own_lacks = shards_of(path) end
    if #own == 0 then nothing_of(path) end
    for _, file in ipairs(own) do files[#files + 1], origins[#origins + 1] = file, path end
    lists.append(lacks, lists.map(own_lacks, function(lack)
      return ("%s: %s"):format(text.safe(path), lack)
    end))
  end
  local result = load_several(files, by or "file", over, origins)
  lists.append(result.problems, lacks)
  return result
end

local function check_paths(paths, what)
  local seen = {}
  for _, path in ipairs(paths) do
    -- The same repetitions must not count twice.
    if seen[path] then explain.misuse(("%s: %s is given twice"):format(what, text.safe(path)), 3) end
    seen[path] = true
  end
  return paths
end

local function nothing_stored()
  return explain.problem { code = "ENOENT", operation = "load", message = "no result is stored yet",
    hint = "experiments are stored unless they are run with --no-store" }
end

--- The result of stored files. Several are one result with a further factor: rank where each file has a
--- rank of its own (mpirun, srun), else file: their names, the first of them the baseline. Without a path
--- the result that was stored last.
---@param ... string|{ by: "file"|"rank"|"host"|"none"|nil, over: string? } paths, jobs' folders, or one list of them;
---  by: what tells files apart; over: what of their records becomes a factor, too (split.lua)
---@return pmclua.Result result raises an error object where a file cannot be read
function M.load(...)
  local first = ...
  local paths = check_paths(type(first) == "table" and first or { ... }, "load")
  if #paths == 0 then paths[1] = store.latest() or error(nothing_stored(), 0) end
  if #paths > 1 and lists.any(paths, is_job) then return load_mixed(paths, paths.by, paths.over) end
  if #paths > 1 then return load_several(paths, paths.by, paths.over) end
  if is_job(paths[1]) then return load_job(paths[1], paths.by, paths.over) end
  return load_one(paths[1], paths.over)
end

--- Stored results as one stored result.
---@param paths string[] with `by` as for load
---@param output string path of a new file
---@return integer records written
function M.merge(paths, output)
  check_paths(paths, "merge")
  if #paths < 2 then explain.misuse("pmc.stored.merge takes at least two paths to read", 2) end
  local files, headers = open_all(paths)
  local header, maps = merged_headers(headers, paths, paths.by)
  header.merged, header.started = { unpack(paths) }, headers[1].started
  local writer = store.create(output, header)
  local ok, status, _, remarks = pcall(read_all, files, paths, header, maps,
    function(record) writer:add(record) end, function(...)
      writer:add_packed(...)
      return true
    end)
  if not ok then
    writer:close()
    os.remove(output)
    error(status, 0)
  end
  local all = hosts_of(files) or {}
  writer:finish(status == "complete" and "complete" or "interrupted",
    { remarks = remarks, hosts = #all > #(header.hosts or {}) and all or nil })
  return writer.records
end

return M
