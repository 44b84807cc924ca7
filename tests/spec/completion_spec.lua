-- Completion of the command line, in each shell, from the tables behind --help.

local support = require "tests.support"
local terminal = require "tests.support.terminal"

local folder, path

lazy_setup(function()
  folder = support.folder()
  local root = support.root
  local written = support.pmclua { root .. "/lua/install/write.lua", root .. "/scripts", folder }
  assert.equal("", written.err)
  -- A user's own script, a result, and pmclua itself where shells look for it.
  support.write(folder .. "/work/own.lua", "")
  support.write(folder .. "/work/a result.jsonl", "")
  support.run { "ln", "-s", support.program, folder .. "/pmclua" }
  path = folder .. ":" .. os.getenv "PATH"
  support.run { "mkdir", "-p", "-m", "700", folder .. "/cache/pmclua/vendor" }
  support.write(folder .. "/cache/pmclua/vendor/names",
    "e mem_load_retired.l2_miss\nm TopdownL1\nm tma_dram_bound\nn dram_bound\n")
end)

local function completions(shell) return ("%s/completions/pmclua.%s"):format(folder, shell) end

local function lines_of(text)
  local list = {}
  for line in text:gmatch "[^\n]+" do list[#list + 1] = line:match "^[^\t]+" end
  table.sort(list)
  return list
end

local BASH = [[
  source "$1"; shift
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
  _pmclua; printf '%s\n' "${COMPREPLY[@]}"]]

--- What bash has for the last of the words, as it splits a line (at "=" too).
local function bash(...)
  local result = support.run({ "bash", "--norc", "-c", BASH, "bash", completions "bash", "pmclua", ... },
    { env = { PATH = path, XDG_CACHE_HOME = folder .. "/cache" }, folder = folder .. "/work" })
  assert.equal("", result.err)
  return lines_of(result.out)
end

local function fish(line)
  local result = support.run({ "fish", "--no-config", "-c", "source $argv[1]; complete -C $argv[2]",
    completions "fish", line }, { env = { PATH = path, HOME = folder, XDG_CACHE_HOME = folder .. "/cache" },
    folder = folder .. "/work" })
  assert.equal("", result.err)
  return lines_of(result.out)
end

local has = require("pmclua.base.lists").contains

describe("completion in bash", function()
  before_each(function() support.need(support.have "bash", "bash is not installed") end)

  it("knows the command line's own options", function()
    assert.same({ "--list" }, bash "--l")
    assert.same({}, bash("-e", ""))
  end)

  it("knows Valgrind's events, though it splits words at colons", function()
    assert.same({ "instructions" }, bash("stat", "-e", "valgrind", "::", "instr"))
    assert.same({ "instructions" }, bash("stat", "-e", "cycles,valgrind", "::", "instr"))
    assert.is_true(has(bash("stat", "-e", "valgrind", "::", "instructions", "--", "tru"), "true"))
    assert.same({ "--repeat" }, bash("stat", "-e", "cycles", ":", "u", "--rep"))
  end)

  it("knows scripts by name, and those at a path", function()
    assert.same({ "matrix" }, bash "matr")
    assert.same({ "own.lua" }, bash "ow")
  end)

  it("knows what each script takes, with what all experiments take where it is one", function()
    assert.same({ "--repetitions" }, bash("matrix", "--rep"))
    assert.same({ "--repeat" }, bash("stat", "--rep"))
    assert.same({ "--unroll" }, bash("snippet", "--u"))
    assert.same({ "--repetitions" }, bash("./own.lua", "--rep"))
  end)

  it("offers every option that --help names, for every script", function()
    for _, entry in ipairs(require("pmclua.cli.script").all()) do
      local offered = bash(entry.name, "--")
      for option in support.pmclua({ entry.name, "--help" }).out:gmatch "\n  [- ][%a ][, ] (%-%-%l[%w-]*)" do
        assert.is_true(has(offered, option), entry.name .. " " .. option)
      end
    end
  end)

  it("knows values: choices, formats, events in a list, files", function()
    assert.same({ "multiplex", "rerun" }, bash("matrix", "--passes", ""))
    assert.same({ "csv" }, bash("matrix", "--format", "=", "cs"))
    assert.same({ "page-faults,branch-misses" }, bash("stat", "-e", "page-faults,branch-m"))
    assert.same({ "a result.jsonl" }, bash("matrix", "--resume", "a"))
    assert.same({}, bash("matrix", "--seed", ""))
  end)

  it("knows the events, metrics and nodes of this machine's tables, where they were read before", function()
    assert.same({ "dram_bound" }, bash("topdown", "--below", "dr"))
    assert.same({ "tma_dram_bound" }, bash("stat", "-M", "tma_"))
    assert.same({ "cycles,mem_load_retired.l2_miss" }, bash("stat", "-e", "cycles,mem_l"))
    assert.same({ "MEM_LOAD_RETIRED.L2_MISS" }, bash("stat", "-e", "MEM_L"))
    assert.is_false(has(bash("stat", "-e", ""), "mem_load_retired.l2_miss"))
  end)

  it("leaves the words of a command that is run to it", function()
    assert.is_true(has(bash("stat", "-r", "5", "tru"), "true"))
    assert.same({ "own.lua" }, bash("stat", "-r", "5", "cat", "ow"))
    assert.same({}, bash("stat", "--", "cat", "--rep"))
  end)
end)

describe("completion in fish", function()
  before_each(function() support.need(support.have "fish", "fish is not installed") end)

  it("knows scripts, their options and values", function()
    assert.is_true(has(fish "pmclua matr", "matrix"))
    assert.is_true(has(fish "pmclua --l", "--list"))
    assert.same({ "--repeat" }, fish "pmclua stat --rep")
    assert.same({ "--repetitions" }, fish "pmclua ./own.lua --rep")
    assert.same({ "multiplex", "rerun" }, fish "pmclua matrix --passes ")
    assert.same({ "page-faults,branch-misses" }, fish "pmclua stat -e page-faults,branch-m")
    assert.is_true(has(fish "pmclua stat -r 5 tru", "true"))
    assert.same({ "dram_bound" }, fish "pmclua topdown --below dra")
    assert.same({ "tma_dram_bound" }, fish "pmclua stat -M tma_d")
    assert.same({ "cycles,mem_load_retired.l2_miss" }, fish "pmclua stat -e cycles,mem_load")
  end)
end)

describe("completion in zsh", function()
  local screen

  before_each(function()
    support.need(support.have "zsh" and support.have "tmux", "zsh or tmux is not installed")
  end)
  after_each(function()
    if screen then screen:close() end
    screen = nil
  end)

  it("knows scripts, their options and values", function()
    support.run { "cp", completions "zsh", folder .. "/_pmclua" }
    screen = terminal.open({ "zsh", "-f" }, { PATH = path, HOME = folder,
      XDG_CACHE_HOME = folder .. "/cache" })
    screen:type(("fpath=(%s $fpath); autoload -U compinit; compinit -u -D; PS1='%%%%ready ';"):format(folder))
    screen:press "Enter"
    screen:expect "%ready"
    for _, case in ipairs {
      { "pmclua matr", "pmclua matrix" }, { "pmclua stat --rep", "pmclua stat --repeat" },
      { "pmclua matrix --passes=mu", "--passes=multiplex" },
      { "pmclua stat -e page-faults,branch-m", "page-faults,branch-misses" },
      { "pmclua snippet --un", "pmclua snippet --unroll" },
      { "pmclua topdown --below=dram", "--below=dram_bound" },
      { "pmclua stat -M tma_d", "-M tma_dram_bound" },
      { "pmclua stat -e cycles,mem_lo", "cycles,mem_load_retired.l2_miss" } } do
      screen:type(case[1])
      screen:press "Tab"
      screen:expect(case[2])
      screen:press "C-u"
    end
  end)
end)

describe("the names that shells complete", function()
  it("are those of the tables: events, metrics with their groups, and nodes", function()
    support.need(support.have "perf", "perf is not installed")
    local cache = support.folder()
    local run = support.pmclua({ "-e", [[
      require("pmclua.vendor.names").keep(require("pmclua.vendor").tables(), true)]] },
      { env = { XDG_CACHE_HOME = cache, PERF_CPUID = "GenuineIntel-6-6A-6",
        SYSFS_PATH = support.fixture "played/sysfs/intel" } })
    assert.equal("", run.err)
    local lines = lines_of(support.read(cache .. "/pmclua/vendor/names"))
    for _, line in ipairs { "e mem_load_retired.l2_miss", "m tma_dram_bound", "m TopdownL1", "n dram_bound",
      "n memory_bound" } do
      assert.is_true(has(lines, line), line)
    end
    assert.is_false(has(lines, "n info_slots"))
  end)
end)
