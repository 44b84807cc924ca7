-- Programs that have others do their work: what these do is no child's, is in no count, and is said beside the number.

local json = require "dkjson"
local lists = require "pmclua.base.lists"
local pmc = require "pmclua"
local support = require "tests.support"

local MARKED = [[
#include <pmclua_mark.h>
int main(void)
{
    pmclua_mark_begin("work");
    char *m = (char *)mmap(0, 2000 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(m, 2000 * 4096, MADV_NOHUGEPAGE);
    for (int i = 0; i < 2000; i++) m[i * 4096] = 1;
    pmclua_mark_end("work");
    return 0;
}
]]

-- 200 threads, each with an entry of 10 page faults.
local DIVIDED = [[
#include <pmclua_mark.h>
static void *work(void *unused)
{
    char *m = (char *)mmap(0, 10 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pmclua_mark_begin("work");
    for (int i = 0; i < 10; i++) m[i * 4096] = 1;
    pmclua_mark_end("work");
    munmap(m, 10 * 4096);
    return unused;
}
int main(void)
{
    pthread_t thread;
    for (int i = 0; i < 200; i++) {
        if (pthread_create(&thread, 0, work, 0)) return 1;
        pthread_join(thread, 0);
    }
    return 0;
}
]]

describe("a launcher", function()
  local folder, daemon
  -- Runs what it is sent until that is "exit"; what is called srun, docker or what a spec says sends it its arguments.
  lazy_setup(function()
    folder = support.folder()
    os.execute(("mkfifo %s/ask %s/answer"):format(folder, folder))
    local script = ("cd %s; while read -r line < ask; do eval $line; echo done > answer; done"):format(folder)
    daemon = io.popen("exec sh -c " .. support.quote(script), "w")
  end)
  lazy_teardown(function()
    os.execute(("echo exit > %s/ask"):format(folder))
    daemon:close()
  end)

  local function program(name, text)
    local path = support.write(folder .. "/" .. name, "#!/bin/sh\n" .. text)
    os.execute("chmod 755 " .. path)
    return path
  end

  local function launcher(name)
    local send = 'echo "PMCLUA_MARKS=$PMCLUA_MARKS $*" > %s/ask; read x < %s/answer'
    return program(name, send:format(folder, folder))
  end

  local function measure(command, options)
    return pmc.measure(command, support.merged({ events = { "page-faults", "user_time", "duration_time" },
      repetitions = 6, warmup = 0, store = false, quiet = true, timeout = "20s" }, options))
  end

  local function statuses(result)
    local cell = result:cells()()
    return { cell.page_faults.status, cell.duration_time.status }
  end

  for _, name in ipairs { "srun", "docker", "systemd-run", "pbsdsh" } do
    it(("is known by its name, %s, and its counts are not taken for its program's"):format(name), function()
      local result = measure(launcher(name) .. " true")
      assert.same({ "launcher", "counted" }, statuses(result))
      local cell = result:cells()()
      assert.is_true(cell.page_faults.median > 0)
      local known = name:gsub("%-", "%%-")
      assert.matches("^it lacks what " .. known .. " had %l[%l ]+ run$", cell.page_faults.why)
      assert.matches("^" .. known .. " had its work done by", result.remarks[1])
      assert.matches("lacks what " .. name .. " ran", result:report { width = 200 }, 1, true)
    end)
  end

  it("is known within a script, and when it is waited for by another", function()
    local path = launcher "ssh"
    assert.same({ "launcher", "counted" }, statuses(measure(pmc.command { "sh", "-c", path .. " true; :" })))
    assert.same({ "launcher", "counted" }, statuses(measure("timeout 9 " .. path .. " true")))
  end)

  it("is none where it executes the program in its place, or where no child is asked for", function()
    local scope = program("systemd-run", 'exec "$@"')
    local result = measure(scope .. " true")
    assert.same({ "counted", "counted" }, statuses(result))
    assert.is_nil(result:cells()().page_faults.launcher)
    assert.same({ "counted", "counted" }, statuses(measure(launcher "srun" .. " true", { inherit = false })))
    assert.same({ "counted", "counted" }, statuses(measure(program("srun2", "true"))))
  end)

  it("is compared by time alone, and no limit or prediction on its counts is checked", function()
    local path = launcher "srun"
    local function named(name) return pmc.command { path, "true", name = name } end
    local result = pmc.experiment { events = { "page-faults", "duration_time" }, repetitions = 6,
      baseline = "a", expect = { "page_faults > 0" }, metrics = { "rate = page_faults / duration_time" },
      workloads = { named "a", named "b" } }:run { store = false, quiet = true }
    local rows = result:compare().pairs[1].rows
    for i, judged in ipairs { false, true, false } do assert.equal(judged, rows[i].verdict ~= nil) end
    assert.equal("it lacks what srun had slurmstepd run", rows[1].why)
    for limit, status in pairs { ["page_faults <= 1000000"] = 77, ["duration_time <= 60000000000"] = 0 } do
      assert.equal(status, result:gate { limits = limit }:status(), limit)
    end
    assert.equal("uncountable", result.expectations[1].state)
    assert.equal("launcher", result:cells()().rate.status)
  end)

  it("is known from the stored file, too, in each format", function()
    local path = support.folder() .. "/stored.jsonl"
    measure(launcher "srun" .. " true", { store = path })
    assert.same({ "launcher", "counted" }, statuses(pmc.load(path)))
    for _, format in ipairs { "table", "markdown", "html", "json" } do
      local shown = support.pmclua { "report", "--format", format, path }
      assert.matches("srun had its work done by slurmstepd", (shown.out:gsub("%s+", " ")), 1, true)
    end
    assert.matches(",launcher,", support.pmclua({ "report", "--format", "csv", path }).out, 1, true)
  end)

  it("has times, and no number of its own, in formats that cannot say what it lacks", function()
    local path = support.folder() .. "/stored.jsonl"
    measure(launcher "srun" .. " true", { store = path, repetitions = 2 })
    local function exported(format) return support.pmclua({ "report", "--format", format, path }).out end
    local metrics = exported "openmetrics"
    assert.matches('pmclua_duration_time_seconds{[^}]*stat="median"} %d', metrics)
    assert.is_nil(metrics:find "pmclua_[pu][^{ ]*{")
    local timed = json.decode(exported "hyperfine", 1, json.null).results[1]
    assert.same({ 2, json.null, json.null }, { #timed.times, timed.user, timed.system })
    assert.is_nil(timed.memory_usage_byte)
    for _, entry in ipairs(json.decode(exported "benchmark").benchmarks) do
      assert.same({ entry.real_time }, { entry.cpu_time, entry.page_faults, entry.user_time })
    end
  end)

  it("is an error where a part has more than the whole: only the part is shown", function()
    support.need(support.have "cc", "no C compiler")
    local source = support.write(folder .. "/marked.c", MARKED)
    local include = "-I" .. support.root .. "/core"
    local marked = support.build(folder .. "/marked", "cc", "-O1", include, source, "-lpthread")
    local path = support.folder() .. "/parts.jsonl"
    local run = support.pmclua { "stat", "--marks", "-r", "3", "-e", "page-faults", "--store", path, "--",
      launcher "srun", marked }
    assert.equal(125, run.status, run.err)
    local said = run.err:gsub("%s+", " ")
    assert.matches("page%-faults – <incomplete>: its part 'work' counted 2000", said)
    assert.matches("page%-faults 2,000", said)
    assert.matches("counted 2000 of page%-faults, and the whole run %d+: it lacks what srun had", said)
    for cell in pmc.load(path):cells() do
      assert.equal(cell.region and "counted" or "incomplete", cell.page_faults.status)
    end
  end)

  it("is one, too, where the parts are entries or threads, each of which has less", function()
    support.need(support.have "cc", "no C compiler")
    local source = support.write(folder .. "/divided.c", DIVIDED)
    local include = "-I" .. support.root .. "/core"
    local divided = support.build(folder .. "/divided", "cc", "-O1", include, source, "-lpthread")
    for _, option in ipairs { "--entries", "--per-thread" } do
      local words = { "stat", "--marks", option, "-e", "page-faults", "--" }
      local run = support.pmclua(lists.joined { words, { launcher "srun", divided } })
      assert.equal(125, run.status, run.err)
      assert.matches("its part 'work' counted 2000 of page-faults", (run.err:gsub("%s+", " ")), 1, true)
      assert.equal(0, support.pmclua(lists.joined { words, { divided } }).status)
    end
  end)
end)

describe("a command that only waits", function()
  it("is said to, as another process may work for it", function()
    local result = pmc.measure("sleep 1", { events = "page-faults", repetitions = 1, warmup = 0, quiet = true,
      store = false })
    assert.equal("idle", result:warnings()[1].kind)
    assert.matches("^it only waited: it used [%d.]+ [mµ]+s of CPU time in 1", result:warnings()[1].message)
  end)
end)
