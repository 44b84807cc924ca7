/*
 * registers.h: the user's registers that samples take, by perf's numbers (PERF_SAMPLE_REGS_USER).
 */
#pragma once

#include <asm/perf_regs.h>

#if defined __x86_64__ || defined __i386__
enum { STACK_POINTER = PERF_REG_X86_SP, INSTRUCTION_POINTER = PERF_REG_X86_IP };
#elif defined __aarch64__
enum { STACK_POINTER = PERF_REG_ARM64_SP, INSTRUCTION_POINTER = PERF_REG_ARM64_PC };
#elif defined __riscv
enum { STACK_POINTER = PERF_REG_RISCV_SP, INSTRUCTION_POINTER = PERF_REG_RISCV_PC };
#else
#error "which registers are the stack pointer and the instruction pointer?"
#endif
