--- rewrite.lua: the text of a module with checks in it, in the lines that were there.

local tokens = require "tests.mutants.tokens"

local M = {}

local OPENS = { ["function"] = true, ["do"] = true, ["if"] = true, ["repeat"] = true }
local CLOSES = { ["end"] = 1, ["until"] = 1, ["else"] = 0, ["elseif"] = 0 }          -- how many blocks

-- Where the return statement of the i-th token ends: with its block.
local function end_of_return(all, i)
  local depth = 0
  for k = i + 1, #all do
    local closes = CLOSES[all[k].text]
    if closes and depth == 0 then return all[k].at end
    depth = depth + (OPENS[all[k].text] and 1 or 0) - (closes or 0)
  end
end

---@class tests.Function
---@field at integer the first byte of the word "function"
---@field body integer the first byte of its body
---@field stop integer the first byte of its "end"
---@field returns { from: integer, to: integer }[] bytes from behind the word "return" to what ends the statement

-- All functions of a text, in order.
local function functions_of(text)
  local all, starts = tokens.of(text, "lua")
  local list = {}
  for k, body in ipairs(starts) do list[k] = { body = body, returns = {} } end
  for i, t in ipairs(all) do
    local f = list[t.scope]
    if f then
      f.at, f.stop = f.at or t.at, t.at
      if t.text == "return" then
        table.insert(f.returns, { from = t.at + #"return", to = end_of_return(all, i) })
      end
    end
  end
  return list
end

local function misses(f, text, params)
  local at, names = 1, text:sub(f.at, f.body - 1):match "%(.*%)"
  for _, param in ipairs(params) do
    local _, stop = names:find("%f[%w_.]" .. param.name:gsub("%.", "%%.") .. "%f[^%w_.]", at)
    if not stop then return param.name end
    at = stop + 1
  end
end

--- Finds the function that each annotation is of: `found` in it.
---@param module { path: string, text: string, functions: tests.Annotated[] } changed
---@return string[] mistakes annotations of parameters that there are not, or not in this order
function M.find(module)
  local mistakes, k, all = {}, 1, functions_of(module.text)
  for _, annotated in ipairs(module.functions) do
    while all[k].at < annotated.at do k = k + 1 end
    annotated.found = all[k]
    local missed = misses(all[k], module.text, annotated.param)
    if missed then
      mistakes[#mistakes + 1] = ("%s:%d: %s has no parameter '%s' there"):format(module.path, annotated.line,
        annotated.name, missed)
    end
  end
  return mistakes
end

-- What is inserted, by place.
local function insertions(text, functions)
  local list = {}
  local function insert(at, what) list[#list + 1] = { at = at, what = what, order = #list } end
  for n, annotated in ipairs(functions) do
    local f, names = annotated.found, {}
    for i, param in ipairs(annotated.param) do names[i] = param.name end
    if #names > 0 then insert(f.body, (" __into(%d, %s);"):format(n, table.concat(names, ", "))) end
    if #names > 0 or #annotated["return"] > 0 then
      for _, r in ipairs(f.returns) do
        local is_empty = not text:sub(r.from, r.to - 1):find "%S"
        insert(r.from, (" __out(%d%s"):format(n, is_empty and "" or ","))
        insert(r.to, ") ")
      end
      local last = f.returns[#f.returns]
      if not last or last.to ~= f.stop then insert(f.stop, (" do return __out(%d) end "):format(n)) end
    end
  end
  table.sort(list, function(a, b) return a.at < b.at or a.at == b.at and a.order < b.order end)
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
    pieces[#pieces + 1] = text:sub(from, insertion.at - 1) .. insertion.what
    from = insertion.at
  end
  return table.concat(pieces) .. text:sub(from)
end

return M
