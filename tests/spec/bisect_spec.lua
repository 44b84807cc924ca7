-- Which commit changed a count or a time, in real repositories.

local commits = require "tests.support.commits"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"

local message_of = support.message_of
local need, need_valgrind = commits.need, commits.need_valgrind
local repository, sh = commits.repository, commits.sh
local BUILD, GIT, PROGRAM = commits.BUILD, commits.GIT, commits.PROGRAM

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

  it("ends in order where it is interrupted within a build", function()
    need()
    local folder = repository { {}, {} }
    local found = support.pmclua({ "bisect", "-q", "--good", "HEAD~1", "-e", "page-faults", "--build",
      "kill -INT $PPID; sleep 30", "--store", support.folder() .. "/search", "--", "./prog" },
      { folder = folder, env = { XDG_CACHE_HOME = cache } })
    assert.same({ 130, "" }, { found.status, found.err })
    assert.matches("interrupted before a step was known.*%-%-resume .* goes on", found.out)
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
