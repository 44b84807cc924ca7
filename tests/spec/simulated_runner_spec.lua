-- A kernel's runner under callgrind, which counts the measured call alone. The counts of the kernels are read off
-- their source (fixtures/simulated/known.S); one that single-steps them agrees.

local session = require "pmclua.workload.session"
local support = require "tests.support"
local tools = require "pmclua.host.tools"

-- Why callgrind cannot count here; nil where it can.
local function absent()
  if jit.arch ~= "x64" then return "the kernels' source is for x86-64" end
  if not support.have "gcc" then return "no C compiler" end
  if not tools.find "valgrind" then return "no Valgrind" end
  return support.watcher and "a watcher runs the runner" or nil
end

local folder, library, runners

-- What starts the runner; Debian's `valgrind` is a script that adds to the environment.
local function words(is_switched)
  return { tools.find "valgrind.bin" or tools.find "valgrind", "--tool=callgrind", "--vgdb=no",
    "--vex-guest-chase=no", "--cache-sim=no", "--log-file=" .. folder .. "/log",
    "--callgrind-out-file=" .. folder .. "/out.%p",
    is_switched and "--instr-atstart=no" or "--collect-atstart=no" }
end

local function define(path, symbol)
  return runners:workload(function(message)
    message:text("library", path):text("symbol", symbol)
  end)
end

local function run(id, more)
  return runners:run(support.merged({ workload = id, iterations = 1, in_runner = true,
    simulated = { owner = id, words = words } }, more))
end

-- The instructions of each call of a kernel, with what the bracket around it adds; or the result without any.
local function instructions(id, counts, more)
  local list = {}
  for i, iterations in ipairs(counts) do
    local result = run(id, support.merged({ iterations = iterations }, more))
    if result.outcome ~= "done" then return result end
    local path = ("%s/out.%d.%d"):format(folder, runners:runner_of(id), i)
    local text = support.read(path)
    assert.equal("pmclua " .. result.sequence, text:match "Client Request: ([^\n]*)")
    list[i] = tonumber(text:match "\ntotals: (%d+)")
  end
  return list
end

local STARTS = [[
#include <pthread.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>
static void *turn(void *n) { for (volatile uint64_t i = (uintptr_t)n; i; i--) ; return NULL; }
void thread(void *state, uint64_t n)
{
    pthread_t one;
    (void)state;
    if (pthread_create(&one, NULL, turn, (void *)n) == 0) pthread_join(one, NULL);
}
void process(void *state, uint64_t n)
{
    (void)state; (void)n;
    if (fork() == 0) _exit(0);
    wait(NULL);
}
void left(void *state, uint64_t n)
{
    (void)state; (void)n;
    if (fork() == 0) { sleep(100); _exit(0); }
}
]]

local function build_starts()
  local source = support.write(folder .. "/starts.c", STARTS)
  return support.build(folder .. "/starts.so", "gcc", "-O0", "-shared", "-fPIC", "-pthread", source)
end

describe("a runner under callgrind", function()
  setup(function()
    folder, runners = support.folder(), session.new()
    if absent() then return end
    library = support.build(folder .. "/known.so", "gcc", "-nostdlib", "-shared",
      support.fixture "simulated/known.S")
  end)
  teardown(function() runners:close() end)
  before_each(function() support.need(not absent(), absent()) end)

  it("counts a kernel's call, and around it the same for each", function()
    local overhead
    local lengths = { turns = { 3, 5 }, one_more = { 4, 5 }, calls = { 4, 2 }, pointers = { 4, 5 },
      few_lines = { 1028, 3 } }
    for symbol, length in pairs(lengths) do
      local id = define(library, symbol)
      for i, count in ipairs(instructions(id, { 1000, 2000, 1, 1000 })) do
        local besides = count - length[1] * ({ 1000, 2000, 1, 1000 })[i] - length[2]
        overhead = overhead or besides
        assert.equal(overhead, besides, symbol)
      end
      runners:forget(id)
    end
    local empty = define("", "")
    assert.equal(overhead + 1, instructions(empty, { 1 }, { is_empty = true })[1])     -- its return
    runners:forget(empty)
  end)

  it("counts as many instructions as single steps do", function()
    local steps = support.build(folder .. "/steps", "gcc", "-O2", support.fixture "simulated/steps.c", "-ldl")
    for _, symbol in ipairs { "turns", "alternating", "many_lines" } do
      local id = define(library, symbol)
      local few, many = unpack(instructions(id, { 2, 20 }))
      runners:forget(id)
      local function stepped(n)
        local stepper = support.run { steps, library, symbol, tostring(n) }
        assert.equal("", stepper.err)
        return tonumber(stepper.out)
      end
      assert.equal(stepped(20) - stepped(2), many - few, symbol)
    end
  end)

  it("counts the threads that a kernel starts, too", function()
    local path = build_starts()
    local id = define(path, "thread")
    assert.is_false(runners:has_threads(id))
    local result = run(id, { iterations = 100000 })
    assert.equal("done", result.outcome)
    assert.is_true(runners:has_threads(id))
    local text = support.read(("%s/out.%d.1"):format(folder, runners:runner_of(id)))
    assert.is_true(tonumber(text:match "\ntotals: (%d+)") > 100000)
    runners:forget(id)
  end)

  it("has no count of a kernel that starts a process", function()
    local path = build_starts()
    for _, symbol in ipairs { "process", "left" } do
      local id = define(path, symbol)
      local result = instructions(id, { 1 })
      assert.equal("not-counted", result.outcome)
      assert.equal("ECHILD", result.failure.code)
      runners:forget(id)
    end
  end)

  it("is told from one that runs by itself", function()
    local id = define(library, "turns")
    local result = run(id, { simulated = { owner = id, words = function() return { "/usr/bin/env" } end } })
    assert.equal("not-counted", result.outcome)
    assert.equal("ENOSYS", result.failure.code)
    runners:forget(id)
  end)
end)
