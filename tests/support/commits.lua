--- commits.lua: repositories of a small C program whose commits do more or less work, for specs of what builds commits.

local support = require "tests.support"

local M = {}

M.BUILD = "cc -O1 -g -o prog prog.c"
M.PROGRAM = [[
volatile unsigned long sink;
static void work(void) { for (long i = 0; i < %d; i++) sink += i; }
int main(void) { work(); return 0; }
/* %s */
]]

--- What a shell line in a folder writes; raises where it fails.
---@param folder string
---@param line string
---@return string
function M.sh(folder, line)
  local ran = support.run({ "sh", "-c", "cd " .. support.quote(folder) .. " && " .. line })
  if ran.status ~= 0 then error(ran.err) end
  return ran.out
end

M.GIT = "git -c user.name=A -c user.email=a@localhost -c commit.gpgsign=false "

--- A repository with a commit for each { text = …, loops = …, broken = … }.
---@param commits table[]
---@return string folder
function M.repository(commits)
  local folder = support.folder()
  M.sh(folder, "git init -q -b main")
  for i, commit in ipairs(commits) do
    local source = M.PROGRAM:format(commit.loops or 1000, commit.text or i)
    support.write(folder .. "/prog.c", source .. (commit.broken and "broken" or ""))
    M.sh(folder, "git add prog.c && " .. M.GIT .. "commit -q --allow-empty -m 'number " .. i .. "'")
  end
  return folder
end

--- Skips a spec where commits cannot be built.
function M.need()
  support.need(support.have "cc" and support.have "git", "no compiler, or no git")
end

--- The same where Valgrind counts.
function M.need_valgrind()
  M.need()
  support.need(support.have "valgrind", "valgrind is not installed")
end

return M
