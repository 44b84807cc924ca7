--- function_files.lua: the files in which functions are searched: a program, the libraries that it loads, or the
--- files that a running process has mapped.

local core = require "pmclua.core"
local explain = require "pmclua.explain"
local linked = require("pmclua.base.lazy").module "pmclua.event.linked"
local lists = require "pmclua.base.lists"
local machine = require "pmclua.host.machine"
local packages = require "pmclua.base.packages"
local symbols = require "pmclua.core.symbols"
local text = require "pmclua.base.text"

local M = {}

--- Raises why a function or its file cannot be used.
---@type fun(code: string, message: string, hint?: string)
M.problem = explain.raiser "find"
local problem = M.problem

-- ---- what a file has -----------------------------------------------------------------------------------

local opened = {}               -- by path: { symbols, mtime_ns }: reading takes longer than asking

local function raise_unreadable(path, code, errnum)
  if code == "ELIBACC" then
    problem(code, "reading a program's functions needs elfutils, which is not installed",
      "install " .. packages.named("libdw").apt)
  elseif code ~= "ENOEXEC" then
    error(explain.system(errnum, "read the functions of", path), 0)
  end
  local is_script = core.read_beginning(path, 2) == "#!"
  local what = is_script and "a script" or "neither a program nor a library"
  problem(code, ("'%s' is %s"):format(text.safe(path), what),
    is_script and "name the program that has the function: /usr/bin/python3:PyObject_Call" or nil)
end

--- The functions of a file, read once as long as it does not change. Raises a problem.
---@param path string
---@return pmclua.core.Symbols
function M.of_file(path)
  local facts = core.stat(path)
  local mtime_ns = facts and tostring(facts.mtime_ns)
  local known = opened[path]
  if known and known.mtime_ns == mtime_ns then return known.symbols end
  local list, code, errnum = symbols.open(path)
  if not list then raise_unreadable(path, code, errnum) end
  opened[path] = { symbols = list, mtime_ns = mtime_ns }
  return list
end

--- The functions of a file with the debug information of servers that the user names; nil: they have none.
---@param path string
---@return pmclua.core.Symbols?
function M.completed(path)
  local list = require("pmclua.event.debuginfod").complete(M.of_file(path))
  if list then opened[path].symbols = list end
  return list
end

-- ---- where files are -----------------------------------------------------------------------------------

-- A path as the process has it, which may be in another mount namespace.
local function path_in(pid, path)
  local lfs = require "lfs"
  local there = ("/proc/%d/root%s"):format(pid, path)
  local own = lfs.attributes(path)
  local its = lfs.attributes(there)
  if own and its and own.ino == its.ino and own.dev == its.dev then return path end
  return its and there or path
end

local function mapped_by(pid)
  local paths = {}
  for line in (machine.text(("/proc/%d/maps"):format(pid)) or ""):gmatch "[^\n]+" do
    paths[#paths + 1] = line:match "^%S+ ..x. %S+ %S+ %d+ +(/.*)$"
  end
  return lists.map(lists.unique(paths), function(path) return path_in(pid, path) end)
end

-- "libc.so.6" is meant by "libc.so.6" and "libc.so"; "libz.so.1.2.13" by "libz.so" too.
local function is_called(path, name)
  local file = path:match "[^/]*$"
  return file == name or file:sub(1, #name + 1) == name .. "."
end

---@class pmclua.functions.Image the program or process whose functions are looked for
---@field program string path of what is executed
---@field pid integer? of a process that runs already
---@field cwd string? of the command
---@field library_path string? its LD_LIBRARY_PATH
---@field preload string? its LD_PRELOAD

--- Paths of the libraries that a program loads, or of all that a process has mapped.
---@param image pmclua.functions.Image
---@return string[]
function M.loaded(image)
  if image.pid then return mapped_by(image.pid) end
  local closure = linked.of(image)
  return closure and closure:paths() or {}
end

local function find_library(name, image)
  local closure = not image.pid and linked.of(image)
  local loaded = image.pid and mapped_by(image.pid) or closure and closure:paths() or {}
  local path = lists.find(loaded, function(candidate) return is_called(candidate, name) end)
    or closure and closure:later(name, is_called)
  if path then return path end
  local names = lists.map(loaded, function(candidate) return candidate:match "[^/]*$" end)
  if not image.pid then M.of_file(image.program) end        -- says where it is no program at all
  problem("ENOENT", ("no library '%s' is loaded by %s"):format(text.safe(name), text.safe(image.program)),
    text.meant(name, names) or #names > 0 and ("there are %s; a path works, too"):format(text.list(names))
      or "it is linked statically; give a path for what it loads later")
end

--- Whether a process has a file mapped as code.
---@param image pmclua.functions.Image
---@param path string of M.file
function M.has_mapped(image, path)
  local own = core.signature(path)
  local function is_it(mapped) return core.signature(mapped) == own end
  return own ~= nil and lists.any(mapped_by(image.pid), is_it)
end

-- The program's file; of a process that runs, also when it is no longer on the disk.
local function program_file(image)
  if not image.pid then return image.program end
  local path = path_in(image.pid, image.program)
  return require("lfs").attributes(path, "mode") and path or ("/proc/%d/exe"):format(image.pid)
end

--- The path of the file that the part of a name before ":" means. Raises a problem.
---@param name string?
---@param image pmclua.functions.Image
---@return string
function M.file(name, image)
  if not name then return program_file(image) end
  if name:find("/", 1, true) then
    return name:sub(1, 1) ~= "/" and image.cwd and image.cwd .. "/" .. name or name
  end
  if is_called(image.program, name) then return program_file(image) end
  return find_library(name, image)
end

--- "lib.so:ns::parse" is "lib.so" and "ns::parse", as is "ns::parse [lib.so]", which profiles show; the file is nil
--- where there is none.
---@param spec string
---@return string? file
---@return string name
function M.split(spec)
  local shown, of_file = spec:match "^(.+) %[([^%[%]%s]+)%]$"
  if shown then return of_file, shown end
  local from = 1
  while true do
    local colon = spec:find(":", from, true)
    if not colon then return nil, spec end
    if spec:sub(colon + 1, colon + 1) ~= ":" then return spec:sub(1, colon - 1), spec:sub(colon + 1) end
    from = colon + 2
  end
end

return M
