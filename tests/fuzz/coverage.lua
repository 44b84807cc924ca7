--- coverage.lua: which lines of modules a function reaches.

local util = require "jit.util"
local support = require "tests.support"

local M = {}

--- The lines of a function's code, and of those within it.
local function add_lines(fn, lines)
  for pc = 1, util.funcinfo(fn).bytecodes - 1 do lines[util.funcinfo(fn, pc).currentline] = true end
  local index = -1
  while util.funck(fn, index) ~= nil do
    local inner = util.funck(fn, index)
    if type(inner) == "proto" then add_lines(inner, lines) end
    index = index - 1
  end
end

local function lines_of(module)
  local path = support.root .. "/lua/pmclua/" .. module:gsub("%.", "/")
  local lines = {}
  add_lines(assert(loadfile(path .. ".lua") or loadfile(path .. "/init.lua")), lines)
  return lines
end

--- The share of the modules' lines that `fn` reaches, nothing compiled meanwhile.
---@param modules string[] below pmclua
---@param fn fun()
---@return number
function M.share(modules, fn)
  local reached, all, count = {}, 0, 0
  for _, module in ipairs(modules) do reached["pmclua." .. module] = {} end
  support.interpreted(function()
    debug.sethook(function(_, line)
      local of_module = reached[debug.getinfo(2, "S").source:match "^[@=]?(.*)$"]
      if of_module then of_module[line] = true end
    end, "l")
    fn()
  end)
  debug.sethook()
  for _, module in ipairs(modules) do
    for line in pairs(lines_of(module)) do
      all = all + 1
      count = count + (reached["pmclua." .. module][line] and 1 or 0)
    end
  end
  return count / all
end

return M
