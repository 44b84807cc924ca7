/*
 * code.c: what an instruction of a file belongs to: its function by the symbols, else by the PLT, else by where
 * .eh_frame_hdr says that one begins (stripped files have that, too); its source by the debug information.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/lists.h"
#include "symbols.h"

/* ---- symbols ---- */

enum { NESTED_MAX = 32 };               /* symbols that begin within another one */

/* Whether one name of a function is better known than another: it states its size (Go's first function is "runtime.text",
 * too), others see it, it has no underscores before it, it is shorter ("free" of "__libc_free", "cfree" and "free"). */
static int is_better(const struct symbol *one, const struct symbol *other)
{
    uint32_t guessed = one->flags & PMCLUA_FUNCTION_GUESSED, others_guessed = other->flags & PMCLUA_FUNCTION_GUESSED;
    uint32_t local = one->flags & PMCLUA_FUNCTION_LOCAL, others_local = other->flags & PMCLUA_FUNCTION_LOCAL;
    size_t underscores = strspn(one->name, "_"), others_underscores = strspn(other->name, "_");
    if (guessed != others_guessed)
        return guessed < others_guessed;
    if (local != others_local)
        return local < others_local;
    if (underscores != others_underscores)
        return underscores < others_underscores;
    return strlen(one->name) < strlen(other->name);
}

/* The best of the names of the same code, of which `index` is the last. */
static struct symbol *best_alias(const struct pmclua_symbols *symbols, int32_t index)
{
    struct symbol *best = &symbols->symbol[index];
    uint64_t address = best->address, bytes = best->bytes;
    while (index > 0 && symbols->symbol[index - 1].address == address)
        if (symbols->symbol[--index].bytes == bytes && is_better(&symbols->symbol[index], best))
            best = &symbols->symbol[index];
    return best;
}

/* The function that covers an address: of several the one that begins last. */
static struct symbol *symbol_at(const struct pmclua_symbols *symbols, uint64_t address)
{
    int32_t up_to = (int32_t)list_up_to(symbols->symbol, (size_t)symbols->count, sizeof *symbols->symbol, address);
    for (int32_t i = up_to - 1; i >= 0 && i >= up_to - NESTED_MAX; i--) {
        struct symbol *symbol = &symbols->symbol[i];
        if ((symbol->flags & PMCLUA_FUNCTION_IMPORTED) || address - symbol->address >= symbol->bytes)
            continue;
        return best_alias(symbols, i);
    }
    return NULL;
}

/* ---- .eh_frame_hdr ---- */

/* The only form that linkers write: encodings of the pointer, the count and the table. */
struct frame_header { uint8_t version, pointer, count_form, table_form; int32_t frame; uint32_t count; };
struct frame_entry { int32_t start, frame; };

enum { TABLE_FORM = 0x3b, COUNT_FORM = 0x03, FRAMES_MAX = 1 << 22 };

static int read_starts(struct pmclua_symbols *symbols, const GElf_Phdr *segment)
{
    struct frame_header header;
    if (pread(symbols->fd, &header, sizeof header, (off_t)segment->p_offset) != (ssize_t)sizeof header
        || header.version != 1 || header.count_form != COUNT_FORM || header.table_form != TABLE_FORM
        || header.count > FRAMES_MAX || header.count > segment->p_filesz / sizeof(struct frame_entry))
        return 0;
    struct frame_entry *entry = malloc((size_t)header.count * sizeof *entry + 1);
    symbols->start = calloc((size_t)header.count + 1, sizeof *symbols->start);
    ssize_t bytes = (ssize_t)(header.count * sizeof *entry);
    if (entry && symbols->start
        && pread(symbols->fd, entry, (size_t)bytes, (off_t)(segment->p_offset + sizeof header)) == bytes)
        for (uint32_t i = 0; i < header.count; i++)
            symbols->start[symbols->starts++] = segment->p_vaddr + (uint64_t)(int64_t)entry[i].start;
    int result = entry && symbols->start ? 0 : -ENOMEM;
    free(entry);
    return result;
}

