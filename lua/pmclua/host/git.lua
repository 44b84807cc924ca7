--- git.lua: what git says of a folder's checkout; no hooks run, no other checkout is meant.

local core = require "pmclua.core"
local lists = require "pmclua.base.lists"
local tools = require "pmclua.host.tools"

local M = {}

-- Variables that git's callers (hooks, git bisect) set, and that would name another checkout.
local CLEAN = 'unset GIT_DIR GIT_WORK_TREE GIT_COMMON_DIR GIT_INDEX_FILE GIT_PREFIX GIT_OBJECT_DIRECTORY '
  .. 'GIT_ALTERNATE_OBJECT_DIRECTORIES GIT_QUARANTINE_PATH GIT_SHALLOW_FILE; '
  .. 'exec "$0" -c core.hooksPath=/dev/null -c core.fsmonitor=false "$@"'
-- As root by sudo git takes the checkout of the user who calls sudo, whose settings say what it runs; a checkout may lack
-- objects, and name a program that fetches them.
local UNASKED = "unset SUDO_UID; export GIT_ALLOW_PROTOCOL=none; "
local UNASKED_S = 5

--- Runs git.
---@param folder string
---@param words string[]
---@param limits { seconds: number, megabytes?: number, unasked?: boolean } unasked: nobody named this checkout
---@return string? output without the last line end; nil: git refused, or did not end
---@return string? why
---@return boolean? is_trouble it could not be run, or did not end
function M.run(folder, words, limits)
  local path = tools.find "git"
  if not path then
    return nil, "git is not installed: " .. require("pmclua.base.packages").install "git", true
  end
  local output, trouble, status = tools.read("/bin/sh", lists.joined { { "-c",
    (limits.unasked and UNASKED or "") .. CLEAN, path, "-C", folder }, words },
    { seconds = limits.seconds, errors = not limits.unasked, megabytes = limits.megabytes })
  if trouble then return nil, trouble, true end
  output = output:gsub("\n$", "")
  if status ~= 0 then return nil, (output:gsub("^fatal: ", "")) end
  return output
end

-- Whether a folder or one above it is a checkout: git itself takes milliseconds.
local function is_checkout(folder)
  while folder and folder ~= "/" do
    if core.stat(folder .. "/.git") then return true end
    folder = folder:match "^(.*)/[^/]*$"
  end
  return false
end

local FILTERS = { "config", "--show-scope", "--name-only", "--get-regexp", [[^filter\..*\.(clean|process)$]] }

-- Whether comparing files would run programs that the checkout names, not the user.
local function has_filters(folder)
  local output, _, is_trouble = M.run(folder, FILTERS, { seconds = UNASKED_S, unasked = true })
  for scope in (output or ""):gmatch "(%l+)\t[^\n]+" do
    if scope == "local" or scope == "worktree" then return true end
  end
  return is_trouble
end

---@class pmclua.Checkout
---@field commit string its hash
---@field branch? string nil: none is checked out
---@field changes? integer tracked files that differ from the commit; nil: the checkout has filters, which are not run

--- The commit that is checked out where this process runs.
---@return pmclua.Checkout? nil: it is no checkout, or git does not say (another user's, too slow)
function M.checkout()
  local folder = core.real_path "."
  if not (folder and is_checkout(folder)) then return nil end
  local is_unread = has_filters(folder)
  local compared = is_unread and ":(top,literal).git" or ":(top)"
  local output = M.run(folder, { "--no-optional-locks", "status", "--porcelain=v2", "--branch",
    "--untracked-files=no", "--ignore-submodules=dirty", "--", compared },
    { seconds = UNASKED_S, unasked = true })
  local commit = output and output:match "# branch%.oid (%x+)"
  if not commit then return nil end
  local branch, changes = output:match "# branch%.head ([^\n]+)", not is_unread and 0 or nil
  for _ in (changes and "\n" .. output or ""):gmatch "\n[^#]" do changes = changes + 1 end
  return { commit = commit, branch = branch ~= "(detached)" and branch or nil, changes = changes }
end

return M
