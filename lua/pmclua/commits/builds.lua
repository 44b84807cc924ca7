--- builds.lua: commits as built folders, in a bounded cache under the user's cache folder.
--
-- Invariant: a build is complete if its note says so, and is never made twice; commits that read the same share one.
-- A commit that does not build is remembered as broken; what ran out of time or room, or was interrupted, is not.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local output = require "pmclua.host.output"
local paths = require "pmclua.host.paths"
local problem = require "pmclua.base.problem"
local relink = require "pmclua.workload.relink"
local tools = require "pmclua.host.tools"
local units = require "pmclua.base.units"

local M = {}

local BUILD_S, CACHE_BYTES, ORPHAN_S = 3600, 10 * 2 ^ 30, 60

---@class pmclua.Builds
---@field options table of building_options
---@field newest string the hash of the last commit
---@field root string the folder of the cache
---@field made integer builds of this process
---@field link_s? number that the last new layout of a build took
local Builds = {}
Builds.__index = Builds

local raise = problem.raiser "build"

-- The compiler that builds usually take, by what it says of itself.
local function compiler()
  local name = os.getenv "CC" or "cc"
  local path = name:find "^/" and name or tools.find(name:match "^%S+")
  return path and name .. " " .. (tools.read(path, { "--version" }):match "[^\n]*") or name
end

--- The builds of some commits.
---@param repository pmclua.Repository
---@param commits pmclua.Commit[] benchmark_paths are taken from the last one
---@param options table of building_options
---@return pmclua.Builds
function M.new(repository, commits, options)
  if options.layouts and not tools.find "ld.lld" then
    raise("ENOENT", "layouts are drawn by lld, which is not installed", "apt-get install lld")
  end
  local last = commits[#commits]
  if options.paths then repository:check_paths("paths", options.paths, { commits[1], last }) end
  if options.benchmark_paths then
    repository:check_paths("benchmark-paths", options.benchmark_paths, { last })
  end
  local cache = paths.cache() or raise("ENOENT",
    "there is no folder for builds: neither XDG_CACHE_HOME nor HOME is set")
  local root = cache .. "/commits/" .. core.hash(repository.common):sub(1, 12)
  local is_there, code = paths.make(root)
  if not is_there then raise(code, "cannot make the folder of builds " .. root) end
  return setmetatable({ repository = repository, options = options, newest = last.hash,
    limit_s = problem.asked(units.seconds, options.build_timeout, "build_timeout: %s") or BUILD_S,
    most_bytes = problem.asked(units.bytes, options.cache, "cache: %s") or CACHE_BYTES,
    root = root, compiler = compiler(), keys = {}, used = {}, locks = {}, made = 0 }, Builds)
end

--- Whether a commit has layouts: each is a build of its own, by {seed}, or another link of one build.
---@return boolean
function Builds:draws_layouts()
  return self.options.layouts ~= nil or self.options.build:find("{seed}", 1, true) ~= nil
end

-- All inputs of a build but the seed.
local function inputs_of(self, hash)
  local repository, options = self.repository, self.options
  self.keys[hash] = self.keys[hash] or repository:inputs(hash, options.paths) .. "\n"
    .. (options.benchmark_paths and repository:inputs(self.newest, options.benchmark_paths) or "")
  return self.keys[hash]
end

--- Whether two commits are built from the same.
---@param a string hash
---@param b string
---@return boolean
function Builds:are_equal(a, b) return inputs_of(self, a) == inputs_of(self, b) end

local function folder_of(self, hash, seed)
  local line = self.options.build:gsub("{seed}", ("%d"):format(seed))
  local parts = { inputs_of(self, hash), line, self.compiler }
  if self.options.layouts then parts[4] = seed == 0 and "as built" or "shuffled" end
  return self.root .. "/" .. core.hash(table.concat(parts, "\0")):sub(1, 20), line
end

-- ---- notes: what is known of a folder ------------------------------------------------------------------------

local function read_note(folder)
  local text = core.read_plain(folder .. ".note")
  local state, kibibytes = (text or ""):match "^(%l+) (%d+)\n$"
  if state then return { state = state, bytes = tonumber(kibibytes) * 1024 } end
end

local function size_of(folder)
  return tonumber((tools.read(tools.find "du" or "/usr/bin/du", { "-sk", folder }):match "^%d+")) or 0
end

local function write_note(folder, state)
  local ok, _, errnum = core.replace(folder .. ".note", ("%s %d\n"):format(state, size_of(folder)))
  if not ok then raise("EWRITE", ("%s.note: %s"):format(folder, core.errno_text(errnum))) end
end

local function remove(self, folder)
  os.remove(folder .. ".note")
  os.remove(folder .. ".log")
  core.remove_folder(folder .. ".links")
  self.repository:remove_worktree(folder)
end

-- Removes what was not used for longest until the rest fits, but for what this process has used.
local function keep_within(self)
  local lfs, notes, sum = require "lfs", {}, 0
  for name in lfs.dir(self.root) do
    local folder = self.root .. "/" .. (name:match "^(%x+)%.note$" or "")
    local note = name:find "^%x+%.note$" and read_note(folder)
    if note then
      notes[#notes + 1] = { folder = folder, bytes = note.bytes, used = lfs.attributes(folder .. ".note",
        "modification") }
      sum = sum + note.bytes
    end
  end
  table.sort(notes, function(a, b) return a.used < b.used end)
  local most, removed = self.most_bytes, 0
  for _, note in ipairs(notes) do
    if sum > most and not self.used[note.folder] then
      remove(self, note.folder)
      sum, removed = sum - note.bytes, removed + 1
    end
  end
  local number = require "pmclua.base.number"
  if removed > 0 then
    output.note("removed %d builds from %s, which keeps %s", removed, self.root, number.bytes(most))
  elseif sum > most and not self.is_full then
    self.is_full = true
    output.note("the builds of this search take %s in %s, more than the %s that are kept",
      number.bytes(sum), self.root, number.bytes(most))
  end
