/*
 * simulated.c: calls of kernels that callgrind counts, where it runs the runner.
 *
 * Invariants: nothing outside of simulated_bracket is counted, and what the bracket adds is the same for every
 * kernel: it has no branch, and uses no memory but the stack, whose position within a page is fixed. So pmclua
 * measures what it adds on simulated_nothing and subtracts it exactly.
 *
 * Callgrind's switch of collection is one thread's, and leaves the simulated caches as they are. It would miss
 * threads that a kernel starts. For such kernels (run->inherit) the process's instrumentation is switched instead,
 * which empties the caches and takes milliseconds.
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "host/clocks.h"
#include "host/descendants.h"
#include "runner/launching/fixed.h"
#include "runner/session/valgrind_request.h"
#include "simulated.h"

/* ---- the bracket ---- */

/* Calls fn(state, iterations) between on and off, with the stack at the beginning of a page less `offset`. */
void simulated_bracket(void (*fn)(void *, uint64_t), void *state, uint64_t iterations,
                       const struct valgrind_words on_off[2], uint64_t offset);

#define NAMED(NAME, KIND) ".globl " NAME "\n\t.hidden " NAME "\n\t.type " NAME ", " KIND "function\n" NAME ":\n\t"
#define END(NAME) ".size " NAME ", . - " NAME "\n\t"

/* The counted code and the empty kernel share one cache line, so the bracket adds no miss of its own. */
#if defined __x86_64__
__asm__(
    ".text\n\t.p2align 6\n\t" NAMED("simulated_bracket", "@") ".cfi_startproc\n\t"
    "pushq %rbp\n\t.cfi_def_cfa_offset 16\n\t.cfi_offset %rbp, -16\n\t"
    "movq %rsp, %rbp\n\t.cfi_def_cfa_register %rbp\n\t"
    "pushq %rbx\n\t.cfi_offset %rbx, -24\n\tpushq %r12\n\t.cfi_offset %r12, -32\n\t"
    "movq %rdi, %rbx\n\tmovq %rcx, %r12\n\tmovq %rsi, %rdi\n\tmovq %rdx, %rsi\n\t"
    "andq $-4096, %rsp\n\tsubq %r8, %rsp\n\t"
    "movq %r12, %rax\n\txorl %edx, %edx\n\tjmp 1f\n\t"
    ".p2align 6\n\t" NAMED("simulated_nothing", "@") "retq\n\t" END("simulated_nothing")
    "1:\n\t" VALGRIND_ASM("%")
    "callq *%rbx\n\t"
    "leaq 48(%r12), %rax\n\txorl %edx, %edx\n\t" VALGRIND_ASM("%")
    "leaq -16(%rbp), %rsp\n\tpopq %r12\n\tpopq %rbx\n\tpopq %rbp\n\t.cfi_def_cfa %rsp, 8\n\tretq\n\t"
    ".cfi_endproc\n\t" END("simulated_bracket") ".p2align 6\n\t");
#elif defined __aarch64__
__asm__(
    ".text\n\t.p2align 6\n\t" NAMED("simulated_bracket", "%") ".cfi_startproc\n\t"
    "stp x29, x30, [sp, #-32]!\n\t.cfi_def_cfa_offset 32\n\t.cfi_offset 29, -32\n\t.cfi_offset 30, -24\n\t"
    "mov x29, sp\n\t.cfi_def_cfa_register 29\n\t"
    "stp x19, x20, [sp, #16]\n\t.cfi_offset 19, -16\n\t.cfi_offset 20, -8\n\t"
    "mov x19, x0\n\tmov x20, x3\n\tmov x0, x1\n\tmov x1, x2\n\t"
    "mov x9, sp\n\tand x9, x9, #0xfffffffffffff000\n\tsub x9, x9, x4\n\tmov sp, x9\n\t"
    "mov x4, x20\n\tmov x3, #0\n\tb 1f\n\t"
    ".p2align 6\n\t" NAMED("simulated_nothing", "%") "ret\n\t" END("simulated_nothing")
    "1:\n\t" VALGRIND_ASM("")
    "blr x19\n\t"
    "add x4, x20, #48\n\tmov x3, #0\n\t" VALGRIND_ASM("")
    "mov sp, x29\n\tldp x19, x20, [sp, #16]\n\tldp x29, x30, [sp], #32\n\t.cfi_def_cfa sp, 0\n\tret\n\t"
    ".cfi_endproc\n\t" END("simulated_bracket") ".p2align 6\n\t");
#else
void simulated_bracket(void (*fn)(void *, uint64_t), void *state, uint64_t iterations,
                       const struct valgrind_words on_off[2], uint64_t offset)
{
    (void)on_off;
    (void)offset;
    fn(state, iterations);
}

void simulated_nothing(void *state, uint64_t iterations)
{
    (void)state;
    (void)iterations;
}
#endif

static const struct valgrind_words
    of_thread[2] = { { { CALLGRIND_TOGGLE_COLLECT } }, { { CALLGRIND_TOGGLE_COLLECT } } },
    of_process[2] = { { { CALLGRIND_START_INSTRUMENTATION } }, { { CALLGRIND_STOP_INSTRUMENTATION } } };

int simulated_can(const struct team *team, const struct run *run)
{
    if (!VALGRIND_KNOWN || !runs_under_valgrind())
        return -ENOSYS;
    return run->inherit && team->count > 1 ? -EBUSY : 0;
}

void simulated_cool(void)
{
    valgrind_request(CALLGRIND_STOP_INSTRUMENTATION, NULL);
    valgrind_request(CALLGRIND_START_INSTRUMENTATION, NULL);
}

void simulated_begin(void)
{
    fixed_restart();
    valgrind_request(CALLGRIND_ZERO, NULL);
}

void simulated_end(const struct run *run)
{
    char trigger[32];
    snprintf(trigger, sizeof trigger, "pmclua %llu", (unsigned long long)run->id);
    valgrind_request(CALLGRIND_DUMP, trigger);
}

/* ---- what would be missed ---- */

/* Page faults of children that were waited for: every process has some. */
static long reaped_faults(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_CHILDREN, &usage) == 0 ? usage.ru_minflt + usage.ru_majflt : 0;
}

int simulated_call(const struct run *run, void (*fn)(void *, uint64_t), void *state)
{
    long before = reaped_faults();
    simulated_bracket(fn, state, run->iterations, run->inherit ? of_process : of_thread, run->stack_offset & ~15ull);
    return reaped_faults() != before || descendants_signal(getpid(), 0) > 0 ? -ECHILD : 0;
}

/* Exited threads' time stays in the process clock. That is read first: it exceeds the time of the known threads only if
 * there were others. */
int simulated_has_threads(const struct team *team)
{
    uint64_t all = clock_ns(CLOCK_PROCESS_CPUTIME_ID), ours = clock_ns(CLOCK_THREAD_CPUTIME_ID);
    for (int i = 0; team->own_threads && i < team->count; i++) {
        clockid_t clock;
        if (pthread_getcpuclockid(team->thread[i].handle, &clock) == 0)
            ours += clock_ns(clock);
    }
    return team_other_threads() > 0 || all > ours;
}
