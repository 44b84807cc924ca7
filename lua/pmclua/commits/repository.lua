--- repository.lua: what git says of a repository: commits in order, their trees; worktrees apart from the user's.
--
-- Invariant: the user's checkout, index and branches are never changed. Worktrees are entered in the repository's
-- .git/worktrees and nowhere else; hooks do not run.

local git = require "pmclua.host.git"
local lists = require "pmclua.base.lists"
local problem = require "pmclua.base.problem"
local text = require "pmclua.base.text"

local M = {}

---@class pmclua.Commit
---@field hash string
---@field name string short, as git abbreviates it
---@field tree string
---@field parents string[]
---@field author string
---@field date string ISO 8601
---@field subject string

---@class pmclua.Repository
---@field top string the checkout's folder
---@field common string the folder that all worktrees share
---@field trees table<string, string> by commit, as far as they are known
---@field lacks_submodules? boolean it was said
local Repository = {}
Repository.__index = Repository

local GIT_S = 600

local raise = problem.raiser "bisect"

-- Git's output without the last newline; or nil and its complaint.
local function run(folder, words)
  local output, why, is_trouble = git.run(folder, words, { seconds = GIT_S, megabytes = 256 })
  if is_trouble then raise("EGIT", why) end
  return output, why
end

--- Runs git in the repository: what it writes; or nil and why not.
---@param words string[]
---@param folder? string another than the checkout
---@return string?, string?
function Repository:git(words, folder) return run(folder or self.top, words) end

--- The same; raises where git refuses.
---@param words string[]
---@param folder? string
---@return string
function Repository:must(words, folder)
  local output, why = self:git(words, folder)
  return output or raise("EGIT", ("git %s: %s"):format(words[1], why or "it failed"))
end

--- The repository that a folder is in. Raises where there is none.
---@param folder string
---@return pmclua.Repository
function M.open(folder)
  local top, why = run(folder, { "rev-parse", "--show-toplevel" })
  if not top then
    raise("EGIT", "there is no git repository here: " .. why, "run it in a checkout")
  end
  local common = run(folder, { "rev-parse", "--path-format=absolute", "--git-common-dir" })
  return setmetatable({ top = top, common = common or top .. "/.git", trees = {} }, Repository)
end

--- The full hash of a revision. Raises where there is none.
---@param revision string
---@return string
function Repository:resolve(revision)
  local hash = self:git { "rev-parse", "--verify", "--quiet", "--end-of-options", revision .. "^{commit}" }
  if hash and hash ~= "" then return hash end
  local shallow = self:is_shallow() and "; this clone is shallow: git fetch --unshallow" or ""
  raise("ENOENT", ("there is no commit '%s' here%s"):format(text.safe(revision), shallow))
end

function Repository:is_shallow() return self:git { "rev-parse", "--is-shallow-repository" } == "true" end

local FORM = "--format=%H%x1f%h%x1f%T%x1f%P%x1f%an%x1f%aI%x1f%s"

local function commit_of(line)
  local hash, name, tree, parents, author, date, subject = line:match(("([^\31]*)\31"):rep(6) .. "(.*)")
  return { hash = hash, name = name, tree = tree, parents = lists.collect(parents:gmatch "%x+"),
    author = author, date = date, subject = subject }
end

-- The commits of git's lines, whose trees are known from then on: asking for each takes a process.
local function commits_of(self, log)
  local list = lists.map(lists.where(text.lines(log), function(line) return line ~= "" end), commit_of)
  for _, commit in ipairs(list) do self.trees[commit.hash] = commit.tree end
  return list
end

--- One commit.
---@param hash string
---@return pmclua.Commit
function Repository:commit(hash) return commits_of(self, self:must { "log", "-1", FORM, hash })[1] end

--- Commits from `good` to `bad`, both among them, in order, by first parents. Raises where `good` does not come before.
---@param good string
---@param bad string
---@param every_parent? boolean all commits of merged branches too, in topological order
---@return pmclua.Commit[]
function Repository:between(good, bad, every_parent)
  local from, to = self:resolve(good), self:resolve(bad)
  if from == to then
    raise("EINVAL", ("'%s' and '%s' are one commit"):format(text.safe(good), text.safe(bad)))
  end
  if not self:git { "merge-base", "--is-ancestor", from, to } then
    local base = self:git { "merge-base", from, to }
    local hint = self:is_shallow() and "this clone is shallow: git fetch --unshallow brings the history"
      or self:git { "merge-base", "--is-ancestor", to, from } and "it is the other way round: exchange them"
      or base and ("their last common commit is %s: take it as the good one"):format(base:sub(1, 12))
      or "they have no common history"
    raise("EINVAL", ("'%s' is no ancestor of '%s'"):format(text.safe(good), text.safe(bad)), hint)
  end
  local words = { "log", "--reverse", "--topo-order", FORM, from .. ".." .. to }
  if not every_parent then table.insert(words, 3, "--first-parent") end
  return lists.joined { { self:commit(from) }, commits_of(self, self:must(words)) }
