/*
 * objects.c: the variables of an ELF file, and functions by address: what a breakpoint watches.
 *
 * Symbols are taken as elfutils lists them, one position each; nothing is kept.
 */
#include <stdio.h>
#include <string.h>

#include "symbols.h"

/* 0: not a place that a breakpoint can watch. */
static uint32_t flags_of(const GElf_Sym *sym, GElf_Word section)
{
    if (section == SHN_UNDEF)
        return 0;
    switch (GELF_ST_TYPE(sym->st_info)) {
    case STT_OBJECT:
    case STT_COMMON: return PMCLUA_OBJECT_DATA;
    case STT_TLS:    return PMCLUA_OBJECT_OF_THREADS;
    case STT_FUNC:   return PMCLUA_OBJECT_CODE;
    case STT_NOTYPE: return section == SHN_ABS ? 0 : PMCLUA_OBJECT_LABEL;
    default:         return 0;
    }
}

int32_t pmclua_symbols_object(struct pmclua_symbols *symbols, int32_t position, struct pmclua_object *object)
{
    const struct elfutils *dw = elfutils();
    int count = dw->dwfl_module_getsymtab(symbols->module);
    for (int i = position < 0 ? 0 : position; i < count; i++) {
        GElf_Sym sym;
        GElf_Addr address;
        GElf_Word section = 0;
        const char *name = dw->dwfl_module_getsym_info(symbols->module, i, &sym, &address, &section, NULL, NULL);
        uint32_t flags = name && *name ? flags_of(&sym, section) : 0;
        if (!flags)
            continue;
        /* The value of a thread-local variable is an offset, which elfutils leaves as it is. */
        uint64_t value = flags & PMCLUA_OBJECT_OF_THREADS ? sym.st_value : address - symbols->bias;
        *object = (struct pmclua_object){ .address = value, .bytes = sym.st_size, .flags = flags };
        snprintf(object->name, sizeof object->name, "%.*s", (int)strcspn(name, "@"), name);
        return i + 1;
    }
    return 0;
}

int32_t pmclua_symbols_is_fixed(const struct pmclua_symbols *symbols)
{
    GElf_Ehdr header;
    return elfutils()->gelf_getehdr(symbols->elf, &header) && header.e_type == ET_EXEC;
}

uint64_t pmclua_symbols_base(const struct pmclua_symbols *symbols)
{
    uint64_t lowest = UINT64_MAX;
    GElf_Phdr header;
    for (size_t at = 0; symbols_segment(symbols, &at, PT_LOAD, &header);)
        if (header.p_vaddr < lowest)
            lowest = header.p_vaddr;
    return lowest == UINT64_MAX ? 0 : lowest;
}
