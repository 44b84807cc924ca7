--- members.lua: the kind of value of each member of a header (store/README.md, "The header"), and of a job's files.
---
--- Invariant: a member named here has its kind, or the file is refused; nobody checks it later. Any other
--- member comes from another version, or describes the host: it is shown, and no number is computed from it.

local lists = require "pmclua.base.lists"
local taken = require "pmclua.store.taken"

local M = {}

local text, flag, object = taken.is_text, taken.is_flag, taken.is_table
local count, share, number = taken.is_offset, taken.is_share, require("pmclua.base.number").is_finite

local function either(...)
  local kinds = { ... }
  return function(value) return lists.any(kinds, function(is) return is(value) end) end
end

local function list_of(is)
  return function(value)
    if type(value) ~= "table" then return false end
    local length = 0
    for _, item in ipairs(value) do
      length = length + 1
      if not is(item) then return false end
    end
    for key in pairs(value) do
      if type(key) ~= "number" or key < 1 or key > length then return false end
    end
    return true
  end
end

local function map_of(is)
  return function(value)
    if type(value) ~= "table" then return false end
    for key, item in pairs(value) do
      if type(key) ~= "string" or not is(item) then return false end
    end
    return true
  end
end

--- The name of a member of `value` that is not of its kind; nil where all are.
---@param value table
---@param kinds table<string, fun(value: any): boolean>
---@param needed? string[] those that must be there
---@return string?
function M.wrong(value, kinds, needed)
  for name, is in pairs(kinds) do
    if value[name] ~= nil and not is(value[name]) then return name end
  end
  return lists.find(needed or {}, function(name) return value[name] == nil end)
end

-- A map whose members have these kinds, if they are there.
local function members_of(kinds)
  return function(value) return type(value) == "table" and M.wrong(value, kinds) == nil end
end

local level = either(text, number, flag)
local costs = list_of(either(number, flag))                 -- of each event; false: it was not counted
local overhead = either(flag, members_of { read = text, median = costs, minimum = costs })  -- false: of no group

local texts, named_texts = list_of(text), map_of(text)

local how = members_of {
  folder = text, environment = named_texts, commit = text, branch = text, changes = count,
  script = members_of { path = text, hash = text, text = text, args = texts },
  workloads = list_of(members_of {
    workload = text, kind = text, cells = texts, argv = texts, launch = texts,
    launcher = text, program = text, program_hash = text, cwd = text, stdin = text, shell = flag,
    env = named_texts, source = text, source_hash = text,
    source_text = text, symbol = text, params = named_texts, compiler = text, command = texts,
    arguments = text, included_hash = text, library = text, library_hash = text, threads = text, cpus = text,
    defined = text, unknown = text, libraries = named_texts }),
}

M.header = {
  how = how,
  name = text, question = text, pmclua = text, needs = text, started = text, identity = text, target = text,
  seed = count, repetitions = count, warmup = count, rank = count, delay = number, inherit = flag,
  system_calls = either(flag, text),
  passes = text, on_failure = text, same_program = text, primary = text,
  layout = text, layouts = list_of(object), layout_runs = count,
  baseline = either(text, map_of(level)), against = map_of(level), notes = map_of(text),
  margin = either(number, map_of(number)), level = share,
  metrics = list_of(text), per = map_of(text), expect = list_of(text), gate = list_of(text),
  fit = members_of { over = text, exponent = number, margin = number, at = list_of(number), names = texts },
  iterations = either(count, text, flag, list_of(count)), anchors = list_of(count), unpaired = text,
  host = object, hosts = list_of(object), merged = list_of(text), lacks = list_of(text), reject_if = text,
  overhead = list_of(overhead), sources = list_of(members_of { path = text, hostname = text, rank = count,
    shard = count, how = how }), shard = members_of { index = count, count = count, by = text },
  simulation = map_of(either(text, number)),
  regions = members_of { kind = text, entries = flag, subtracted = flag },
  stop = members_of { own = flag, interval = share, repetitions = count, seconds = number },
}

M.event = {
  spec = text, unit = text, scale = number, source = text, pmu = text, tool = text, why = text, note = text,
  grain_ns = number, simulated = texts,
  attr = map_of(either(number, text, flag)), brought = flag, verified = flag, hybrid = flag,
  core_cpus = text, part_of = text, unlike = text,
}

M.workload = { per = text, control = text, launch = text, constants = map_of(number) }

M.cell = { machine_code = members_of { unroll = count, copies = count, least = count, most = count,
  text = text, empty = flag }, given = texts, run = count,
  layout_runs = count }

-- The files of a job's folder: job.json, and the owner of a lock.

local function shards(value) return count(value) and value >= 1 and value <= 1e6 end
local function divided(value) return value == "cells" or value == "blocks" or value == "ranks" end

M.job = { by = divided, shards = shards, parts = shards, seed = count, first = count, step = shards,
  script = text, script_hash = text, arguments = texts }

M.owner = { host = text, boot = text, namespace = number, pid = number, start = number, job = text,
  restart = number }

M.list, M.levels, M.indices = list_of(function() return true end), list_of(level), list_of(count)

return M
