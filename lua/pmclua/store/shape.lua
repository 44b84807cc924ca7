--- shape.lua: what the form of a record line says (pmclua.h, "record lines", has what a form is).
--
-- Invariant: a shape exists only for a form that has exactly the fields of schema 1 in their order, each
-- of its kind. Millions of lines have few forms, so each form is parsed once and its lines are then
-- read by position.

local dkjson = require "dkjson"

local M = {}

--- Fields that are a number or null in every repetition, in their order in the line.
M.SCALARS = {
  "exit", "signal", "index", "order", "start_ns", "wall_ns", "iterations", "user_ns", "system_ns",
  "max_rss_bytes", "minor_faults", "major_faults", "voluntary_switches", "involuntary_switches",
}
--- Fields that are there only where they say something.
M.OPTIONAL = { "why", "region", "thread", "cpu", "interval", "task", "read", "process", "incomplete",
  "launcher", "source", "host" }
-- IS_NUMBER: always a number; MAY_BE_NUMBER: else the name of a core or socket.
local IS_NUMBER = { interval = true, task = true, process = true, source = true }
local MAY_BE_NUMBER = { thread = true, cpu = true }
M.OUTCOMES = {
  done = true, signalled = true, ["timed-out"] = true, ["not-started"] = true, ["not-counted"] = true,
  quit = true, raised = true, rejected = true,
}

-- LPeg: a form as a tree. Leaves are text as written: '"rows"', "%", "[%]", "true", "-1".
local function make_grammar()
  local lpeg = require "lpeg"
  local P, S, V, C, Cc, Cg, Ct = lpeg.P, lpeg.S, lpeg.V, lpeg.C, lpeg.Cc, lpeg.Cg, lpeg.Ct
  local text = C('"' * (P "\\" * 1 + (1 - S '"\\')) ^ 0 * '"')
  local member = Ct(Cg(text, "key") * ":" * Cg(V "value", "value"))
  return P {
    V "value" * -1,
    value = text + C "[%]" + V "object" + V "list" + C((1 - S '"{}[],:') ^ 1),
    object = "{" * Ct(Cg(Cc "object", "kind") * (member * ("," * member) ^ 0) ^ -1) * "}",
    list = "[" * Ct(Cg(Cc "list", "kind") * V "value" * ("," * V "value") ^ 0) * "]",
  }
end

local grammar

local function parse(form)
  grammar = grammar or make_grammar()
  local ok, tree = pcall(grammar.match, grammar, form)
  return ok and tree or error("nested too deep", 0)
end

local function literal(node, name)
  local value
  if type(node) == "string" and node ~= "%" and node ~= "[%]" then value = dkjson.decode(node) end
  if value == nil then error(("'%s' is not what it should be"):format(name), 0) end
  return value
end

local function text(node, name)
  local value = literal(node, name)
  if type(value) ~= "string" then error(("'%s' is not a text"):format(name), 0) end
  return value
end

-- Takes the members of an object one by one, in the order that the schema has.
local Fields = {}
Fields.__index = Fields

function Fields:peek()
  local member = self.members[self.at]
  return member and literal(member.key, "key")
end

function Fields:take(name)
  if self:peek() ~= name then
    error(("'%s' is expected where '%s' is"):format(name, tostring(self:peek() or "the end")), 0)
  end
  self.at = self.at + 1
  return self.members[self.at - 1].value
end

function Fields:maybe(name)
  return self:peek() == name and self:take(name) or nil
end

function Fields:finish()
  if self:peek() then error(("'%s' is no field of schema 1 here"):format(self:peek()), 0) end
end

local function fields_of(node, name)
  if type(node) ~= "table" or node.kind ~= "object" then error(("'%s' is not an object"):format(name), 0) end
  return setmetatable({ members = node, at = 1 }, Fields)
end

