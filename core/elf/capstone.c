#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <stddef.h>

#include "capstone.h"

static struct capstone library;
static int state;                  /* 0: not tried; 1: ready; -1: it is not there */

static int open_library(void)
{
    void *file = dlopen("libcapstone.so.4", RTLD_NOW | RTLD_LOCAL);
#define LOAD(name) \
    if (!file || !(library.name = (__typeof__(library.name))dlsym(file, "cs_" #name))) \
        return -1;
    CAPSTONE_FUNCTIONS(LOAD)
    return 1;
}

const struct capstone *capstone(void)
{
    if (state == 0)
        state = open_library();
    return state > 0 ? &library : NULL;
}

int disassembler_open(struct disassembler *disassembler, int machine)
{
    int is_x86 = machine == EM_X86_64 || machine == EM_386;
    *disassembler = (struct disassembler){ .step = is_x86 ? 0 : 4 };
    if (!capstone())
        return -ELIBACC;
    if (!is_x86 && machine != EM_AARCH64)
        return -ENOTSUP;
    cs_mode mode = machine == EM_X86_64 ? CS_MODE_64 : machine == EM_386 ? CS_MODE_32 : CS_MODE_ARM;
    if (library.open(is_x86 ? CS_ARCH_X86 : CS_ARCH_ARM64, mode, &disassembler->handle) != CS_ERR_OK)
        return -ENOTSUP;
    library.option(disassembler->handle, CS_OPT_DETAIL, CS_OPT_ON);
    disassembler->instruction = library.malloc(disassembler->handle);
    return disassembler->instruction ? 0 : -ENOMEM;
}

void disassembler_close(struct disassembler *disassembler)
{
    if (disassembler->instruction)
        library.free(disassembler->instruction, 1);
    if (disassembler->handle)
        library.close(&disassembler->handle);
    *disassembler = (struct disassembler){ 0 };
}
