-- README.md: every command in it runs, every target in it is there.

local support = require "tests.support"

local text = support.read(support.root .. "/README.md")

--- The commands, each with the output that is shown below it.
local function commands()
  local list = {}
  for block in text:gmatch "```console\n(.-)```" do
    for command, shown in (block .. "$ "):gmatch "$ ([^\n]+)\n(.-)%f[$]" do
      list[#list + 1] = { command, shown }
    end
  end
  return list
end

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

describe("README.md", function()
  for _, entry in ipairs(commands()) do
    local command, shown = unpack(entry)
    it("has a command that runs and prints what is shown: " .. command, function()
      support.need(support.have_root() or not command:find "^pmclua regions", "probes need root")
      support.need(support.have "cc" or not command:find "matrix", "no C compiler")
      if command:find "^pmclua pages" then support.need_unwatched "a watcher has page faults of its own" end
      local bin = support.folder()
      os.execute(("ln -s '%s' '%s/pmclua'"):format(support.program, bin))
      local got = support.run({ "sh", "-c", 'PATH="$0:$PATH"; ' .. command, bin },
        { env = { XDG_STATE_HOME = bin .. "/state", COLUMNS = "80", LC_ALL = "C.UTF-8" }, limit_s = 120 })
      assert.equal(0, got.status, got.err)
      local printed = got.out .. got.err
      assert.is_true(#printed > 0)
      for line in shown:gmatch "[^\n]+" do
        assert.is_true(has_line(printed, line), ("%s\nis not in\n%s"):format(line, printed))
      end
    end)
  end

  it("has a session at the prompt in which every line does what it shows", function()
    support.need(support.have "tmux", "tmux is not installed")
    support.need(support.have "cc" and support.have "gnuplot", "no C compiler or no gnuplot")
    local session = text:match "```lua%-session\n(.-)```"
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

  it("names only targets that the Makefile has", function()
    local makefile = support.read(support.root .. "/Makefile")
    for target in text:gmatch "make (%l+) " do
      assert.is_truthy(makefile:find("\n" .. target .. ":", 1, true), target)
    end
  end)

  it("shows the script that it says it shows", function()
    local shown = text:match "```lua\n(.-)```"
    local script = support.read(support.root .. "/scripts/matrix.lua")
    assert.is_truthy(script:find(shown, 1, true))
  end)

  it("promises nothing that no test holds", function()
    local rows, folder = text:match "## What is promised.-\n|%-%-%-|%-%-%-|\n(.-)\n\n", nil
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
