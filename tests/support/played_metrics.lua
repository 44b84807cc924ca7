--- played_metrics.lua: reads what perf made of vendors' metrics (fixtures/perf/metrics.tsv), and makes the counts that
--- its counters read.

local bit = require "bit"

local M = {}

local OFFSET, PRIME = 1469598103934665603ULL, 1099511628211ULL

--- The count of an event: 64-bit FNV-1a of what it is.
---@param seed number
---@param attr { type: number, config: any, config1: any, config2: any }
---@return number
function M.count(seed, attr)
  local hash = bit.bxor(OFFSET, 0ULL + seed)
  for _, word in ipairs { attr.type, attr.config, attr.config1 or 0, attr.config2 or 0 } do
    local rest = 0ULL + word
    for _ = 1, 8 do
      hash = bit.bxor(hash, bit.band(rest, 0xffULL)) * PRIME
      rest = bit.rshift(rest, 8)
    end
  end
  return tonumber(100000ULL + hash % 9900000ULL)
end

--- What is compared of an attr.
---@param attr table
---@return string "4:0x10d1:0x0:0x0"
function M.key(attr)
  return ("%d:0x%x:0x%x:0x%x"):format(attr.type, attr.config, attr.config1 or 0, attr.config2 or 0)
end

local function read_row(line)
  local tree, cpuid, model, name, seed, value, unit, events =
    line:match "^(%S+)\t(%S+)\t(%S+)\t(%S+)\t(%d+)\t(%S+)\t([^\t]*)\t(.*)$"
  if not tree then return nil end
  local row = { tree = tree, cpuid = cpuid, model = model, name = name, seed = tonumber(seed),
    value = tonumber(value), unit = unit, keys = {} }
  for one in events:gmatch "[^;]+" do
    local duration = one:match "^duration_time=tool=(.*)$"
    if duration then row.duration_ns = tonumber(duration)
    else row.keys[one:match "=(%d+:0x%x+:0x%x+:0x%x+)=%d+$"] = true end
  end
  return row
end

--- The rows of a file by CPU: { tree, cpuid, model, name, seed, value, unit, keys, duration_ns }.
---@param path string
---@return table<string, table[]>
function M.read(path)
  local by_cpu = {}
  for line in io.lines(path) do
    local row = line:find "^tree\t" == nil and read_row(line)
    if row then
      by_cpu[row.cpuid] = by_cpu[row.cpuid] or {}
      table.insert(by_cpu[row.cpuid], row)
    end
  end
  return by_cpu
end

return M
