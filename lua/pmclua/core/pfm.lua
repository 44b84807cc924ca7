--- pfm.lua: the binding of libpfm4.

local core = require "pmclua.core"
local ffi = require "ffi"

local C = core.private_C "pfm"
local problem = require("pmclua.base.problem").problem
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

-- Whether libpfm4 gave what it was asked for. Raises where memory was short.
local function is_given(result)
  local code = core.errno_name(-result)
  if code == "ENOMEM" then
    error(problem { code = code, operation = "list",
      message = "there is no memory for libpfm4's list of events" }, 0)
  end
  return result == 0
end

-- The items of one of libpfm4's lists: `fill` asks for one by its position, from 0, `take` makes it a table;
-- nil: it is left out.
local function listed(fill, take)
  local list, position, result = {}, 0, fill(0)
  while result == 0 do
    list[#list + 1] = take()
    position = position + 1
    result = fill(position)
  end
  is_given(result)
  return list
end

--- Whether there is libpfm4. Raises where memory is short, as the others do.
function M.pfm.is_installed() return is_given(C.pmclua_pfm_pmu(0, ffi.new "struct pmclua_pfm_pmu")) end

--- Every PMU that libpfm4 knows: { name, description, pmu, present, events }; {} without libpfm4.
---@param present? boolean those alone that this machine has: three of four hundred
function M.pfm.pmus(present)
  local pmu = ffi.new "struct pmclua_pfm_pmu"
  return listed(function(position) return C.pmclua_pfm_pmu(position, pmu) end, function()
    if present and pmu.present == 0 then return nil end
    return { name = text(pmu.name), description = text(pmu.description), pmu = pmu.pmu,
      present = pmu.present ~= 0, events = pmu.events }
  end)
end

--- The events of PMU number `pmu`: { name, description, index }.
function M.pfm.events(pmu)
  local event = ffi.new "struct pmclua_pfm_event"
  return listed(function(position) return C.pmclua_pfm_event(pmu, position, event) end, function()
    return { name = text(event.name), description = text(event.description), index = event.index }
  end)
end

--- The attributes of event `index`: { name, description, is_umask }.
function M.pfm.attributes(index)
  local name, description = ffi.new "const char *[1]", ffi.new "const char *[1]"
  local is_umask = ffi.new "int32_t[1]"
  return listed(function(position)
    return C.pmclua_pfm_attribute(index, position, name, description, is_umask)
  end, function()
    return { name = text(name[0]), description = text(description[0]), is_umask = is_umask[0] ~= 0 }
  end)
end

return M
