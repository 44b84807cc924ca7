/*
 * probe.c: a function that is called often, as it is or with bare uprobes: two that only count, one on its
 * first instruction and one on its return; stepped, emulated: one on the first alone, or on another function's, which
 * Linux emulates.
 *
 * usage: probe plain|bare|stepped|emulated N    mean ns of a call, by the program's own clock
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "timing.h"

/* The loads before and after keep the probed instructions apart, as in any function. */
__asm__(".text\n.globl probed\n.type probed, %function\nprobed:\n"
#ifdef __aarch64__
        "nop\nnop\nprobed_return: ret\n"
#else
        "mov %rdi, %rax\nadd $1, %rax\nprobed_return: ret\n"
#endif
        ".size probed, . - probed\n.globl probed_return\n"
        ".globl with_nop\n.type with_nop, %function\nwith_nop: nop\n"
#ifdef __aarch64__
        "add x0, x0, #1\nret\n"
#else
        "lea 1(%rdi), %rax\nret\n"
#endif
        ".size with_nop, . - with_nop\n");
long probed(long value);
long with_nop(long value);
extern char probed_return[];

/* The offset in the file that holds `address` of this program. */
static int find(struct dl_phdr_info *info, size_t size, void *data)
{
    (void)size;
    uint64_t *place = data, address = *place;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uint64_t start = info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_LOAD && address >= start && address < start + part->p_memsz) {
            *place = address - start + part->p_offset;
            return 1;
        }
    }
    return 0;
}

static void put_probe(void *address)
{
    static char path[] = "/proc/self/exe";
    uint64_t offset = (uintptr_t)address;
    FILE *file = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
    unsigned type;
    if (!file || fscanf(file, "%u", &type) != 1 || !dl_iterate_phdr(find, &offset))
        exit(77);
    fclose(file);
    struct perf_event_attr attr = { .size = sizeof attr, .type = type, .uprobe_path = (uintptr_t)path,
                                    .probe_offset = offset };
    if (syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0) < 0) {
        perror("perf_event_open");
        exit(77);
    }
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    long count = strtol(argv[2], NULL, 10), sum = 0;
    if (strcmp(argv[1], "bare") == 0) {
        put_probe((void *)probed);
        put_probe(probed_return);
    }
    long (*called)(long) = strcmp(argv[1], "emulated") == 0 ? with_nop : probed;
    if (strcmp(argv[1], "stepped") == 0 || called == with_nop)
        put_probe((void *)called);
    uint64_t start = now_ns();
    for (long i = 0; i < count; i++)
        sum += called(i);
    double ns = (double)(now_ns() - start) / (double)count;
    printf("%.1f\n", sum ? ns : 0.0);
    return 0;
}
