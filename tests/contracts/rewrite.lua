--- rewrite.lua: the text of a module with checks in it, in the lines that were there.

local pretty = require "pl.pretty"

local tokens = require "tests.mutants.tokens"

local M = {}

local OPENS = { ["function"] = true, ["do"] = true, ["if"] = true, ["repeat"] = true }
local CLOSES = { ["end"] = true, ["until"] = true, ["else"] = true, ["elseif"] = true }

---@class tests.Function
---@field at integer the first byte of the word "function"
---@field body integer the first byte of its body
---@field stop integer the first byte of its "end"
---@field ends_in_return boolean
---@field arguments string[] names
---@field returns { from: integer, to: integer }[] bytes between the word "return" and what ends the statement

-- All functions of a text, in order, with their return statements.
local function functions_of(text)
  local list, open = {}, {}
  local all, starts = tokens.of(text, "lua")
  local scope = {}                                            -- the innermost function, by depth
  for _, t in ipairs(all) do
    local top = open[#open]
    if t.kind == "word" and CLOSES[t.text] then
      if top and top.from then
        if top.owner then table.insert(top.owner.returns, { from = top.from, to = t.at }) end
        top.ended, top.from = true, nil
      end
      if t.text == "end" or t.text == "until" then
        table.remove(open)
        if top.opens then
          top.opens.stop, top.opens.ends_in_return = t.at, top.ended or false
          table.remove(scope)
        end
      elseif top then top.ended = nil end
    elseif t.kind == "word" and OPENS[t.text] then
      local block = {}
      if t.text == "function" then
        block.opens = { at = t.at, body = starts[#list + 1], returns = {} }
        list[#list + 1] = block.opens
        scope[#scope + 1] = block.opens
      end
      block.owner = scope[#scope]
      open[#open + 1] = block
    elseif t.kind == "word" and t.text == "return" and top then
      top.from = t.at + #"return"
    end
  end
  for _, f in ipairs(list) do
    f.arguments = {}
    local inside = text:sub(f.at, f.body - 1):match "%((.*)%)"
    for name in inside:gmatch "[%w_.]+" do table.insert(f.arguments, name) end
  end
  return list
end

local function line_starts(text)
  local list = { 1 }
  for at in text:gmatch "\n()" do list[#list + 1] = at end
  return list
end

local function index_of(list, name)
  for i, other in ipairs(list) do
    if other == name then return i end
  end
end

--- Finds the function that each annotation is of: `found` in it.
---@param module { path: string, text: string, functions: tests.Annotated[] } changed
---@param wrong fun(line: string) gets each annotation of a parameter that there is not
function M.find(module, wrong)
  local all, starts = functions_of(module.text), line_starts(module.text)
  for _, annotated in ipairs(module.functions) do
    local from, to = starts[annotated.line], starts[annotated.line + 1] or #module.text
    for _, f in ipairs(all) do
      if f.at >= from and f.at < to then
        annotated.found = f
        break
      end
    end
    local before = 0
    for _, param in ipairs(annotated.params) do
      local i = index_of(annotated.found.arguments, param.name)
      if not i or i <= before then
        wrong(("%s:%d: %s has no parameter '%s' there"):format(module.path, annotated.line, annotated.name,
          param.name))
      end
      before = i or before
    end
  end
end

local function names_of(params)
  local names = {}
  for i, param in ipairs(params) do names[i] = param.name end
  return table.concat(names, ", ")
end

-- What is inserted, by place.
local function insertions(text, functions)
  local list = {}
  local function insert(at, what) list[#list + 1] = { at = at, what = what, order = #list } end
  for n, annotated in ipairs(functions) do
    local f = annotated.found
    local gives, takes = #annotated.returns > 0, #annotated.params > 0
    if takes then insert(f.body, (" __into(%d, %s);"):format(n, names_of(annotated.params))) end
    for _, r in ipairs(gives and f.returns or {}) do
      local is_empty = not text:sub(r.from, r.to - 1):find "%S"
      insert(r.from, (" __out(%d%s"):format(n, is_empty and "" or ","))
      insert(r.to, ") ")
    end
    if gives and not f.ends_in_return then insert(f.stop, (" do return __out(%d) end "):format(n)) end
  end
  table.sort(list, function(a, b)
    if a.at ~= b.at then return a.at < b.at end
    return a.order < b.order
  end)
  return list
end

--- The text with its checks.
---@param name string of the module
---@param text string
---@param functions tests.Annotated[] found
---@return string
function M.text(name, text, functions)
  if #functions == 0 then return text end
  local pieces, from = { ("local __into, __out = require'pmclua.contracts'.of %q "):format(name) }, 1
  for _, insertion in ipairs(insertions(text, functions)) do
    pieces[#pieces + 1] = text:sub(from, insertion.at - 1)
    pieces[#pieces + 1] = insertion.what
    from = insertion.at
  end
  pieces[#pieces + 1] = text:sub(from)
  return table.concat(pieces)
end

--- The text of the module that checked.lua reads.
---@param report string path
---@param modules { path: string, functions: tests.Annotated[] }[]
---@param classes table<string, table>
---@param name_of fun(path: string): string
---@return string
function M.signatures(report, modules, classes, name_of)
  local all = { report = report, classes = classes, modules = {} }
  for _, module in ipairs(modules) do
    local list = {}
    for i, f in ipairs(module.functions) do
      list[i] = { name = f.name, where = ("%s:%d"):format(module.path, f.line), params = f.params,
        returns = f.returns }
    end
    all.modules[name_of(module.path)] = list
  end
  return "return " .. pretty.write(all, "")
end

return M
