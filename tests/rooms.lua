-- rooms.lua: checks that sources keep the order of rooms in lua/README.md and of folders in core/README.md.
--
-- usage: luajit tests/rooms.lua          (from the source tree; `make lint` runs it)
--
-- Fails if a module requires one of a later room, is missing from the map, declares a class that another one
-- declares too, exports a function that only tests use, or opens files and streams that others are to open; if
-- a C file includes a header of a later folder, or a header declares a function that no other file uses; if
-- the comment that begins a file names another one; if a workload's kind is tested outside of its room; and if a
-- file is too long to be read at a sitting. The order is that of the rows in these tables.

local findings = {}
local function find(form, ...) findings[#findings + 1] = form:format(...) end

local function read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

local function files(...)
  local list = {}
  for _, pattern in ipairs { ... } do
    local pipe = assert(io.popen(("find %s | LC_ALL=C sort"):format(pattern)))
    for path in pipe:lines() do list[#list + 1] = path end
    pipe:close()
  end
  return list
end

-- Rank of each room in the table that follows a heading of a page.
local function order_of(page, heading)
  local text, rank, count = read(page), {}, 0
  local from = assert(text:find(heading, 1, true), page .. " has no heading " .. heading)
  local section = text:sub(from + #heading):match "^(.-)\n## " or text:sub(from)
  for name in section:gmatch "\n| ([%w_/]-)/? |" do
    if not rank[name] then
      count = count + 1
      rank[name] = count
    end
  end
  return rank, section
end

-- ---- Lua -----------------------------------------------------------------------------------------------

local LUA = files "lua/pmclua -name '*.lua'"
local rank, map = order_of("lua/README.md", "## Rooms")

local function module_of(path)
  return (path:gsub("^lua/pmclua/", ""):gsub("%.lua$", ""):gsub("/init$", ""))
end

local function without_comments(text) return (("\n" .. text):gsub("\n%s*%-%-[^\n]*", "\n")) end

-- A file begins with its name, and with that of its folder where it is an init.lua.
local function check_header(path, text)
  local name = path:match "[^/]+/init%.lua$" or path:match "[^/]+$"
  local named = text:match "^%-%-%- (%S+): " or text:match "^/%*\n %* (%S+): "
  if named ~= name and (named or path:find "%.lua$") then
    find("%s: it begins with the name %s", path, named or "of none")
  end
end

-- pmclua/init.lua, the public names, stands above all rooms.
local function check_requires(path, text)
  local room = path:match "^lua/pmclua/([%w_]+)/"
  if path == "lua/pmclua/init.lua" then return end
  if not room then return find("%s: it is in no room", path) end
  if not rank[room] then return find("%s: the room %s is not in the map of lua/README.md", path, room) end
  for other in without_comments(text):gmatch [[["']pmclua%.([%w_]+)]] do
    if rank[other] and rank[other] > rank[room] then
      find("%s: %s requires %s, which comes after it", path, room, other)
    end
  end
end

local function check_map(path)
  local module = module_of(path)
  local room, name = module:match "^([%w_]+)/(.*)$"
  if name and not map:find("%f[%w_/]" .. name:gsub("%p", "%%%0") .. "%f[^%w_/]") then
    find("%s: %s is missing from the map of lua/README.md", path, module)
  end
  return room
end

local classes = {}
local function check_classes(path, text)
  for class in text:gmatch "%-%-%-@class ([%w_.]+)" do
    if classes[class] then find("%s: the class %s is declared in %s, too", path, class, classes[class]) end
    classes[class] = path
  end
end

-- How often each word follows a point or colon, or stands alone in quotes (lists of fields), in what is shipped.
local uses = {}
local function count_uses(text)
  for _, pattern in ipairs { "[.:]([%a_][%w_]*)", "[\"']([%a_][%w_]*)[\"']" } do
    for word in without_comments(text):gmatch(pattern) do uses[word] = (uses[word] or 0) + 1 end
  end
end

local reference = read "lua/REFERENCE.md"

-- A function whose name is met nowhere but in its own definition is nobody's, unless users call it.
local function check_exports(path, text)
  local table_name = text:match "\nreturn ([%a_]+)%s*$"
  for owner, name in text:gmatch "\nfunction ([%a_]+)[.:]([%a_][%w_]*)" do
    local is_export = owner == table_name or owner:find "^%u"
    local is_public = reference:find("[.:]" .. name .. "%f[^%w_]")
    if is_export and uses[name] < 2 and name:find "^%l" and not is_public then
      find("%s: nothing but tests uses %s.%s", path, owner, name)
    end
  end
end

-- Files and streams are the business of some modules, which check what they open and write (core/files.lua,
-- host/output.lua); the others read what the user names, which may be a pipe.
local OPENERS = { ["io.stderr"] = "host/output public", ["io.popen"] = "host/tools",
  ["io.lines"] = "cli/script",
  ["io.stdout"] = "host/output core/lines public/signatures/results",
  ["io.open"] = "core core/processes host/output cli cli/modules cli/script doctor/machine event/probe "
    .. "profile/mapped store/source scripts/compare scripts/why" }

local function check_openers(path, text)
  local module = module_of(path)
  for name, modules in pairs(OPENERS) do
    local is_one = (" " .. modules .. " "):find(" " .. module .. " ", 1, true)
    if not is_one and without_comments(text):find(name, 1, true) then
      find("%s: %s is for others: %s", path, name, modules)
    end
  end
end

-- What callers want to know of a workload's kind is a fact of its row, or of its own file (lua/pmclua/workload/README.md).
-- By file, how many lines have a test of a kind, or a table by kind, all the same. The list may only shrink; why/ tests
-- there whose code a line is, which may be Linux's.
local KINDS = "lua/pmclua/workload/kinds.lua"
local TESTS_OF_KINDS = { ["lua/pmclua/why/linux.lua"] = 2, ["lua/pmclua/why/lines.lua"] = 1 }

local function kinds_of_workloads()
  local names, rows = {}, read(KINDS):match "\nlocal KINDS = {\n(.-)\n}"
  for name in ("\n" .. rows):gmatch "\n  %[?\"?([%w_]+)\"?%]? = {" do names[name] = true end
  return names
end

local function is_test_of_kind(line, kinds)
  local name = line:match 'kind%s*[=~]=%s*"([%w_]+)"' or line:match '"([%w_]+)"%s*[=~]=%s*[%w_.]*kind%f[^%w_]'
  return kinds[name or ""] or line:find "%[[%w_.]*workload%.kind%]" ~= nil
end

local function check_kinds(path, text, kinds)
  local count, allowed = 0, TESTS_OF_KINDS[path] or 0
  for line in without_comments(text):gmatch "[^\n]+" do
    if is_test_of_kind(line, kinds) then count = count + 1 end
  end
  if count > allowed then find("%s: it tests a workload's kind: ask for a fact of %s", path, KINDS) end
  if count < allowed then find("%s: tests/rooms.lua allows it more tests of kinds than it has", path) end
end

for _, path in ipairs(files("lua -name '*.lua'", "scripts -name '*.lua'", "core -name '*.lua'")) do
  count_uses(read(path))
end
for _, path in ipairs(LUA) do
  local text = read(path)
  check_header(path, text)
  check_requires(path, text)
  check_map(path)
  check_classes(path, text)
  check_exports(path, text)
  check_openers(path, text)
end
for _, path in ipairs(files "scripts -name '*.lua'") do check_openers(path, read(path)) end
local kinds = kinds_of_workloads()
for _, path in ipairs(files("lua -name '*.lua'", "scripts -name '*.lua'")) do
  if not path:find "^lua/pmclua/workload/" then check_kinds(path, read(path), kinds) end
end

-- ---- C -------------------------------------------------------------------------------------------------

local folder_rank = order_of("core/README.md", "## Folders")
local C = files "core -name '*.[ch]'"
local INSTALLED = { ["core/pmclua_kernel.h"] = true, ["core/pmclua_mark.h"] = true }

local function check_includes(path, text)
  local folder = path:match "^core/(.+)/"
  if not folder then return end
  if not folder_rank[folder] then return find("%s: the folder %s is not in core/README.md", path, folder) end
  for other in text:gmatch '#include "([%w_/]+)/' do
    if not folder_rank[other] or folder_rank[other] > folder_rank[folder] then
      find("%s: %s includes a header of %s, which comes after it", path, folder, other)
    end
  end
end

-- By word, how many files have it outside of comments.
local mentions = {}
local function count_mentions(text)
  local seen = {}
  for word in text:gmatch "[%a_][%w_]*" do
    if not seen[word] then mentions[word] = (mentions[word] or 0) + 1 end
    seen[word] = true
  end
end

local function without_c_comments(text) return (text:gsub("/%*.-%*/", "")) end

-- A function that its header and its own file alone mention could be static, or is nobody's.
local function check_functions(path, text)
  for name in text:gmatch "\n%a[^\n;(){}]-([%w_]+)%([^;{}]-%)[^;{}%w]*;" do
    if mentions[name] < 3 then find("%s: no other file uses %s", path, name) end
  end
end

local sources = {}
for _, path in ipairs(C) do
  local text = read(path)
  check_header(path, text)
  check_includes(path, text)
  sources[path] = without_c_comments(text)
  count_mentions(sources[path])
end
for _, path in ipairs(LUA) do count_mentions(without_comments(read(path))) end
for _, path in ipairs(C) do
  if path:find "^core/.*%.h$" and not INSTALLED[path] then check_functions(path, sources[path]) end
end

-- ---- lengths -------------------------------------------------------------------------------------------

local MOST_LINES = 450
local LONG = { ["core/pmclua_mark.h"] = true }          -- programs include it alone

for _, path in ipairs(files("lua scripts tests -name '*.lua'", "core tests -name '*.[ch]'")) do
  local _, lines = read(path):gsub("\n", "")
  if lines > MOST_LINES and not LONG[path] then
    find("%s: it has %d lines, more than %d: divide it by subject", path, lines, MOST_LINES)
  end
end

for _, finding in ipairs(findings) do print(finding) end
os.exit(#findings == 0 and 0 or 1)
