-- Which commit changed a count or a time: the code that decides, in histories that are played, and real repositories.

local exact = require "pmclua.commits.exact"
local histories = require "tests.support.histories"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local steps = require "pmclua.commits.steps"
local support = require "tests.support"

local message_of = support.message_of

-- ---- played histories ------------------------------------------------------------------------------------

describe("the search by times, in played histories,", function()
  local HISTORIES = 3

  local function scenario(name) return lists.by(histories.SCENARIOS, "name")[name] end

  for _, name in ipairs { "5/3/0", "5/3/2.5", "16 commits", "1000 commits", "drift, paired", "30 % broken",
    "step, partial fix", "heavy tails" } do
    it(("names the right commit, or a range that has it: %s"):format(name), function()
      local sum = histories.summary(scenario(name), HISTORIES, 100)
      assert.is_true(sum.claims >= HISTORIES - 1, sum.claims)
      assert.equal(sum.claims, sum.right)
    end)
  end

  for _, name in ipairs { "A/A, no layouts", "gradual" } do
    it(("claims nothing: %s"):format(name), function()
      assert.equal(0, histories.summary(scenario(name), HISTORIES, 100).claims)
    end)
  end

  it("refuses at once what does not fit into the budget, with what it would take", function()
    local one = { name = "budget", commits = 128, steps = { 2 }, run = 3, layout = 2.5, budget = 1700 }
    local reasons = {}
    for seed = 1, 6 do
      local played = histories.play(one, seed)
      reasons[played.answer.reason or "commit"] = true
      assert.is_true(played.seconds <= 1700)
      if played.answer.forecast then assert.is_true(played.answer.forecast.seconds > 0) end
    end
    assert.is_true(reasons.budget)
  end)

  it("gives a range where a step is small beside what layouts change and none can be drawn", function()
    local sum = histories.summary(scenario "same layouts, 5/3/2.5", HISTORIES, 100)
    assert.is_nil(sum.kinds.commit)
  end)
end)

-- ---- exact counts ----------------------------------------------------------------------------------------

-- The steps among counts; false: that commit does not build.
local function steps_of(counts, options)
  local reverts = options.reverts
  local asked = 0
  local result = exact.run { commits = #counts, margin = options.margin or 0.001, all = options.all,
    reverts = reverts and function(step) return reverts[step.to] or {} end,
    count = function(i)
      asked = asked + 1
      return counts[i] or nil
    end }
  return lists.map(result.steps, function(step) return { step.from, step.to } end), asked, result
end

local function history_of(n, changes)
  local list, value = {}, 1000000
  for i = 1, n do
    value = value + (changes[i] or 0)
    list[i] = value
  end
  return list
end

