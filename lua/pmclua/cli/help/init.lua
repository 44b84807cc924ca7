--- help/init.lua: texts that explain: the command line, a script by its header and options, the public names.

local entries = require "pmclua.public.entries"
local lists = require "pmclua.base.lists"
local text = require "pmclua.base.text"

local M = {}

M.USAGE = "usage: pmclua [options] [NAME | SCRIPT.lua] [ARGS]"

--- The words of the command line, each with what it does.
M.COMMAND_LINE = {
  { "NAME", "run one of these: `pmclua NAME --help` explains it, by example" },
  { "SCRIPT.lua", "run a script; an experiment that it returns is run and reported" },
  { "(nothing)", "the REPL on a terminal; otherwise the script on standard input" },
  { "-", "the script on standard input" },
  { "-e CHUNK", "run a piece of Lua, `pmc` at hand; several run in order" },
  { "-l MODULE", "require a module first, under its own name: from the folders of LUA_PATH and the "
    .. "system's, never from the working directory" },
  { "-i", "the REPL after the script or the chunks" },
  { "-v", "the version" },
  { "--list", "the reusable scripts, with one line each" },
  { "-h, --help", "this" },
  { "--", "what follows is no option" },
}

local WIDEST = 80      -- columns, where the terminal has as many
local MARGIN = 26      -- column in which explanations begin

local function width()
  return math.min(WIDEST, require("pmclua.host.terminal").resolve({ stream = 1 }).width)
end

-- Purposes of scripts, in the order in which users need them; a user's own scripts stand last.
local PURPOSES = { "count", "compare", "find out why", "gate", "search", "learn", "yours" }

--- The reusable scripts by what people want.
---@return { purpose: string, scripts: { name: string, question: string }[] }[]
function M.scripts()
  local script, by_purpose = require "pmclua.cli.script", {}
  for _, entry in ipairs(script.all()) do
    local header = script.header(entry.path)
    local purpose = lists.contains(PURPOSES, header.purpose) and header.purpose or "yours"
    by_purpose[purpose] = lists.append(by_purpose[purpose] or {},
      { { name = entry.name, question = header.question } })
  end
  return lists.map(PURPOSES, function(purpose)
    return by_purpose[purpose] and { purpose = purpose, scripts = by_purpose[purpose] }
  end)
end

