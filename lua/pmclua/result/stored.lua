--- stored.lua: stored results as scripts see them: which there are, the last, removing old ones, merging.
--
--     pmc.stored.list()[1].path        the last one, as pmc.stored.latest()
--     pmc.stored.prune { keep = 100, older_than = "30d" }
--     pmc.stored.merge({ "rank0.jsonl", "rank1.jsonl" }, "both.jsonl")

local explain = require "pmclua.explain"
local store = require "pmclua.store"

local M = { folder = store.folder, list = store.list, latest = store.latest }

--- Removes stored results from the default folder; those being written stay.
---@param options { keep?: integer, older_than?: number|string } keep: the newest stay; older_than: seconds,
---  "12h", "30d": only what was not written to for this long goes. With both, what both say
---@return pmclua.store.Entry[] removed
function M.prune(options)
  local keep = options.keep
  local age = options.older_than and require("pmclua.base.units").seconds(options.older_than)
  if not (keep or age) then explain.misuse "pmc.stored.prune needs keep or older_than" end
  return store.prune { keep = keep, older_than = age }
end

--- Several stored results as one new file.
---@param paths string[] with `by` as for pmc.load
---@param output string path that is not there yet
---@return integer records written
function M.merge(paths, output) return require("pmclua.result.files").merge(paths, output) end

local SHOWN = { "by", "shards", "seed", "script", "arguments", "first", "step" }

--- The states of a job's shards.
---@param folder string raises an error object where it is none of a job
---@return table by, shards, seed, script, arguments, first, step; list: pmclua.ShardState of each shard;
---  tasks(list): their array tasks as ranges; json(): all of it as JSON
function M.job(folder)
  local folders, lists = require "pmclua.job.folder", require "pmclua.base.lists"
  local job, about = folders.open(folder), {}
  for _, name in ipairs(SHOWN) do about[name] = job[name] end
  local facts = lists.copy(about)
  facts.list = job:states()
  about.list = facts.list
  function about.tasks(shards) return require("pmclua.base.text").ranges(lists.column(shards, "task")) end
  function about.json()
    local order = { "number", "task", "state" }
    return require("pmclua.base.json").encode(facts, { order = order, indent = 1 }) .. "\n"
  end
  return about
end

return M
