/*
 * table.c: the functions of a file's table of symbols, with where they end.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/lists.h"
#include "symbols.h"

/* ---- one symbol ---- */

static uint32_t flags_of(const struct pmclua_symbols *symbols, const struct symbol *symbol, const char *name,
                         const GElf_Sym *sym, GElf_Word section)
{
    int type = GELF_ST_TYPE(sym->st_info), is_part = 0;
    if (!symbols_is_go(symbols, symbol->address))
        name_base(name, &is_part);
    return (section == SHN_UNDEF ? PMCLUA_FUNCTION_IMPORTED : 0)
        | (type == STT_GNU_IFUNC ? PMCLUA_FUNCTION_INDIRECT : 0)
        | (type == STT_NOTYPE ? PMCLUA_FUNCTION_UNTYPED : 0)
        | (GELF_ST_BIND(sym->st_info) == STB_LOCAL ? PMCLUA_FUNCTION_LOCAL : 0)
        | (is_part ? PMCLUA_FUNCTION_PART : 0);
}

/* A label of assembly that states no type; those of the assembler and the linker for themselves begin with a dot or a
 * dollar sign. */
static int is_label(const struct pmclua_symbols *symbols, const GElf_Sym *sym, uint64_t address, const char *name)
{
    return GELF_ST_TYPE(sym->st_info) == STT_NOTYPE && sym->st_shndx != SHN_UNDEF && *name != '.' && *name != '$'
        && symbols_section(symbols, address);
}

static int is_function(const GElf_Sym *sym)
{
    return GELF_ST_TYPE(sym->st_info) == STT_FUNC || GELF_ST_TYPE(sym->st_info) == STT_GNU_IFUNC;
}

int table_add(struct pmclua_symbols *symbols, const struct symbol *symbol, const char *name)
{
    struct symbol added = *symbol;
    added.name = strndup(name, strcspn(name, "@"));
    int result = added.name ? LIST_ADD(symbols->symbol, symbols->count, added) : -ENOMEM;
    if (result < 0)
        free(added.name);
    return result;
}

/* Local symbols follow the one that names their file. */
static int begin_source(struct pmclua_symbols *symbols, const char *name)
{
    return LIST_ADD(symbols->source, symbols->sources, *name ? name : NULL);
}

static int take_symbol(struct pmclua_symbols *symbols, int index)
{
    GElf_Sym sym;
    GElf_Addr address;
    GElf_Word section = 0;
    const char *name = elfutils()->dwfl_module_getsym_info(symbols->module, index, &sym, &address, &section,
                                                           NULL, NULL);
    if (name && GELF_ST_TYPE(sym.st_info) == STT_FILE)
        return begin_source(symbols, name);
    if (!name || !*name || section == SHN_ABS || section == (GElf_Word)-1)
        return 0;
    struct symbol symbol = { .address = section == SHN_UNDEF ? 0 : address - symbols->bias,
                             .bytes = section == SHN_UNDEF ? 0 : sym.st_size };
    uint64_t offset;
    if (!is_function(&sym) && !is_label(symbols, &sym, symbol.address, name))
        return 0;
    if (section != SHN_UNDEF && pmclua_symbols_offset(symbols, symbol.address, &offset) < 0)
        return 0;
    symbol.flags = flags_of(symbols, &symbol, name, &sym, section);
    symbol.source = symbol.flags & PMCLUA_FUNCTION_LOCAL ? symbols->sources : 0;
    return table_add(symbols, &symbol, name);
}

/* ---- all of them ---- */

/* By address; of one address the name that others see first, then by name. */
static int compare(const void *a, const void *b)
{
    const struct symbol *left = a, *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    int locals = (int)(left->flags & PMCLUA_FUNCTION_LOCAL) - (int)(right->flags & PMCLUA_FUNCTION_LOCAL);
    return locals ? locals : strcmp(left->name, right->name);
}

static void sort(struct pmclua_symbols *symbols)
{
    if (symbols->count)
        qsort(symbols->symbol, (size_t)symbols->count, sizeof *symbols->symbol, compare);
}

/* A local label within a function that states its size is a place in it. */
static void drop_inner_labels(struct pmclua_symbols *symbols)
{
    enum { LOCAL_LABEL = PMCLUA_FUNCTION_UNTYPED | PMCLUA_FUNCTION_LOCAL };
    uint64_t covered = 0;
    int32_t kept = 0;
    for (int32_t i = 0; i < symbols->count; i++) {
        struct symbol *symbol = &symbols->symbol[i];
        if ((symbol->flags & LOCAL_LABEL) == LOCAL_LABEL && symbol->address < covered) {
            free(symbol->name);
            continue;
        }
        if (!(symbol->flags & PMCLUA_FUNCTION_UNTYPED) && symbol->address + symbol->bytes > covered)
            covered = symbol->address + symbol->bytes;
        symbols->symbol[kept++] = *symbol;
    }
    symbols->count = kept;
}

/* The size that another symbol of the same address states; 0: none does. */
static uint64_t stated_size(const struct pmclua_symbols *symbols, int32_t index)
{
    uint64_t address = symbols->symbol[index].address;
    while (index > 0 && symbols->symbol[index - 1].address == address)
        index--;
    for (; index < symbols->count && symbols->symbol[index].address == address; index++)
        if (symbols->symbol[index].bytes && !(symbols->symbol[index].flags & PMCLUA_FUNCTION_GUESSED))
            return symbols->symbol[index].bytes;
    return 0;
}

/* Assembly often states no size: such a function ends where the next one begins, or its section ends. */
static void guess_sizes(struct pmclua_symbols *symbols)
{
    uint64_t next = UINT64_MAX;
    for (int32_t i = symbols->count; i-- > 0;) {
        struct symbol *symbol = &symbols->symbol[i];
        if (symbol->bytes == 0 && !(symbol->flags & PMCLUA_FUNCTION_IMPORTED)) {
            const struct section *section = symbols_section(symbols, symbol->address);
            uint64_t end = section && section->end < next ? section->end : next == UINT64_MAX ? 0 : next;
            uint64_t stated = stated_size(symbols, i);
            symbol->bytes = stated ? stated : end > symbol->address ? end - symbol->address : 0;
            symbol->flags |= symbol->bytes ? PMCLUA_FUNCTION_GUESSED : 0;
        }
        if (i > 0 && symbols->symbol[i - 1].address != symbol->address)
            next = symbol->address;
    }
}

static int has_symbol_at(const struct pmclua_symbols *symbols, uint64_t address)
{
    size_t up_to = list_up_to(symbols->symbol, (size_t)symbols->count, sizeof *symbols->symbol, address);
    return up_to > 0 && symbols->symbol[up_to - 1].address == address;
}

int table_read(struct pmclua_symbols *symbols)
{
    go_find(symbols);
    int result = 0, count = elfutils()->dwfl_module_getsymtab(symbols->module);
    for (int i = 0; result == 0 && i < count; i++)
        result = take_symbol(symbols, i);
    sort(symbols);
    if (result == 0 && symbols->go_end > symbols->go_start && !has_symbol_at(symbols, symbols->go_start)) {
        result = go_add(symbols);
        sort(symbols);
    }
    drop_inner_labels(symbols);
    guess_sizes(symbols);
    return result;
}
