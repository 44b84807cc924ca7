--- factor_use.lua: checks that each {name} in a workload is a factor, and each factor is used.
--
-- A name in braces that is no factor stays as it is: right for `awk '{print}'`, wrong for a typo. It is an error
-- where braces can mean nothing else, and where the name is close to a factor's.

local layout = require "pmclua.experiment.layout"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

local HOOKS = { "setup", "prepare", "conclude", "cleanup" }

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
    for _, name in ipairs(names_in(workload, workload.filled)) do refuse(name) end
    for _, name in ipairs(names_in(workload, workload.may_be_filled)) do
      if text.nearest(name, names) then refuse(name) end
    end
  end
end

-- ---- factors that no workload uses -----------------------------------------------------------------------

local function uses(workload, name)
  for _, fields in ipairs { workload.filled, workload.may_be_filled } do
    if lists.contains(names_in(workload, fields), name) then return true end
  end
  return workload.may_ask and workload:may_ask(name)
end

--- A remark on each factor that makes no difference to any workload.
---@param declaration pmclua.Declaration
---@return string[]
function M.remarks(declaration)
  return lists.map(lists.column(declaration.factors, "name"), function(name)
    local is_used = layout.FACTORS[name]
      or lists.any(all_of(declaration), function(workload) return uses(workload, name) end)
      or lists.any(HOOKS, function(hook)
        local fn = declaration[hook]
        return type(fn) == "function" and require("pmclua.workload.func").takes_levels(fn)
      end)
    return not is_used and UNUSED:format(name, name, name) or nil
  end)
end

return M
