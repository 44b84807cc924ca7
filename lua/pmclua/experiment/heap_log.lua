--- heap_log.lua: what commands allocate, recorded by a library that is preloaded into them, for `sample.heap`.
--
-- Invariant: a repetition has a log of its own; what an earlier one has left running writes to the one before.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local paths = require "pmclua.host.paths"
local temporary = require("pmclua.base.lazy").module "pmclua.host.temporary"

---@class pmclua.HeapLog
---@field path string
local Log = {}
Log.__index = Log

local M = {}

local by_declaration = setmetatable({}, { __mode = "k" })

local function refuse(message, hint)
  error(explain.problem { code = "EUNSUPPORTED", operation = "sample", message = message, hint = hint }, 0)
end

--- The log of an experiment, made when first asked for; nil: it wants none.
---@param declaration pmclua.Declaration
---@return pmclua.HeapLog?
function M.of(declaration)
  if not (declaration.sample and declaration.sample.heap) then return nil end
  local known = by_declaration[declaration]
  if known then return known end
  local library = core.real_path(paths.heap_library())
  if library:find "[ :;{}]" then
    refuse(("allocations cannot be recorded: the loader takes no library whose path has blanks or colons: %s")
      :format(library), "install pmclua in a folder without them")
  end
  local folder = temporary.make "heap"
  local log = setmetatable({ folder = folder, path = folder .. "/log", library = library }, Log)
  by_declaration[declaration] = log
  return log
end

--- Begins anew.
function Log:reset()
  local made, code, errnum = require("pmclua.core.data").make_heap_log(self.path)
  if made then return end
  error(explain.problem { code = code, operation = "write",
    message = ("there is no room for the log of allocations (132 MiB): %s: %s"):format(self.path,
      core.errno_text(errnum)), hint = "set TMPDIR to a folder of yours that has room" }, 0)
end

--- The change to a command's environment; libraries that it preloads already stay.
---@param preloaded? string
---@return table<string, string>
function Log:environment(preloaded)
  local others = preloaded and preloaded ~= "" and ":" .. preloaded or ""
  return { LD_PRELOAD = self.library .. others, PMCLUA_HEAP = self.path }
end

function Log:close() temporary.remove(self.folder) end

return M
