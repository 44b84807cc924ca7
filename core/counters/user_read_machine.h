/*
 * user_read_machine.h: counters, the clock and fences of each kind of machine, in user space.
 *
 *   int machine_counter(uint32_t number, uint64_t *value)   the counter that an event's page names, less 1;
 *                                                           1: no such counter is known
 *   uint64_t machine_clock(void)                            what the page's time_mult and time_shift are of
 *   void machine_fence(void)                                earlier instructions end before later ones begin
 *
 * Instructions for reading counters name them, so there is one for each number, all written out.
 */
#pragma once

#include <stdint.h>

#define NUMBERS_0_30(X) \
    X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) \
    X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30)

#if defined __x86_64__

/* Intel SDM 3, 20.2: bit 30 asks for a fixed counter; the page's index has it. */
static inline int machine_counter(uint32_t number, uint64_t *value)
{
    uint32_t low, high;
    __asm__ volatile("rdpmc" : "=a"(low), "=d"(high) : "c"(number));
    *value = (uint64_t)high << 32 | low;
    return 0;
}

static inline uint64_t machine_clock(void) { return __builtin_ia32_rdtsc(); }
static inline void machine_fence(void) { __asm__ volatile("lfence" ::: "memory"); }

#elif defined __aarch64__

/* Arm ARM D8: PMEVCNTR<n>_EL0, and PMCCNTR_EL0 for the cycle counter, number 31. */
static inline int machine_counter(uint32_t number, uint64_t *value)
{
    switch (number) {
#define COUNTER(n) case n: __asm__ volatile("mrs %0, pmevcntr" #n "_el0" : "=r"(*value)); return 0;
    NUMBERS_0_30(COUNTER)
#undef COUNTER
    case 31: __asm__ volatile("mrs %0, pmccntr_el0" : "=r"(*value)); return 0;
    default: return 1;
    }
}

static inline uint64_t machine_clock(void)
{
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
}

static inline void machine_fence(void) { __asm__ volatile("isb" ::: "memory"); }

#elif defined __riscv && __riscv_xlen == 64

/* Privileged ISA, "hardware performance monitor": cycle, time and instret, then hpmcounter3 to 31. */
static inline int machine_counter(uint32_t number, uint64_t *value)
{
    switch (number) {
#define COUNTER(n) case n: __asm__ volatile("csrr %0, %1" : "=r"(*value) : "i"(0xc00 + n)); return 0;
    NUMBERS_0_30(COUNTER)
    COUNTER(31)
#undef COUNTER
    default: return 1;
    }
}

static inline uint64_t machine_clock(void)
{
    uint64_t ticks;
    __asm__ volatile("rdtime %0" : "=r"(ticks));
    return ticks;
}

static inline void machine_fence(void) { __asm__ volatile("fence" ::: "memory"); }

#else

static inline int machine_counter(uint32_t number, uint64_t *value) { (void)number; (void)value; return 1; }
static inline uint64_t machine_clock(void) { return 0; }
static inline void machine_fence(void) {}

#endif
