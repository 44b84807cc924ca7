--- reverts.lua: commits that take back lines that another one changed. A revert restores a count, so equal ends hide it:
--- these are where to look. What they do to a count is measured, not read.

local git = require "pmclua.host.git"
local lists = require "pmclua.base.lists"

local M = {}

local LIMITS = { seconds = 60, megabytes = 64 }
local MOST = 4                  -- each of them may cost a build
local MOST_FILES = 200          -- words of git's command line; of more files all are compared
local DIFF = { "--unified=0", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames" }

-- A line without its indentation; nil where it says too little to be known again.
local function content(line)
  return line:find "%w.*%w.*%w" and line:match "^%s*(.-)%s*$" or nil
end

-- Calls `f(sign, line)` with each changed line of git's output, `begin(hash)` with each commit.
local function read_diff(diff, f, begin)
  local is_hunk = false
  for line in (diff .. "\n"):gmatch "([^\n]*)\n" do
    local hash, sign, rest = line:match "^\30(%x+)", line:match "^([-+])(.*)"
    if hash or line:find "^diff " then is_hunk = false end
    if hash then begin(hash) end
    if line:find "^@@" then is_hunk = true end
    local known = is_hunk and sign and content(rest)
    if known then f(sign, known) end
  end
end

--- The commits of a line of first parents that take back lines which the step from one of them to another changed.
---@param repository pmclua.Repository
---@param commits pmclua.Commit[]
---@param from integer the last one before the step
---@param to integer the first one behind it
---@return integer[] few, those that take most back first
function M.of(repository, commits, from, to)
  local function ask(words) return git.run(repository.top, words, LIMITS) end
  local ends = { commits[from].hash, commits[to].hash }
  local names = ask(lists.joined { { "diff", "--name-only", "-z", "--no-renames" }, ends })
  local diff = ask(lists.joined { { "diff" }, DIFF, ends })
  local files = lists.map(lists.collect((names or ""):gmatch "%Z+"), function(name)
    return ":(top,literal)" .. name
  end)
  local log = diff and #files > 0 and ask(lists.joined { { "log", "--first-parent", "-m", "-p",
    "--format=%x1e%H" }, DIFF, { commits[1].hash .. ".." .. commits[#commits].hash, "--" },
    #files <= MOST_FILES and files or {} })
  if not log then return {} end
  local undoes = { ["+"] = {}, ["-"] = {} }
  read_diff(diff, function(sign, line) undoes[sign == "+" and "-" or "+"][line] = true end)
  local positions, amount, here = {}, {}, nil
  for i, commit in ipairs(commits) do positions[commit.hash] = i end
  read_diff(log, function(sign, line)
    if here and undoes[sign][line] then amount[here] = (amount[here] or 0) + 1 end
  end, function(hash)
    local at = positions[hash]
    here = at and (at <= from or at > to) and at or nil
  end)
  local paths = lists.keys(amount)
  table.sort(paths, function(a, b)
    if amount[a] ~= amount[b] then return amount[a] > amount[b] end
    return math.abs(a - to) < math.abs(b - to)
  end)
  return { unpack(paths, 1, MOST) }
end

return M