describe("the search by counts", function()
  it("finds the commit of a step with log2 N runs", function()
    for at = 2, 64 do
      local found, asked = steps_of(history_of(64, { [at] = 20000 }), {})
      assert.same({ { at - 1, at } }, found)
      assert.is_true(asked <= 2 + 6)
    end
  end)

  it("finds the largest alone, or all, a pair that almost cancels among them", function()
    local counts = history_of(200, { [20] = 50000, [90] = -49500, [150] = 3000 })
    assert.same({ { 19, 20 }, { 89, 90 }, { 149, 150 } }, steps_of(counts, { all = true }))
    assert.equal(1, #steps_of(history_of(200, { [20] = 50000, [150] = 3000 }), {}))
  end)

  it("takes a few instructions for none", function()
    assert.same({}, steps_of(history_of(32, { [5] = 7, [6] = -3 }), { all = true, margin = 0 }))
  end)

  it("gives a range where commits do not build, and says which end does not", function()
    local counts = history_of(16, { [9] = 20000 })
    counts[8], counts[9] = false, false
    assert.same({ { 7, 10 } }, steps_of(counts, {}))
    counts[16] = false
    local _, _, result = steps_of(counts, {})
    assert.equal(16, result.broken)
  end)

  it("names what lasts, not an equal step that a commit takes back", function()
    -- The middle of the search lies between the step at 31 and the one at 34 that takes it back.
    local counts = history_of(64, { [31] = 20000, [34] = -20000, [50] = 20000 })
    local reverts = { [31] = { 34 } }
    local found, asked, result = steps_of(counts, { reverts = reverts })
    assert.same({ { 49, 50 } }, found)
    assert.same({ 31, 34 }, { result.gone[1].to, result.gone[1].taken_back_by })
    assert.is_true(asked <= 20, asked)
    assert.same({ { 30, 31 }, { 33, 34 }, { 49, 50 } }, (steps_of(counts, { reverts = reverts, all = true })))
  end)

  it("names the step that came first where a fix of it was taken back", function()
    local counts = history_of(64, { [10] = 20000, [31] = -20000, [34] = 20000 })
    assert.same({ { 9, 10 } }, (steps_of(counts, { reverts = { [34] = { 31 }, [31] = { 34 } } })))
  end)

  it("keeps a step whose lines another commit takes back, but not its count", function()
    local found, _, result = steps_of(history_of(64, { [31] = 20000 }),
      { all = true, reverts = { [31] = { 40 } } })
    assert.same({ { 30, 31 } }, found)
    assert.same({}, result.gone)
    assert.equal(23, result.unseen)
  end)

  it("finds none where the ends are equal within the margin", function()
    assert.same({}, steps_of(history_of(16, { [4] = 90000, [8] = -90000 }), {}))
  end)
end)

describe("a series of values", function()
  local function at(values, margin)
    local errors = lists.map(values, function() return 0.1 end)
    return lists.map(steps.segments(values, errors, margin or 1), function(one) return one.first end)
  end

  it("is one segment where nothing changes, and two at a step", function()
    assert.same({ 1 }, at { 0, 0.1, -0.1, 0, 0.2, 0 })
    assert.same({ 1, 4 }, at { 0, 0.1, -0.1, 5, 5.2, 5.1 })
  end)

  it("has no step below the margin", function()
    assert.same({ 1 }, at({ 0, 0, 0, 0, 2, 2, 2, 2 }, 3))
    assert.same({ 1, 5 }, at({ 0, 0, 0, 0, 2, 2, 2, 2 }, 1))
  end)

  it("may have one point, or two", function()
    assert.same({ 1 }, at { 3 })
    assert.same({ 1 }, at { 3, 9 })
  end)
end)

-- ---- repositories ----------------------------------------------------------------------------------------

local BUILD = "cc -O1 -g -o prog prog.c"
local PROGRAM = [[
volatile unsigned long sink;
static void work(void) { for (long i = 0; i < %d; i++) sink += i; }
int main(void) { work(); return 0; }
/* %s */
]]

local function sh(folder, line)
  local ran = support.run({ "sh", "-c", "cd " .. support.quote(folder) .. " && " .. line })
  assert.equal(0, ran.status, ran.err)
  return ran.out
end

local GIT = "git -c user.name=A -c user.email=a@localhost -c commit.gpgsign=false "

-- A repository with a commit for each { text = …, loops = …, broken = … }.
local function repository(commits)
  local folder = support.folder()
  sh(folder, "git init -q -b main")
  for i, commit in ipairs(commits) do
    local source = PROGRAM:format(commit.loops or 1000, commit.text or i)
    support.write(folder .. "/prog.c", source .. (commit.broken and "broken" or ""))
    sh(folder, "git add prog.c && " .. GIT .. "commit -q --allow-empty -m 'number " .. i .. "'")
  end
  return folder
end

local function need()
  support.need(support.have "cc" and support.have "git", "no compiler, or no git")
end

local function need_valgrind()
  need()
  support.need(support.have "valgrind", "valgrind is not installed")
end

local function bisect(folder, more)
  local options = { folder = folder, good = "HEAD~" .. (more.back or 5), bad = "HEAD", build = BUILD,
  workload = "./prog",
    why = false, store = false, quiet = true }
  for key, value in pairs(more) do options[key] = value end
  options.back = nil
  return pmc.bisect(options)
end

local COUNT = "valgrind::instructions"

describe("bisect over a repository", function()
  local cache

  setup(function() cache = support.folder() end)

  local function within(fn)
    return support.with_env({ XDG_CACHE_HOME = cache, XDG_STATE_HOME = cache }, fn)
  end

  it("names the commit by counts, skips what does not build, and leaves the checkout as it was", function()
    need_valgrind()
    local folder = repository { {}, {}, { broken = true }, {}, { loops = 3000 }, { loops = 3000 } }
    support.write(folder .. "/prog.c", "not committed")
    within(function()
      local found = bisect(folder, { events = COUNT })
      assert.equal(1, #found.steps)
      assert.equal("number 5", found.steps[1].to.subject)
      assert.matches("is the first commit with more valgrind::instructions: %+", tostring(found))
      assert.equal("not committed", support.read(folder .. "/prog.c"))
      assert.equal(" M prog.c\n", sh(folder, "git status --porcelain"))
      -- What is built is built once.
      assert.equal(0, bisect(folder, { events = COUNT }).builds.made)
    end)
  end)

  it("looks into the merge that brought it", function()
    need_valgrind()
    local folder = repository { {}, {} }
    sh(folder, "git checkout -q -b side")
    for i, loops in ipairs { 1000, 4000, 4000 } do
      support.write(folder .. "/prog.c", PROGRAM:format(loops, "side " .. i))
      sh(folder, GIT .. "commit -qam 'side " .. i .. "'")
    end
    sh(folder, "git checkout -q main && echo x >other && git add other && " .. GIT .. "commit -qm other && "
      .. GIT .. "merge -q --no-ff -m 'merge side' side && echo y >other && " .. GIT .. "commit -qam after")
    within(function()
      local found = bisect(folder, { events = COUNT, good = "HEAD~3" })
      assert.equal("side 2", found.steps[1].to.subject)
      assert.equal("merge side", found.steps[1].merge.subject)
    end)
  end)

  it("does not name a commit that a later one reverts", function()
    need_valgrind()
    local folder = repository { {}, {}, { loops = 3000 }, { loops = 1000 }, {}, {}, { loops = 3000 } }
    within(function()
      local found = bisect(folder, { events = COUNT, good = "HEAD~5" })
      assert.same({ "number 7" }, lists.map(found.steps, function(step) return step.to.subject end))
      local all = bisect(folder, { events = COUNT, good = "HEAD~5", all = true })
      assert.same({ "number 3", "number 4", "number 7" },
        lists.map(all.steps, function(step) return step.to.subject end))
      assert.matches("  " .. all.steps[2].to.name .. " takes it back\n", tostring(all), 1, true)
    end)
  end)

  it("finds all steps, and says that equal ends prove nothing", function()
    need_valgrind()
    local folder = repository { {}, { loops = 3000 }, { loops = 3000 }, { loops = 5000 }, { loops = 5000 },
      { loops = 5000 } }
    within(function()
      local all = bisect(folder, { events = COUNT, all = true })
      assert.same({ "number 2", "number 4" }, lists.map(all.steps, function(step) return step.to.subject end))
      local none = bisect(folder, { events = COUNT, good = "HEAD~2" })
      assert.same({ 0, "equal" }, { #none.steps, none.reason })
      assert.matches("steps that cancel cannot be seen", tostring(none))
    end)
  end)

  it("goes on from its file, with the same answer and nothing built or run twice", function()
    need_valgrind()
    local folder = repository { {}, {}, { loops = 3000 }, {  loops = 3000 }, { loops = 3000 }, { loops =
    3000 } }
    local file = support.folder() .. "/search.jsonl"
    within(function()
      local whole = bisect(folder, { events = COUNT, store = file })
      local lines = support.lines_of(file)
      for _, kept in ipairs { 1, #lines - 1 } do
        support.write(file, table.concat(lines, "\n", 1, kept) .. "\n" .. '{"key":"cut o')
        local again = bisect(folder, { events = COUNT, resume = file })
        assert.equal(0, again.builds.made)
        assert.equal(whole.steps[1].to.hash, again.steps[1].to.hash)
      end
      support.write(file, "")
      assert.equal(whole.steps[1].to.hash, bisect(folder, { events = COUNT, resume = file }).steps[1].to.hash)
      assert.matches("it is of another search", message_of(function()
        bisect(folder, { events = COUNT, resume = file, good = "HEAD~4" })
      end))
    end)
  end)

  it("compares times in pairs with the good end", function()
    need()
    local folder = repository { { loops = 1000 }, { loops = 60000000 } }
    within(function()
      local found = bisect(folder, { events = "duration_time", good = "HEAD~1", budget = "60s" })
      -- Two commits that differ by so much are told apart; without new layouts it may be a range of the one commit.
      assert.equal("number 2", found.steps[1] and found.steps[1].to.subject, tostring(found))
    end)
  end)

  -- The number of pages that a program touches depends on the order of its functions.
  local MOVED = [[
#include <stdlib.h>
#include <string.h>
__attribute__((noinline)) void left(void) { __asm__ volatile("nop"); }
__attribute__((noinline)) void right(void) { __asm__ volatile("nop;nop"); }
int main(void)
{
    size_t pages = %d + ((char *)left < (char *)right ? 0 : 200);
    left();
    right();
    return ((char *)memset(malloc(pages * 4096), 1, pages * 4096))[5] - 1;
}
]]
  local LINKED = "cc -O1 -c prog.c && cc -o prog prog.o"

  local function moved_repository(pages)
    local folder = support.folder()
    sh(folder, "git init -q -b main")
    for i, count in ipairs(pages) do
      support.write(folder .. "/prog.c", MOVED:format(count) .. "/* " .. i .. " */")
      sh(folder, "git add prog.c && " .. GIT .. "commit -qm 'number " .. i .. "'")
    end
    return folder
  end

  local function shuffled(folder, more)
    local options = { build = LINKED, layouts = "shuffle", events = "page-faults", budget = "100s" }
    for key, value in pairs(more) do options[key] = value end
    return bisect(folder, options)
  end

  it("draws layouts by linking one build again, and says what they alone change", function()
    need()
    support.need(support.have "ld.lld", "lld is not installed")
    local folder = moved_repository { 1000, 1000, 4000, 4000 }
    within(function()
      local found = shuffled(folder, { good = "HEAD~3" })
      assert.equal("number 3", found.steps[1].to.subject, tostring(found))
      assert.matches("new layouts a side", tostring(found))
      -- The good end as it was built, and four commits whose layouts are drawn.
      assert.is_true(found.builds.made <= 5, found.builds.made)
      assert.is_true(found.layout_effect.change.mean > 3)
      assert.matches("the layout of the code alone changes it by %+", tostring(found))
    end)
  end)

  it("refuses layouts that cannot be drawn", function()
    need()
    support.need(support.have "ld.lld", "lld is not installed")
    local folder = moved_repository { 1, 2 }
    within(function()
      assert.matches("draws its layouts by itself", message_of(function()
        shuffled(folder, { good = "HEAD~1", build = "echo {seed}" })
      end))
      assert.matches("the build links nothing", message_of(function()
        shuffled(folder, { good = "HEAD~1", build = "cp /bin/true prog" })
      end))
    end)
  end)

  it("refuses what cannot be searched, and says why", function()
    need()
    local folder = repository { {}, { broken = true } }
    within(function()
      assert.matches("is no ancestor of .*the other way round", message_of(function()
        bisect(folder, { good = "HEAD", bad = "HEAD~1", events = "page-faults" })
      end))
      assert.matches("there is no commit 'nowhere'", message_of(function() bisect(folder, { good =
      "nowhere" }) end))
      assert.matches("are one commit", message_of(function() bisect(folder, { good = "main", bad =
      "HEAD" }) end))
      assert.matches("an end, has no value: it does not build", message_of(function()
        bisect(folder, { good = "HEAD~1", events = "page-faults" })
      end))
      assert.matches("there is no git repository", message_of(function() bisect(support.folder(), {}) end))
      local outside = support.folder() .. "/prog"
      assert.matches("outside of its folder", message_of(function()
        bisect(folder, { good = "HEAD~1", events = "page-faults", build = "cc -o " .. outside .. " prog.c",
          workload = outside })
      end))
      assert.matches("the build did not end", message_of(function()
        bisect(folder, { good = "HEAD~1", events = "page-faults", build = "sleep 60", build_timeout =
        "200ms" })
      end))
    end)
  end)

  it("takes commits that change nothing of what the build reads for one", function()
    need()
    local folder = repository { {}, {} }
    sh(folder, "echo x >notes && git add notes && " .. GIT .. "commit -qm notes")
    within(function()
      local found = bisect(folder, { good = "HEAD~1", paths = { "prog.c" }, events = "page-faults" })
      assert.equal("same", found.reason)
      assert.equal(0, found.builds.made)
    end)
  end)

  it("takes the benchmark's own files from the newest commit in each build", function()
    need_valgrind()
    local folder = support.folder()
    sh(folder, "git init -q -b main")
    -- The benchmark does more work from commit 3 on, the program from commit 2 on.
    for i, rounds in ipairs { 1, 1, 7 } do
      support.write(folder .. "/work.h", ("enum { LOOPS = %d };\n"):format(i < 2 and 1000 or 3000))
      support.write(folder .. "/bench.c", ([[#include "work.h"
        volatile long sink;
        int main(void) { for (long i = 0; i < %d * LOOPS; i++) sink += i; return 0; }]]):format(rounds))
      sh(folder, "git add . && " .. GIT .. "commit -qm 'number " .. i .. "'")
    end
    within(function()
      local options = { good = "HEAD~2", build = "cc -O1 -g -o prog bench.c", events = COUNT }
      assert.equal("number 3", bisect(folder, options).steps[1].to.subject)
      options.benchmark_paths = { "bench.c" }
      assert.equal("number 2", bisect(folder, options).steps[1].to.subject)
      options.benchmark_paths = { "bench.cc" }
      assert.matches("benchmark%-paths: there is no bench.cc in ", message_of(function()
        bisect(folder, options)
      end))
    end)
  end)

  it("refuses paths that a renamed file would leave empty", function()
    need()
    local folder = repository { {}, {} }
    sh(folder, "git mv prog.c main.c && " .. GIT .. "commit -qm renamed")
    within(function()
      local options = { good = "HEAD~2", events = "page-faults", paths = { "prog.c" } }
      assert.matches("has none of these paths", message_of(function() bisect(folder, options) end))
      options.paths = { "prog.c", "typo.c" }
      assert.matches("paths: there is no typo.c in %x+", message_of(function() bisect(folder, options) end))
    end)
  end)

  it("says how a shallow clone gets what it lacks", function()
    need()
    local folder, clone = repository { {}, {}, {} }, support.folder()
    sh(clone, "git clone -q --depth 1 file://" .. folder .. " .")
    within(function()
      assert.matches("this clone is shallow: git fetch %-%-unshallow", message_of(function()
        bisect(clone, { good = "HEAD~2" })
      end))
    end)
  end)

  it("has submodules from the checkout's copies, without their origin", function()
    need_valgrind()
    local place = support.folder()
    local allowed = GIT .. "-c protocol.file.allow=always "
    sh(place, "git init -q -b main part && git init -q -b main whole")
    local function part(loops)
      support.write(place .. "/part/part.h", ("enum { LOOPS = %d };\n"):format(loops))
      sh(place .. "/part", "git add . && " .. GIT .. "commit -qm part")
    end
    part(1000)
    support.write(place .. "/whole/prog.c", [[#include "part/part.h"
      volatile long sink;
      int main(void) { for (long i = 0; i < LOOPS; i++) sink += i; return 0; }]])
    local whole = place .. "/whole"
    sh(whole, allowed .. "submodule --quiet add " .. place .. "/part part && git add . && " .. GIT
      .. "commit -qm first && echo >note && git add note && " .. GIT .. "commit -qm note")
    part(5000)
    sh(whole, "cd part && " .. allowed .. "pull -q && cd .. && git add part && " .. GIT .. "commit -qm moved")
    sh(place, "mv part gone")
    local settings = support.read(whole .. "/.git/config")
    within(function()
      local found = bisect(whole, { good = "HEAD~2", events = COUNT })
      assert.equal("moved", found.steps[1].to.subject)
    end)
    assert.equal(settings, support.read(whole .. "/.git/config"))
  end)

  it("keeps no more of the builds than was asked for", function()
    need()
    local folder, own = repository { {}, {}, {} }, support.folder()
    support.with_env({ XDG_CACHE_HOME = own }, function()
      for _, back in ipairs { 2, 1 } do
        pmc.commits { folder = folder, from = "HEAD~" .. back, to = "HEAD", build = BUILD, cache = "1" }
      end
    end)
    local kept = sh(own, "find . -name '*.note' | wc -l")
    assert.equal(2, tonumber(kept))
  end)
end)

describe("commits as a factor", function()
  it("run a command in each commit's build", function()
    need()
    local folder, cache = repository { { loops = 1000 }, { broken = true }, { loops = 2000 } },
    support.folder()
    support.with_env({ XDG_CACHE_HOME = cache }, function()
      local result = pmc.experiment { workloads = { "./prog" }, events = "page-faults", repetitions = 2,
      warmup = 0,
        factors = { pmc.commits { folder = folder, from = "HEAD~2", to = "HEAD", build = BUILD } } }
        :run { store = false, quiet = true }
      local names = lists.map(result.header.factors[1][2], tostring)
      assert.equal(2, #names)
      for cell in result:cells() do assert.equal(2, cell:summary("page_faults").n) end
    end)
  end)
end)

describe("a history", function()
  -- A stored result that knows a commit.
  local function stored_once()
    local path = support.folder() .. "/once.jsonl"
    pmc.measure("true", { events = "page-faults", repetitions = 2, store = path, quiet = true,
      notes = { commit = "1a2b3c" } })
    return path
  end

  it("shows values by commit with the step, in every format", function()
    need_valgrind()
    local folder, cache = repository { {}, {}, {}, { loops = 3000 }, { loops = 3000 }, { loops =
    3000 } }, support.folder()
    support.with_env({ XDG_CACHE_HOME = cache }, function()
      local history = pmc.history { folder = folder, from = "HEAD~5", to = "HEAD", build = BUILD,
      workload = "./prog",
        events = COUNT, repetitions = 2, quiet = true }
      local points = history.series[1].points
      assert.equal(6, #points)
      for i, point in ipairs(points) do assert.equal(i == 4, point.step ~= nil, i) end
      assert.matches("step %+", history:report())
      assert.matches("number 4", history:report { width = 200 })
      assert.equal(7, select(2, history:report { format = "csv" }:gsub("\n", "")))
      assert.equal(6, #require("dkjson").decode(history:report { format = "json" }).series[1].points)
      local page = history:report { format = "html" }
      assert.matches("%%3Cpolyline", page)
      assert.not_matches("<script", page)
      assert.not_matches("https?://", (page:gsub("http://www.w3.org/2000/svg", "")))
    end)
  end)

  it("is a page that has of long series the ends and the steps, and all of them in a chart", function()
    local points, commits = {}, {}
    for i = 1, 500 do
      local name = ("%07x"):format(i)
      commits[i], points[i] = { name = name }, { commit = name, value = i < 300 and 1000 or 1200, n = 3,
        step = i == 300 and 20 or nil, ratio = i > 1 and 1 or nil }
    end
    local history = setmetatable({ commits = commits, series = { { workload = "prog", event = "instructions",
      unit = "", points = points } } }, getmetatable(pmc.history { files = { stored_once() } }))
    local page = history:report { format = "html" }
    assert.equal(4, select(2, page:gsub("<td[^>]*>0000%x%x%x</td>", "")))
    assert.matches("4 of 500 values: the ends, and both sides of each step", page, 1, true)
    assert.equal(501, select(2, history:report { format = "csv" }:gsub("\n", "")))
  end)

  it("is made of stored results that know their commits, and refuses others", function()
    local folder, files = support.folder(), {}
    for i, commit in ipairs { "1a2b3c", "2b3c4d" } do
      files[i] = ("%s/%d.jsonl"):format(folder, i)
      pmc.measure("true", { events = "page-faults", repetitions = 2, store = files[i], quiet = true,
        notes = { commit = commit } })
    end
    local history = pmc.history { files = files, folder = folder }
    assert.same({ "1a2b3c", "2b3c4d" }, lists.column(history.commits, "name"))
    assert.equal(2, #history.series[1].points)
  end)

  -- Stored results of commits whose programs fault `pages` times more each, and one of a changed checkout.
  local function measured(pages)
    local folder = support.folder()
    local function shell(line)
      assert(os.execute(("cd %s && { %s; } >/dev/null 2>&1"):format(folder, line)) == 0, line)
    end
    local function measure(name, count)
      support.write(folder .. "/count", ("%d\n"):format(count))
      local commit = "git add count && git commit --allow-empty -qm 'count %s'"
      if name ~= "new" then shell(commit:format(name)) end
      local found = support.pmclua({ "stat", "-e", "page-faults", "-r", "6", "--store",
        ("results/%s.jsonl"):format(name), "--", "./prog" }, { folder = folder })
      assert.equal(0, found.status, found.err)
    end
    support.write(folder .. "/prog.c", [[
      #include <stdio.h>
      #include <stdlib.h>
      #include <string.h>
      int main(void)
      {
          int count = 0;
          FILE *file = fopen("count", "r");
          if (!file || fscanf(file, "%d", &count) != 1)
              return 1;
          memset(malloc(4096L * count), 1, 4096L * count);
          return 0;
      }]])
    support.write(folder .. "/.gitignore", "prog*\nresults\n")
    shell "cc -O0 -o prog prog.c && mkdir results"
    shell "git init -q && git config user.name A && git config user.email a@b"
    for i, count in ipairs(pages) do measure(("%d"):format(i), count) end
    measure("new", pages[#pages] + 4)
    return folder
  end

  it("is of the commits that were checked out; a gate takes what came after its last step", function()
    support.need(support.have "git" and support.have "cc", "no git or no C compiler")
    local folder = measured { 1000, 1000, 1000, 2000, 2000, 2000 }
    local how = pmc.load(folder .. "/results/new.jsonl").header.how
    assert.same({ 1, 40 }, { how.changes, #how.commit })
    assert.matches("commit +%x+ %(%a+%), 1 file changed", pmc.load(folder .. "/results/new.jsonl"):how())
    local history = pmc.history { files = { folder .. "/results" }, folder = folder }
    assert.same({ "count 1", "count 2", "count 3", "count 4", "count 5", "count 6", "count 6" },
      lists.column(history.commits, "subject"))
    assert.matches("^%x+%+$", history.commits[7].name)
    local function gate(...)
      return support.pmclua({ "gate", "--history", "results", "results/new.jsonl", ... }, { folder = folder })
    end
    local held = gate("-l", "page_faults <= +5%")
    assert.same({ 0, "gate: the limit holds\n" }, { held.status, held.out .. held.err })
    assert.equal(2, gate().status)
    local others = pmc.history { files = { folder .. "/results" }, folder = folder,
      except = folder .. "/results/new.jsonl" }
    for _, limit in ipairs { "page_faults <= +5%", "a_metric <= +5%" } do
      assert.equal(3, #others:baseline { limit })
    end
  end)

  it("is of no commit where another user's checkout says one", function()
    support.need(support.have "git" and require("pmclua.core").uid() == 0, "needs git, and root")
    local folder = measured { 10 }
    os.execute(("chown -R 65534 %s/.git %s"):format(folder, folder))
    local path = support.folder() .. "/other.jsonl"
    support.pmclua({ "stat", "-e", "page-faults", "-r", "2", "--store", path, "--", "true" },
      { folder = folder, env = { SUDO_UID = "65534" } })
    assert.is_nil(pmc.load(path).header.how.commit)
  end)
end)
