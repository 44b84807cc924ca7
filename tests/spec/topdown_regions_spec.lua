-- Top-down trees of functions: the events of a tree counted in their calls, on a PMU that is played and counts the system
-- calls that a program makes in them, so that every share is known.

local json = require "dkjson"
local made = require "tests.support.played_tree"
local played = require "tests.support.played"
local regions = require "tests.support.regions"
local support = require "tests.support"

-- Ice Lake's four shares, which slots lead: what a piece of work of either kind takes.
local EVENTS = { cycles = { 10, 40 }, instructions = { 20, 20 }, slots = { 50, 200 },
  retiring = { 20, 20 }, bad_speculation = { 5, 0 }, frontend_bound = { 5, 20 },
  backend_bound = { 20, 160 } }
local KEYS = { cycles = "0 0", instructions = "0 1", slots = "4 0x400", retiring = "4 0x8000",
  bad_speculation = "4 0x8100", frontend_bound = "4 0x8200", backend_bound = "4 0x8300" }

-- Work in all calls of each function, of both kinds; and of the program.
local WORK = { parse = { 300, 30 }, emit = { 30, 120 }, whole = { 351, 159 } }
local MORE = { parse = { 400, 40 }, emit = WORK.emit, whole = { 451, 169 } }

local function machine(counters)
  local events, led, own = {}, {}, {}
  for name, counts in pairs(EVENTS) do
    events[KEYS[name]], own[#own + 1] = counts, KEYS[name]
    if KEYS[name]:find "0x8" then led[KEYS[name]] = "0x400" end
  end
  return played.machine { counters = counters, kinds = played.kinds(), own = own, led = led,
    env = { SYSFS_PATH = support.fixture "played/sysfs/intel" }, events = events }
end

local function tree(on, ...)
  local run = on.pmclua { "topdown", "--quiet", "--format", "json", "--pin", "0", ... }
  return assert(json.decode(run.out), run.err), run
end

local function counted(name, work) return EVENTS[name][1] * work[1] + EVENTS[name][2] * work[2] end

local function expected(work)
  local shares = {}
  for _, name in ipairs { "retiring", "bad_speculation", "frontend_bound", "backend_bound" } do
    shares[name] = counted(name, work) / counted("slots", work)
  end
  return shares
end

local function shares_of(found)
  local by_region = {}
  for _, cell in ipairs(found.cells) do
    local shares = {}
    for _, node in ipairs(cell.nodes) do shares[node.name] = node.share or node.why end
    by_region[cell.region or "whole"] = shares
  end
  return by_region
end

describe("pmclua topdown --function", function()
  lazy_setup(regions.need_probes)

  it("has a tree of the calls of each function, exactly", function()
    local found, run = tree(machine(4), "-r", "2", "-f", "parse", "-f", "emit", "--", played.called())
    assert.equal(0, run.status, run.err)
    local shares = shares_of(found)
    assert.same({ expected(WORK.parse), expected(WORK.emit), expected(WORK.whole) },
      { shares.parse, shares.emit, shares.whole })
  end)

  it("says how many calls a tree is of, in its tables", function()
    local shown = machine(4).pmclua({ "topdown", "--quiet", "-r", "2", "--pin", "0", "-f", "parse", "--",
      played.called() }).out
    assert.matches("top-down · region parse\n  2 repetitions, 1 warm-up · sum of a run, of 3 calls",
      shown, 1, true)
    assert.matches("backend_bound     51 %  =              ██████▏       over", shown, 1, true)
  end)

  it("says that short calls have much of their probes", function()
    -- The mean of so many calls stays short on a machine that is busy.
    local folder = support.folder()
    support.write(folder .. "/short.c", [[
      __attribute__((noinline)) void parse(void) { __asm__ volatile("" ::: "memory"); }
      int main(void) { for (int i = 0; i < 5000; i++) parse(); return 0; }]])
    local short = support.build(folder .. "/short", "cc", "-O1", folder .. "/short.c")
    local shown = machine(4).pmclua({ "topdown", "--quiet", "-r", "2", "--pin", "0", "-f", "parse", "--",
      short }).out
    assert.matches("calls of parse take less than 0.25 ms each", (shown:gsub("%s+", " ")), 1, true)
  end)

  it("drills below what is over its threshold in any of them, each share as its table makes it", function()
    for _, counters in ipairs { 4, 8 } do
      local found = tree(made.machine(counters, played.kinds()), "-r", "1", "--warmup", "0", "-f", "parse",
        "-f", "emit", "--", played.called())
      local most, across, seen = 0, 0, 0
      support.with_env(made.ENV, function()
        for _, cell in ipairs(found.cells) do
          local total = made.total(WORK[cell.region or "whole"])
          for _, node in ipairs(cell.nodes) do
            assert.equal(made.truth(node.name, total), node.share or nil, node.name)
            most, seen = math.max(most, node.level), seen + 1
            across = across + (node.passes and node.passes > 1 and 1 or 0)
          end
        end
      end)
      assert.same({ 3, true }, { #found.cells, most > 3 }, ("%d nodes, down to level %d"):format(seen, most))
      for _, anchor in ipairs(found.anchors) do assert.equal(0, anchor.spread, anchor.name) end
    end
  end)

  it("has B's difference from A in each function", function()
    local found = tree(machine(4), "-r", "2", "-f", "parse", "-f", "emit", played.called(),
      played.called() .. " more")
    local differences = {}
    for _, comparison in ipairs(found.comparisons) do
      local total = comparison.total
      differences[comparison.region or "whole"] = { total.a, total.b, total.difference }
    end
    for name, before in pairs(WORK) do
      local a, b = counted("cycles", before), counted("cycles", MORE[name])
      assert.same({ a, b, b - a }, differences[name], name)
    end
  end)

  it("is refused where calls cannot be followed, with the reason", function()
    local function refused(...)
      local run = support.pmclua { "topdown", "--quiet", ... }
      return run.status .. " " .. run.err
    end
    assert.matches("^1 .*no function 'nonsense'", refused("-f", "nonsense", "--", played.called()))
    assert.matches("^2 .*%-%-marks and %-%-function cannot be combined",
      refused("--marks", "-f", "parse", "--", played.called()))
    for _, words in ipairs { { "-f", "parse", "-p", "1" }, { "-f", "parse", "-k", "a.c:f" },
      { "--marks", "-a" } } do
      assert.matches("^2 .*is for commands that are started here", refused(unpack(words)))
    end
  end)
end)
