#include <elf.h>
#include <errno.h>
#include <stddef.h>

#include "capstone.h"
#include "../host/library.h"

#define NAME(name) "cs_" #name,
static struct capstone functions;
static struct library library = LIBRARY("libcapstone.so.4", &functions, CAPSTONE_FUNCTIONS(NAME));

const struct capstone *capstone(void) { return library_open(&library) == 0 ? &functions : NULL; }

int disassembler_open(struct disassembler *disassembler, int machine)
{
    int is_x86 = machine == EM_X86_64 || machine == EM_386;
    *disassembler = (struct disassembler){ .step = is_x86 ? 0 : 4 };
    if (!capstone())
        return -ELIBACC;
    if (!is_x86 && machine != EM_AARCH64)
        return -ENOTSUP;
    cs_mode mode = machine == EM_X86_64 ? CS_MODE_64 : machine == EM_386 ? CS_MODE_32 : CS_MODE_ARM;
    if (functions.open(is_x86 ? CS_ARCH_X86 : CS_ARCH_ARM64, mode, &disassembler->handle) != CS_ERR_OK)
        return -ENOTSUP;
    functions.option(disassembler->handle, CS_OPT_DETAIL, CS_OPT_ON);
    disassembler->instruction = functions.malloc(disassembler->handle);
    return disassembler->instruction ? 0 : -ENOMEM;
}

void disassembler_close(struct disassembler *disassembler)
{
    if (disassembler->instruction)
        functions.free(disassembler->instruction, 1);
    if (disassembler->handle)
        functions.close(&disassembler->handle);
    *disassembler = (struct disassembler){ 0 };
}
