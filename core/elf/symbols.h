/*
 * symbols.h: what the parts of symbols.c share. Private to the core.
 */
#pragma once

#include "elfutils.h"
#include "pmclua.h"

struct symbol {
    uint64_t address, bytes;       /* as the file has it: before it is loaded anywhere */
    char *name;                    /* as in the file, without version; owned */
    char *shown, *plain;           /* demangle.h; owned; NULL until names are first needed */
    uint32_t flags;
};

struct section { uint64_t start, end; uint32_t entry_bytes; int is_plt; };    /* of code */

struct pmclua_symbols {
    int fd;                        /* the file itself */
    struct section *section;       /* by address */
    int32_t sections;
    struct units *units;           /* dwarf_units.c; NULL: not looked for yet */
    struct stubs *stubs;           /* stubs.c; the same */
    uint64_t *start;               /* of functions, by address, as .eh_frame_hdr has them; NULL: not looked for yet */
    uint32_t starts;
    int32_t count, named;          /* `named`: shown and plain are filled in */
    struct symbol *symbol;         /* by address */
    Dwfl *dwfl;
    Dwfl_Module *module;
    Elf *elf;
    GElf_Addr bias;                /* of the module's addresses over the file's */
    int machine;                   /* EM_X86_64 … */
};

/* The section of code that an address is in; NULL. */
const struct section *symbols_section(const struct pmclua_symbols *symbols, uint64_t address);
/* Fills in a symbol's spellings; -ENOMEM. */
int  symbol_name(struct symbol *symbol);
/* The next program header of a type, from number *at on, which moves past it; 0: there is none. */
int  symbols_segment(const struct pmclua_symbols *symbols, size_t *at, GElf_Word type, GElf_Phdr *header);

/* How a name is meant by what a user wrote: the higher the better. */
enum match { NO_MATCH, BY_GLOB, BY_TAIL, BY_NAME };

/* Whether the first `length` bytes of a name are `pattern`, or end in "::" and it. */
enum match match_end(const char *name, size_t length, const char *pattern);

/* ---- stubs.c ---- */

/* Sets *name to what a stub of the PLT at an address leads to, as "puts@plt"; NULL: it is none, or unknown. -ENOMEM. */
int  stubs_name(struct pmclua_symbols *symbols, uint64_t address, const char **name);
void stubs_free(struct stubs *stubs);

/* ---- dwarf_units.c ---- */

/* The source of an address, by the debug information: line, file, inlined functions. Nothing where there is none.
 * -ENOMEM: they are not known, and are looked for again the next time. */
int  units_find(struct pmclua_symbols *symbols, uint64_t address, struct pmclua_code *code,
                struct pmclua_inlined_at *inlined, int32_t size);
void units_free(struct units *units);
/* "ns::parse" of a function of C++, whose own name is only "parse"; NULL: it has no such name. Freed by the caller. */
char *die_plain_name(Dwarf_Die *die);