end

--- Commits in the order of history, with all others before the last of them.
---@param hashes string[]
---@return string[]
function Repository:order(hashes)
  return lists.collect(self:must(lists.joined { { "rev-list", "--topo-order", "--reverse" }, hashes })
    :gmatch "%x+")
end

--- The inputs of a commit's build: the hashes of its trees, or of some paths alone.
---@param hash string
---@param paths? string[] from the top
---@return string
function Repository:inputs(hash, paths)
  if not paths or #paths == 0 then
    self.trees[hash] = self.trees[hash] or self:must { "rev-parse", hash .. "^{tree}" }
    return self.trees[hash]
  end
  return self:must(lists.joined { { "ls-tree", "--full-tree", hash, "--" }, paths })
end

--- Raises where a path is in none of some commits, or a commit has none of the paths: they would all look alike.
---@param what string the option
---@param paths string[]
---@param commits pmclua.Commit[]
function Repository:check_paths(what, paths, commits)
  local function has(commit, path) return self:inputs(commit.hash, { path }) ~= "" end
  for _, path in ipairs(paths) do
    if not lists.any(commits, function(commit) return has(commit, path) end) then
      raise("ENOENT", ("%s: there is no %s in %s"):format(what, text.safe(path),
        text.list(lists.column(commits, "name"))), "paths are from the top of the checkout")
    end
  end
  for _, commit in ipairs(commits) do
    if not lists.any(paths, function(path) return has(commit, path) end) then
      raise("ENOENT", ("%s: %s has none of these paths"):format(what, commit.name),
        "where a file was renamed, name both")
    end
  end
end

--- Changes of the checkout that are not committed.
---@return string "" where there are none
function Repository:changes() return self:git { "status", "--porcelain" } or "" end

-- Submodules that the checkout has, from its copies of them: no network is used, and its settings stay as they are.
-- Submodules that it lacks are left out.
local function add_submodules(self, folder, copies)
  local output = self:git({ "config", "--file", ".gitmodules", "--get-regexp", [[^submodule\..*\.path$]] },
    folder)
  for name, path in ((output or "") .. "\n"):gmatch "submodule%.([^\n]-)%.path ([^\n]+)\n" do
    local copy = copies .. "/" .. name
    if require("pmclua.core").stat(copy) then
      local url = ("submodule.%s.url=%s"):format(name, copy)
      local done, why = self:git({ "-c", "protocol.file.allow=always", "-c", url, "submodule", "--quiet",
        "update", "--init", "--", path }, folder)
      if not done then
        raise("EGIT", ("the submodule %s cannot be had from the checkout's copy: %s"):format(
          text.safe(path), text.safe(why:match "[^\n]*$")), ("git -C %s fetch"):format(text.safe(path)))
      end
      add_submodules(self, folder .. "/" .. path, copy .. "/modules")
    elseif not self.lacks_submodules then
      self.lacks_submodules = true
      require("pmclua.host.output").note("the checkout lacks the submodule %s, so builds lack it, too; "
        .. "git submodule update --init brings it", text.safe(path))
    end
  end
end

--- Checks a commit out in a worktree of its own.
---@param hash string
---@param folder string that is not there yet
function Repository:add_worktree(hash, folder)
  self:remove_worktree(folder)
  self:must { "worktree", "add", "--force", "--detach", "--quiet", folder, hash }
  if self:git { "cat-file", "-e", hash .. ":.gitmodules" } then
    add_submodules(self, folder, self.common .. "/modules")
  end
end

--- Removes a worktree of `add_worktree`, complete or not.
---@param folder string
function Repository:remove_worktree(folder)
  self:git { "worktree", "remove", "--force", "--force", folder }
  require("pmclua.core").remove_folder(folder)
  self:git { "worktree", "prune" }
end

return M
