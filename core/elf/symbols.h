/*
 * symbols.h: what the parts of symbols.c share. Private to the core.
 */
#pragma once

#include "elfutils.h"
#include "names.h"
#include "pmclua.h"

struct symbol {
    uint64_t address, bytes;       /* as the file has it: before it is loaded anywhere */
    char *name;                    /* as in the file, without version; owned */
    struct name spelt;             /* by symbol_name */
    uint32_t flags, source;        /* source: of a local one, its number in `source`, from 1; 0: unknown */
};

struct section { uint64_t start, end; uint32_t entry_bytes; int is_plt; };    /* of code */

struct pmclua_symbols {
    int fd;                        /* the file itself, or a copy of another user's */
    uint32_t owner;                /* user of the file */
    char *debug_file;              /* that is to be read; NULL: it is, or is of the customary places */
    struct section *section;       /* by address */
    int32_t sections;
    struct units *units;           /* dwarf_units.c; NULL: not looked for yet */
    struct stubs *stubs;           /* stubs.c; the same */
    uint64_t *start;               /* of functions, by address, as .eh_frame_hdr has them; NULL: not looked for yet */
    uint32_t starts;
    int32_t count, named;          /* `named`: the first of them that are spelt */
    const char **source;           /* files of local symbols, as the table names them: "parse.c" */
    uint32_t sources;
    struct homes *homes;           /* homes.c; NULL: not looked for yet */
    struct variables *variables;   /* variables.c; the same */
    struct members *members;       /* members.c; the same */
    uint64_t go_start, go_end;     /* code of Go; empty: there is none */
    struct symbol *symbol;         /* by address */
    Dwfl *dwfl;
    Dwfl_Module *module;
    Dwarf *shared;                 /* what dwz has moved to another file; NULL: nothing, or it is missing */
    int shared_fd;
    Elf *elf;
    GElf_Addr bias;                /* of the module's addresses over the file's */
    int machine;                   /* EM_X86_64 … */
};

/* The section of code that an address is in; NULL. */
const struct section *symbols_section(const struct pmclua_symbols *symbols, uint64_t address);
/* Fills in a symbol's spellings; -ENOMEM. */
int  symbol_name(const struct pmclua_symbols *symbols, struct symbol *symbol);
int  symbols_is_go(const struct pmclua_symbols *symbols, uint64_t address);
/* The address of code at an offset in the file, as pmclua_symbols_offset the other way round. -ENXIO. */
int  symbols_address(const struct pmclua_symbols *symbols, uint64_t offset, uint64_t *address);
/* The next program header of a type, from number *at on, which moves past it; 0: there is none. */
int  symbols_segment(const struct pmclua_symbols *symbols, size_t *at, GElf_Word type, GElf_Phdr *header);

/* ---- table.c, gopclntab.c ---- */

/* Reads the table of symbols; a file may have none. -ENOMEM. */
int  table_read(struct pmclua_symbols *symbols);
/* Appends to it. -ENOMEM. */
int  table_add(struct pmclua_symbols *symbols, const struct symbol *symbol, const char *name);
/* Finds Go's own table of functions, and with it where code of Go is. */
void go_find(struct pmclua_symbols *symbols);
/* Appends its functions to the table: of a file that was stripped. -ENOMEM. */
int  go_add(struct pmclua_symbols *symbols);

/* ---- homes.c ---- */

/* The function that a copy or a part belongs to, or itself; *is_ambiguous: another function has its name, and as far as
 * symbols tell its source file. -ENOMEM. */
int  homes_find(struct pmclua_symbols *symbols, const struct symbol *symbol, const struct symbol **home,
                int *is_ambiguous);
void homes_free(struct homes *homes);

/* ---- variables.c ---- */

struct variables;
void variables_free(struct variables *variables);

/* ---- frame.c ---- */

/* Where the frame ends that code at an address has, as it calls: a register, by DWARF's number, and a distance from what that
 * holds. -ENODATA: unknown. */
int  frame_end(struct pmclua_symbols *symbols, uint64_t address, int32_t *base, int64_t *distance);

/* ---- members.c ---- */

struct members;
void members_free(struct members *members);

/* ---- stubs.c ---- */

/* Sets *name to what a stub of the PLT at an address leads to, as "puts@plt"; NULL: no stub, or unknown. -ENOMEM. */
int  stubs_name(struct pmclua_symbols *symbols, uint64_t address, const char **name);
void stubs_free(struct stubs *stubs);

