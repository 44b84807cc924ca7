--- kernels.lua: pieces of C whose counts are known beforehand: each does a thing `iterations` times.

local explain = require "pmclua.explain"
local machine = require "pmclua.host.machine"
local text = require "pmclua.base.text"

local M = {}

M.ADDRESS = 0x10000000      -- low and free: programs and libraries are loaded elsewhere

M.CODE = [==[
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <pmclua_kernel.h>

void empty(void *state, uint64_t iterations) { (void)state; (void)iterations; }

/* One page fault each: fresh pages, none of them huge. */
void pages(void *state, uint64_t iterations)
{
    (void)state;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), bytes = iterations * page;
    volatile char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    madvise((void *)memory, bytes, MADV_NOHUGEPAGE);
    for (uint64_t i = 0; i < iterations; i++)
        memory[i * page] = 1;
    munmap((void *)memory, bytes);
}

void system_calls(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--)
        syscall(SYS_getppid);
}

/* Half of them of 1 byte, half of 2. */
void writes_to_nowhere(void *state, uint64_t iterations)
{
    (void)state;
    for (uint64_t i = 0; i < iterations; i++)
        syscall(SYS_write, 1000001, "xy", 1 + i % 2);
}

void library_calls(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--)
        getppid();
}

/* Writes to an address that is known before. */
void *stores_setup(const struct pmclua_params *params)
{
    int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE;
    void *wanted = (void *)(uintptr_t)pmclua_u64(params, "address", 0);
    void *got = mmap(wanted, 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    return got == wanted ? got : pmclua_fail(params, "the address is taken");
}
void stores(void *state, uint64_t iterations)
{
    for (volatile uint64_t *word = state; iterations--;)
        *word = iterations;
}

/* ---- two CPUs ---- */

static void first_two(const cpu_set_t *allowed, int cpu[2])
{
    int found = 0;
    cpu[0] = cpu[1] = -1;
    for (int i = 0; i < CPU_SETSIZE && found < 2; i++)
        if (CPU_ISSET(i, allowed))
            cpu[found++] = i;
}

static void go_to(int cpu)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpu, &one);
    sched_setaffinity(0, sizeof one, &one);
}

/* Hops from one CPU to another and back. */
static int hop[2];
void *hops_setup(const struct pmclua_params *params)
{
    cpu_set_t allowed;
    sched_getaffinity(0, sizeof allowed, &allowed);
    first_two(&allowed, hop);
    return hop[1] >= 0 ? hop : pmclua_fail(params, "it needs two CPUs");
}
void hops_reset(void *state, uint64_t iterations) { (void)state; (void)iterations; go_to(hop[0]); }
void hops(void *state, uint64_t iterations)
{
    (void)state;
    for (uint64_t i = 0; i < iterations; i++)
        go_to(hop[(i + 1) % 2]);
}

/* Waits that are answered only once the OS kernel has switched the waiting thread out. */
static struct { int ask[2], answer[2]; pid_t waiter; pthread_t partner; } waits_state;

static long long switches_of(pid_t thread)
{
    char path[64], text[4096], *line;
    snprintf(path, sizeof path, "/proc/self/task/%d/status", (int)thread);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, sizeof text - 1);
    if (fd >= 0)
        close(fd);
    text[got > 0 ? got : 0] = '\0';
    long long count = -1;
    if ((line = strstr(text, "\nvoluntary_ctxt_switches:")))
        sscanf(line, "\nvoluntary_ctxt_switches: %lld", &count);
    return count;
}

