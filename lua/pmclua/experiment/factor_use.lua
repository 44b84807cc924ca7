--- factor_use.lua: checks that each {name} in a workload is a factor, and each factor is used.
--
-- A name in braces that is no factor stays as it is: right for `awk '{print}'`, wrong for a typo. It is an error
-- where braces can mean nothing else, and where the name is close to a factor's.

local layout = require "pmclua.experiment.layout"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local HOOKS = { "setup", "prepare", "conclude", "cleanup" }

-- The fields of a workload into which levels are filled: those where braces mean nothing else, and the others.
local STRICT = { command = { "asked", "launch_asked", "cwd", "stdin" },
  kernel = { "source", "library", "symbol", "cc", "cpus", "threads" } }
local OTHERS = { command = { "argv", "env", "launch" }, kernel = { "cflags", "libs", "params" } }

local function strings_of(workload, fields)
  local list = {}
  for _, field in ipairs(fields or {}) do
    local value = workload[field]
    local items = type(value) == "table" and value or { value }
    for _, item in pairs(items) do list[#list + 1] = tostring(item) end
  end
  return list
end

local UNUSED = "no workload uses the factor %s: its levels can differ only by chance; write {%s} in a "
  .. 'command, and pmclua_u64(params, "%s", 0) in a kernel'

-- The names in braces of such fields.
local function names_in(workload, fields)
  local names = {}
  for name in table.concat(strings_of(workload, fields), "\n"):gmatch "{([%a_][%w_]*)}" do
    names[#names + 1] = name
  end
  return names
end

-- The workloads, and the hooks that are commands.
local function all_of(declaration)
  local list = { unpack(declaration.workloads) }
  for _, hook in ipairs(HOOKS) do
    if type(declaration[hook]) == "table" then list[#list + 1] = declaration[hook] end
  end
  return list
end

-- ---- names that are not factors --------------------------------------------------------------------------

local function no_factor(workload, name, names)
  if #names == 0 then
    local message = '%s: {%s} is not a factor, and none is declared: factors = { { "%s", { … } } }'
    return message:format(workload.name, name, name)
  end
  local near = text.meant(name, names)
  return ("%s: there is no factor '%s'%s"):format(workload.name, name,
    near and ", " .. near or "; there are " .. text.list(names))
end

--- Reports names in braces that should be factors but are not.
---@param declaration pmclua.Declaration
---@param wrong fun(form: string, ...)
function M.check(declaration, wrong)
  local names = lists.map(lists.column(declaration.factors, "name"), tostring)
  local known = lists.set(names)
  if declaration.build then known.seed = true end
  for _, workload in ipairs(all_of(declaration)) do
    local warned = {}
    local function refuse(name)
      if not (known[name] or warned[name]) then wrong("%s", no_factor(workload, name, names)) end
      warned[name] = true
    end
    for _, name in ipairs(names_in(workload, STRICT[workload.kind])) do refuse(name) end
    for _, name in ipairs(names_in(workload, OTHERS[workload.kind])) do
      if text.nearest(name, names) then refuse(name) end
    end
  end
end

-- ---- factors that no workload uses -----------------------------------------------------------------------

local function takes_levels(fn)
  local about = type(fn) == "function" and debug.getinfo(fn, "u")
  return about and (about.nparams > 0 or about.isvararg)
end

-- Whether a kernel may ask for the level by name: always true where its whole source is not at hand.
local function may_ask(workload, name)
  if workload.threads == name then return true end
  local ok, identity = pcall(workload.identity, workload)
  local source = ok and identity[1]
  if not source or source:find '#%s*include%s*"' then return true end
  return source:find('"' .. name .. '"', 1, true) ~= nil
end

local function uses(workload, name)
  for _, fields in ipairs { STRICT, OTHERS } do
    if lists.contains(names_in(workload, fields[workload.kind]), name) then return true end
  end
  if workload.kind == "function" then return takes_levels(workload.fn) end
  return workload.kind == "kernel" and may_ask(workload, name)
end

--- A remark on each factor that makes no difference to any workload.
---@param declaration pmclua.Declaration
---@return string[]
function M.remarks(declaration)
  return lists.map(lists.column(declaration.factors, "name"), function(name)
    local is_used = layout.FACTORS[name]
      or lists.any(all_of(declaration), function(workload) return uses(workload, name) end)
      or lists.any(HOOKS, function(hook) return takes_levels(declaration[hook]) end)
    return not is_used and UNUSED:format(name, name, name) or nil
  end)
end

return M