-- Labels, each with its explanation beside it from the column `margin` on.
local function rows(pairs, margin)
  local lines = {}
  for _, pair in ipairs(pairs) do
    local label, explained = "  " .. pair[1], text.wrap(pair[2], width() - margin)
    if text.width(label) > margin - 2 and #explained > 0 then
      lines[#lines + 1] = label
      label = ""
    end
    for _, line in ipairs(#explained > 0 and explained or { "" }) do
      lines[#lines + 1] = (text.pad(label, margin) .. line):gsub("%s+$", "")
      label = ""
    end
  end
  return table.concat(lines, "\n")
end

--- The text of `pmclua --help`.
---@return string
function M.command_line()
  local groups = lists.map(M.scripts(), function(group)
    return { group.purpose, table.concat(lists.column(group.scripts, "name"), " ") }
  end)
  local usage = require("pmclua.host.terminal").wrapped(M.USAGE, width())
  return ("%s\n%s\n\n%s\n"):format(usage, rows(groups, 16), rows(M.COMMAND_LINE, 16))
end

--- Prints a text on standard output, in the characters that it can show.
---@param shown string
function M.write(shown)
  io.write(require("pmclua.host.terminal").spelled(shown, { stream = 1 }))
end

-- ---- a script ----

-- Parts that stand as they are written.
local VERBATIM = { usage = true, example = true }

--- A header's text in lines of 80 columns: parts are filled, but for usage and examples.
---@param header pmclua.Header
---@return string
function M.header(header)
  local lines, words, indent = {}, {}, ""
  local verbatim = false
  local function finish()
    local filled = text.wrap(table.concat(words, " "), width() - 2)
    for i, line in ipairs(#words > 0 and filled or {}) do
      lines[#lines + 1] = (i > 1 and indent or "") .. line
    end
    words = {}
  end
  for _, line in ipairs(text.lines(header.text)) do
    local part = line:match "^(%l+):"
    if part and not header.parts[part] then part = nil end
    if part or line == "" then finish() end
    if part then verbatim, indent = VERBATIM[part], "  " end
    if line == "" or verbatim then lines[#lines + 1] = line
    else words[#words + 1] = line:match "^%s*(.*)$" end
  end
  finish()
  return table.concat(lines, "\n")
end

local VALUES = { string = "TEXT", number = "NUMBER", integer = "N", list = "LIST" }

--- "-r, --repeat N", or the name of an argument.
local function label_of(option)
  if option.argument then return option[1] end
  if option.rest then return option[1] .. " ..." end
  local label = (option.short and "-%s, " or "    "):format(option.short) .. "--" .. option[1]
  local value = M.value_of(option)
  return value and label .. " " .. value or label
end

--- The name of an option's value; nil for a flag.
---@param option pmclua.Option with `kind` filled in
---@return string?
function M.value_of(option)
  if option.kind ~= "flag" then return option.value or VALUES[option.kind] end
end

--- An option's help, choices and default, in one line.
---@param option pmclua.Option
---@return string
function M.explanation(option)
  local words = { option.help }
  if option.choices then
    words[#words + 1] = "(" .. text.list(lists.map(option.choices, tostring), "or") .. ")"
  end
  local default = option[2]
  if type(default) == "table" then default = #default > 0 and table.concat(default, ",") or nil end
  if default then words[#words + 1] = ("(default: %s)"):format(tostring(default)) end
  if option.many then words[#words + 1] = "(may be repeated)" end
  return table.concat(words, " ")
end

--- The lines of a list of options: label, explanation.
---@param options pmclua.Option[] with `kind` filled in
---@return string
function M.options(options)
  return rows(lists.map(options, function(option)
    return { label_of(option), M.explanation(option) }
  end), MARGIN)
end

--- How a script is called, a line each way: its header's usage, else made of its options.
---@param name string
---@param header? pmclua.Header
---@param own pmclua.Option[]
function M.usage(name, header, own)
  local written = header and header.parts.usage
  if written then return "usage: " .. written:gsub("\n%s*", "\n       ") end
  local words = { "usage: pmclua", name, "[options]" }
  for _, option in ipairs(own) do
    local label = (option.argument or option.rest) and label_of(option)
    local needed = option.argument and option[2] == nil
    if label then words[#words + 1] = needed and label or ("[%s]"):format(label) end
  end
  return table.concat(words, " ")
end

--- The text of `pmclua NAME --help`.
---@param name string
---@param header? pmclua.Header
---@param own pmclua.Option[] the script's
---@param common pmclua.Option[] those of every experiment that it takes too
function M.script(name, header, own, common)
  local blocks = {}
  if header and header.text ~= "" then blocks[1] = M.header(header) end
  if not (header and header.parts.usage) then blocks[#blocks + 1] = M.usage(name, header, own) end
  if #own > 0 then blocks[#blocks + 1] = "options:\n" .. M.options(own) end
  if #common > 0 then blocks[#blocks + 1] = "options of every experiment:\n" .. M.options(common) end
  return table.concat(blocks, "\n\n") .. "\n"
end

-- ---- public names ----

local function indented(lines) return "  " .. lines:gsub("\n", "\n  ") end

-- A paragraph, filled; lines after the first stand `hang` columns further in than its label ends.
local function put(words, label, hang)
  if not words or words == "" then return end
  label = label or ""
  local margin = (" "):rep(#label + (hang or 0))
  M.write(label .. table.concat(text.wrap(words, width() - #margin), "\n" .. margin) .. "\n")
end

-- Where what help leaves out stands.
local function print_reference()
  local path = require("pmclua.host.paths").reference()
  if path then M.write("more about all of it: " .. path .. "\n") end
end

-- The first sentence.
local function brief(entry)
  return ((entry.text:match "^.-[^.]%.%f[%s]" or entry.text):gsub("[.%s]+$", ""))
end

-- "name: type -- text" of fields, as a list of options has it.
local function print_fields(entry, title)
  if not entry or #entry.order == 0 then return end
  M.write(title .. ":\n")
  for _, name in ipairs(entry.order) do
    local field = entry.fields[name]
    local kind = ("%s: %s"):format(name, (field.type:gsub("|", " | ")))
    put(kind .. (field.text and " — " .. field.text or ""), "  ", 4)
  end
end

local function members_of(entry)
  local joint = entry.kind == "class" and ":" or "."
  return lists.where(entries.all(), function(other)
    return other.name:sub(1, #entry.name + 1) == entry.name .. joint
  end)
end

-- How to get an object to try a method on.
local function example_of(entry)
  local class = entry.name:match "^(.*):"
  local made = class and entries.find(class, entry.topic).example
  return made and entry.example and made .. "\n" .. entry.example or entry.example
end

local function print_entry(entry)
  M.write(entry.header:gsub("|", " | ") .. "\n")
  put(entry.text)
  put(entry.raises and "Raises " .. entry.raises .. ".")
  if entry.kind == "class" then print_fields(entry, "fields")
  else print_fields(entries.records_of(entry)[1], "options") end
  if entry.kind == "class" or entry.kind == "namespace" then
    for _, member in ipairs(members_of(entry)) do
      put(("%s — %s"):format(member.name, brief(member)), "  ", 4)
    end
  end
  local example = example_of(entry)
  if example then M.write("for example:\n" .. indented(example) .. "\n") end
end

local function print_list()
  for _, name in ipairs(getmetatable(require "pmclua").__fields()) do
    put(brief(entries.find("pmc." .. name)), ("pmc.%-12s"):format(name))
  end
  print_reference()
end

-- The public name that a value is, or the class of an object.
local function name_of(value)
  if type(value) == "function" then return require("pmclua.public.call").name_of(value) end
  local pmc = require "pmclua"
  for _, name in ipairs(getmetatable(pmc).__fields()) do
    if rawequal(rawget(pmc, name), value) then return "pmc." .. name end
  end
  return require("pmclua.public.types").class_of(value)
end

-- The entries that a word may mean: "kernel" is pmc.kernel, "r:compare" what is called compare of an r.
local function entries_of(word)
  local named = entries.find("pmc." .. word) or entries.find(word)
  if named then return { named } end
  local prefix, method = word:match "^([%w_]+)[:.]([%w_]+)$"
  if not prefix then return {} end
  local all = lists.where(entries.all(), function(entry)
    return entry.name:match "^[%w_]+:([%w_]+)$" == method
  end)
  local exact = lists.where(all, function(entry)
    return entries.find(entry.name:match "^[%w_]+", entry.topic).prefix == prefix
  end)
  return #exact > 0 and exact or all
end

--- Prints what a public name, or a value at hand, is; without a name, all of them.
---@param name? any "kernel", "r:compare", pmc.kernel itself, a result
function M.print_topic(name)
  if name == nil then return print_list() end
  local word = type(name) == "string" and name or name_of(name)
  local class = word ~= name and entries.find(word or "")
  local matches = class and { class } or word and entries_of(word) or {}
  if #matches == 0 then
    local all = lists.column(entries.all(), "name")
    local names = lists.joined { all, lists.map(all, function(other) return other:match "^pmc%.(.*)$" end) }
    local hint = type(name) == "string" and text.meant(name, names, ", ") or "; pmc.help() lists all names"
    local shown = require("pmclua.public.types").shown(name)
    require("pmclua.explain").misuse(("there is no help on %s%s"):format(shown, hint))
  end
  for i, entry in ipairs(matches) do
    if i > 1 then M.write "\n" end
    print_entry(entry)
  end
  print_reference()
end

return M
