/*
 * valgrind_request.h: what a program can ask Valgrind that runs it, without Valgrind's headers.
 *
 * The instructions and numbers are those that valgrind/valgrind.h and valgrind/callgrind.h document as an ABI that
 * does not change (3.19; both BSD-licensed). They rotate a register once round and exchange one with itself:
 * natively that does nothing, and the answer is 0.
 */
#pragma once

#include <stdint.h>

enum valgrind_request {
    VALGRIND_RUNNING                 = 0x1001,      /* how many Valgrinds run us: 0, 1, … */
    CALLGRIND_ZERO                   = 0x43540001,  /* 'C', 'T': counts of all threads become 0 */
    CALLGRIND_TOGGLE_COLLECT         = 0x43540002,  /* of this thread: count, or leave off */
    CALLGRIND_DUMP                   = 0x43540003,  /* counts of all threads to a file; the argument names why */
    CALLGRIND_START_INSTRUMENTATION  = 0x43540004,  /* of the process; simulated caches are empty then */
    CALLGRIND_STOP_INSTRUMENTATION   = 0x43540005,
};

/* A request's number and its arguments: the address of this goes to Valgrind. */
struct valgrind_words { uint64_t word[6]; };

#if defined __x86_64__

#define VALGRIND_KNOWN 1
/* rax: the address; rdx: the answer where there is no Valgrind, then the answer. REG: how the assembler's text has a
 * register begin. */
#define VALGRIND_ASM(REG) "rolq $3, " REG "rdi\n\trolq $13, " REG "rdi\n\trolq $61, " REG "rdi\n\t" \
                          "rolq $51, " REG "rdi\n\txchgq " REG "rbx, " REG "rbx\n\t"

static inline uint64_t valgrind_ask(const struct valgrind_words *words)
{
    uint64_t answer = 0;
    __asm__ volatile(VALGRIND_ASM("%%") : "+d"(answer) : "a"(words) : "cc", "memory");
    return answer;
}

#elif defined __aarch64__

#define VALGRIND_KNOWN 1
/* x4: the address; x3: as above. */
#define VALGRIND_ASM(REG) "ror x12, x12, #3\n\tror x12, x12, #13\n\tror x12, x12, #51\n\tror x12, x12, #61\n\t" \
                          "orr x10, x10, x10\n\t"

static inline uint64_t valgrind_ask(const struct valgrind_words *words)
{
    register uint64_t answer __asm__("x3") = 0;
    register const struct valgrind_words *place __asm__("x4") = words;
    __asm__ volatile(VALGRIND_ASM("") : "+r"(answer) : "r"(place) : "cc", "memory");
    return answer;
}

#else

#define VALGRIND_KNOWN 0
static inline uint64_t valgrind_ask(const struct valgrind_words *words)
{
    (void)words;
    return 0;
}

#endif

static inline uint64_t valgrind_request(enum valgrind_request request, const char *argument)
{
    struct valgrind_words words = { { request, (uintptr_t)argument } };
    return valgrind_ask(&words);
}

static inline int runs_under_valgrind(void)
{
    return valgrind_request(VALGRIND_RUNNING, 0) > 0;
}
