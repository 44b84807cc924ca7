/*
 * rawcall.h: system calls that leave errno alone, for code that runs in a child sharing our memory.
 * The result is the OS kernel's own: a value or -errno.
 */
#pragma once

/* For functions that run on memory, or with thread pointers, that sanitizers do not know. */
#define UNSANITIZED __attribute__((no_sanitize("address"), no_sanitize("thread"), no_sanitize("undefined")))

UNSANITIZED static inline long rawcall4(long number, long a, long b, long c, long d)
{
#if defined __x86_64__
    long result;
    register long r10 __asm__("r10") = d;
    __asm__ volatile("syscall" : "=a"(result) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(r10)
                     : "rcx", "r11", "memory");
    return result;
#elif defined __aarch64__
    register long x8 __asm__("x8") = number;
    register long x0 __asm__("x0") = a;
    register long x1 __asm__("x1") = b;
    register long x2 __asm__("x2") = c;
    register long x3 __asm__("x3") = d;
    __asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
    return x0;
#elif defined __riscv
    register long a7 __asm__("a7") = number;
    register long a0 __asm__("a0") = a;
    register long a1 __asm__("a1") = b;
    register long a2 __asm__("a2") = c;
    register long a3 __asm__("a3") = d;
    __asm__ volatile("ecall" : "+r"(a0) : "r"(a7), "r"(a1), "r"(a2), "r"(a3) : "memory");
    return a0;
#else
#error "no system call convention known for this machine"
#endif
}

UNSANITIZED static inline long rawcall3(long number, long a, long b, long c)
{
    return rawcall4(number, a, b, c, 0);
}
