--- tree.lua: a copy of a tree of files, of which some are changed for one input and then restored.
--
-- Invariant: between inputs the copy equals its original.

local ffi = require "ffi"
local input = require "tests.fuzz.input"
local lfs = require "lfs"
local support = require "tests.support"

ffi.cdef "int chmod(const char *path, unsigned int mode);"

local M = {}

---@class fuzz.Tree
---@field root string
---@field paths string[] of all files and folders below it
---@field texts table<string, string> of the files among them
local Tree = {}
Tree.__index = Tree

local function mode_of(path) return lfs.symlinkattributes(path, "mode") end

--- Calls fn with each entry below a folder, a folder before what is in it; links are not followed.
local function each_entry(folder, fn)
  local names = {}
  for name in lfs.dir(folder) do
    if name ~= "." and name ~= ".." then names[#names + 1] = name end
  end
  table.sort(names)
  for _, name in ipairs(names) do
    local path = folder .. "/" .. name
    fn(path)
    if mode_of(path) == "directory" then each_entry(path, fn) end
  end
end

local function remove(path)
  if mode_of(path) ~= "directory" then return os.remove(path) end
  ffi.C.chmod(path, 448)                                                         -- 0700: it may be unreadable
  for name in lfs.dir(path) do
    if name ~= "." and name ~= ".." then remove(path .. "/" .. name) end
  end
  lfs.rmdir(path)
end

local function put(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

local function replaced_by_link(path, target)
  remove(path)
  lfs.link(target, path, true)
end

local function replaced_by_file(path, text)
  remove(path)
  put(path, text)
end

local HUGE = ("event=1,"):rep(2 ^ 17)                                            -- 1 MB

--- What may become of a file or a folder, each by its name.
M.CHANGES = {
  { "garbage", function(path, random, text)
    replaced_by_file(path, text and input.mutated(random, text) or "\0\255")
  end },
  { "missing", function(path) remove(path) end },
  { "empty", function(path) replaced_by_file(path, "") end },
  { "huge", function(path) replaced_by_file(path, HUGE) end },
  { "endless", function(path) replaced_by_link(path, "/dev/zero") end },
  { "a link to itself", function(path) replaced_by_link(path, path:match "[^/]*$") end },
  { "a link above", function(path) replaced_by_link(path, "..") end },
  { "a folder", function(path)
    remove(path)
    lfs.mkdir(path)
  end },
  { "unreadable", function(path) ffi.C.chmod(path, 0) end },
}

--- How often each was made, by its name.
---@type table<string, integer>
M.made = {}

--- A copy of a tree of files.
---@param source string
---@return fuzz.Tree
function M.copy(source)
  local self = setmetatable({ root = support.folder() .. "/tree", paths = {}, texts = {} }, Tree)
  lfs.mkdir(self.root)
  each_entry(source, function(path)
    local copy = self.root .. path:sub(#source + 1)
    table.insert(self.paths, copy)
    if mode_of(path) == "file" then self.texts[copy] = support.read(path) end
    self:put_back(copy)
  end)
  return self
end

--- Adds a file that is not in what was copied.
---@param name string path below the root
---@param text string
---@return string path
function Tree:add(name, text)
  local path = self.root .. "/" .. name
  table.insert(self.paths, path)
  self.texts[path] = text
  self:put_back(path)
  return path
end

--- Makes one entry what it was.
function Tree:put_back(path)
  remove(path)
  if self.texts[path] then put(path, self.texts[path]) else lfs.mkdir(path) end
end

--- Makes a path, and what was below it, what it was.
function Tree:restore(path)
  self:put_back(path)
  for _, other in ipairs(self.texts[path] and {} or self.paths) do
    if other:sub(1, #path + 1) == path .. "/" then self:put_back(other) end
  end
end

-- Files more often than not are garbage: that is read on, where others are refused at once.
local function change(random, path, text)
  local kind = text and random:integer(3) > 1 and M.CHANGES[1] or input.one_of(random, M.CHANGES)
  kind[2](path, random, text)
  M.made[kind[1]] = (M.made[kind[1]] or 0) + 1
end

local function is_below_any(path, folders)
  for _, folder in ipairs(folders) do
    if path == folder or path:sub(1, #folder + 1) == folder .. "/" then return true end
  end
  return false
end

--- Changes up to `most` entries, `always` among them, calls fn, and puts them back, whatever happens.
---@generic Result
---@param random pmclua.Random
---@param most integer
---@param fn fun(): Result
---@param always? string path
---@return Result
function Tree:changed(random, most, fn, always)
  local changed = {}
  for i = 1, random:integer(most) do
    local path = i == 1 and always or input.one_of(random, self.paths)
    if not is_below_any(path, changed) then
      changed[#changed + 1] = path
      change(random, path, self.texts[path])
    end
  end
  local ok, result = pcall(fn)
  table.sort(changed)                                                            -- a folder before what is in it
  for _, path in ipairs(changed) do self:restore(path) end
  if not ok then error(result, 0) end
  return result
end

return M
