#!/usr/bin/env pmclua
-- Are the annotations of lua/ true? Rewrites a copy of the tree: each annotated function checks what it is given and
-- what it returns, and writes what is false to a file. No line moves, and no frame is added.
--
-- usage: pmclua tests/contracts/instrument.lua TREE REPORT      TREE: a copy, as tests/check makes one
--        luajit tests/contracts/instrument.lua [TREE]           are annotations well formed? Nothing is rewritten
-- exit: 0, or 1 where an annotation has no type that can be read, a class that is not declared, or a parameter that
--   its function does not have

dofile((arg[0]:match "^(.*)/" or ".") .. "/../support/program.lua")

local annotations = require "tests.contracts.annotations"
local rewrite = require "tests.contracts.rewrite"
local support = require "tests.support"
local types = require "tests.contracts.types"
local values = require "tests.contracts.values"

local mistakes
local function append(list, more)
  for _, item in ipairs(more) do list[#list + 1] = item end
end

local function check_names(modules, classes)
  local function check(where, t, generic)
    types.each_name(t, function(name)
      local is_known = values.SIMPLE[name] or classes[name] or generic and generic[name]
      if not is_known then append(mistakes, { ("%s: no class is called '%s'"):format(where, name) }) end
    end)
  end
  for _, module in ipairs(modules) do
    for _, f in ipairs(module.functions) do
      local where = ("%s:%d"):format(module.path, f.line)
      for _, place in ipairs(f.param) do check(where, place.type, f.generic) end
      for _, place in ipairs(f["return"]) do check(where, place.type, f.generic) end
    end
  end
  for _, class in pairs(classes) do
    check(class.where, class.alias or { kind = "name", name = class.parent or "table" })
    for _, field in ipairs(class.fields or {}) do check(class.where, field.type) end
  end
end

local function write_tree(tree, report, modules, classes)
  local own, folder = support.root .. "/tests/contracts/", tree .. "/lua/pmclua/contracts/"
  support.write(folder .. "values.lua", support.read(own .. "values.lua"))
  support.write(folder .. "init.lua", support.read(own .. "checked.lua"))
  local signatures = { report = report, classes = classes, modules = {} }
  for _, module in ipairs(modules) do
    local list = {}
    signatures.modules[module.name] = list
    for i, f in ipairs(module.functions) do
      list[i] = { name = f.name, where = ("%s:%d"):format(module.path, f.line), param = f.param,
        ["return"] = f["return"] }
    end
    support.write(tree .. "/" .. module.path, rewrite.text(module.name, module.text, module.functions))
  end
  support.write(folder .. "signatures.lua", "return " .. require("pl.pretty").write(signatures, ""))
end

local tree = arg[1] or support.root
local modules, classes
modules, classes, mistakes = annotations.read_tree(tree)
if #mistakes == 0 then
  for _, module in ipairs(modules) do append(mistakes, rewrite.find(module)) end
  check_names(modules, classes)
end
table.sort(mistakes)
for _, line in ipairs(mistakes) do print(line) end
if #mistakes == 0 and arg[2] then write_tree(tree, arg[2], modules, classes) end
os.exit(#mistakes == 0 and 0 or 1)
