--- modules.lua: where the executable's `require` finds modules: never in the working directory unasked.
--
-- In this order: pmclua's own, which main.c has; what those need of others, where the system or pmclua's
-- installation has it; what is beside the running script; LUA_PATH and LUA_CPATH; the system's folders. Of the
-- templates of a path only those from the root count: LuaJIT's own begin with "./".

local M = {}

-- Modules that pmclua needs, and their Debian packages.
local NEEDED = { dkjson = "lua-dkjson", lfs = "lua-filesystem", lpeg = "lua-lpeg" }

--- The templates of `text` that begin at the root; where a variable has them, those alone that may decide what runs.
local function from_root(text, variable)
  local list = {}
  for template in text:gmatch "[^;]+" do
    local folder = template:match "^(/[^?]*)/" or template:match "^/"
    local is_taken = folder and (not variable
      or require("pmclua.host.paths").may_run_from(folder, variable))
    if is_taken then list[#list + 1] = template end
  end
  return table.concat(list, ";")
end

--- The value of an environment variable, with `default` in place of ";;".
local function given(variable, default)
  local value = os.getenv(variable)
  return value and from_root((value:gsub(";;", function() return ";" .. default .. ";" end)), variable)
end

--- The folders of rocks of the PREFIX in whose bin/ pmclua is; nil where it is in another folder.
local function beside_us()
  local prefix = (require("pmclua.core").folder() or ""):match "^(/[^;?]*)/bin$"
  return prefix and { path = ("%s/share/lua/5.1/?.lua;%s/share/lua/5.1/?/init.lua"):format(prefix, prefix),
    cpath = prefix .. "/lib/lua/5.1/?.so" }
end

-- "A.B" as a part of a file's name, and as that of the function that opens a module in C ("v2-A" too).
local function file_of(name) return (name:gsub("%.", "/")) end
local function opener_of(name) return "luaopen_" .. name:gsub("^[^-]*%-", ""):gsub("%.", "_") end

local function checked(loader, why, name, path)
  return loader or error(("error loading module '%s' from file '%s':\n\t%s"):format(name, path, why), 0)
end

local function load_lua(name, path)
  local loader, why = loadfile(path)
  return checked(loader, why, name, path)
end

local function load_c(name, path)
  local loader, why = package.loadlib(path, opener_of(name))
  return checked(loader, why, name, path)
end

--- The loader of a module that is somewhere in `templates`; nil and what was tried.
local function search(name, templates)
  local path, tried = package.searchpath(name, templates.path)
  if path then return load_lua(name, path) end
  local library, tried_too = package.searchpath(name, templates.cpath)
  if library then return load_c(name, library) end
  return nil, tried .. tried_too
end

--- For package.loaders: what pmclua itself needs is found or raises, so that no script's file of that name is
--- taken for it.
local function needed_loader(system, user)
  return function(name)
    if not NEEDED[name] then return nil end
    local all = ""
    for _, templates in ipairs { function() return system end, beside_us, function() return user end } do
      local loader, tried = search(name, templates() or { path = "", cpath = "" })
      if loader then return loader end
      all = all .. tried
    end
    error(("pmclua needs the Lua module '%s', which is not installed (apt-get install %s):%s"):format(name,
      NEEDED[name], all), 0)
  end
end

--- Whether a file can be read.
---@param path string
---@return boolean
function M.exists(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

local BESIDE = { { "/%s.lua", load_lua }, { "/%s/init.lua", load_lua }, { "/%s.so", load_c } }

--- For package.loaders: modules beside the running script. The folder is no template: it may hold ";" and "?".
local function beside_script(name)
  local running = package.loaded["pmclua.host.running"]
  local folder = running and running.script and running.script.modules
  if not folder then return nil end
  local tried = {}
  for i, kind in ipairs(BESIDE) do
    local path = folder .. kind[1]:format(file_of(name))
    if M.exists(path) then return kind[2](name, path) end
    tried[i] = ("\n\tno file '%s'"):format(path)
  end
  return table.concat(tried)
end

--- For package.loaders, the last: says what one who expects the working directory to be looked in can do.
local function explain_absence(name)
  for _, kind in ipairs { { ".lua", "LUA_PATH" }, { ".so", "LUA_CPATH" } } do
    if M.exists("./" .. file_of(name) .. kind[1]) then
      local form = "the working directory has '%s%s', but is searched only when asked: %s=\"$PWD/?%s;;\""
      return "\n\t" .. form:format(file_of(name), kind[1], kind[2], kind[1])
    end
  end
end

--- Installs this file's search of modules in `require`. Once, before any module but pmclua's own is required.
---@return nil
function M.install()
  local system = { path = from_root(package.path), cpath = from_root(package.cpath) }
  local user = { path = given("LUA_PATH", system.path) or system.path,
    cpath = given("LUA_CPATH", system.cpath) or system.cpath }
  package.path, package.cpath = user.path, user.cpath
  table.insert(package.loaders, 3, needed_loader(system, user))      -- after main.c's and package.preload
  table.insert(package.loaders, 4, beside_script)
  table.insert(package.loaders, explain_absence)
end

return M
