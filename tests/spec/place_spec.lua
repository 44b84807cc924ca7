-- What pmclua prints follows the place it prints to: colour, width, characters; and not the locale's
-- numbers.

local support = require "tests.support"
local terminal = require "tests.support.terminal"

local COMMANDS = {
  { "stat", "-r", "2", "-e", "page-faults,cycles", "--", "true" },
  { "compare", "--quiet", "--repetitions", "2", "-e", "page-faults,task-clock", "true", "ls /" },
  { "pages", "--no-store", "--quiet", "--repetitions", "2", "--set", "pages=1" },
  { "events", "branch" },
  { "first", "--help" },
  { "first", "--plan" },
  { "monitor", "-I", "50", "-e", "page-faults,task-clock", "--", "sleep", "0.12" },
  { "plot" },
  { "events", "--explain", "cycles:u" },
  { "compare" },
  { "regions", "--help" },
  { "--list" },
  { "-h" },
  { "-e", "pmc.help()" },
  { "-e", "pmc.help 'measure'" },
}

-- What a plot is of: an experiment's times, in µs, and its factor's levels, which lie close.
local STORE = [[pmc.experiment { workloads = { f = function() end }, events = "duration_time",
  repetitions = 2, factors = { { "n", { 64, 3072, 4096 } } } }:run { quiet = true }]]

local function run(words, environment)
  local folder = support.folder()
  local variables = { XDG_STATE_HOME = folder, TERM = "xterm", NO_COLOR = false, COLUMNS = false }
  for name, value in pairs(environment) do variables[name] = value end
  if words[1] == "plot" then support.pmclua({ "-e", STORE }, { env = variables }) end
  local result = support.pmclua(words, { env = variables })
  return result.out .. result.err, result.out
end

local function is_possible(words)
  if words[1] == "plot" then return support.have "gnuplot" end
  return words[1] ~= "pages" or support.have "cc"
end

for _, words in ipairs(COMMANDS) do
  describe("pmclua " .. table.concat(words, " "), function()
    before_each(function() support.need(is_possible(words), "no C compiler, or no gnuplot") end)

    it("prints no colour into a pipe", function()
      assert.is_nil(run(words, { LC_ALL = "C.UTF-8" }):find("\27", 1, true))
    end)

    it("prints ASCII alone where the locale has no UTF-8", function()
      local text = run(words, { LC_ALL = "C" })
      assert.is_nil(text:match "[^\n]*[\128-\255][^\n]*")
    end)

    it("keeps to 80 columns where nobody says how wide the place is", function()
      local said, printed = run(words, { LC_ALL = "C.UTF-8" })
      -- Messages are one paragraph each: the terminal folds them. An event's name is not folded: some PMUs
      -- have one of more than 78 characters.
      for line in (words[1] == "events" and printed or said):gmatch "[^\n]+" do
        assert.is_true(require("pmclua.base.text").width(line) <= 80 or not line:find "%S%s+%S", line)
      end
    end)
  end)
end

describe("a message", function()
  it("is in ASCII where the locale has no UTF-8", function()
    for _, chunk in ipairs { "pmc.events.encode 'uprobe/x=1/'", "pmc.options { 1 }",
      "print(pmc.group 'page-faults,cycles:u':count(print))", "error 'naïve …'" } do
      local text = run({ "-e", chunk }, { LC_ALL = "C" })
      assert.is_nil(text:match "[^\n]*[\128-\255][^\n]*")
    end
  end)

  it("is one line in a pipe, and as wide as the place on a terminal", function()
    support.need(support.have "tmux", "tmux is not installed")
    local words = { "-e", "pmc.options { 1 }" }
    local said = run(words, { LC_ALL = "C.UTF-8" })
    assert.matches("^pmclua: [^\n]+\n$", said)
    local screen = terminal.open({ support.program, unpack(words) }, { COLUMNS = "60" })
    assert.equal(1, screen:wait_end())
    local shown = screen:screen()
    screen:close()
    assert.matches("^pmclua: [^\n]+\n  %S[^\n]+\n", shown)
    assert.matches((said:gsub("%s+", " ")), (shown:gsub("%s+", " ")), 1, true)
  end)
end)

describe("a report", function()
  local words = { "compare", "--quiet", "--repetitions", "2", "-e", "page-faults,task-clock", "true", "ls /" }

  it("is as narrow as COLUMNS says", function()
    assert.is_true(support.widest(run(words, { COLUMNS = "60", LC_ALL = "C.UTF-8" })) <= 60)
  end)

  it("has points in its numbers in a locale that has commas", function()
    support.need(support.have "localedef", "no localedef")
    local folder = support.folder()
    local made = support.run { "localedef", "-f", "UTF-8", "-i", "de_DE", folder .. "/de_DE.UTF-8" }
    support.need(made.status <= 1 and require("lfs").attributes(folder .. "/de_DE.UTF-8"), "no German locale")
    local german = { LOCPATH = folder, LC_ALL = "de_DE.UTF-8" }
    local script = "print(1.5, tonumber '2.5', ('%.2f'):format(0.25), tostring(pmc.stats.median { 1, 2 }))"
    assert.equal("1.5\t2.5\t0.25\t1.5\n", run({ "-e", script }, german))
    local csv = run({ "compare", "--quiet", "--repetitions", "2", "-e", "task-clock", "--format", "csv",
      "true", "ls /" }, german)
    for line in csv:gmatch "\n([^\n]+)" do
      assert.equal(select(2, csv:match "^[^\n]*":gsub(",", "")), select(2, line:gsub(",", "")), line)
    end
    assert.is_nil(run(words, german):match "%d,%d%d? ")
  end)
end)

describe("on a terminal", function()
  local screen

  before_each(function() support.need(support.have "tmux", "tmux is not installed") end)
  after_each(function()
    if screen then screen:close() end
    screen = nil
  end)

  --- The screen with its colours, once `pmclua` ended there.
  local function shown(environment)
    local command = { support.program, "compare", "--quiet", "--repetitions", "8", "-e", "page-faults",
      "true", "ls /" }
    if environment.NO_COLOR then command = { "env", "NO_COLOR=" .. environment.NO_COLOR, unpack(command) } end
    screen = terminal.open(command, environment)
    assert.equal(0, screen:wait_end())
    return screen:tmux("capture-pane", "-p", "-e")
  end

  it("nothing is coloured where NO_COLOR is set", function()
    assert.is_nil(shown({ NO_COLOR = "1" }):find("\27%[[%d;]*[34]%d"))
  end)

  it("the verdict stands out where it is not", function()
    assert.is_truthy(shown({}):find "\27%[[%d;]+m")
  end)
end)
