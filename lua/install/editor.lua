--- editor.lua: the public table as LuaLS reads it (a `@meta` file), so that editors complete and check scripts.

local entries = require "pmclua.public.entries"
local lists = require "pmclua.base.lists"

local M = {}

-- Simple types as LuaLS knows them; of the others `string`.
local KNOWN = { any = "any", ["nil"] = "nil", boolean = "boolean", ["function"] = "function", table = "table",
  number = "number", integer = "integer", u64 = "number|ffi.cdata*", level = "number",
  duration = "number|string", file = "file*", string = "string", ["true"] = "true", ["false"] = "false" }

-- "integer(1..8)|kernel_options" as "integer|pmclua.kernel_options"; words in quotes stay.
local function type_of(source)
  source = source:gsub("%([^()]*%.%.[^()]*%)", ""):gsub("[{}]", "")
  return (('"":' .. source):gsub('("?)([%a_][%w_ ]*)("?)', function(before, word, after)
    if before == '"' then return before .. word .. after end
    local entry = not require("pmclua.public.types").SIMPLE[word] and not KNOWN[word] and entries.find(word)
    return (entry and "pmclua." .. word or KNOWN[word] or "string") .. after
  end):sub(4))
end

local function add_text(lines, text)
  local wrapped = require("pmclua.base.text").wrap(text or "", 100)
  for _, line in ipairs(wrapped) do lines[#lines + 1] = "---" .. line end
end

local KEYS = { ["[]"] = "[integer]", ["[name]"] = "[string]", ["..."] = "[any]" }

local function add_fields(lines, entry)
  for _, name in ipairs(entry.order) do
    local field = entry.fields[name]
    lines[#lines + 1] = ("---@field %s%s %s%s"):format(KEYS[name] or name, field.optional and "?" or "",
      type_of(field.type), field.text and " " .. field.text or "")
  end
end

-- "counts, any...", "value: number?, why: string?"
local function add_returns(lines, returns)
  for part in (returns or ""):gmatch "[^, ][^,]*" do
    local name, kind = part:match "^([%w_]+): (.*)$"
    local base, dots = (kind or part):match "^(.-)(%.*)$"
    lines[#lines + 1] = ("---@return %s %s"):format(type_of(base), name or dots)
  end
end

-- "..." and all arguments behind it are one variadic parameter of their types.
local function add_arguments(lines, arguments)
  local names, rest = {}, {}
  for _, argument in ipairs(arguments) do
    if argument.name == "..." or #rest > 0 then rest[#rest + 1] = type_of(argument.type)
    else
      names[#names + 1] = argument.name
      lines[#lines + 1] = ("---@param %s%s %s"):format(argument.name, argument.optional and "?" or "",
        type_of(argument.type))
    end
  end
  if #rest > 0 then
    names[#names + 1] = "..."
    lines[#lines + 1] = "---@param ... " .. table.concat(rest, "|")
  end
  return table.concat(names, ", ")
end

local add = {}

add["function"] = function(lines, entry)
  if entry.raises then add_text(lines, "Raises " .. entry.raises .. ".") end
  local names = add_arguments(lines, entry.arguments)
  add_returns(lines, entry.returns)
  lines[#lines + 1] = ("function %s(%s) end"):format(entry.name, names)
end

function add.class(lines, entry)
  lines[#lines + 1] = "---@class pmclua." .. entry.name
  add_fields(lines, entry)
  lines[#lines + 1] = ("local %s = {}"):format(entry.name)
end

function add.record(lines, entry)
  lines[#lines + 1] = "---@class pmclua." .. entry.name
  add_fields(lines, entry)
end

function add.type(lines, entry)
  lines[#lines + 1] = ("---@alias pmclua.%s %s"):format(entry.name, type_of(entry.type))
end

function add.namespace(lines, entry) lines[#lines + 1] = entry.name .. " = {}" end

function add.value(lines, entry)
  lines[#lines + 1] = "---@type " .. type_of(entry.type)
  lines[#lines + 1] = entry.name .. " = nil"
end

function add.old(lines, entry)
  lines[#lines + 1] = ("---@deprecated it is called %s"):format(entry.instead)
  lines[#lines + 1] = ("%s = %s"):format(entry.name, entry.instead)
end

-- Tables before what they hold, wherever the reference has them.
local FIRST = { class = true, namespace = true }

--- The file's text.
---@return string
function M.text()
  local lines = { "---@meta pmclua", "-- Made from pmclua's table of signatures; for editors, never run.", "",
    "---@class pmclua", "local pmc = {}" }
  for _, entry in ipairs(lists.first_those(entries.all(), function(entry) return FIRST[entry.kind] end)) do
    lines[#lines + 1] = ""
    add_text(lines, entry.text)
    add[entry.kind](lines, entry)
  end
  return table.concat(lists.append(lines, { "", "return pmc", "" }), "\n")
end

return M