end

-- ---- building ------------------------------------------------------------------------------------------

-- All that takes part in a build holds its log locked.
local SHELL =
  'cd "$0" && exec </dev/null >"$1" 2>&1 && { ! command -v flock >/dev/null || flock 1; } && '
  .. 'unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_PREFIX && '
  .. 'export PMCLUA_SEED="$2" && eval "$3"'

local function is_of_disk(log)
  local text = core.read_plain(log, 2 ^ 28) or ""
  return text:find("No space left on device", 1, true) or text:find("Disk quota exceeded", 1, true)
end

local function links_nothing(log)
  return ("\n" .. (core.read_plain(log, 2 ^ 28) or "")):find("\nit linked nothing in ", 1, true)
end

-- Runs the build: "built" or "broken". Raises what is no property of the commit.
local function build(self, folder, line, seed)
  local log = folder .. ".log"
  local _, trouble, status = tools.read("/bin/sh", { "-c", SHELL, folder, log, ("%d"):format(seed), line },
    { seconds = self.limit_s })
  if trouble and core.interrupts() > 0 then error({ stop = "interrupted" }, 0) end
  if trouble and trouble:find "interrupted" then require("pmclua.host.running").check_interrupted() end
  if trouble then
    local why = trouble:gsub("^%S+ ", "")
    raise("ETIMEDOUT", ("the build %s; the commit counts as neither good nor broken"):format(why),
      "--build-timeout gives it longer; it wrote " .. log)
  end
  if status == 0 then return "built" end
  if status >= 128 then raise("EBUILD", ("the build was killed (status %d): %s"):format(status, log)) end
  if is_of_disk(log) then raise("ENOSPC", "there is no room for the build: " .. log) end
  if self.options.layouts and links_nothing(log) then
    raise("EBUILD", "layouts are other links of what is built, but the build links nothing: " .. log,
      "it must link by cc, c++, gcc, g++, clang or clang++ as PATH finds them")
  end
  return "broken"
end

-- Links a built folder again, in the order of functions that a seed draws.
local function link_again(self, folder, seed)
  local start = core.now_ns()
  local line = relink.line(self.options.build, seed, false, folder .. ".links")
  if build(self, folder, line, seed) ~= "built" then
    raise("EBUILD", ("layout %d cannot be linked: %s.log"):format(seed, folder))
  end
  self.link_s = (core.now_ns() - start) / 1e9
end

local function prepare(self, hash, folder)
  local options = self.options
  self.repository:add_worktree(hash, folder)
  if options.benchmark_paths then
    self.repository:must(lists.joined { { "checkout", "--quiet", self.newest, "--" },
      options.benchmark_paths }, folder)
  end
end

-- Two processes must not build in one folder: a lock says who does, until it ends.
local function lock(folder)
  local path = folder .. ".lock"
  local pid = tonumber((core.read_plain(path) or ""):match "^%d+")
  if pid and pid ~= core.pid() and require("pmclua.core.processes").exists(pid) then
    raise("EBUSY", ("process %d builds the same commit: %s"):format(pid, path))
  end
  core.replace(path, ("%d\n"):format(core.pid()))
  return path
end

-- A build goes on after pmclua was killed, and would write into the folder that is made anew.
local function await_end(folder)
  local flock, log = tools.find "flock", folder .. ".log"
  if not flock or not core.stat(log) then return end
  local _, _, status = tools.read(flock, { "-w", ("%d"):format(ORPHAN_S), log, "true" },
    { seconds = 2 * ORPHAN_S })
  if status == 1 then
    raise("EBUSY", ("a build that was begun before has not ended in %d s: %s"):format(ORPHAN_S, folder))
  end
end

-- Builds a commit in its folder.
local function make(self, hash, folder, line, seed)
  local path = lock(folder)
  await_end(folder)
  prepare(self, hash, folder)
  if self.options.layouts then line = relink.line(line, 0, true, folder .. ".links") end
  local state = build(self, folder, line, seed)
  self.made = self.made + 1
  write_note(folder, state)
  os.remove(path)
  if state == "broken" then self.repository:remove_worktree(folder) end
  return { state = state }
end

--- Lets other processes have the builds whose layouts this one has drawn.
function Builds:release()
  for path in pairs(self.locks) do os.remove(path) end
  self.locks = {}
end

--- The folder of a built commit, with a layout of its own where the build draws one; nil: it does not build.
---@param hash string
---@param seed? integer of its layout; default 0
---@return string? folder
---@return string log of its build
function Builds:folder(hash, seed)
  local folder, line = folder_of(self, hash, seed or 0)
  local note, relinks = read_note(folder), self.options.layouts and (seed or 0) > 0
  if note and (note.state == "broken" or core.stat(folder)) then
    require("lfs").touch(folder .. ".note")
  else
    note = make(self, hash, folder, line, seed or 0)
  end
  if relinks and note.state == "built" then
    self.locks[lock(folder)] = true
    link_again(self, folder, seed)
  end
  local is_new = not self.used[folder]
  self.used[folder] = true
  if is_new then keep_within(self) end
  return note.state == "built" and folder or nil, folder .. ".log"
end

return M
