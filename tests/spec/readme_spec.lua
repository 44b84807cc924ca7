-- README.md and the book: every command in them runs, what they name is there.

local lists = require "pmclua.base.lists"
local markdown = require "tests.support.markdown"
local support = require "tests.support"

local function squeezed(line) return (line:gsub("%s+", " "):gsub(" $", "")) end

--- Whether what is printed has a line: the same one, or where it has figures one that begins so. "..." stands
--- for what is left out.
local function has_line(printed, line)
  if line:find "^%s*%.%.%.$" then return true end
  local first = line:match "^%a%S*"
  for other in printed:gmatch "[^\n]+" do
    if line:find "%d" and (not first or other:match "^%S+" == first) then return true end
    if squeezed(other) == squeezed(line) then return true end
  end
  return false
end

-- Whether a command has here what it cannot do without.
local function can_run(command)
  local takes_root = command:find "pmclua regions" or command:find "sched:"      -- probes, tracefs
  if takes_root and not support.have_root() then return false end
  -- A watcher has page faults of its own; later commands report what that script has stored.
  if support.watcher and (command:find "pages" or command:find "sweep") then return false end
  for _, name in ipairs { "git", "make", "valgrind" } do
    if command:find(name, 1, true) and not support.have(name) then return false end
  end
  return support.have "gnuplot" or not command:find "pmclua plot"
end

-- A folder to work in, beside one with pmclua.
local function place()
  local top = support.folder()
  os.execute(("mkdir '%s/bin' '%s/work'"):format(top, top))
  os.execute(("ln -s '%s' '%s/bin/pmclua'"):format(support.program, top))
  return top
end

-- Saves a file, or runs a command and compares what it prints.
local function follow(step, top)
  if step.file then return support.write(top .. "/work/" .. step.file, step.text) end
  local env = { XDG_STATE_HOME = top .. "/state", COLUMNS = "80", LC_ALL = "C.UTF-8", HOME = top }
  for _, who in ipairs { "AUTHOR", "COMMITTER" } do
    env["GIT_" .. who .. "_NAME"], env["GIT_" .. who .. "_EMAIL"] = "A", "a@localhost"
  end
  local got = support.run({ "sh", "-c", 'PATH="$0:$PATH"; ' .. step.command, top .. "/bin" },
    { folder = top .. "/work", env = env, limit_s = 120 })
  assert.equal(0, got.status, step.command .. "\n" .. got.err)
  local printed = got.out .. got.err
  for line in step.shown:gmatch "[^\n]+" do
    assert.is_true(has_line(printed, line), ("%s\nis not in\n%s"):format(line, printed))
  end
end

describe("a page for users", function()
  for _, path in ipairs(lists.joined { { "README.md" }, markdown.files "doc/" }) do
    local steps = markdown.steps(markdown.text(path))
    if #steps > 0 then
      it("has commands that run, one after the other, and print what is shown: " .. path, function()
        support.need(support.have "cc", "no C compiler")
        local top = place()
        for _, step in ipairs(steps) do
          if step.file or can_run(step.command) then follow(step, top) end
        end
      end)
    end
  end

  it("has a job for CI whose commands the page has run", function()
    local page, commands, tried = markdown.text "doc/tutorial.md", {}, 0
    for _, step in ipairs(markdown.steps(page)) do commands[step.command or ""] = true end
    for line in page:match("```yaml\n(.-)```"):gmatch "%- run: ([^\n]+)" do
      local is_ours = line:find "^pmclua" or line:find "^make"
      assert.is_true(not is_ours or commands[line], "not tried on the page: " .. line)
      tried = tried + (is_ours and 1 or 0)
    end
    assert.equal(2, tried)
  end)

  it("has a session at the prompt in which every line does what it shows", function()
    support.need(support.have "tmux", "tmux is not installed")
    support.need(support.have "cc" and support.have "gnuplot", "no C compiler or no gnuplot")
    local session = markdown.text("doc/experiments.md"):match "```lua%-session\n(.-)```"
    local screen = require("tests.support.terminal").open({ "sh", "-c", 'cd "$0" && exec "$1"', support.root,
      support.program })
    screen:expect "Ctrl-D leaves\n>"
    for line, shown in (session .. "> "):gmatch "> ([^\n]+)\n(.-)%f[>]" do
      screen:press "C-l"
      screen:type(line)
      screen:press "Enter"
      -- The first words of what is shown; numbers and spaces are this machine's.
      for expected in shown:gmatch "[^\n]+" do screen:expect("\n" .. (expected:match "^%a%S*" or "")) end
      local after = screen:expect "\n>"
      assert.is_nil(after:find("stdin:1:", 1, true), after)
    end
    screen:press "C-d"
    assert.equal(0, screen:wait_end())
    screen:close()
  end)

  it("shows the script of scripts/ that it says it shows", function()
    local shown = markdown.text("doc/experiments.md"):match "```lua\n(.-)```"
    local script = support.read(support.root .. "/scripts/matrix.lua")
    assert.is_truthy(script:find(shown, 1, true))
  end)

end)

describe("README.md", function()
  it("is as wide as a terminal: 80 columns, but for tables and what a gate says in a line", function()
    for line in markdown.text("README.md"):gmatch "[^\n]+" do
      local is_longer = line:find "^|" or line:find "^gate:"
      assert.is_true(is_longer ~= nil or require("pmclua.base.text").width(line) <= 80, line)
    end
  end)

  it("names only targets that the Makefile has", function()
    local makefile = support.read(support.root .. "/Makefile")
    for target in markdown.text("README.md"):gmatch "make (%l+) " do
      assert.is_truthy(makefile:find("\n" .. target .. ":", 1, true), target)
    end
  end)
end)

describe("tests/TRUTHS.md", function()
  it("promises nothing that no test holds", function()
    local rows, folder = markdown.text("tests/TRUTHS.md"):match "## The tests.-\n|%-%-%-|%-%-%-|\n(.*)$", nil
    local count = 0
    for row in rows:gmatch "[^\n]+" do
      for name in row:match("| ([^|]+) |$"):gmatch "[^, ]+" do
        folder = name:match "^(.+/)" or folder
        local path = support.root .. "/tests/" .. (name:find "/" and name or folder .. name)
        assert.is_truthy(require("lfs").attributes(path), path)
        count = count + 1
      end
    end
    assert.is_true(count > 10)
  end)
end)