local function read_levels(shape, node)
  local fields, seen = fields_of(node, "levels"), {}
  while fields:peek() do
    local name = fields:peek()
    local value = fields:take(name)
    if seen[name] then error(("'%s' is there twice"):format(name), 0) end
    seen[name] = true
    if value == "%" then
      shape.head[#shape.head + 1] = name
    else
      shape.levels[name] = literal(value, name)
    end
    shape.level_count = shape.level_count + 1
  end
end

local function read_optional(shape, fields)
  for _, name in ipairs(M.OPTIONAL) do
    local node = fields:maybe(name)
    if node == "%" and (IS_NUMBER[name] or MAY_BE_NUMBER[name]) then
      shape.head[#shape.head + 1] = name
    elseif node and IS_NUMBER[name] then
      error(("'%s' is not a number"):format(name), 0)
    elseif node then
      shape.fixed[name] = text(node, name)
    end
    -- All records of a run have the same host.
    shape.has_optional = shape.has_optional or node ~= nil and name ~= "host"
  end
end

local function read_head(shape, fields)
  shape.workload = text(fields:take "workload", "workload")
  read_levels(shape, fields:take "levels")
  shape.cell_at = #shape.head + 1
  for _, name in ipairs { "cell", "pass" } do
    if fields:take(name) ~= "%" then error(("'%s' is not a number"):format(name), 0) end
    shape.head[#shape.head + 1] = name
  end
  shape.warmup = literal(fields:take "warmup", "warmup")
  shape.outcome = text(fields:take "outcome", "outcome")
  if type(shape.warmup) ~= "boolean" then error("'warmup' is neither true nor false", 0) end
  if not M.OUTCOMES[shape.outcome] then error(("there is no outcome '%s'"):format(shape.outcome), 0) end
  read_optional(shape, fields)
end

local function take_values(fields, name)
  if fields:take(name) ~= "[%]" then error(("'%s' is not a list of unsigned integers"):format(name), 0) end
end

local function read_threads(shape, node)
  if type(node) ~= "table" or node.kind ~= "list" then error("'threads' is not a list", 0) end
  for i, thread in ipairs(node) do
    local fields = fields_of(thread, "threads")
    for _, name in ipairs { "counts", "times", "enabled", "running" } do take_values(fields, name) end
    fields:finish()
    shape.threads = i
  end
end

local function compile_single(shape, fields)
  for _, name in ipairs(M.SCALARS) do
    if fields:take(name) ~= "%" then error(("'%s' is not an unsigned integer"):format(name), 0) end
  end
  for _, name in ipairs { "counts", "times", "enabled", "running" } do take_values(fields, name) end
  local threads = fields:maybe "threads"
  if threads then read_threads(shape, threads) end
end

-- How many columns: "[[%],[%]]" is two, "[%]" none (an empty list).
local function column_count(fields, name)
  local node = fields:take(name)
  if node == "[%]" then return 0 end
  if type(node) ~= "table" or node.kind ~= "list" then error(("'%s' is not a list"):format(name), 0) end
  for _, column in ipairs(node) do
    if column ~= "[%]" then error(("'%s' is not made of columns of unsigned integers"):format(name), 0) end
  end
  return #node
end

local function compile_packed(shape, fields)
  shape.column = {}
  for _, name in ipairs(M.SCALARS) do
    local node = fields:take(name)
    if node ~= "%" and node ~= "[%]" then error(("'%s' is not of unsigned integers"):format(name), 0) end
    shape.column[name] = node == "[%]"
  end
  if not shape.column.index then error("'index' is not a column", 0) end
  shape.counts = column_count(fields, "counts")
  take_values(fields, "times")
  shape.enabled, shape.running = column_count(fields, "enabled"), column_count(fields, "running")
  if shape.enabled ~= shape.running then error("'enabled' and 'running' differ in length", 0) end
end

local KINDS = { repetition = compile_single, repetitions = compile_packed }

--- The kind of line of `form`: "repetition", "experiment", …; nil where it says none first.
---@param form string
---@return string?
function M.kind(form)
  return form:match '^{"kind":"([%w_]+)"[,}]'
end

---@class pmclua.store.Shape
---@field kind "repetition"|"repetitions"
---@field workload string
---@field levels table<string, string|number|boolean> those that are written out in the form
---@field level_count integer all levels
---@field head string[] what the first values are: levels, cell, pass, optional fields
---@field cell_at integer which of them is the cell
---@field checked table<integer, boolean> cells that were found to be the plan's
---@field warmup boolean
---@field outcome string
---@field fixed table<string, string> optional fields that are texts
---@field has_optional boolean
---@field threads integer

--- The shape of a repetition line's form. Raises a text that says what is not of schema 1.
---@param form string
---@return pmclua.store.Shape
function M.compile(form)
  local fields = fields_of(parse(form), "the line")
  local kind = text(fields:take "kind", "kind")
  local compile = KINDS[kind] or error(("there is no kind '%s'"):format(kind), 0)
  local shape = { kind = kind, levels = {}, level_count = 0, head = {}, fixed = {},
    checked = {}, has_optional = false, threads = 0 }
  read_head(shape, fields)
  compile(shape, fields)
  fields:finish()
  return shape
end

return M
