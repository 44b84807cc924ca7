#!/usr/bin/env pmclua
-- Are the annotations of lua/ true? Rewrites a copy of the tree: each annotated function checks what it is given and
-- what it returns, and writes what is false to a file. No line moves, and no frame is added.
--
-- usage: pmclua tests/contracts/instrument.lua TREE REPORT      TREE: a copy, as tests/check makes one
--        pmclua tests/contracts/instrument.lua [TREE]           are annotations well formed? Nothing is rewritten
-- exit: 0, or 1 where an annotation has no type that can be read, a class that is not declared, or a parameter that
--   its function does not have

local program = dofile((arg[0]:match "^(.*)/" or ".") .. "/../support/program.lua")

local annotations = require "tests.contracts.annotations"
local rewrite = require "tests.contracts.rewrite"
local support = require "tests.support"
local types = require "tests.contracts.types"
local values = require "tests.contracts.values"

local function paths_of(tree)
  local list = {}
  local find = "cd %s && find lua/pmclua -name '*.lua' ! -path '*/contracts/*' | LC_ALL=C sort"
  local paths = support.output_of(find:format(support.quote(tree)))
  for path in paths:gmatch "[^\n]+" do list[#list + 1] = path end
  return list
end

local function module_name(path)
  return (path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", "."))
end

-- What `sources` say, and what is wrong with it.
local function read_all(tree)
  local modules, classes, mistakes = {}, {}, {}
  for _, path in ipairs(paths_of(tree)) do
    local text = support.read(tree .. "/" .. path)
    local functions, own, wrong = annotations.read(path, text)
    modules[#modules + 1] = { path = path, text = text, functions = functions }
    for name, class in pairs(own) do classes[name] = class end
    for _, line in ipairs(wrong) do mistakes[#mistakes + 1] = line end
  end
  return modules, classes, mistakes
end

local function unknown_names(where, t, generic, classes, mistakes)
  types.each_name(t, function(name)
    if not values.SIMPLE[name] and not classes[name] and not generic[name] then
      mistakes[#mistakes + 1] = ("%s: no class is called '%s'"):format(where, name)
    end
  end)
end

local function check_names(modules, classes, mistakes)
  for _, module in ipairs(modules) do
    for _, f in ipairs(module.functions) do
      local where = ("%s:%d"):format(module.path, f.line)
      for _, places in ipairs { f.params, f.returns } do
        for _, place in ipairs(places) do unknown_names(where, place.type, f.generic, classes, mistakes) end
      end
    end
  end
  for _, class in pairs(classes) do
    if class.alias then unknown_names(class.where, class.alias, {}, classes, mistakes) end
    if class.parent and not classes[class.parent] then
      mistakes[#mistakes + 1] = ("%s: no class is called '%s'"):format(class.where, class.parent)
    end
    for _, field in ipairs(class.fields or {}) do
      unknown_names(class.where, field.type, {}, classes, mistakes)
    end
  end
end

local function write_tree(tree, report, modules, classes)
  local folder = tree .. "/lua/pmclua/contracts"
  assert(os.execute("mkdir -p " .. support.quote(folder)) == 0)
  local own = support.root .. "/tests/contracts/"
  support.write(folder .. "/values.lua", support.read(own .. "values.lua"))
  support.write(folder .. "/init.lua", support.read(own .. "checked.lua"))
  for _, module in ipairs(modules) do
    local text = rewrite.text(module_name(module.path), module.text, module.functions)
    support.write(tree .. "/" .. module.path, text)
  end
  support.write(folder .. "/signatures.lua", rewrite.signatures(report, modules, classes, module_name))
end

return program.run(function()
  local tree = arg[1] or support.root
  local modules, classes, mistakes = read_all(tree)
  if #mistakes == 0 then
    for _, module in ipairs(modules) do
      rewrite.find(module, function(line) mistakes[#mistakes + 1] = line end)
    end
    check_names(modules, classes, mistakes)
  end
  table.sort(mistakes)
  for _, line in ipairs(mistakes) do print(line) end
  if #mistakes == 0 and arg[2] then write_tree(tree, arg[2], modules, classes) end
  return #mistakes == 0 and 0 or 1
end)
