--- func.lua: a Lua function as a workload. It runs in this process, and reports say so: its counts include the
--- interpreter, the JIT and allocation; the garbage collector is stopped.

local core = require "pmclua.core"
local kinds = require "pmclua.workload.kinds"
local raised = require "pmclua.base.raised"
local lists = require "pmclua.base.lists"

---@class pmclua.Function
local Function = kinds.class "function"
Function.__tostring = function(self) return "Lua function: " .. self.name end

local func = { Function = Function }

--- A Lua function; it is called with the factor levels as a table.
---@param fn fun(levels: table)
---@param name? string
---@return pmclua.Function
function func.new(fn, name)
  local info = debug.getinfo(fn, "S")
  local line = info.short_src:match "[^/]*$" .. ":" .. info.linedefined
  return setmetatable({ fn = fn, name = name or "function " .. line }, Function)
end

function Function.problem() end

--- Its identity when resuming: where it is defined; upvalues are not compared.
function Function:identity()
  local info = debug.getinfo(self.fn, "S")
  return { info.source, info.linedefined }
end

--- Whether a function has a parameter for the factor levels.
---@param fn function
---@return boolean
function func.takes_levels(fn)
  local about = debug.getinfo(fn, "u")
  return about.nparams > 0 or about.isvararg
end

function Function:may_ask() return func.takes_levels(self.fn) end

--- What a result stores of it: where it is defined.
---@return table
function Function:facts()
  local about = debug.getinfo(self.fn, "S")
  local is_file = about.source:sub(1, 1) == "@"
  return { defined = is_file and ("%s:%d"):format(about.source:sub(2), about.linedefined) or nil }
end

-- The attrs of a group, without inheritance where it is to be read in user space. Otherwise threads that the
-- function starts are counted unless the script says not.
local function attrs_of(group)
  if group.read ~= "user" then return group.attrs end
  return lists.map(group.attrs, function(attr) return lists.without(attr, "inherit") end)
end

--- Opens the groups of an event set on this thread. Raises the failure table.
function Function.open_groups(_, groups)
  local open = {}
  for i, group in ipairs(groups) do
    local handle, failure = core.group(attrs_of(group), { pinned = group.pinned, read = group.read })
    if not handle then
      Function.close_groups(nil, open)
      return nil, failure
    end
    open[i] = { handle = handle, before = handle:buffer(), after = handle:buffer(), out = handle:buffer() }
    open[i].toggled = group.read == "toggle"
    if not open[i].toggled then handle:start() end
  end
  return open
end

--- True if every group was read, and started if it is toggled.
local function read_before(open)
  local ok = true
  for i = 1, #open do
    ok = open[i].handle:read_into(open[i].before) and (not open[i].toggled or open[i].handle:start()) and ok
  end
  return ok
end

local function read_after(open)
  local ok = true
  for i = #open, 1, -1 do
    ok = (not open[i].toggled or open[i].handle:stop()) and open[i].handle:read_into(open[i].after) and ok
  end
  return ok
end

-- How the groups were read, as the runner says it: "syscall" unless all were read alike.
local function method_of(open)
  local method = open[1] and open[1].handle:method()
  local differs = lists.any(open, function(group) return group.handle:method() ~= method end)
  return differs and "syscall" or method
end

--- The differences as u64; none (absent, not 0) where a read failed.
local function readings_of(open, is_whole)
  local readings = {}
  if not is_whole then return readings end
  for _, group in ipairs(open) do
    group.handle:subtract(group.before, group.after, group.out)
    for i = 1, 2 + group.handle.count do readings[#readings + 1] = core.word(group.out, i) end
  end
  return readings
end

-- The end of a repetition in which `fn` raised.
local function set_raised(result, caught)
  if raised.field(caught.value, "quiet") then error(caught.value, 0) end       -- it ends the script
  result.outcome = raised.field(caught.value, "code") == "EINTR" and "interrupted" or "raised"
  result.raised = caught
end

-- How much garbage there may be when a repetition begins: KB at least, and a share of what is kept, so that what
-- collecting costs a repetition does not grow with the number of cells.
local FREE_KB, FREE_SHARE = 1024, 0.5

local kept_kb = 0                       -- after the last collection

local function collect()
  local now_kb = collectgarbage "count"
  kept_kb = math.min(kept_kb, now_kb)
  if now_kb <= kept_kb + math.max(FREE_KB, kept_kb * FREE_SHARE) then return end
  collectgarbage()
  kept_kb = collectgarbage "count"
end

--- Runs one repetition. Returns a result as a runner does.
---@param open table from open_groups
---@param levels table
function Function:measure(open, levels)
  local fn = self.fn
  levels = lists.copy(levels)
  local collects = collectgarbage "isrunning"        -- not where it measures for another function
  collect()
  collectgarbage "stop"
  local start_ns = core.now_ns()
  local is_whole = read_before(open)
  local ok, caught = core.call_script(fn, levels)
  is_whole = read_after(open) and is_whole
  local end_ns = core.now_ns()
  if collects then collectgarbage "restart" end
  local result = { outcome = "done", exit = 0, signal = 0, start_ns = start_ns, wall_ns = end_ns - start_ns,
    iterations = 1, threads = 1, readings = readings_of(open, is_whole), method = method_of(open),
    output = "", errors = "" }
  if not ok then set_raised(result, caught) end
  return result
end

function Function.close_groups(_, open)
  for _, group in ipairs(open) do group.handle:close() end
end

function Function.complaint(_, result) return result.raised and result.raised.message end

return func
