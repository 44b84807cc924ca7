--- entries.lua: the table of signatures: finds an entry of signatures/ and takes it apart.
--
-- A signature stands at the beginning of a line; lines that are indented belong to it: what it does, in sentences;
-- `raises …`; `> …`, an example that runs as it is. README.md has the forms of lines and types.
--
-- Start-up loads none of it. A function's entry is read when it is first called, a record's keys when they are given:
-- a short run pays for each line that is read, most of all in fresh memory.

local M = {}

--- The files of signatures/, in the order of the reference.
M.TOPICS = { "measuring", "regions", "commits", "workloads", "results", "counting", "tools", "events",
  "stats" }

---@class pmclua.public.Field
---@field name string
---@field optional boolean
---@field type string
---@field text? string
---@field instead? string of an old key: what it is called now; it is not among a record's `order`

---@class pmclua.public.Entry
---@field kind "function"|"class"|"record"|"type"|"value"|"namespace"|"old"
---@field name string "pmc.measure", "result:cells", "result", "kernel_options"
---@field topic string
---@field place integer where it begins in the topic's text
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

-- ---- parts of an entry ---------------------------------------------------------------------------------
--
-- Found by plain text rather than by patterns, which take ten times as long: a short run reads some hundred lines.

local function pieces(source, separator)
  local from = 1
  return function()
    if not from then return nil end
    local at, to = source:find(separator, from, true)
    local piece = source:sub(from, at and at - 1)
    from = to and to + 1
    return piece
  end
end

-- A text's parts before and behind a separator; nil: it has none.
local function split(source, separator)
  local at, to = source:find(separator, 1, true)
  if at then return source:sub(1, at - 1), source:sub(to + 1) end
end

-- "name?: type -- text" as a field.
local function field_of(source)
  local name, rest = split(source, ": ")
  if not name or name:find(" ", 1, true) then return nil end
  local kind, text = split(rest, " -- ")
  local is_optional = name:byte(-1) == 63         -- "?"
  if is_optional then name = name:sub(1, -2) end
  kind = kind or rest
  return { name = name, optional = is_optional, type = kind, text = text,
    instead = kind:match "^old ([%w_]+)$" }
end

