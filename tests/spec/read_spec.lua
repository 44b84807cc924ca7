-- How counters are read: what a machine without a PMU can show; tests/lab/spec/userread_spec.lua has the
-- rest.

local core = require "pmclua.core"
local new_session = require("pmclua.workload.session").new
local pmc = require "pmclua"
local support = require "tests.support"

local FAULTS, TASK_CLOCK = support.software(2), support.software(1)

-- Each call touches as many fresh pages as it has iterations, in this thread or in one that setup started.
local SOURCE = [[
#include <pmclua_kernel.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/mman.h>

static void touch(uint64_t pages)
{
    char *memory = mmap(0, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise(memory, pages * 4096, MADV_NOHUGEPAGE);
    for (uint64_t i = 0; i < pages; i++)
        ((volatile char *)memory)[i * 4096] = 1;
    munmap(memory, pages * 4096);
}
void alone(void *state, uint64_t iterations) { (void)state; touch(iterations); }

struct pool { pthread_t thread; sem_t ask, done; uint64_t pages; };
static void *work(void *argument)
{
    struct pool *pool = argument;
    for (;;) {
        sem_wait(&pool->ask);
        if (!pool->pages)
            return 0;
        touch(pool->pages);
        sem_post(&pool->done);
    }
}
static struct pool pool;
void *pooled_setup(const struct pmclua_params *params)
{
    (void)params;
    sem_init(&pool.ask, 0, 0);
    sem_init(&pool.done, 0, 0);
    pthread_create(&pool.thread, 0, work, &pool);
    return &pool;
}
void pooled(void *state, uint64_t iterations)
{
    (void)state;
    pool.pages = iterations;
    sem_post(&pool.ask);
    sem_wait(&pool.done);
}
void pooled_teardown(void *state)
{
    (void)state;
    pool.pages = 0;
    sem_post(&pool.ask);
    pthread_join(pool.thread, 0);
}
]]

local session, object

local function kernel(symbol)
  return session:workload(function(message) message:text("library", object):text("symbol", symbol) end)
end

local function run(job)
  job.in_runner = true
  local result = session:run(job)
  assert.equal("done", result.outcome, result.output)
  return result
end

local function faults_of(workload, events, pages)
  return run({ workload = workload, events = events, iterations = pages }).readings[3]
end

describe("counters of kernels", function()
  lazy_setup(function()
    session = new_session()
    object = support.folder() .. "/read.so"
    local source = support.write(support.folder() .. "/read.c", SOURCE)
    local made = support.run { "cc", "-O1", "-shared", "-fPIC", "-I" .. support.root .. "/core", "-o", object,
      source, "-lpthread" }
    assert.equal(0, made.status, made.err)
  end)
  lazy_teardown(function() session:close() end)

  it("are read by system calls where user space may not read them, whatever was wished", function()
    for _, read in ipairs { "auto", "user", "syscall" } do
      local events = session:events { { read = read, attrs = { FAULTS, TASK_CLOCK } } }
      assert.equal("syscall", run({ workload = kernel "alone", events = events, iterations = 5 }).method)
    end
  end)

  it("that are toggled run in the measured call alone", function()
    support.need_unwatched "a watcher has page faults of its own"
    local events = session:events { { read = "toggle", attrs = { FAULTS, TASK_CLOCK } } }
    local workload = kernel "alone"
    for _ = 1, 3 do
      local result = run { workload = workload, events = events, iterations = 100 }
      assert.equal("toggle", result.method)
      local enabled, running, faults = unpack(result.readings)
      assert.equal(enabled, running)
      assert.is_true(enabled <= result.wall_ns)
      assert.equal(100, faults)
    end
  end)

  it("count a pool of threads that setup started, of each event set in turn", function()
    support.need_unwatched "a watcher has page faults of its own"
    local workload = kernel "pooled"
    local sets = {
      session:events { { attrs = { FAULTS } } }, session:events { { attrs = { FAULTS, TASK_CLOCK } } },
    }
    run { workload = workload, iterations = 100 }       -- sets it up with nothing counted
    for _ = 1, 2 do
      for _, events in ipairs(sets) do
        faults_of(workload, events, 100)
        local few, many = faults_of(workload, events, 100), faults_of(workload, events, 300)
        assert.equal(200, many - few)
      end
    end
  end)
end)

describe("an experiment's key read", function()
  local function measure(workload, options)
    options.repetitions, options.warmup, options.events = 3, 0, { "page-faults" }
    local records = {}
    options.each = function(record) records[#records + 1] = record end
    pmc.measure(workload, options)
    return records
  end

  it("says how a function's counters are used, and each record says how they were", function()
    for read, said in pairs { auto = "syscall", syscall = "syscall", toggle = "toggle" } do
      for _, record in ipairs(measure(function() end, { read = read })) do
        assert.equal(said, record.read or "syscall")
      end
    end
  end)

  it("that insists on user space raises where that is not possible", function()
    local ok, why = pcall(measure, function() end, { read = "user" })
    assert.is_false(ok)
    assert.is_truthy(tostring(why):find("cannot be read in user space", 1, true), tostring(why))
  end)

  it("does not concern commands, which the OS kernel counts", function()
    assert.equal(3, #measure("true", { read = "user" }))
  end)

  it("is stored with each record and read back", function()
    local folder = support.folder()
    for _, repetitions in ipairs { 3, 300 } do
      local path = ("%s/%d.jsonl"):format(folder, repetitions)
      pmc.measure(function() end, { read = "toggle", repetitions = repetitions, warmup = 1,
        events = { "page-faults" }, store = path })
      local count = 0
      require("pmclua.store").open(path).each(function(record)
        assert.equal("toggle", record.read)
        count = count + 1
      end)
      assert.equal(repetitions + 1, count)
    end
  end)
end)

describe("a group's way of reading", function()
  it("is by system calls for events that the CPU's PMU does not count", function()
    local group = assert(core.group({ { type = 1, config = 2, exclude_kernel = 1 } }, { read = "auto" }))
    assert(group:start())
    assert.equal("syscall", group:method())
    group:close()
  end)

  it("is its handle's once it is started; by system calls where there are several groups, or none", function()
    local group = require "pmclua.counting.group"
    local function method_of(handle)
      local own = group.over({}, {}, handle)
      assert.equal("toggle", own:method())
      return own:start():method()
    end
    local function start() return true end
    assert.equal("user", method_of { start = start, method = function() return "user" end })
    assert.equal("syscall", method_of { start = start, method = function() return "syscall" end })
    assert.equal("syscall", method_of { start = start })
    assert.equal("syscall", method_of(nil))
  end)
end)

describe("the overhead of counting", function()
  it("is found out for each pass with kernels, and said where what is measured is small beside it", function()
    local empty = pmc.kernel { symbol = "empty", code = "#include <pmclua_kernel.h>\n"
      .. "void empty(void *state, uint64_t iterations) { (void)state; (void)iterations; }" }
    local small = pmc.measure(empty, { events = { "task-clock" }, iterations = 1 })
    local overhead = small.header.overhead[1]
    assert.equal("syscall", overhead.read)
    assert.is_true(overhead.minimum[1] > 0 and overhead.minimum[1] <= overhead.median[1])
    local kinds = {}
    for _, warning in ipairs(small:warnings()) do kinds[warning.kind] = true end
    assert.is_true(kinds.small)
  end)

  it("is not asked for where there are no kernels", function()
    assert.is_nil(pmc.measure("true", { events = { "page-faults" }, repetitions = 1 }).header.overhead)
  end)
end)