/* Idle, so that on the same CPU it runs only while the other waits, and never takes the CPU from it. */
static void *partner(void *unused)
{
    (void)unused;
    long long before;
    sched_setscheduler(0, SCHED_IDLE, &(struct sched_param){ 0 });
    while (read(waits_state.ask[0], &before, sizeof before) == sizeof before) {
        while (switches_of(waits_state.waiter) == before)
            sched_yield();
        if (write(waits_state.answer[1], "x", 1) != 1)
            break;
    }
    return NULL;
}
void *waits_setup(const struct pmclua_params *params)
{
    waits_state.waiter = (pid_t)syscall(SYS_gettid);
    if (pipe2(waits_state.ask, O_CLOEXEC) < 0 || pipe2(waits_state.answer, O_CLOEXEC) < 0 ||
        pthread_create(&waits_state.partner, NULL, partner, NULL) != 0)
        return pmclua_fail(params, "no partner to wait for");
    return &waits_state;
}
void waits(void *state, uint64_t iterations)
{
    (void)state;
    long long count = switches_of(waits_state.waiter);
    while (iterations--) {
        char byte;
        if (write(waits_state.ask[1], &count, sizeof count) != sizeof count)
            return;
        if (read(waits_state.answer[0], &byte, 1) != 1)
            return;
        count = switches_of(waits_state.waiter);
    }
}
void waits_teardown(void *state)
{
    (void)state;
    close(waits_state.ask[1]);
    pthread_join(waits_state.partner, NULL);
    close(waits_state.ask[0]);
    close(waits_state.answer[0]);
    close(waits_state.answer[1]);
}

/* ---- instructions ---- */

/* Twelve instructions each, one of them a branch that is taken (but for the last). */
void instructions(void *state, uint64_t iterations)
{
    (void)state;
    uint64_t sum = 0, count = iterations;
    if (count == 0)
        return;
#define TEN(x) x x x x x x x x x x
#if defined __x86_64__
    __asm__ volatile("1:" TEN("add $1, %0\n") "sub $1, %1\n jnz 1b" : "+r"(sum), "+r"(count) : : "cc");
#elif defined __aarch64__
    __asm__ volatile("1:" TEN("add %0, %0, #1\n") "subs %1, %1, #1\n b.ne 1b"
                     : "+r"(sum), "+r"(count) : : "cc");
#elif defined __riscv
    __asm__ volatile("1:" TEN("addi %0, %0, 1\n") "addi %1, %1, -1\n bnez %1, 1b" : "+r"(sum), "+r"(count));
#endif
    pmclua_keep(sum);
}
]==]

--- One of them as a workload. All have one name, so that they are compiled at once.
---@param symbol string
---@return pmclua.Kernel
function M.of(symbol)
  return require("pmclua.workload.kernel").new { name = "truths", code = M.CODE, symbol = symbol,
    params = { address = M.ADDRESS } }
end

--- Measures a workload without a trace.
---@param workload table
---@param options table as of pmc.measure
---@return table[]? records those that were done, without the warm-up; nil: there is none
---@return pmclua.Result|string result or why not, in short
function M.measure(workload, options)
  local records, refused = {}, nil
  options.store, options.quiet = false, true
  function options.each(record)
    if record.warmup then return end
    refused = refused or record.why
    if record.outcome == "done" then records[#records + 1] = record end
  end
  local ok, result = pcall(require("pmclua.experiment").measure, workload, options)
  if not ok then return nil, M.reason(result) end
  local first, problem = result.header.events[1], result.problem
  if first.status then return nil, M.reason(first.why or first.status) end
  if #records == 0 then return nil, M.reason(refused or problem or "no repetition succeeded") end
  return records, result
end

--- The path of the C library of this process.
---@return string?
function M.libc()
  for line in (machine.text "/proc/self/maps" or ""):gmatch "[^\n]+" do
    local path = line:match "(/%S*/libc[.-]%S*)$" or line:match "(/%S*/ld%-musl%S*)$"
    if path then return path end
  end
end

--- Why one of them could not be counted, in short: without what it is about and without advice.
---@param why any an error object, or text
---@return string
function M.reason(why)
  local reason = explain.is(why) and (why.reason or why.message) or tostring(why)
  reason = text.safe(reason):gsub("^cannot open '.-': ", ""):gsub("^truths: ", "")
    :gsub("^.* cannot be run: ", "")
  return ((reason:match "^(.-);" or reason):gsub(", at character .*", ""))
end

return M
