/*
 * registers.h: the user's registers that samples take, by perf's numbers (PERF_SAMPLE_REGS_USER).
 */
#pragma once

#include <asm/perf_regs.h>

#if defined __x86_64__ || defined __i386__
enum { REGISTERS = 18 };
enum { STACK_POINTER = PERF_REG_X86_SP, INSTRUCTION_POINTER = PERF_REG_X86_IP };
/* All but the segments': REGISTERS of them. */
#define ALL_REGISTERS ((1ull << (PERF_REG_X86_FLAGS + 1)) - 1 + (0xffull << PERF_REG_X86_R8))
#elif defined __aarch64__
enum { REGISTERS = PERF_REG_ARM64_MAX };
enum { STACK_POINTER = PERF_REG_ARM64_SP, INSTRUCTION_POINTER = PERF_REG_ARM64_PC };
#define ALL_REGISTERS ((1ull << PERF_REG_ARM64_MAX) - 1)
#elif defined __riscv
enum { REGISTERS = 0 };
enum { STACK_POINTER = PERF_REG_RISCV_SP, INSTRUCTION_POINTER = PERF_REG_RISCV_PC };
#define ALL_REGISTERS 0ull                 /* what they accessed cannot be found there */
#else
#error "which registers are the stack pointer and the instruction pointer?"
#endif

enum { STACK_WORDS = 32 };             /* of the user's stack, where a sample has it */
