--- What reads texts and files of others holds, whatever they are: a fixed share of tests/fuzz, which
--- `make check-fuzz` runs for long.

local event = require "pmclua.event"
local fuzz = require "tests.fuzz"
local support = require "tests.support"
local trees = require "tests.fuzz.tree"

local SEED = 2026
local SYSFS = support.fixture "perf/sysfs/x86_intel"
local FOLDER = support.root .. "/tests/fuzz"

describe("a mutated", function()
  for _, target in ipairs(fuzz.TARGETS) do
    it(target.name .. " is understood, or refused in words", function()
      local accepted = fuzz.try(target, target.share, SEED)
      local said = ("only %d of %d were understood"):format(accepted, target.share)
      assert.is_true(accepted > target.share / 50, said)
    end)
  end

  it("tree has had each kind of change, and is then what it was", function()
    local source, random = support.fixture "perf/sysfs/x86_intel", require("pmclua.stats").random(SEED)
    local tree, seen = trees.copy(source), {}
    local function differs() return support.run({ "diff", "-r", source, tree.root }).status ~= 0 end
    assert.is_false(differs())
    for _, kind in ipairs(trees.CHANGES) do
      trees.made[kind[1]] = nil
    end
    for _ = 1, 200 do tree:changed(random, 12, function() end) end
    for _, kind in ipairs(trees.CHANGES) do seen[kind[1]] = (trees.made[kind[1]] or 0) > 0 end
    for _, kind in ipairs(trees.CHANGES) do assert.is_true(seen[kind[1]], kind[1]) end
    assert.is_false(differs())
  end)
end)

describe("a spec", function()
  it("of any length is answered", function()
    for _, piece in ipairs({ "cycles,", "{", "a:", "cpu/", "event=1,", "'", "{cycles},", "L1-dcache-", "*" })
    do
      local spec = piece:rep(20000)
      local events, problem = event.parse(spec, { sysfs = SYSFS })
      assert.is_true(events ~= nil or problem.position <= #spec + 1)
    end
  end)

  -- By backtracking these would take ages.
  it("with any number of stars is answered", function()
    for _, form in ipairs { "%s", "%s/event=1/", "sched:%s", "raw_syscalls:%sx" } do
      for _, piece in ipairs { "*", "*s", "*?", "*[a-z]", "*_*" } do
        local events, problem = event.parse(form:format(piece:rep(60)), { sysfs = SYSFS })
        assert.is_true(events ~= nil or problem.message ~= "")
      end
    end
  end)
end)

describe("the C core, given mutated", function()
  local MUTATIONS = { lines = 5000, ring = 5000, calls = 3000, text = 5000, elf = 500 }

  --- Small libraries, with and without debugging information.
  local function libraries()
    local folder = support.folder()
    for name, flags in pairs { plain = { "-s" }, debug = { "-g" } } do
      local made = support.run { "cc", "-O1", "-shared", "-fPIC", "-nostdlib", "-o", folder .. "/" .. name,
        FOLDER .. "/elf_sample.c", unpack(flags) }
      assert.equal(0, made.status, made.err)
    end
    return folder
  end

  for name, mutations in pairs(MUTATIONS) do
    it(name .. ", holds", function()
      support.need(support.have "cc", "no C compiler")
      local folder = support.folder()
      local program, core = folder .. "/" .. name, support.root .. "/build"
      local made = support.run { "cc", "-O1", "-g", "-Wall", "-I" .. support.root .. "/core", "-o", program,
        FOLDER .. "/" .. name .. ".c", FOLDER .. "/replay.c", core .. "/libpmclua.so", "-Wl,-rpath," .. core,
        support.watcher == "asan" and "-fsanitize=address,undefined" or nil }
      assert.equal(0, made.status, made.err)
      local corpus = name == "elf" and libraries() or FOLDER .. "/corpus/" .. name
      local result = support.run { "sh", "-c", 'exec "$0" "$@" ' .. corpus .. "/*", program,
        tostring(mutations) }
      assert.equal(0, result.status, result.err)
      assert.matches("^%d+ inputs\n$", result.out)
    end)
  end
end)