/* ---- source_lines.c ---- */

struct lines;
struct source_line { uint64_t address; uint32_t file; int32_t number; };    /* file: its number in the unit; number: 0: none */

/* The lines of the unit whose line program is at an offset in .debug_line. Freed by lines_free, also on failure; -ENOMEM. */
int  lines_read(const struct pmclua_symbols *symbols, const Elf_Data *section, uint64_t offset, struct lines **lines);
void lines_free(struct lines *lines);
/* The line of an address of the debug information; *beyond: behind the last one that follows it without a gap. NULL. */
const struct source_line *lines_find(const struct lines *lines, uint64_t place, const struct source_line **beyond);

/* ---- debug_files.c ---- */

/* Opens a regular file to be mapped, and gives its owner; a file that another user may cut short is copied. -errno. */
int  file_open_mapped(const char *path, uint32_t *uid);
/* A Dwfl_Callbacks' find_debuginfo: the file that was given, or one of the customary places. No server is asked. */
int  debug_file_find(Dwfl_Module *module, void **userdata, const char *name, Dwarf_Addr base, const char *path,
                     const char *link, GElf_Word crc, char **found);
/* Opens split debug information by its name, from the program's folder or the one that it was built in; -1. */
int  debug_unit_open(const struct pmclua_symbols *symbols, const char *name, const char *built_in);
/* Opens what dwz has moved to another file, where it has: 0; -ENOENT: it is missing, and *missing is its name. */
int  debug_shared(struct pmclua_symbols *symbols, Dwarf *dwarf, const char **missing);

/* The file whose sections are compressed in a way that this elfutils does not know; NULL: none. */
const char *debug_compressed(const struct pmclua_symbols *symbols);

/* ---- die.c ---- */

/* The name of a function by its debug information; -ENOENT: it has none; -ENOMEM. Freed by name_free. */
int  die_name(const struct pmclua_symbols *symbols, Dwarf_Die *die, struct name *name);
/* The file that an attribute of a DIE has the number of; NULL: unknown. `skeleton`: its unit, of split debug information
 * the part that stands in the file itself. */
const char *die_file(Dwarf_Die *die, unsigned attribute, Dwarf_Die *skeleton);

/* ---- package.c ---- */

struct package;
struct packed;

/* The file in which a program's split debug information is packed; NULL: it has none. */
struct package *package_open(const struct pmclua_symbols *symbols);
/* The file that has the split debug information of one unit, of which `skeleton` is in the program; NULL: it is missing. */
struct package *package_of_unit(const struct pmclua_symbols *symbols, Dwarf_Die *skeleton);
void package_close(struct package *package);
/* The functions of a unit, of which `skeleton` is in the file itself: 1; 0: they are not in the package; -ENOMEM. What
 * they are read from is freed by packed_free. */
int  package_find(const struct package *package, Dwarf_Die *skeleton, struct packed **packed, Dwarf_Die *unit);
void packed_free(struct packed *packed);
/* Where a DIE's list of ranges begins, for dwarf_ranges; 0: it has none. */
ptrdiff_t packed_ranges(const struct packed *packed, Dwarf_Die *die);

/* ---- dwarf_units.c ---- */

/* Whether code of the debug information is in the file: what the linker left out keeps its own, at address 0. */
int  units_have(const struct pmclua_symbols *symbols, uint64_t start, uint64_t end);

/* The source of an address, by the debug information: line, file, inlined functions. Nothing where there is none.
 * -ENOMEM: they are not known, and are looked for again the next time. */
int  units_find(struct pmclua_symbols *symbols, uint64_t address, struct pmclua_code *code,
                struct pmclua_inlined_at *inlined, int32_t size);
void units_free(struct units *units);
/* The number of the unit that has the code at an address; -ENOENT: none; -ENOMEM. */
int32_t units_number(struct pmclua_symbols *symbols, uint64_t address);
/* Unit `number`, counted from 0, and what has its functions, which of split debug information is another one. -ENOENT. */
int  units_unit(struct pmclua_symbols *symbols, int32_t number, Dwarf_Die *skeleton, Dwarf_Die *functions);
/* The bias of the debug information's addresses over the file's; valid once a unit was asked for. */
GElf_Addr units_bias(const struct pmclua_symbols *symbols);