static int find_starts(struct pmclua_symbols *symbols)
{
    GElf_Phdr segment;
    int result = 0;
    for (size_t at = 0; !symbols->start && symbols_segment(symbols, &at, PT_GNU_EH_FRAME, &segment);)
        result = read_starts(symbols, &segment);
    if (!symbols->start && result == 0)
        symbols->start = calloc(1, sizeof *symbols->start);
    if (result < 0) {
        free(symbols->start);
        symbols->start = NULL;
    }
    return symbols->start ? 0 : -ENOMEM;
}

/* Between two starts; what follows the last of a section is not taken beyond it. */
static int take_start(struct pmclua_symbols *symbols, struct pmclua_code *code)
{
    const struct section *section = symbols_section(symbols, code->address);
    int result = symbols->start ? 0 : find_starts(symbols);
    if (result < 0 || symbols->starts == 0)
        return result;
    size_t next = list_up_to(symbols->start, symbols->starts, sizeof *symbols->start, code->address);
    if (next == 0 || (section && symbols->start[next - 1] < section->start))
        return 0;
    uint64_t end = next < symbols->starts ? symbols->start[next] : code->address + 1;
    code->start = symbols->start[next - 1];
    code->bytes = (section && section->end < end ? section->end : end) - code->start;
    code->flags = PMCLUA_FUNCTION_GUESSED;
    return 0;
}

/* ---- the whole ---- */

static int take_symbol(struct pmclua_symbols *symbols, struct pmclua_code *code)
{
    const struct section *section = symbols_section(symbols, code->address);
    const char *stub = NULL;
    if (section && section->is_plt && stubs_name(symbols, code->address, &stub) < 0)
        return -ENOMEM;
    struct symbol *symbol = stub ? NULL : symbol_at(symbols, code->address);
    if (stub) {
        code->function = code->full = stub;
    } else if (symbol) {
        if (symbol_name(symbols, symbol) < 0)
            return -ENOMEM;
        code->function = symbol->spelt.plain;
        code->full = symbol->spelt.full;
        code->start = symbol->address;
        code->bytes = symbol->bytes;
        code->flags = symbol->flags;
        if (symbol->name[name_home(symbol->name)])
            code->flags &= ~(uint32_t)PMCLUA_FUNCTION_LOCAL;
        if (symbol->spelt.is_vague)
            code->flags |= PMCLUA_FUNCTION_VAGUE;
    } else {
        return take_start(symbols, code);
    }
    return 0;
}

/* Without debug information: the file that the table of symbols has, and what tells functions apart for which that is
 * not enough. */
static int take_home(struct pmclua_symbols *symbols, struct pmclua_code *code)
{
    const struct symbol *symbol = code->bytes ? symbol_at(symbols, code->address) : NULL, *home;
    if (!symbol || symbol->address != code->start)
        return 0;
    int is_ambiguous, result = homes_find(symbols, symbol, &home, &is_ambiguous);
    if (result < 0)
        return result;
    code->declared = home->source ? symbols->source[home->source - 1] : NULL;
    code->which = is_ambiguous || symbol->spelt.is_vague ? home->address : 0;
    return 0;
}

int pmclua_symbols_code(struct pmclua_symbols *symbols, uint64_t offset, struct pmclua_code *code,
                        struct pmclua_inlined_at *inlined, int32_t size)
{
    struct pmclua_code found = { .line = 0 };
    int result = symbols_address(symbols, offset, &found.address);
    if (result == 0)
        result = take_symbol(symbols, &found);
    if (result == 0)
        result = units_find(symbols, found.address, &found, inlined, size);
    if (result == 0 && !found.declared)
        result = take_home(symbols, &found);
    if (result == 0)
        *code = found;
    return result;
}

int32_t pmclua_symbols_has_debug_information(const struct pmclua_symbols *symbols)
{
    GElf_Addr bias;
    return elfutils()->dwfl_module_getdwarf(symbols->module, &bias) != NULL;
}

int32_t pmclua_symbols_build_id(const struct pmclua_symbols *symbols, uint8_t *id, int32_t size)
{
    const unsigned char *bytes;
    GElf_Addr address;
    int count = elfutils()->dwfl_module_build_id(symbols->module, &bytes, &address);
    if (count <= 0)
        return 0;
    memcpy(id, bytes, (size_t)(count < size ? count : size));
    return count;
}
