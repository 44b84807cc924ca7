-- Commits as a factor of an experiment, and values by commit.

local json = require "dkjson"
local built = require "tests.support.commits"
local lists = require "pmclua.base.lists"
local made = require "tests.support.results"
local pmc = require "pmclua"
local store = require "pmclua.store"
local support = require "tests.support"

local need, need_valgrind, repository = built.need, built.need_valgrind, built.repository
local BUILD, COUNT = built.BUILD, "valgrind::instructions"

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

  -- Stored results of three commits with a metric; remarks of the last.
  local function three(remarks)
    local folder = support.folder()
    for i, count in ipairs { 100, 100, 200 } do
      local header = made.header { metrics = { "both = cycles + instructions" }, target = "all CPUs",
        workloads = { { name = "rows", kind = "command", per = "run" } }, notes = { commit = "1a2b3c" .. i } }
      local writer = store.create(("%s/%d.jsonl"):format(folder, i), header)
      for _, record in ipairs(made.records { { count, count }, { 5, 5 }, { 3, 3 } }) do writer:add(record) end
      writer:finish("complete", { remarks = i == 3 and remarks or {} })
    end
    return pmc.history { files = { folder }, folder = folder }
  end

  local function points_of(history)
    local counts = {}
    for _, series in ipairs(history.series) do counts[series.event] = #series.points end
    return counts
  end

  it("is of metrics, too", function()
    local history = three {}
    assert.same({ cycles = 3, instructions = 3, ["page-faults"] = 3, both = 3 }, points_of(history))
    assert.same({}, history.left_out)
  end)

  it("has no point, and no step, of what was counted in part, and says so", function()
    local history = three { "CPU 1 went offline: counted only until then" }
    assert.same({ cycles = 2, instructions = 2, ["page-faults"] = 2, both = 2 }, points_of(history))
    assert.matches("1a2b3c3: cycles, instructions, page-faults and both left out: CPU 1 went offline: not",
      (history:report():gsub("%s+", " ")), 1, true)
    local part = json.decode(history:report { format = "json" }).left_out[1]
    assert.same({ "1a2b3c3", "cycles" }, { part.commit, part.title })
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

  it("takes options before the results, and says so", function()
    local found = support.pmclua { "history", "a.jsonl", "--format", "csv" }
    assert.equal(2, found.status)
    assert.matches("options stand before the results: --format", found.err, 1, true)
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
