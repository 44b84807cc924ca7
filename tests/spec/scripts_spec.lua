-- The scripts that come along: each explains itself, and its example is one.

local lists = require "pmclua.base.lists"
local support = require "tests.support"

local SCRIPTS = support.root .. "/scripts"
local PARTS = { "method", "usage", "example", "reading", "caveats" }
-- Why an example cannot be run under a watcher: most of these count what the pages of a kernel cost.
local OWN_FAULTS = "a watcher has page faults of its own"
local UNWATCHED = { gate = OWN_FAULTS, merge = OWN_FAULTS, pages = OWN_FAULTS, plot = OWN_FAULTS,
  report = OWN_FAULTS, vectors = "a watcher does not know all instructions" }

local LIMIT_S = 60

local function names()
  local list = {}
  for file in require("lfs").dir(SCRIPTS) do list[#list + 1] = file:match "^([^.].*)%.lua$" end
  table.sort(list)
  return list
end

local function header(name)
  return require("pmclua.cli.script").header(("%s/%s.lua"):format(SCRIPTS, name))
end

--- The commands of a header's example: its lines that begin with "pmclua"; others are output.
local function commands(name)
  local list = {}
  for line in ((header(name).parts.example or "") .. "\n"):gmatch "%s*(.-)\n" do
    if line:find "^pmclua " then list[#list + 1] = line end
  end
  return list
end

--- The words that begin the lines which an example shows below its last command; numbers, and what is of one
--- machine (the doctor's), are not compared.
local function shown_words(name)
  local list = {}
  local shown = (header(name).parts.example .. "\n"):match "^.*\n%s*pmclua [^\n]*\n(.*)$"
    or header(name).parts.example:match "^%s*pmclua [^\n]*\n(.*)$" or ""
  for line in shown:gmatch "[^\n]+" do list[#list + 1] = line:match "^%s*(%a%S*)" end
  return name == "doctor" and {} or list
end

local function has_line(text, word)
  for line in text:gmatch "[^\n]+" do
    if line:match "^%s*(%S*)" == word then return true end
  end
  return false
end

--- The same command with two repetitions, where it repeats.
local function shortened(command, name)
  local shorter, found = command:gsub("%-%-repetitions %d+", "--repetitions 2")
  if found > 0 then return shorter end
  local repeats = support.pmclua({ name, "--help" }).out:find("--repetitions", 1, true)
  return repeats and command:gsub("^pmclua " .. name, "%0 --repetitions 2") or command
end

-- What bisect and history work on: in commit 3 the program takes longer.
local NEEDS_COMMITS = { bisect = true, history = true }
local COMMITS = [[
  git init -q && git config user.name A && git config user.email a@localhost && mkdir cache &&
  for i in 1 2 3 4; do
    echo "int main(void) { for (volatile long i = 0; i < $((i < 3 ? 1000 : 9000)); i++) { } return 0; }" \
      >prog.c
    echo "/* $i */" >>prog.c && git add prog.c && git commit -qm "number $i" || exit 1
  done; git tag v1.0 HEAD~3]]

local STORE = [[
  local experiment = pmc.experiment { workloads = { "true", "ls /" }, baseline = "true", repetitions = 6,
    events = { "page-faults", "task-clock", "instructions" } }
  experiment:run { quiet = true, store = arg_path }]]

--- Stored results for an example: the last one of its user, and those that it names.
local function prepare(command, run)
  local paths, before = { "nil" }, ""
  for word in command:gmatch "%S+" do
    local is_written = before == "-o" or before == "--output" or before == "--store"
    if word:find "%.jsonl$" and not is_written then paths[#paths + 1] = ("%q"):format(word) end
    before = word
  end
  for _, path in ipairs(paths) do run { support.program, "-e", (STORE:gsub("arg_path", path)) } end
end

for _, name in ipairs(names()) do
  describe("scripts/" .. name .. ".lua", function()
    it("has a header with a question and every part", function()
      local found = header(name)
      assert.not_equal("", found.question)
      assert.is_string(found.purpose, "no line `for: …`")
      for _, group in ipairs(require("pmclua.cli.help").scripts()) do
        local is_here = lists.contains(lists.column(group.scripts, "name"), name)
        assert.equal(group.purpose == found.purpose, is_here, group.purpose)
      end
      for _, part in ipairs(PARTS) do assert.is_string(found.parts[part], "no " .. part) end
      assert.matches("^pmclua " .. name .. "%f[%W]", found.parts.usage)
      assert.is_true(#commands(name) > 0, "no command in the example")
      assert.is_truthy(found.parts.example:find "\n[^\n]+$", "the example shows no output")
      for line in found.text:gmatch "[^\n]+" do
        assert.is_true(require("pmclua.base.text").width(line) <= 110, line)
      end
    end)

    it("prints the header and its options by --help", function()
      local result = support.pmclua { name, "--help" }
      assert.same({ 0, "" }, { result.status, result.err })
      local said, shown = header(name).text:gsub("%s+", " "), result.out:gsub("%s+", " ")
      assert.equal(said, shown:sub(1, #said))
      for line in result.out:gmatch "[^\n]+" do
        local is_example = line:find("  pmclua " .. name, 1, true)
        assert.is_truthy(is_example or require("pmclua.base.text").width(line) <= 80, line)
      end
    end)

    it("says of each option what it does", function()
      local described = require("lua.install.describe").script(name, ("%s/%s.lua"):format(SCRIPTS, name))
      for _, option in ipairs(described.own) do
        assert.is_truthy(option.help or option.argument or option.rest, "--" .. option[1])
      end
    end)

    it("requires nothing of pmclua but its public module", function()
      local text = support.read(("%s/%s.lua"):format(SCRIPTS, name))
      for module in text:gmatch 'require%s*%(?%s*"(pmclua[^"]*)"' do assert.equal("pmclua", module) end
    end)

    it("has a usage whose levels it takes", function()
      local levels = header(name).parts.usage:match "%-%-set (%S+)%]"
      if not levels then return end
      local planned = support.pmclua { name, "--plan", "--set", levels }
      assert.same({ 0, "" }, { planned.status, planned.err })
    end)

    it("has an example that runs and prints what it shows", function()
      support.need(name ~= "regions" or support.have_root(), "probes take root")
      if UNWATCHED[name] then support.need_unwatched(UNWATCHED[name]) end
      local folder = support.folder()
      local path, last = support.root .. "/build:" .. os.getenv "PATH", nil
      local place = { folder = folder, limit_s = LIMIT_S,
        env = { PATH = path, XDG_STATE_HOME = folder .. "/state", COLUMNS = "78" } }
      if NEEDS_COMMITS[name] then
        support.need(support.have "git" and support.have "valgrind", "git or Valgrind is not installed")
        place.env.XDG_CACHE_HOME = folder .. "/cache"
        assert.equal(0, support.run({ "sh", "-c", COMMITS }, place).status)
      end
      for _, command in ipairs(commands(name)) do
        local is_of_results = command:find "%.jsonl" or name == "report" or name == "plot"
        if is_of_results then prepare(command, function(words) support.run(words, place) end) end
        local result = support.run({ "sh", "-c", shortened(command, name) }, place)
        local good = result.status == 0 or result.status == 77
        assert.is_true(good, ("%s: %d\n%s"):format(command, result.status, result.err))
        last = result.out .. result.err
      end
      for _, word in ipairs(shown_words(name)) do
        assert.is_true(has_line(last, word), ("no line begins with '%s':\n%s"):format(word, last))
      end
    end)
  end)
end

describe("scripts/README.md", function()
  it("lists every script, and no other", function()
    local listed, text = {}, support.read(SCRIPTS .. "/README.md")
    for row in text:gmatch "\n| ([%l, ]+) |" do
      for name in row:gmatch "%l+" do listed[name] = true end
    end
    listed.script = nil                  -- the tables' heading
    local list = {}
    for name in pairs(listed) do list[#list + 1] = name end
    table.sort(list)
    assert.same(names(), list)
  end)
end)
