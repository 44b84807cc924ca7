--- jevents.lua: an event of Intel's and Linux's JSON to perf's terms, as tools/perf/pmu-events/jevents.py makes them.

local M = {}

-- Fields that become terms of their own, in jevents.py's order.
local FIELDS = { { "AnyThread", "any" }, { "PortMask", "ch_mask" }, { "CounterMask", "cmask" },
  { "EdgeDetect", "edge" }, { "FCMask", "fc_mask" }, { "Invert", "inv" }, { "UMask", "umask" },
  { "NodeType", "type" }, { "RdWrMask", "rdwrmask" }, { "EnAllCores", "enallcores" },
  { "EnAllSlices", "enallslices" }, { "SliceId", "sliceid" }, { "ThreadMask", "threadmask" } }

-- The register that a value goes into, and the term for it.
local REGISTERS = { [0x3f6] = "ldlat", [0x3f7] = "frontend", [0x1a6] = "offcore_rsp",
  [0x1a7] = "offcore_rsp" }

-- Fixed counters, which perf asks for by the event that a counter of any kind has.
local FIXED = {
  ["inst_retired.any"] = "event=0xc0", ["inst_retired.any_p"] = "event=0xc0",
  ["cpu_clk_unhalted.ref"] = "event=0x0,umask=0x03", ["cpu_clk_unhalted.thread"] = "event=0x3c",
  ["cpu_clk_unhalted.core"] = "event=0x3c", ["cpu_clk_unhalted.thread_any"] = "event=0x3c,any=1",
}

local UNITS = {
  ["cbo"] = "uncore_cbox", ["qpi ll"] = "uncore_qpi", ["sbo"] = "uncore_sbox",
  ["imph-u"] = "uncore_arb", ["cpu-m-cf"] = "cpum_cf", ["cpu-m-sf"] = "cpum_sf",
  ["pai-crypto"] = "pai_crypto",
  ["pai-ext"] = "pai_ext", ["upi ll"] = "uncore_upi", ["hisi_sicl,cpa"] = "hisi_sicl,cpa",
  ["hisi_sccl,ddrc"] = "hisi_sccl,ddrc", ["hisi_sccl,hha"] = "hisi_sccl,hha",
  ["hisi_sccl,l3c"] = "hisi_sccl,l3c",
  ["l3pmc"] = "amd_l3", ["dfpmc"] = "amd_df", ["umcpmc"] = "amd_umc", ["cpu_core"] = "cpu_core",
  ["cpu_atom"] = "cpu_atom", ["ali_drw"] = "ali_drw", ["core"] = "cpu", ["cpu"] = "cpu",
}

-- "0xB7, 0xBB" is the first of them: either serves.
local function number(value) return tonumber(value) or tonumber((tostring(value):match "^[^,]+")) end

local function is_zero(value) return value == nil or number(value) == 0 or value == "" end

--- The PMU that a unit means; nil: the core's.
---@param unit string?
---@return string?
function M.pmu_of(unit)
  if not unit or unit == "" then return nil end
  local key = unit:lower()
  return UNITS[key] or "uncore_" .. key
end

local function add(parts, name, value) parts[#parts + 1] = ("%s=%s"):format(name, value) end

local function code_of(row)
  if not is_zero(row.ConfigCode) then return "config=" .. row.ConfigCode end
  if not is_zero(row.EventidCode) then return "eventid=" .. row.EventidCode end
  local code = number(row.EventCode or 0)
  return code and ("event=0x%x"):format(code + (number(row.ExtSel or 0) or 0) * 256)
end

local function umask_of(row)
  local umask, extension = number(row.UMask or 0) or 0, number(row.UMaskExt or 0) or 0
  if extension ~= 0 then return ("0x%x"):format(umask + extension * 256) end
  -- "0x01,0x02" goes with an event code of two, or a register of two.
  return row.UMask and tostring(row.UMask):match "^[^,]+"
end

-- "filter_opc=0x182,…"; intel/perfmon has "na", and the names of fields to fill in ("fc, chnl"), which are no terms.
local function filter_of(row)
  local filter = type(row.Filter) == "string" and row.Filter or ""
  return filter:find "^[%l_%d]+=" and filter or nil
end

--- The terms of an event; nil where it has no code.
---@param row table
---@return string?
function M.terms(row)
  local code = type(row.EventName) == "string" and code_of(row)
  if not code then return nil end
  local fixed = not M.pmu_of(row.Unit) and FIXED[row.EventName:lower()]
  if fixed then return fixed end
  local parts = { code }
  for _, field in ipairs(FIELDS) do
    local value = field[1] == "UMask" and umask_of(row) or row[field[1]]
    if not is_zero(value) then add(parts, field[2], (tostring(value):gsub("%s", ""))) end
  end
  parts[#parts + 1] = filter_of(row)
  local register = REGISTERS[number(row.MSRIndex or 0)]
  if register and not is_zero(row.MSRValue) then add(parts, register, row.MSRValue) end
  return table.concat(parts, ",")
end

--- Takes an event of a file.
---@param row table
---@param collection pmclua.vendor.Collection
---@param pmu string? where the row names none
---@return boolean taken
function M.take(row, collection, pmu)
  local terms = M.terms(row)
  if not terms then return false end
  collection:event { name = row.EventName, pmu = M.pmu_of(row.Unit) or pmu, terms = terms,
    scale = row.ScaleUnit, is_deprecated = row.Deprecated == "1" or nil,
    description = row.BriefDescription or row.PublicDescription }
  return true
end

return M
