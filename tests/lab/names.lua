--- names.lua: finds the files and folders that a script names, which the lab copies along with it.
--
--     luajit names.lua SCRIPT.lua        prints their paths, each followed by a NUL, the script's first
--
-- A name is a quoted word in the script, or in a Lua, C or assembly file that it names: a path from the
-- script's folder, from that file's own folder or from the working folder, or a module for `require`. A name
-- that contains a level, such as "kernels/{n}.c", stands for its folder. Folders that contain the script or
-- the working folder are never taken, nor are the system's.

local SYSTEM = { bin = true, boot = true, dev = true, etc = true, lib = true, lib64 = true, proc = true,
  run = true, sbin = true, sys = true, usr = true }
local HAS_NAMES = { lua = true, c = true, h = true, cc = true, cpp = true, hpp = true, S = true, s = true }
local LARGEST_BYTES = 1e6

local function run(command, ...)
  local words = {}
  for _, word in ipairs { ... } do words[#words + 1] = "'" .. word:gsub("'", "'\\''") .. "'" end
  local pipe = io.popen(command .. " " .. table.concat(words, " ") .. " 2>/dev/null")
  local out = pipe:read "*a"
  pipe:close()
  return out
end

local function real(path) return (run("realpath -s --", path):gsub("\n$", "")) end

local function read(path)
  local file = io.open(path, "rb")
  local text = file and file:read(LARGEST_BYTES)       -- nil of a folder
  if file then file:close() end
  return text
end

local function exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

local function is_folder(path) return exists(path .. "/.") end
local function folder_of(path) return path:match "^(.*)/[^/]*$" end

-- ---- what is named -------------------------------------------------------------------------------------

-- The words between quotes in a text; of "./parse data.json" each.
local function words_in(text)
  local list = {}
  for _, quoted in ipairs { '"([^"\n]*)"', "'([^'\n]*)'", "%[%[(.-)%]%]", "<([^>\n]*)>" } do
    for content in text:gmatch(quoted) do
      list[#list + 1] = content
      for word in content:gmatch "[^%s,;]+" do list[#list + 1] = word end
    end
  end
  return list
end

-- Paths that a word may stand for, below the folder that it is looked for in.
local function candidates(word)
  local module = word:gsub("%.", "/")
  local before_level = word:match "^(.-)[^/]*{"
  return { before_level or word, module .. ".lua", module .. "/init.lua" }
end

local taken, order, todo = {}, {}, {}
local script = real(arg[1])
local here = real "."

local function holds(path, inner) return (inner .. "/"):sub(1, #path + 1) == path .. "/" end

local function take(path)
  path = real(path)
  local top = path:match "^/([^/]+)"
  if not top or SYSTEM[top] or taken[path] then return end
  if is_folder(path) and (holds(path, script) or holds(path, here) or path == "/tmp") then return end
  taken[path], order[#order + 1] = true, path
  if HAS_NAMES[path:match "%.(%w+)$" or ""] then todo[#todo + 1] = path end
end

local function look_for(word, folders)
  if word == "" or #word > 1000 or word:find "%z" then return end
  for _, path in ipairs(candidates(word)) do
    if path:sub(1, 1) == "/" then folders = { "" } end
    for _, folder in ipairs(path ~= "" and folders or {}) do
      local full = path:sub(1, 1) == "/" and path or folder .. "/" .. path
      if exists(full) then take(full) end
    end
  end
end

take(script)
while #todo > 0 do
  local path = table.remove(todo)
  for _, word in ipairs(words_in(read(path) or "")) do
    look_for(word, { folder_of(script), folder_of(path), here })
  end
end
for _, path in ipairs(order) do io.write(path, "\0") end
