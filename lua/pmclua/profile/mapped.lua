--- mapped.lua: the file that a process had mapped, and the symbols of exactly that one.
--
-- Invariant: an identity is established, never assumed. Of a file with a build id it is that; of another its device and
-- inode, as Linux had them where it was mapped, and that nothing has been changed in it since. A process may be in another
-- mount namespace or below another root, and the file may have been replaced or removed: so it is also looked for
-- through the process, as long as that lives.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local symbols_of = require "pmclua.core.symbols"

local M = {}

local LARGEST_32 = 2 ^ 32 - 1

--- Linux stamps files with the time of its last tick: up to this much before they were changed.
M.CLOCK_STEP_NS = 1e7

-- Whether it was in the memory of a process of 32 bits.
local function is_low(file) return file.path == "[vdso]" and file.from <= LARGEST_32 end

--- Tells the file of a mapping from others of its path, where nobody could look into it.
---@param file pmclua.core.HitFile
---@return string
function M.id(file)
  if file.build_id then return file.build_id end
  if file.inode == 0 then return is_low(file) and "32" or "" end
  return ("inode:%x.%x"):format(file.device, file.inode)
end

-- ---- Linux's own page of code --------------------------------------------------------------------------

local PAGES = 2 ^ 20            -- bytes of it, at most

local function memory_of(process, from, to)
  local memory = to - from <= PAGES and io.open(("/proc/%s/mem"):format(process), "rb")
  local bytes = memory and memory:seek("set", from) and memory:read(to - from)
  if memory then memory:close() end
  return bytes
end

local function own_page()
  local maps = io.open "/proc/self/maps"
  local from, to = (maps and maps:read "*a" or ""):match "(%x+)%-(%x+) [^\n]*%[vdso%]\n"
  if maps then maps:close() end
  return from and memory_of("self", tonumber(from, 16), tonumber(to, 16))
end

-- A 64-bit process has our vDSO; that of another is read where it is mapped.
local function open_page(file)
  local is_ours = not is_low(file)
  local bytes = is_ours and own_page() or not is_ours and memory_of(file.task, file.from, file.to)
  local code = bytes and require("pmclua.core.regions").code_file(bytes)
  local symbols = code and symbols_of.open(code.path)
  if code then code:close() end
  if symbols then return { symbols = symbols, id = M.id(file) } end
  return nil, not is_ours and "it is of a process of 32 bits that has ended, or may not be looked into" or nil
end

-- ---- files ---------------------------------------------------------------------------------------------

local OTHER = "the file is another one than was run (its %s differs)"
local CHANGED = "the file was changed after it was mapped"
local AT_ONCE = "the file was changed just before it was mapped, or since: its time does not tell; "
  .. "a build id does (-Wl,--build-id)"

--- Why a file may have been changed since it was mapped, by both times; nil: it was not.
---@param mapped_ns number
---@param changed_ns number
---@return string?
function M.change_since(mapped_ns, changed_ns)
  if changed_ns > mapped_ns then return CHANGED end
  return changed_ns + M.CLOCK_STEP_NS > mapped_ns and AT_ONCE or nil
end

-- Why what a path leads to is not the file; nil: it is.
local function doubt(file, path, symbols)
  if file.build_id then return symbols:build_id() ~= file.build_id and OTHER:format "build id" or nil end
  local now, code = core.identity(path)
  if not now then return "it cannot be read any more (" .. code .. ")" end
  local is_it = now.device == file.device and now.inode == file.inode
    or core.is_mapped_as(path, file.device, file.inode)
  if not is_it then return OTHER:format "inode" end
  return M.change_since(file.since_ns, now.changed_ns)
end

--- The build id of a file, or what stands for it where it has none.
---@param path string
---@param symbols pmclua.core.Symbols of it
---@return string
function M.id_of(path, symbols)
  return symbols:build_id() or "stat:" .. core.signature(path)
end

-- The symbols of a file where a path leads to it; nil and why not.
local function try(file, path)
  local symbols, code = symbols_of.open(path)
  if code == "ELIBACC" then return nil, code end
  if not symbols then return nil, ("it cannot be read any more (%s)"):format(code) end
  local why = doubt(file, path, symbols)
  if not why then
    return { symbols = symbols, id = M.id_of(path, symbols), path = path, signature = core.signature(path) }
  end
  symbols:close()
  return nil, why
end

-- Where else it may be: by its descriptor, or through a process that had it.
local function elsewhere(file)
  local process = ("/proc/%d"):format(file.task)
  return lists.where({ process .. "/root" .. file.path, file.held and file.held.path or false,
    ("%s/map_files/%x-%x"):format(process, file.from, file.to) }, function(path) return path end)
end

---@class pmclua.OpenedFile
---@field symbols pmclua.core.Symbols
---@field id string its build id, or what stands for that; "" of what is no file
---@field path? string that led to it
---@field signature? string of what is there

--- Whether what was opened is still there and was not changed since.
---@param opened? pmclua.OpenedFile
---@return boolean
function M.is_unchanged(opened)
  return not (opened and opened.path) or core.signature(opened.path) == opened.signature
end

--- Opens the symbols of a file that was mapped; nil if the file is gone or has none.
---@param file pmclua.core.HitFile
---@return pmclua.OpenedFile? opened
---@return string? why there are none: "ELIBACC" without elfutils, else in words; nil: there is nothing to say
function M.open(file)
  if file.path == "[vdso]" then return open_page(file) end
  if file.path:sub(1, 1) ~= "/" then return nil end
  local opened, why = try(file, file.path)
  if why == "ELIBACC" then return nil, why end
  for _, path in ipairs(elsewhere(file)) do
    opened = opened or try(file, path)
  end
  return opened, not opened and why or nil
end

return M
