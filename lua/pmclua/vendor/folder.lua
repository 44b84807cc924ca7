--- folder.lua: which files of a user's folder are about this CPU, and in which form: Linux's pmu-events, intel/perfmon,
--- or Arm's telemetry-solution.
--
-- A mapfile.csv says which folder (Linux) or file (perfmon) a CPU has; Arm's files say themselves which CPU they are
-- of. A folder without either is for this CPU: all its JSON files are read.

local core = require "pmclua.core"
local cpu = require "pmclua.vendor.cpu"
local entries = require("pmclua.host.machine").entries
local lists = require "pmclua.base.lists"

local M = {}

local HEAD = 4096                 -- bytes in which an Arm file names its CPU
local MOST = 2000                 -- files
local DEEPEST = 6                 -- folders

-- ---- listing ----

local function is_folder(path) return require("lfs").attributes(path, "mode") == "directory" end

local function add_json(list, folder, depth)
  for _, name in ipairs(entries(folder)) do
    local path = folder .. "/" .. name
    if #list >= MOST then return end
    if name:find "%.json$" then list[#list + 1] = path
    elseif depth > 0 and is_folder(path) then add_json(list, path, depth - 1) end
  end
end

local function json_files(folder, depth)
  local list = {}
  add_json(list, folder, depth)
  return list
end

-- ---- Linux and perfmon: a mapfile ----

local CORE_TYPES = { ["0x40"] = "cpu_core", ["0x20"] = "cpu_atom" }

-- The rows of a mapfile that are about this CPU.
local function rows_of(mapfile, identifier)
  local rows = {}
  for line in (core.read_plain(mapfile) or ""):gmatch "[^\r\n]+" do
    local cells = lists.collect((line .. ","):gmatch "([^,]*),")
    local is_row = cells[3] and cells[3] ~= "" and line:sub(1, 1) ~= "#"
    if is_row and (cpu.matches(cells[1], identifier) or cpu.is_same_arm(cells[1], identifier)) then
      rows[#rows + 1] = { file = cells[3]:gsub("^/", ""), kind = cells[4], pmu = CORE_TYPES[cells[5] or ""] }
    end
  end
  return rows
end

local function add(list, path, form, pmu) list[#list + 1] = { path = path, form = form, pmu = pmu } end

local function add_linux(list, folder, row)
  for _, path in ipairs(json_files(folder .. "/" .. row.file, DEEPEST)) do add(list, path, "linux") end
end

-- "sapphirerapids_core.json" has sapphirerapids_metrics.json beside its folder.
local function is_of(name, base)
  local has = lists.set(lists.collect(name:gsub("%.json$", ""):gmatch "[^_]+"))
  return lists.all(lists.collect(base:gmatch "[^_]+"), function(word) return has[word] end)
end

local function add_perfmon(list, folder, row)
  local path = folder .. "/" .. row.file
  add(list, path, "perfmon", row.pmu)
  local top, base = path:match "^(.*)/events/(.-)_core%.json$"
  for _, name in ipairs(top and entries(top .. "/metrics") or {}) do
    if name:find "%.json$" and is_of(name, base) then
      add(list, top .. "/metrics/" .. name, "perfmon", row.pmu)
    end
  end
end

-- Events before metrics, which name them; each file once.
local function in_order(files)
  local function is_of_metrics(file) return file.path:find "/metrics/[^/]*$" ~= nil end
  local function is_of_events(file) return not is_of_metrics(file) end
  local list, seen = {}, {}
  local sorted = lists.joined { lists.where(files, is_of_events), lists.where(files, is_of_metrics) }
  for _, file in ipairs(sorted) do
    local key = ("%s %s"):format(file.path, file.pmu or "")
    if not seen[key] then list[#list + 1], seen[key] = file, true end
  end
  return list
end

local function add_mapped(list, folder, identifier)
  local files = {}
  for _, row in ipairs(rows_of(folder .. "/mapfile.csv", identifier)) do
    if row.file:find "%.json$" then add_perfmon(files, folder, row)
    else add_linux(files, folder, row) end
  end
  lists.append(list, in_order(files))
end

-- pmu-events/arch has a folder for each architecture.
local function mapped_folders(folder)
  local function is_mapped(path) return core.signature(path .. "/mapfile.csv") ~= nil end
  if is_mapped(folder) then return { folder } end
  local paths = lists.map(entries(folder), function(name) return folder .. "/" .. name end)
  return lists.where(paths, is_mapped)
end

-- ---- Arm, and folders of one CPU ----

local function arm_identifier(head)
  local implementer = tonumber(head:match '"implementer"%s*:%s*"(0x%x+)"' or "")
  local part = tonumber(head:match '"part_num"%s*:%s*"(0x%x+)"' or "")
  return implementer and part and ("0x%x"):format(implementer * 2 ^ 24 + 0xf0000 + part * 16)
end

local function add_unmapped(list, folder, identifier)
  for _, path in ipairs(json_files(folder, DEEPEST)) do
    local head = core.read_beginning(path, HEAD) or ""
    if head:find('"product_configuration"', 1, true) then
      local of = arm_identifier(head)
      if of and cpu.is_same_arm(of, identifier) then add(list, path, "arm") end
    elseif head:find "^%s*%[" then add(list, path, "linux")
    elseif head:find('"Header"', 1, true) then add(list, path, "perfmon") end
  end
end

--- The files of a folder that are about a CPU.
---@param folder string
---@param identifier string?
---@return { path: string, form: "linux"|"perfmon"|"arm", pmu: string? }[]
function M.files(folder, identifier)
  local list, mapped = {}, mapped_folders(folder)
  for _, entry in ipairs(mapped) do add_mapped(list, entry, identifier or "") end
  if #mapped == 0 then add_unmapped(list, folder, identifier or "") end
  return list
end

--- A change signature of these files.
---@param folder string
---@param identifier string?
---@return string
function M.signature(folder, identifier)
  return core.hash(table.concat(lists.map(M.files(folder, identifier), function(file)
    return ("%s %s"):format(file.path, core.signature(file.path) or "none")
  end), "\n"))
end

--- Why a folder cannot be read; nil: it can.
---@param folder string
---@return string?
function M.refusal(folder)
  local lfs = require "lfs"
  local mode, why = lfs.attributes(folder, "mode")
  if not mode then
    local is_missing = why:find "No such file" or why:find "Not a directory"
    return is_missing and "there is no such folder" or why:match ": ([^:]*)$" or why
  end
  if mode ~= "directory" then return "it is no folder" end
  local ok, problem = pcall(lfs.dir, folder)
  return not ok and "it cannot be read: " .. (tostring(problem):match ": ([^:]*)$" or problem) or nil
end

-- Why no table of a folder matches this CPU.
local function found_instead(folder)
  local mapped = mapped_folders(folder)
  if #mapped > 0 then return "no row of its mapfile.csv is of this CPU" end
  local count = #json_files(folder, DEEPEST)
  if count == 0 then return "it has no JSON file" end
  local are = count == 1 and "its JSON file is" or ("its %d JSON files are"):format(count)
  return are .. " of other CPUs, or in no form that is known"
end

--- Why no table of a folder matches a CPU, and what the folder has; nil: one matches.
---@param folder string
---@param identifier string?
---@return string?
function M.lack(folder, identifier)
  if #M.files(folder, identifier) > 0 then return nil end
  return ("%s has no tables for %s: %s"):format(folder, identifier or "this CPU", found_instead(folder))
end

--- Reads what a folder has about a CPU.
---@param folder string
---@param identifier string?
---@param collection pmclua.vendor.Collection
function M.read(folder, identifier, collection)
  local refusal = M.refusal(folder)
  local problem = refusal and ("%s: %s"):format(folder, refusal) or M.lack(folder, identifier)
  if problem then collection:problem("%s", problem) end
  for _, file in ipairs(M.files(folder, identifier)) do
    require("pmclua.vendor." .. file.form).read(file, collection, folder)
  end
end

return M
