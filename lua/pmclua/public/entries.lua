--- entries.lua: the table of signatures: finds an entry of signatures/ and takes it apart.
--
-- A signature stands at the beginning of a line; lines that are indented belong to it: what it does, in sentences;
-- `raises …`; `> …`, an example that runs as it is. README.md has the forms of lines and types.
--
-- Start-up loads none of it. A function's entry is read when it is first called, one topic's text at a time.

local M = {}

--- The files of signatures/, in the order of the reference.
M.TOPICS = { "measuring", "workloads", "counting", "results", "tools", "events", "stats" }

---@class pmclua.public.Field
---@field name string
---@field optional boolean
---@field type string
---@field text? string

---@class pmclua.public.Entry
---@field kind "function"|"class"|"record"|"type"|"value"|"namespace"|"old"
---@field name string "pmc.measure", "result:cells", "result", "kernel_options"
---@field topic string
---@field header string as it is written
---@field text string what it does; "" where the line says it all
---@field raises? string
---@field example? string
---@field arguments? pmclua.public.Field[] of a function
---@field returns? string of a function
---@field fields? table<string, pmclua.public.Field> of a class or record, by name
---@field order? string[] their names, as they are written
---@field type? string of a type or value
---@field prefix? string of a class: what examples call its objects
---@field instead? string of an old name: what it is called now
---@field parents? string of a record: those whose fields it has, too

local function text_of(topic) return require("pmclua.public.signatures." .. topic) end

-- ---- parts of an entry ---------------------------------------------------------------------------------

-- "name?: type -- text" as a field.
local function field_of(source)
  local rest, text = source:match "^(.-)%s+%-%-%s+(.*)$"
  local name, mark, kind = (rest or source):match "^([^:?]+)(%??):%s+(.*)$"
  return name and { name = name, optional = mark == "?", type = kind, text = text } or nil
end

local function arguments_of(source)
  local list = {}
  for part in source:gmatch "[^,]+" do list[#list + 1] = field_of(part:match "^%s*(.*)$") end
  return list
end

local HEADERS = {
  { "^class (%S+)%s*(%S*)$", function(entry, name, prefix)
    entry.kind, entry.name, entry.prefix = "class", name, prefix ~= "" and prefix or nil
  end },
  { "^old (%S+) = (%S+)$", function(entry, name, instead)
    entry.kind, entry.name, entry.instead = "old", name, instead
  end },
  { "^namespace (%S+)$", function(entry, name) entry.kind, entry.name = "namespace", name end },
  { "^record (%S+)%s*(.*)$", function(entry, name, parents)
    entry.kind, entry.name, entry.parents = "record", name, parents
  end },
  { "^type (%S+) = (.*)$", function(entry, name, kind)
    entry.kind, entry.name, entry.type = "type", name, kind
  end },
  { "^([%w_.:]+)(%b())%s*(.*)$", function(entry, name, arguments, returns)
    entry.kind, entry.name, entry.arguments = "function", name, arguments_of(arguments:sub(2, -2))
    entry.returns = returns:match "^%->%s+(.*)$"
  end },
  { "^([%w_.]+): (.*)$", function(entry, name, kind)
    entry.kind, entry.name, entry.type = "value", name, kind
  end },
}

local function read_header(header, topic)
  local entry = { header = header, topic = topic }
  for _, form in ipairs(HEADERS) do
    local first, second, third = header:match(form[1])
    if first then
      form[2](entry, first, second, third)
      return entry
    end
  end
  error(("signatures/%s.lua: not a signature: %s"):format(topic, header))
end

local function add_text(entry, before, line)
  local joint = entry[before] == nil and "" or before == "example" and "\n" or " "
  entry[before] = (entry[before] or "") .. joint .. line
end

-- One line below a header. Returns what a line that is indented further goes on with.
local function read_line(entry, line, last)
  local example, raises = line:match "^  > ?(.*)$", line:match "^  raises%s+(.*)$"
  local field = entry.fields and line:match "^  [%w_%[%].]+%??: " and field_of(line:sub(3))
  if example then
    add_text(entry, "example", example)
  elseif field then
    entry.fields[field.name] = field
    entry.order[#entry.order + 1] = field.name
    return field, "text"
  elseif line:find "^    " and last then
    add_text(last, last == entry and "raises" or "text", line:match "^%s*(.*)$")
    return last
  elseif raises then
    add_text(entry, "raises", raises)
    return entry
  else
    add_text(entry, "text", line:match "^%s*(.*)$")
  end
end

local function add_parents(entry)
  for name in entry.parents:gmatch "%S+" do
    local parent = M.find(name, entry.topic)
    for _, field in ipairs(parent.order) do
      if not entry.fields[field] then
        entry.fields[field], entry.order[#entry.order + 1] = parent.fields[field], field
      end
    end
  end
end

local function parse(block, topic)
  local lines = block:gmatch "[^\n]+"
  local entry = read_header(lines(), topic)
  if entry.kind == "class" or entry.kind == "record" then entry.fields, entry.order = {}, {} end
  local last
  for line in lines do last = read_line(entry, line, last) end
  entry.text = entry.text or ""
  if entry.parents then add_parents(entry) end
  return entry
end

-- ---- finding -------------------------------------------------------------------------------------------

-- The entry that begins at a place of a topic's text: up to the next line that is not indented.
local function entry_at(text, from, topic)
  local to = text:find("\n[^%s]", from) or #text
  return parse(text:sub(from, to), topic)
end

local known = {}

local BEGINNINGS = { "%s(", "namespace %s\n", "class %s\n", "class %s ", "record %s\n", "record %s ",
  "type %s =", "old %s =", "%s: " }

local function find_in(topic, name)
  local text = text_of(topic)
  for _, beginning in ipairs(BEGINNINGS) do
    local at = text:find("\n" .. beginning:format(name), 1, true)
    if at then return entry_at(text, at + 1, topic) end
  end
end

--- The entry of a name.
---@param name string "pmc.measure", "result:cells", "result", "kernel_options"
---@param topic? string where it is looked for first
---@return pmclua.public.Entry? nil: there is none
function M.find(name, topic)
  if known[name] then return known[name] end
  known[name] = topic and find_in(topic, name)
  for _, other in ipairs(M.TOPICS) do known[name] = known[name] or find_in(other, name) end
  return known[name]
end

--- The tables of options among a function's arguments.
---@param entry pmclua.public.Entry
---@return pmclua.public.Entry[]
function M.records_of(entry)
  local list = {}
  for _, argument in ipairs(entry.arguments or {}) do
    for word in argument.type:gmatch "[%l_]+" do
      local found = M.find(word, entry.topic)
      if found and found.kind == "record" then list[#list + 1] = found end
    end
  end
  return list
end

--- All entries, in the order of the reference.
---@return pmclua.public.Entry[]
function M.all()
  local list = {}
  for _, topic in ipairs(M.TOPICS) do
    local text = text_of(topic)
    for place in text:gmatch "\n()%S" do list[#list + 1] = entry_at(text, place, topic) end
  end
  return list
end

return M
