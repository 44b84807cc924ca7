--- regions.lua: programs whose functions are followed, and what following them needs from the machine.

local lfs = require "lfs"
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
