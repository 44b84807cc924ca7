/*
 * stubs.c: stubs of the PLT: short pieces of code that jump to a function of another file, through an entry of a table
 * that the loader fills in. A relocation of that entry has the function's name.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/lists.h"
#include "symbols.h"

struct import { uint64_t entry; char *name; };     /* entry: its address in the table */

struct stubs { struct import *import; size_t count; };

void stubs_free(struct stubs *stubs)
{
    if (!stubs)
        return;
    for (size_t i = 0; i < stubs->count; i++)
        free(stubs->import[i].name);
    free(stubs->import);
    free(stubs);
}

static int add_import(struct stubs *stubs, uint64_t entry, const char *name)
{
    char *text = NULL;
    if (asprintf(&text, "%.*s@plt", (int)strcspn(name, "@"), name) < 0)
        return -ENOMEM;
    int result = LIST_ADD(stubs->import, stubs->count, (struct import){ entry, text });
    if (result < 0)
        free(text);
    return result;
}

/* The relocations of one section that name a symbol. */
static int read_relocations(struct pmclua_symbols *symbols, Elf_Scn *scn, const GElf_Shdr *header)
{
    const struct elfutils *dw = elfutils();
    Elf_Scn *table = dw->elf_getscn(symbols->elf, header->sh_link);
    Elf_Data *relocations = dw->elf_getdata(scn, NULL), *names = table ? dw->elf_getdata(table, NULL) : NULL;
    GElf_Shdr names_header;
    if (!relocations || !names || header->sh_entsize == 0 || !dw->gelf_getshdr(table, &names_header))
        return 0;
    int result = 0;
    for (size_t i = 0; result == 0 && i < header->sh_size / header->sh_entsize; i++) {
        GElf_Rela rela;
        GElf_Sym sym;
        if (!dw->gelf_getrela(relocations, (int)i, &rela) || GELF_R_SYM(rela.r_info) == 0
            || !dw->gelf_getsym(names, (int)GELF_R_SYM(rela.r_info), &sym))
            continue;
        const char *name = dw->elf_strptr(symbols->elf, names_header.sh_link, sym.st_name);
        if (name && *name)
            result = add_import(symbols->stubs, rela.r_offset, name);
    }
    return result;
}

static int read_all(struct pmclua_symbols *symbols)
{
    const struct elfutils *dw = elfutils();
    int result = 0;
    symbols->stubs = calloc(1, sizeof *symbols->stubs);
    if (!symbols->stubs)
        return -ENOMEM;
    for (Elf_Scn *scn = NULL; result == 0 && (scn = dw->elf_nextscn(symbols->elf, scn));) {
        GElf_Shdr header;
        if (dw->gelf_getshdr(scn, &header) && header.sh_type == SHT_RELA && (header.sh_flags & SHF_ALLOC))
            result = read_relocations(symbols, scn, &header);
    }
    list_sort(symbols->stubs->import, symbols->stubs->count, sizeof *symbols->stubs->import);
    if (result < 0) {
        stubs_free(symbols->stubs);
        symbols->stubs = NULL;
    }
    return result;
}

/* The entry that a stub of x86-64 jumps through: ff 25 and an address relative to what follows; 0: none. */
static uint64_t x86_entry(const uint8_t *code, size_t bytes, uint64_t address)
{
    for (size_t i = 0; i + 6 <= bytes; i++)
        if (code[i] == 0xff && code[i + 1] == 0x25) {
            int32_t relative;
            memcpy(&relative, code + i + 2, sizeof relative);
            return address + i + 6 + (uint64_t)(int64_t)relative;
        }
    return 0;
}

/* The entry that a stub of arm64 loads from: adrp x16, PAGE and ldr x17, [x16, OFFSET]; 0: none. */
static uint64_t arm_entry(const uint8_t *code, size_t bytes, uint64_t address)
{
    for (size_t i = 0; i + 8 <= bytes; i += 4) {
        uint32_t page, load;
        memcpy(&page, code + i, sizeof page);
        memcpy(&load, code + i + 4, sizeof load);
        if ((page & 0x9f00001fu) != 0x90000010u || (load & 0xffc003ffu) != 0xf9400211u)
            continue;
        int64_t pages = (int64_t)((uint64_t)(((page >> 5 & 0x7ffffu) << 2) | (page >> 29 & 3u)) << 43) >> 31;
        return ((address + i) & ~(uint64_t)0xfff) + (uint64_t)pages + (uint64_t)(load >> 10 & 0xfffu) * 8;
    }
    return 0;
}

enum { STUB_BYTES = 16 };

static uint64_t entry_of(const struct pmclua_symbols *symbols, uint64_t stub)
{
    uint8_t code[STUB_BYTES];
    uint64_t offset;
    if (pmclua_symbols_offset(symbols, stub, &offset) < 0
        || pread(symbols->fd, code, sizeof code, (off_t)offset) != (ssize_t)sizeof code)
        return 0;
    if (symbols->machine == EM_X86_64)
        return x86_entry(code, sizeof code, stub);
    return symbols->machine == EM_AARCH64 ? arm_entry(code, sizeof code, stub) : 0;
}

int stubs_name(struct pmclua_symbols *symbols, uint64_t address, const char **name)
{
    const struct section *section = symbols_section(symbols, address);
    int result = section && !symbols->stubs ? read_all(symbols) : 0;
    *name = NULL;
    if (!section || result < 0)
        return result;
    uint64_t step = section->entry_bytes == 8 ? 8 : STUB_BYTES;
    uint64_t stub = section->start + (address - section->start) / step * step;
    if (symbols->machine == EM_AARCH64 && address - section->start < 2 * (uint64_t)STUB_BYTES)
        return 0;                        /* the first two are the loader's own */
    uint64_t entry = entry_of(symbols, stub);
    const struct import *import = symbols->stubs->import;
    size_t up_to = list_up_to(import, symbols->stubs->count, sizeof *import, entry);
    *name = up_to > 0 && import[up_to - 1].entry == entry ? import[up_to - 1].name : NULL;
    return 0;
}
