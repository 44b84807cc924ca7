--- where.lua: profiles of programs, for specs: fixtures/where/ compiled, and sampled.

local pmc = require "pmclua"
local support = require "tests.support"

local M = {}

local programs = {}

--- The path of fixtures/where/NAME compiled, once; more: for the compiler.
---@param name string "faults.c"
---@param ... string
function M.program(name, ...)
  support.need(support.have "cc", "no C compiler")
  local key = table.concat({ name, ... }, " ")
  if not programs[key] then
    local output = support.folder() .. "/" .. name:gsub("%.c$", "")
    programs[key] = support.build(output, "cc", "-O1", support.fixture("where/" .. name), ...)
  end
  return programs[key]
end

--- The profiles of a command's counted repetitions, in order.
---@param command table|string
---@param event string
---@param options? { repetitions?: integer, seed?: integer, ring_bytes?: integer }
---@return pmclua.Profile[] profiles
---@return table result
function M.profiles(command, event, options)
  options = options or {}
  local list = {}
  local result = pmc.experiment { sample = { event, ring_bytes = options.ring_bytes },
    events = { event }, workloads = { pmc.command(command) },
    repetitions = options.repetitions or 1, warmup = 0, seed = options.seed or 7,
  }:run { store = false, quiet = true, each = function(record)
    for _, profile in ipairs(not record.warmup and record.profiles or {}) do list[#list + 1] = profile end
  end }
  return list, result
end

--- What a function took, in all files together or in one: others' runs have functions of the same names.
---@param profile pmclua.Profile
---@param fn string
---@param file? string path
---@return number
function M.count(profile, fn, file)
  local sum = 0
  for _, line in ipairs(profile.lines) do
    if line.fn == fn and (not file or line.file == file) then sum = sum + line.count end
  end
  return sum
end

--- The sum of lines and rest.
---@param profile pmclua.Profile
---@return number
function M.sum(profile)
  local sum = 0
  for _, line in ipairs(profile.lines) do sum = sum + line.count end
  for _, value in pairs(profile.rest) do sum = sum + value end
  return sum
end

return M
