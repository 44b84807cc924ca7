/*
 * gopclntab.c: the functions of Go, which has a table of its own (.gopclntab) in every program, also in stripped ones.
 *
 * Its form has changed with Go 1.16, 1.18 and 1.20. Everything is checked; a damaged table is ignored.
 */
#include <string.h>

#include "symbols.h"

enum { GO_1_2 = 0xfffffffbu, GO_1_16 = 0xfffffffau, GO_1_18 = 0xfffffff0u, GO_1_20 = 0xfffffff1u };

struct table {
    const uint8_t *bytes;
    size_t size, word;             /* word: bytes of an address */
    uint32_t form;                 /* one of the above */
    uint64_t count, text;          /* functions; what their addresses count from */
    size_t entries, names;         /* offsets in the table */
};

/* A number of `bytes` bytes at an offset; *ok becomes 0 where the table ends before it. */
static uint64_t number_at(const struct table *table, uint64_t offset, size_t bytes, int *ok)
{
    uint64_t value = 0;
    if (offset > table->size || table->size - offset < bytes)
        *ok = 0;
    else
        memcpy(&value, table->bytes + offset, bytes);
    return value;
}

static int is_compact(const struct table *table) { return table->form == GO_1_18 || table->form == GO_1_20; }

static size_t entry_bytes(const struct table *table) { return is_compact(table) ? 4 : table->word; }

/* The address of function `index`; of the one behind the last, the end of all. */
static uint64_t address_of(const struct table *table, uint64_t index, int *ok)
{
    size_t bytes = entry_bytes(table);
    return table->text + number_at(table, table->entries + index * 2 * bytes, bytes, ok);
}

static const char *name_of(const struct table *table, uint64_t index, int *ok)
{
    size_t bytes = entry_bytes(table);
    uint64_t facts = number_at(table, table->entries + (2 * index + 1) * bytes, bytes, ok);
    uint64_t from = table->form == GO_1_2 ? 0 : table->entries;
    uint64_t name = table->names + number_at(table, from + facts + bytes, 4, ok);
    if (!*ok || name >= table->size || !memchr(table->bytes + name, 0, table->size - name))
        *ok = 0;
    return *ok ? (const char *)table->bytes + name : "";
}

static int read_header(struct table *table)
{
    int ok = 1;
    size_t word = table->word = (size_t)number_at(table, 7, 1, &ok);
    table->form = (uint32_t)number_at(table, 0, 4, &ok);
    if (!ok || (word != 4 && word != 8))
        return 0;
    table->count = number_at(table, 8, word, &ok);
    switch (table->form) {
    case GO_1_2:
        table->entries = 8 + word;
        break;
    case GO_1_16:
        table->names = (size_t)number_at(table, 8 + 2 * word, word, &ok);
        table->entries = (size_t)number_at(table, 8 + 6 * word, word, &ok);
        break;
    case GO_1_18: case GO_1_20:
        table->text = number_at(table, 8 + 2 * word, word, &ok);
        table->names = (size_t)number_at(table, 8 + 3 * word, word, &ok);
        table->entries = (size_t)number_at(table, 8 + 7 * word, word, &ok);
        break;
    default:
        return 0;
    }
    return ok && table->count > 0 && table->count < table->size && table->entries < table->size
        && table->names < table->size;
}

/* The addend of the relocation at an address, in position-independent programs; 0: none. */
static uint64_t relocated(const struct pmclua_symbols *symbols, uint64_t address)
{
    const struct elfutils *dw = elfutils();
    for (Elf_Scn *scn = NULL; (scn = dw->elf_nextscn(symbols->elf, scn));) {
        GElf_Shdr header;
        Elf_Data *data = dw->gelf_getshdr(scn, &header) && header.sh_type == SHT_RELA && header.sh_entsize
            ? dw->elf_getdata(scn, NULL) : NULL;
        GElf_Rela rela;
        for (int i = 0; data && i < (int)(header.sh_size / header.sh_entsize) && dw->gelf_getrela(data, i, &rela); i++)
            if (rela.r_offset == address)
                return (uint64_t)rela.r_addend;
    }
    return 0;
}

/* ".gopclntab", in programs that are loaded anywhere ".data.rel.ro.gopclntab". */
static int open_table(const struct pmclua_symbols *symbols, struct table *table)
{
    GElf_Shdr header;
    Elf_Scn *scn = elfutils_section(symbols->elf, ".gopclntab", &header);
    if (!scn)
        scn = elfutils_section(symbols->elf, ".data.rel.ro.gopclntab", &header);
    Elf_Data *data = scn && header.sh_type != SHT_NOBITS ? elfutils()->elf_getdata(scn, NULL) : NULL;
    *table = (struct table){ .bytes = data ? data->d_buf : NULL, .size = data && data->d_buf ? data->d_size : 0 };
    if (!read_header(table))
        return 0;
    if (is_compact(table) && table->text == 0)
        table->text = relocated(symbols, header.sh_addr + 8 + 2 * table->word);
    return 1;
}

void go_find(struct pmclua_symbols *symbols)
{
    struct table table;
    int ok = 1;
    if (!open_table(symbols, &table))
        return;
    uint64_t start = address_of(&table, 0, &ok), end = address_of(&table, table.count, &ok);
    if (!ok || end <= start || !symbols_section(symbols, start))
        return;
    symbols->go_start = start;
    symbols->go_end = end;
}

int go_add(struct pmclua_symbols *symbols)
{
    struct table table;
    int result = 0, ok = open_table(symbols, &table);
    for (uint64_t i = 0; ok && result == 0 && i < table.count; i++) {
        uint64_t start = address_of(&table, i, &ok), end = address_of(&table, i + 1, &ok);
        const char *name = name_of(&table, i, &ok);
        struct symbol symbol = { .address = start, .bytes = end - start };
        if (ok && *name && end > start && symbols_section(symbols, start))
            result = table_add(symbols, &symbol, name);
    }
    return result;
}