local function arguments_of(source)
  local list = {}
  for part in pieces(source, ", ") do list[#list + 1] = field_of(part) end
  return list
end

local function named(entry, rest)
  local name, kind = split(rest, " = ")
  entry.name, entry.type = name or rest, kind
end

-- Readers of the rest of a header, by its kind.
local HEADERS = {
  namespace = named, value = named, type = named,
  class = function(entry, rest)
    entry.name, entry.prefix = split(rest, " ")
    entry.name = entry.name or rest
  end,
  record = function(entry, rest)
    entry.name, entry.parents = split(rest, " ")
    entry.name = entry.name or rest
  end,
  old = function(entry, rest) entry.name, entry.instead = split(rest, " = ") end,
}

local function read_header(header, topic)
  local entry, kind, rest = { header = header, topic = topic }, split(header, " ")
  if HEADERS[kind] then
    entry.kind = kind
    HEADERS[kind](entry, rest)
    return entry
  end
  local name, behind = split(header, "(")
  local arguments, returns = split(behind, ") -> ")
  entry.kind, entry.name, entry.returns = "function", name, returns
  entry.arguments = arguments_of(arguments or behind:sub(1, -2))
  return entry
end

local function add_text(entry, before, line)
  local text = entry[before] or ""
  local joint = text == "" and "" or before == "example" and "\n" or " "
  entry[before] = text .. joint .. line
end

-- One line below a header. Returns what a line that is indented further goes on with.
local function read_line(entry, line, last)
  local field = entry.fields and field_of(line:sub(3))
  if field then
    entry.fields[field.name] = field
    if not field.instead then entry.order[#entry.order + 1] = field.name end
    return field
  end
  local example, raises = line:match "^  > ?(.*)$", line:match "^  raises%s+(.*)$"
  if example then add_text(entry, "example", example)
  elseif last and line:find("    ", 1, true) == 1 then
    add_text(last, last == entry and "raises" or "text", line:match "^%s*(.*)$")
    return last
  elseif raises then
    add_text(entry, "raises", raises)
    return entry
  else add_text(entry, "text", line:sub(3)) end
end

local function add_parents(entry)
  for name in entry.parents:gmatch "%S+" do
    local parent = M.find(name, entry.topic)
    for _, field in ipairs(parent.order) do
      if not entry.fields[field] then entry.order[#entry.order + 1] = field end
    end
    for key, field in pairs(parent.fields) do entry.fields[key] = entry.fields[key] or field end
  end
end

-- ---- finding -------------------------------------------------------------------------------------------

local function next_place(text, place)
  local gap = text:find("\n\n", place, true)
  return gap and gap + 2
end

-- Where the entries of a topic that are no functions begin, by name.
local function places_of(text)
  local places, place = {}, 2
  while place do
    local name = text:match("^%l+ (%S+)", place)
    if name then places[name] = place end
    place = next_place(text, place)
  end
  return places
end

local texts, indices = {}, {}           -- by topic

local function text_of(topic)
  texts[topic] = texts[topic] or require("pmclua.public.signatures." .. topic)
  return texts[topic]
end

local function read_body(entry)
  local text = texts[entry.topic]
  local from, to = entry.place + #entry.header + 1, (next_place(text, entry.place) or #text + 2) - 2
  entry.text = ""
  if entry.kind == "class" or entry.kind == "record" then entry.fields, entry.order = {}, {} end
  local last
  if from < to then
    for line in pieces(text:sub(from, to - 1), "\n") do last = read_line(entry, line, last) end
  end
  if entry.parents then add_parents(entry) end
end

-- The body is read when something in it is first asked for: most calls need a header alone.
local unread = { __index = function(entry, key)
  setmetatable(entry, nil)
  read_body(entry)
  return entry[key]
end }

local function entry_at(topic, place)
  local text = texts[topic]
  local entry = read_header(text:sub(place, text:find("\n", place, true) - 1), topic)
  entry.place = place
  return setmetatable(entry, unread)
end

local known = {}

local function find_in(topic, name)
  local text = text_of(topic)
  -- Functions are part of something: "pmc.measure", "result:cells".
  local line = name:find "[.:]" and text:find(("\n%s("):format(name), 1, true)
  if line then return entry_at(topic, line + 1) end
  indices[topic] = indices[topic] or places_of(text)
  return indices[topic][name] and entry_at(topic, indices[topic][name])
end

local function find_anywhere(name, topic)
  local entry = topic and find_in(topic, name)
  for _, other in ipairs(M.TOPICS) do entry = entry or find_in(other, name) end
  return entry or false
end

--- The entry of a name.
---@param name string "pmc.measure", "result:cells", "result", "kernel_options"
---@param topic? string where it is looked for first
---@return pmclua.public.Entry? nil: there is none
function M.find(name, topic)
  if known[name] == nil then known[name] = find_anywhere(name, topic) end
  return known[name] or nil
end

-- One key of a record that is not read yet, without the others: most runs ask for few of many.
local function key_alone(record, key)
  local text, place = texts[record.topic], record.place
  local at = text:find(("\n  %s?: "):format(key), place, true)
    or text:find(("\n  %s: "):format(key), place, true)
  if not at or at > (next_place(text, place) or #text) then return nil end
  local field = field_of(text:sub(at + 3, text:find("\n", at + 1, true) - 1))
  return field.name == key and field or nil
end

--- A key of a record.
---@param record pmclua.public.Entry
---@param key any
---@return pmclua.public.Field? nil: it has none of that name
function M.field(record, key)
  local is_unread = rawget(record, "fields") == nil and type(key) == "string"
  return is_unread and key_alone(record, key) or record.fields[key]
end

--- The tables of options among a function's arguments.
---@param entry pmclua.public.Entry
---@return pmclua.public.Entry[]
function M.records_of(entry)
  local list = {}
  for _, argument in ipairs(entry.arguments or {}) do
    for word in argument.type:gmatch "[%l_]+" do
      local record = M.find(word, entry.topic)
      if record and record.kind == "record" then list[#list + 1] = record end
    end
  end
  return list
end

--- All entries, in the order of the reference.
---@return pmclua.public.Entry[]
function M.all()
  local list = {}
  for _, topic in ipairs(M.TOPICS) do
    local text, place = text_of(topic), 2
    while place do
      list[#list + 1] = entry_at(topic, place)
      place = next_place(text, place)
    end
  end
  return list
end

return M
