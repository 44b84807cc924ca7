--- pfm.lua: the binding of libpfm4, part of core.lua's layer.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C "pfm"
local text = core.private_text

local M = {}

M.pfm = {}
local FULL_NAME_BYTES = 1024

--- Encodes a libpfm4 name. Returns attr fields and the full name; or nil, errno name, libpfm4's code.
---@param name string
function M.pfm.encode(name)
  local attr, full = ffi.new "struct pmclua_attr", ffi.new("char[?]", FULL_NAME_BYTES)
  local code = ffi.new "int32_t[1]"
  local result = C.pmclua_pfm_encode(name, attr, full, FULL_NAME_BYTES, code)
  if result < 0 then return nil, core.errno_name(-result), code[0] end
  return core.private_attr_table(attr), ffi.string(full)
end

--- Every PMU that libpfm4 knows: { name, description, pmu, present, events }; {} without libpfm4.
function M.pfm.pmus()
  local list, pmu = {}, ffi.new "struct pmclua_pfm_pmu"
  local position = 0
  while C.pmclua_pfm_pmu(position, pmu) == 0 do
    position = position + 1
    list[position] = { name = text(pmu.name), description = text(pmu.description), pmu = pmu.pmu,
      present = pmu.present ~= 0, events = pmu.events }
  end
  return list
end

--- The events of PMU number `pmu`: { name, description, index }.
function M.pfm.events(pmu)
  local list, event = {}, ffi.new "struct pmclua_pfm_event"
  local position = 0
  while C.pmclua_pfm_event(pmu, position, event) == 0 do
    position = position + 1
    list[position] = { name = text(event.name), description = text(event.description),
      index = event.index }
  end
  return list
end

--- The attributes of event `index`: { name, description, is_umask }.
function M.pfm.attributes(index)
  local list, name, description = {}, ffi.new "const char *[1]", ffi.new "const char *[1]"
  local is_umask, position = ffi.new "int32_t[1]", 0
  while C.pmclua_pfm_attribute(index, position, name, description, is_umask) == 0 do
    position = position + 1
    list[position] = { name = text(name[0]), description = text(description[0]),
      is_umask = is_umask[0] ~= 0 }
  end
  return list
end

return M
