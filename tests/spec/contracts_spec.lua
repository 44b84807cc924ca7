-- tests/contracts finds annotations that are false, and none that is true; those of this tree can all be read.

local support = require "tests.support"

local INSTRUMENT = support.root .. "/tests/contracts/instrument.lua"

local MODULE = [[
local M = {}

---@class pmclua.Cake
---@field name string
---@field eggs? integer
local Cake = {}
Cake.__index = function(_, key) return key == "weight" and error "asked" or rawget(Cake, key) end

--- Bakes.
---@param name string
---@param eggs? integer
---@param how "hot"|"cold"
---@return pmclua.Cake? cake
---@return string? why
function M.bake(name, eggs, how)
  if eggs == 0 then return nil, "no eggs" end
  return setmetatable({ name = name, eggs = eggs, how = how }, Cake)
end

---@param cakes pmclua.Cake[]
---@param ... integer
---@return integer
function M.count(cakes, ...)
  if select("#", ...) > 0 then return ... end
  return #cakes
end

---@return string
function M.nothing()
  if M.never then return "never" end
end

return M
]]

local function tree_of(text)
  local tree = support.folder()
  support.write(tree .. "/lua/pmclua/kitchen.lua", text)
  return tree
end

local function instrument(...) return support.pmclua { INSTRUMENT, ... } end

-- What is said of a chunk that uses the module M: another module, or the file of that name.
local function report_of(chunk, name)
  local tree = tree_of(MODULE)
  local path = tree .. "/report"
  local ran = instrument(tree, path)
  assert.equal(0, ran.status, ran.out .. ran.err)
  support.write(path, "")
  local user = ("%s/%s"):format(tree, name or "lua/pmclua/use.lua")
  support.write(user, ("package.path = %q\nlocal M = require 'pmclua.kitchen'\n%s\n"):format(
    ("%s/lua/?.lua;%s/lua/?/init.lua"):format(tree, tree), chunk))
  local used = support.run { "luajit", user }
  assert.equal(0, used.status, used.err)
  return support.read(path)
end

describe("contracts", function()
  it("say nothing of what is as its annotation says", function()
    assert.equal("", report_of [[
      local cake = M.bake("sponge", nil, "hot")
      assert(cake.name == "sponge" and M.bake("none", 0, "cold") == nil)
      assert(select("#", M.bake("none", 0, "hot")) == 2)
      assert(M.count { cake, cake } == 2 and M.count({}, 7) == 7)
    ]])
  end)

  local cases = {
    ["a parameter of another type"] = { 'M.bake(5, 1, "hot")',
      "kitchen.lua:15: M.bake: parameter 'name': 5 is no string" },
    ["a parameter that is missing"] = { 'M.bake(nil, 1, "hot")',
      "kitchen.lua:15: M.bake: parameter 'name': nil is no string" },
    ["none of the words"] = { 'M.bake("a", 1, "warm")', [['how': "warm" is none of the alternatives]] },
    ["a field of a class, once for all who have it"] = {
      'M.count { { eggs = 1 } } M.count { { eggs = 2 } }',
      "^lua/pmclua/kitchen.lua:3: pmclua.Cake: field 'name': nil is no string\t[^\n]+\n$" },
    ["an item that is no such class"] = { "M.count { 3 }", "parameter 'cakes': item 1: 3 is no pmclua.Cake" },
    ["one of any number of arguments"] = { "M.count({}, 1, 'two')",
      [[parameter '...': "two" is no integer]] },
    ["what is returned"] = { "M.count({}, 1.5)", "M.count: return 1: 1.5 is no integer" },
    ["the end of a function that should return"] = { "M.nothing()", "M.nothing: return 1: nil is no string" },
  }
  for what, case in pairs(cases) do
    it("find " .. what, function()
      local said = report_of(case[1])
      assert.is_truthy(said:find(case[2], 1, case[2]:sub(1, 1) ~= "^"), said)
    end)
  end

  it("say nothing of what a spec or a user's script passes to be refused", function()
    assert.equal("", report_of("M.bake('a', 0, 'warm') pcall(M.count, 3)", "cake_spec.lua"))
    assert.equal("", report_of("M.bake('a', 1, 'warm')", "user.lua"))
    assert.matches([['how': "warm" is none]], report_of("M.bake('a', 1, 'warm')", "cake_spec.lua"), 1, true)
    assert.matches("M.nothing: return 1: nil is no string", report_of("M.nothing()", "user.lua"), 1, true)
  end)

  it("refuse annotations that cannot be read, and names that nothing has", function()
    local function refused(text)
      local ran = instrument(tree_of("local M = {}\n" .. text .. "\nreturn M\n"))
      assert.equal(1, ran.status)
      return ran.out
    end
    assert.matches("kitchen.lua:3: no class is called 'pmclua.Pie'", refused
      "---@param x pmclua.Pie\nfunction M.f(x) return x end", 1, true)
    assert.matches("kitchen.lua:3: M.f has no parameter 'y' there", refused
      "---@param y integer\nfunction M.f(x) return x end", 1, true)
    assert.matches("kitchen.lua:3: no function follows", refused "---@param x integer\nM.f = f", 1, true)
    assert.matches("no type can be read in '@param x -'", refused
      "---@param x -\nfunction M.f(x) return x end", 1, true)
  end)

  it("can read the annotations of this tree", function()
    local ran = instrument()
    assert.equal("", ran.out)
    assert.equal(0, ran.status)
  end)
end)
