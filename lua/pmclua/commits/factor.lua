--- factor.lua: commits as a factor of an experiment: levels that are built, and where they were built.

local builds = require "pmclua.commits.builds"
local lists = require "pmclua.base.lists"
local problem = require "pmclua.base.problem"
local repository = require "pmclua.commits.repository"
local text = require "pmclua.base.text"

local M = {}

-- Every n-th commit, the first and the last among them.
local function thinned(commits, every)
  local list = {}
  for i, commit in ipairs(commits) do
    if (i - 1) % (every or 1) == 0 or i == #commits then list[#list + 1] = commit end
  end
  return list
end

--- The commits of a range and their builds.
---@param options table of commits_options
---@return pmclua.Commit[]
---@return pmclua.Builds
function M.open(options)
  local repo = repository.open(options.folder or ".")
  local commits = thinned(repo:between(options.from, options.to, options.first_parent == false),
    options.every)
  return commits, builds.new(repo, commits, options)
end

--- Builds commits for a factor: { "commit", { names… }, folder = where a folder of each name is }. Those that do not
--- build are left out, with a note.
---@param options table of commits_options
---@return table factor
---@return pmclua.Commit[] those that build
function M.built(options)
  local commits, made = M.open(options)
  local output, lfs, core = require "pmclua.host.output", require "lfs", require "pmclua.core"
  local built, broken, folders = {}, {}, {}
  for _, commit in ipairs(commits) do
    folders[commit.name] = made:folder(commit.hash)
    table.insert(folders[commit.name] and built or broken, commit)
  end
  local names = lists.column(built, "name")
  if #names == 0 then
    error(problem.problem { code = "EBUILD", operation = "build", message = "none of the commits builds" }, 0)
  end
  if #broken > 0 then
    output.note("these commits do not build and are left out: %s", text.list(lists.column(broken, "name")))
  end
  local place = ("%s/by-name-%s"):format(made.root, core.hash(
    table.concat(lists.joined { { options.build }, options.paths or {}, options.benchmark_paths or {} },
      "\0")):sub(1, 12))
  require("pmclua.host.paths").make(place)
  for name, folder in pairs(folders) do
    os.remove(place .. "/" .. name)
    lfs.link(folder, place .. "/" .. name, true)
  end
  return { "commit", names, folder = place }, built
end

--- The same factor alone, as an experiment takes it.
---@param options table of commits_options
---@return table
function M.new(options) return (M.built(options)) end

return M
