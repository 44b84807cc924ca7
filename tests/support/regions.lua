--- regions.lua: programs whose functions are followed, and what following them needs from the machine.

local core = require "pmclua.core"
local core_regions = require "pmclua.core.regions"
local lfs = require "lfs"
local lists = require "pmclua.base.lists"
local regions = require "pmclua.experiment.regions"
local support = require "tests.support"

local M = {}

M.FAULTS, M.MADVISE = "page-faults", "syscalls:sys_enter_madvise"

local programs = {}

--- The path of a program of fixtures/region, built once.
---@param name string of its source
---@param ... string more for the compiler
---@return string path
function M.program(name, ...)
  if programs[name] then return programs[name] end
  local output = support.folder() .. "/" .. name:gsub("%..*$", "")
  local compiler = name:find "%.cc$" and "c++" or "cc"
  local source = support.fixture("region/" .. name)
  programs[name] = support.build(output, compiler, "-O2", "-g", source, "-lpthread", ...)
  return output
end

--- Skips where probes cannot be set.
function M.need_probes()
  support.need(support.have "cc", "no C compiler")
  support.need(support.have_root(), "probes need root")
  support.need(lfs.attributes "/sys/bus/event_source/devices/uprobe/type", "this Linux has no uprobe PMU")
  support.need(support.have_tracefs(), "no tracefs")
end

--- Follows functions of pages.c run in one of its shapes.
function M.follow(shape, n, options)
  local spec = options.regions or options
  local result = regions.measure({ M.program "pages.c", shape, tostring(n) }, {
    regions = spec, events = options.events or { M.FAULTS, M.MADVISE }, calibrate = false, timeout = 30,
  })
  assert(result.exit == 0)
  assert(result.lost == 0)
  return result
end

--- What following one function found, made by hand: calls that took these durations, and page faults each.
---@param name string of the function
---@param durations number[] ascending
---@param faults integer|ffi.cdata* of each call
---@return pmclua.Followed
function M.followed(name, durations, faults)
  local values, words, n = { {}, {}, {}, {} }, {}, #durations
  for i, duration in ipairs(durations) do
    local own = { duration, duration, duration, faults }
    for _, word in ipairs { 0, 7, i, 0, unpack(own) } do words[#words + 1] = word end
    for column, value in ipairs(own) do words[#words + 1], values[column][i] = value, value end
  end
  local function spreads()
    local list = {}
    for column = 1, 4 do
      local spread = { n = n, sum = 0, min = values[column][1], max = values[column][n], buckets = {} }
      for _, value in ipairs(values[column]) do
        spread.sum = core.sum(spread.sum, value)
        local last = spread.buckets[#spread.buckets]
        if last and last.low == value then last.count = last.count + 1
        else table.insert(spread.buckets, { low = value, next_low = core.sum(value, 1), count = 1 }) end
      end
      list[column] = spread
    end
    return list
  end
  local region = { name = name, notes = {}, is_pair = false, threads = {}, total = spreads(),
    self = spreads(), unsure_sums = { 0, 0, 0, 0 }, spent = { 0, 0, 0, 0 }, loading = "loaded" }
  region.outermost = lists.column(region.total, "sum")
  for _, fact in ipairs(core_regions.FACTS) do region[fact] = 0 end
  region.entries, region.calls = n, n
  return { region, path = "all threads", width = 4, samples = 2 * n, lost = 0, threads_seen = 0,
    observed_ns = 0, target_ended = 0, columns = { page_faults = 4 }, costs = {}, skipped = {}, remarks = {},
    calls = assert(core_regions.calls_of(words, 4, 1)) }
end

--- What became of a region's calls, of which there was any.
---@param region table
---@return table<string, integer>
function M.facts(region)
  local found = {}
  for _, name in ipairs(require("pmclua.result.calls").FACTS) do
    if region[name] ~= 0 then found[name] = region[name] end
  end
  return found
end

return M
