/*
 * probed.c: the runner as a program of its own, which only calls functions of a file of code: what
 * probing these reads is the cost of probing. pmclua writes that file (lua/pmclua/experiment/probing.lua).
 *
 * Such a function consists of an instruction of a measured program and what undoes it. So all general
 * registers hold an address of which any small multiple may be read and written, and all of them are taken
 * for clobbered. What the instruction does besides (it may well fault) is this process's concern alone.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "probed.h"

/* In the file's pages of data: read by its functions. */
struct code_data { uint64_t stack_pointer, link; };

/* The stack's room on either side of a call, for what an instruction writes there. */
#define STACK_ROOM "8192"

#if defined __x86_64__ || defined __aarch64__
#define ANY_ADDRESS "0x10000000"
static const uint64_t any_address = 0x10000000;
/* May not be inlined, as it has no prologue of its own. */
void call_code(void *function, struct code_data *data);
#endif

#if defined __x86_64__
__asm__(
    ".local code_target, code_stack\n.comm code_target,8,8\n.comm code_stack,8,8\n"
    ".text\n.globl call_code\n.type call_code,@function\ncall_code:\n"
    "push %rbx\n push %rbp\n push %r12\n push %r13\n push %r14\n push %r15\n"
    "mov %rsp, code_stack(%rip)\n mov %rdi, code_target(%rip)\n"
    "sub $" STACK_ROOM ", %rsp\n and $-64, %rsp\n"
    "lea -8(%rsp), %rax\n mov %rax, (%rsi)\n"
    "mov $" ANY_ADDRESS ", %eax\n"
    "mov %rax, %rbx\n mov %rax, %rcx\n mov %rax, %rdx\n mov %rax, %rsi\n mov %rax, %rdi\n mov %rax, %rbp\n"
    "mov %rax, %r8\n mov %rax, %r9\n mov %rax, %r10\n mov %rax, %r11\n mov %rax, %r12\n mov %rax, %r13\n"
    "mov %rax, %r14\n mov %rax, %r15\n"
    "call *code_target(%rip)\n"
    "cld\n mov code_stack(%rip), %rsp\n"
    "pop %r15\n pop %r14\n pop %r13\n pop %r12\n pop %rbp\n pop %rbx\n ret\n"
    ".size call_code,.-call_code\n");

#elif defined __aarch64__
__asm__(
    ".local code_stack\n.comm code_stack,8,8\n"
    ".text\n.globl call_code\n.type call_code,%function\ncall_code:\n"
    "stp x29, x30, [sp, #-96]!\n stp x19, x20, [sp, #16]\n stp x21, x22, [sp, #32]\n stp x23, x24, [sp, #48]\n"
    "stp x25, x26, [sp, #64]\n stp x27, x28, [sp, #80]\n"
    "mov x9, sp\n adrp x10, code_stack\n add x10, x10, :lo12:code_stack\n str x9, [x10]\n"
    "sub sp, sp, #" STACK_ROOM "\n mov x9, sp\n str x9, [x1]\n"
    "adr x9, 1f\n str x9, [x1, #8]\n mov x17, x0\n"
    "mov x0, #" ANY_ADDRESS "\n"
    "mov x1, x0\n mov x2, x0\n mov x3, x0\n mov x4, x0\n mov x5, x0\n mov x6, x0\n mov x7, x0\n mov x8, x0\n"
    "mov x9, x0\n mov x10, x0\n mov x11, x0\n mov x12, x0\n mov x13, x0\n mov x14, x0\n mov x15, x0\n"
    "mov x16, x0\n mov x19, x0\n mov x20, x0\n mov x21, x0\n mov x22, x0\n mov x23, x0\n mov x24, x0\n"
    "mov x25, x0\n mov x26, x0\n mov x27, x0\n mov x28, x0\n mov x29, x0\n"
    "blr x17\n1:\n"
    "adrp x10, code_stack\n add x10, x10, :lo12:code_stack\n ldr x9, [x10]\n mov sp, x9\n"
    "ldp x19, x20, [sp, #16]\n ldp x21, x22, [sp, #32]\n ldp x23, x24, [sp, #48]\n"
    "ldp x25, x26, [sp, #64]\n ldp x27, x28, [sp, #80]\n ldp x29, x30, [sp], #96\n ret\n"
    ".size call_code,.-call_code\n");

#else
static const uint64_t any_address;
static void call_code(void *function, struct code_data *data) { (void)function, (void)data; }
#endif

enum { AROUND = 64 << 10 };        /* bytes before and after such an address */

/* Sums of a base and a scaled index, too: 1 to 9 times the address. */
static int map_any_address(void)
{
    if (any_address == 0)
        return -ENOTSUP;
    for (uint64_t times = 1; times <= 9; times++) {
        void *place = (void *)(uintptr_t)(times * any_address - AROUND);
        void *got = mmap(place, (size_t)2 * AROUND, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        if (got != place)
            return -ENOMEM;
    }
    return 0;
}

static char *map_code(const char *path, size_t code_bytes, size_t data_bytes)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t bytes = code_bytes + data_bytes;
    char *code = fd < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
    if (code == MAP_FAILED || mprotect(code + code_bytes, data_bytes, PROT_READ | PROT_WRITE) < 0)
        return NULL;
    return code;
}

enum { CODE_BYTES = 1, DATA_BYTES, ROUNDS, CALLS, FIRST_MARK, LAST_MARK, FIRST_FUNCTION };

int probed_calls(int count, char **arguments)
{
    if (count <= FIRST_FUNCTION)
        return 2;
    size_t number[count];
    for (int i = CODE_BYTES; i < count; i++)
        number[i] = strtoull(arguments[i], NULL, 10);
    struct rlimit no_core = { 0, 0 };
    setrlimit(RLIMIT_CORE, &no_core);
    char *code = map_code(arguments[0], number[CODE_BYTES], number[DATA_BYTES]);
    if (!code || map_any_address() < 0)
        return 1;
    struct code_data *data = (struct code_data *)(code + number[CODE_BYTES]);
    for (size_t round = 0; round < number[ROUNDS]; round++) {
        for (int i = FIRST_FUNCTION; i < count; i++) {
            call_code(code + number[FIRST_MARK], data);
            for (size_t call = 0; call < number[CALLS]; call++)
                call_code(code + number[i], data);
            call_code(code + number[LAST_MARK], data);
        }
    }
    return 0;
}

/* ---- an empty function ---- */

/* Found by its name, in lua/pmclua/experiment/regions.lua. */
__attribute__((noinline)) void pmclua_empty_call(void)
{
    __asm__ volatile("nop" ::: "memory");
}

int empty_calls(unsigned long count)
{
    while (count-- > 0)
        pmclua_empty_call();
    return 0;
}
