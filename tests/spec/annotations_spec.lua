-- Annotations of what scripts can call agree with the table of signatures: tests/contracts/public.lua finds where they
-- do not.

local annotations = require "tests.contracts.annotations"
local entries = require "pmclua.public.entries"
local public = require "tests.contracts.public"
local support = require "tests.support"

-- What differs between a function's signature and these lines of annotation, with the classes that they name.
local function differences(name, lines)
  local functions, classes = annotations.read("kitchen.lua", lines .. "\nfunction M.f() end\n")
  local context = { classes = classes, class_names = { group = "pmclua.Group" }, compared = {} }
  local list = public.differences(entries.find(name), functions[1], context)
  table.sort(list)
  return list
end

local QUANTILE = "---@param values number[]\n---@param p number\n---@return number? quantile, string? reason"

describe("an annotation and its signature", function()
  it("agree where one says more than the other", function()
    assert.same({}, differences("pmc.stats.quantile", QUANTILE))
    assert.same({}, differences("pmc.monitor", "---@param options table\n---@return table"))
    -- Modules may pass what scripts may not.
    assert.same({}, differences("pmc.say", "---@param text string|number\n---@return nil"))
    assert.same({}, differences("pmc.stats.sorted",
      "---@param values any[] what is no number is refused\n---@return number[]?\n---@return string?"))
    assert.same({}, differences("group:start", "---@class pmclua.Own: pmclua.Group\n\n---@return pmclua.Own"))
  end)

  local cases = {
    ["in the name of a parameter"] = { "pmc.stats.quantile", QUANTILE:gsub("param p", "param share"),
      "parameter p is called 'share' in the annotation" },
    ["in a parameter that is missing"] = { "pmc.stats.quantile", QUANTILE:gsub("%-%-%-@param p %a+\n", ""),
      "parameter 2: not in the annotation" },
    ["in a further one"] = { "pmc.say", "---@param text string\n---@param how string",
      "parameter 2: not in the signature" },
    ["in whether one may be left out"] = { "pmc.stats.median_interval",
      "---@param values number[]\n---@param level number\n---@return table?\n---@return string?",
      "parameter level: optional in the signature alone" },
    ["in a type"] = { "pmc.stats.quantile", QUANTILE:gsub("param p number", "param p string"),
      "parameter p: number in the signature, string in the annotation" },
    ["in the type of items"] = { "pmc.stats.quantile", QUANTILE:gsub("number%[", "string["),
      "parameter values: an item: number in the signature, string in the annotation" },
    ["in a class"] = { "group:start", "---@class pmclua.Cake\n\n---@return pmclua.Cake",
      "return 1: pmclua.Group in the signature, pmclua.Cake in the annotation" },
    ["in words"] = { "group:method", '---@return "syscall"|"user"',
      "return 1: syscall|toggle|user in the signature, syscall|user in the annotation" },
    ["in a result that is missing"] = { "pmc.stats.quantile", QUANTILE:gsub(", string.*", ""),
      "return 2: not in the annotation" },
    ["in a result that may be nil"] = { "pmc.stats.quantile", QUANTILE:gsub("number%?", "number"),
      "return 1: optional in the signature alone" },
    ["in a key that only the annotation lists"] = { "pmc.stored.prune",
      "---@param options { keep?: integer, older_than?: number|string, x?: any }\n---@return table[]",
      "parameter options: x: not in the signature" },
    ["in a key that only the signature lists"] = { "pmc.stored.prune",
      "---@param options { keep?: integer }\n---@return table[]",
      "parameter options: older_than: not in the annotation" },
    ["in a field of a class of options"] = { "pmc.stored.prune",
      "---@class pmclua.Pruned\n---@field keep integer\n---@field older_than? number|string\n\n"
        .. "---@param options pmclua.Pruned\n---@return table[]",
      "prune_options as pmclua.Pruned: keep: optional in the signature alone" },
  }
  for what, case in pairs(cases) do
    it("differ " .. what, function()
      local name, lines, expected = unpack(case)
      assert.same({ ("%s: %s"):format(name, expected) }, differences(name, lines))
    end)
  end
end)

describe("annotations of public functions and classes", function()
  it("agree with the table of signatures", function()
    local list, compared = public.of_tree(support.root, require "pmclua")
    assert.same({}, list)
    assert.is_true(compared.functions > 150 and compared.classes > 20)
  end)
end)
