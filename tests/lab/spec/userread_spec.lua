-- Counters read in user space: equal to read(2), and what a reading costs.

local core = require "pmclua.core"
local lab = require "tests.lab.support"
local new_session = require("pmclua.workload.session").new

local REPETITIONS = 3
local USER_ACCESS = "/proc/sys/kernel/perf_user_access"

local function write(path, text)
  local file = assert(io.open(path, "w"))
  assert(file:write(text))
  assert(file:close())
end

--- Results of a kernel of kernels/known.S, counted by groups that may be read in different ways.
local function run(symbol, groups, iterations)
  local session, list = new_session(), {}
  local job = { workload = session:workload(lab.kernel(symbol)), events = session:events(groups),
    iterations = iterations, repetitions = REPETITIONS, in_runner = true }
  session:run_each(job, function(result) list[#list + 1] = result end)
  session:close()
  assert.equal(REPETITIONS, #list)
  return list
end

local function alone(read) return { read = read, attrs = { lab.instructions { inherit = 1 } } } end

--- What the first event of the first group counts beside the kernel.
local function overhead(read)
  local list = run("turns_2", { alone(read) }, 1)
  for _, result in ipairs(list) do assert.equal(list[1].readings[3], result.readings[3]) end
  return list[1].readings[3] - 3, list[1].method
end

describe("in the lab, a reading in user space", function()
  lazy_setup(lab.need_lab)

  it("is taken where it is possible, unless read(2) is asked for", function()
    for asked, method in pairs { auto = "user", user = "user", syscall = "syscall", toggle = "toggle" } do
      for _, result in ipairs(run("turns_2", { alone(asked) }, 10)) do assert.equal(method, result.method) end
    end
  end)

  it("gives what read(2) gives of the same instructions, whatever their number, each time", function()
    local first
    for _, turns in ipairs { 1, 10, 1000, 100000 } do
      for _, result in ipairs(run("turns_2", { alone "user", alone "syscall" }, turns)) do
        assert.equal("syscall", result.method)         -- of both together
        local user, system = result.readings[3], result.readings[6]
        first = first or { user = user - 2 * turns, system = system - 2 * turns }
        assert.equal(first.user, user - 2 * turns)
        assert.equal(first.system, system - 2 * turns)
      end
    end
  end)

  it("gives all members of a group, and the times that it was enabled and running", function()
    local group = { read = "user", attrs = { lab.instructions { inherit = 1 }, lab.cycles { inherit = 1 },
      lab.instructions { inherit = 1 }, lab.instructions { inherit = 1 } } }
    local fixed
    for _, turns in ipairs { 1000, 3000000 } do
      for _, result in ipairs(run("turns_7", { group }, turns)) do
        local enabled, running, first, cycles, second, third = unpack(result.readings)
        assert.equal("user", result.method)
        assert.equal(enabled, running)
        assert.is_true(enabled <= result.wall_ns)
        assert.is_true(enabled >= 7 * turns * lab.CYCLES_PER_INSTRUCTION)      -- of 1 ns at -icount shift=1
        fixed = fixed or { first - 7 * turns, cycles - 14 * turns }
        assert.same(fixed, { first - 7 * turns, cycles - 14 * turns })
        assert.equal(first, second)
        assert.equal(first, third)
      end
    end
  end)

  it("costs the measured code less than a tenth of what read(2) costs it", function()
    local user, method = overhead "user"
    local both = { read = "syscall", attrs = { lab.instructions { exclude_kernel = 0 } } }
    local system = run("turns_2", { both }, 1)[1].readings[3] - 3
    assert.equal("user", method)
    assert.is_true(10 * user <= system, ("%d against %d instructions"):format(user, system))
  end)

  it("is not taken of a group with events that the PMU does not count", function()
    local mixed = { read = "auto", attrs = { lab.instructions(), { type = 1, config = 2 } } }
    assert.equal("syscall", run("turns_2", { mixed }, 10)[1].method)
  end)

  it("is not taken where the OS kernel forbids it, and the counts are the same", function()
    local allowed = overhead "auto"
    write(USER_ACCESS, "0")
    local ok, forbidden, method = pcall(overhead, "auto")
    write(USER_ACCESS, "1")
    assert(ok, forbidden)
    assert.equal("syscall", method)
    assert.equal(overhead "syscall", forbidden)
    assert.is_true(allowed < forbidden + 1000)
  end)

  it("falls back to read(2) while its group is not on the PMU", function()
    local groups, turns = {}, 30000000
    for i = 1, 10 do groups[i] = alone "user" end
    for _, result in ipairs(run("turns_2", groups, turns)) do
      for i = 0, #groups - 1 do
        local enabled, running, count = unpack(result.readings, 3 * i + 1, 3 * i + 3)
        assert.is_true(running <= enabled)
        if running > 0 then
          assert.is_near(1, count * enabled / running / (2 * turns), 0.05)
        else
          assert.equal(0, count)
        end
      end
    end
  end)

  it("is of the thread that reads: a forked child asks read(2)", function()
    local ffi = require "ffi"
    ffi.cdef "int fork(void); void _exit(int); int waitpid(int, int *, int);"
    local group = assert(core.group({ lab.instructions() }, { read = "user" }))
    assert(group:start())
    assert.equal("user", group:method())
    local room, status = group:buffer(), ffi.new "int[1]"
    local pid = ffi.C.fork()
    if pid == 0 then
      local ok = group:read_into(room)
      ffi.C._exit(ok and 7 or 1)
    end
    ffi.C.waitpid(pid, status, 0)
    group:close()
    assert.equal(7 * 256, status[0])
  end)
end)

describe("in the lab, a kernel that starts threads", function()
  lazy_setup(lab.need_lab)

  local SOURCE = [[
    #include <pmclua_kernel.h>
    #include <pthread.h>
    static void *turn(void *count)
    {
        for (volatile uint64_t i = *(uint64_t *)count; i > 0; i--)
            ;
        return 0;
    }
    void own(void *state, uint64_t iterations) { (void)state; turn(&iterations); }
    void others(void *state, uint64_t iterations)
    {
        pthread_t thread;
        (void)state;
        pthread_create(&thread, 0, turn, &iterations);
        pthread_join(thread, 0);
    }
  ]]

  it("is noticed, and counted with them by read(2)", function()
    local pmc = require "pmclua"
    local function kernel(symbol)
      return pmc.kernel { code = SOURCE, symbol = symbol, libs = "-lpthread" }
    end
    local counts, methods = {}, {}
    for _, symbol in ipairs { "own", "others" } do
      pmc.measure(kernel(symbol), { events = { "instructions:u" }, iterations = 100000, repetitions = 2,
        warmup = 0, each = function(record)
          counts[symbol], methods[symbol] = record.counts[1], record.read or "syscall"
        end })
    end
    assert.same({ own = "user", others = "syscall" }, methods)
    assert.is_true(counts.others > counts.own)
    assert.is_near(counts.own, counts.others, 20000)
  end)
end)
