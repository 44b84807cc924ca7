/*
 * symbols.h: what the parts of symbols.c share. Private to the core.
 */
#ifndef PMCLUA_SYMBOLS_H
#define PMCLUA_SYMBOLS_H

#include "elfutils.h"
#include "pmclua.h"

struct symbol {
    const char *name;              /* as in the file, without version; owned */
    char *shown, *plain;           /* demangle.h; owned; NULL until names are first needed */
    uint64_t address, bytes;       /* as the file has it: before it is loaded anywhere */
    uint32_t flags;
};

struct pmclua_symbols {
    int fd;                        /* the file itself */
    int32_t count, named;          /* `named`: shown and plain are filled in */
    struct symbol *symbol;         /* by address */
    Dwfl *dwfl;
    Dwfl_Module *module;
    Elf *elf;
    GElf_Addr bias;                /* of the module's addresses over the file's */
    int machine;                   /* EM_X86_64 … */
};

#endif
