/*
 * symbols.c: the functions of an ELF file: names, addresses, and where in the file they begin.
 *
 * elfutils reads the file and finds its separate debug file (build-id, debuglink, .gnu_debugdata).
 * Addresses are those of the file before it is loaded; file offsets come from its own program headers,
 * because a debug file has no useful ones.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "host/lists.h"
#include "symbols.h"

/* ---- opening ---- */

static char *debuginfo_path = "/usr/lib/debug";

static int report_file(struct pmclua_symbols *symbols, const char *path)
{
    const struct elfutils *dw = elfutils();
    static Dwfl_Callbacks callbacks = { .debuginfo_path = &debuginfo_path, .find_debuginfo = debug_file_find };
    callbacks.section_address = dw->dwfl_offline_section_address;
    symbols->dwfl = dw->dwfl_begin(&callbacks);
    int own = symbols->dwfl ? (int)TEMP_FAILURE_RETRY(fcntl(symbols->fd, F_DUPFD_CLOEXEC, 0)) : -1;
    if (own < 0)
        return symbols->dwfl ? -errno : -ENOMEM;
    dw->dwfl_report_begin(symbols->dwfl);
    symbols->module = dw->dwfl_report_offline(symbols->dwfl, path, path, own);
    dw->dwfl_report_end(symbols->dwfl, NULL, NULL);
    if (!symbols->module)
        close(own);
    void **userdata = NULL;
    if (symbols->module && dw->dwfl_module_info(symbols->module, &userdata, NULL, NULL, NULL, NULL, NULL, NULL))
        *userdata = symbols;
    GElf_Ehdr header;
    symbols->elf = symbols->module ? dw->dwfl_module_getelf(symbols->module, &symbols->bias) : NULL;
    if (!symbols->elf || !dw->gelf_getehdr(symbols->elf, &header))
        return -ENOEXEC;
    symbols->machine = header.e_machine;
    return header.e_type == ET_EXEC || header.e_type == ET_DYN ? 0 : -ENOEXEC;
}

static int add_section(struct pmclua_symbols *symbols, const GElf_Shdr *header, const char *name)
{
    struct section section = { header->sh_addr, header->sh_addr + header->sh_size, (uint32_t)header->sh_entsize,
                               name && strncmp(name, ".plt", 4) == 0 };
    return LIST_ADD(symbols->section, symbols->sections, section);
}

/* Sections of code; a file may have no section headers at all. */
static int read_sections(struct pmclua_symbols *symbols)
{
    const struct elfutils *dw = elfutils();
    size_t names = 0;
    int result = 0;
    dw->elf_getshdrstrndx(symbols->elf, &names);
    for (Elf_Scn *scn = NULL; result == 0 && (scn = dw->elf_nextscn(symbols->elf, scn));) {
        GElf_Shdr header;
        if (dw->gelf_getshdr(scn, &header) && (header.sh_flags & SHF_EXECINSTR))
            result = add_section(symbols, &header, dw->elf_strptr(symbols->elf, names, header.sh_name));
    }
    return result;
}

const struct section *symbols_section(const struct pmclua_symbols *symbols, uint64_t address)
{
    for (int32_t i = 0; i < symbols->sections; i++)
        if (address >= symbols->section[i].start && address < symbols->section[i].end)
            return &symbols->section[i];
    return NULL;
}

/* Regular files alone: elfutils would wait for ever on a pipe. */
static int open_file(struct pmclua_symbols *symbols, const char *path)
{
    int fd = file_open_mapped(path, &symbols->owner);
    return fd == -ENOTSUP || fd == -EISDIR ? -ENOEXEC : fd;
}

int pmclua_symbols_open(struct pmclua_symbols **out, const char *path, const char *debug_file)
{
    if (!elfutils())
        return -ELIBACC;
    struct pmclua_symbols *symbols = calloc(1, sizeof *symbols);
    if (!symbols)
        return -ENOMEM;
    symbols->shared_fd = -1;
    symbols->fd = open_file(symbols, path);
    symbols->debug_file = debug_file ? strdup(debug_file) : NULL;
    int result = symbols->fd < 0 ? symbols->fd : debug_file && !symbols->debug_file ? -ENOMEM
        : report_file(symbols, path);
    if (result == 0)
        result = read_sections(symbols);
    if (result == 0)
        result = table_read(symbols);
    if (result < 0) {
        pmclua_symbols_close(symbols);
        return result;
    }
    *out = symbols;
    return 0;
}

void pmclua_symbols_close(struct pmclua_symbols *symbols)
{
    if (!symbols)
        return;
    for (int32_t i = 0; i < symbols->count; i++) {
        free(symbols->symbol[i].name);
        name_free(&symbols->symbol[i].spelt);
    }
    free(symbols->symbol);
    free(symbols->source);
    free(symbols->section);
    free(symbols->start);
    homes_free(symbols->homes);
    variables_free(symbols->variables);
    members_free(symbols->members);
    stubs_free(symbols->stubs);
    units_free(symbols->units);
    elfutils()->dwfl_end(symbols->dwfl);
    elfutils()->dwarf_end(symbols->shared);
    if (symbols->shared_fd >= 0)
        close(symbols->shared_fd);
    if (symbols->fd >= 0)
        close(symbols->fd);
    free(symbols->debug_file);
    free(symbols);
}

uint32_t pmclua_symbols_owner(const struct pmclua_symbols *symbols) { return symbols->owner; }

/* ---- places ---- */

int symbols_segment(const struct pmclua_symbols *symbols, size_t *at, GElf_Word type, GElf_Phdr *header)
{
    const struct elfutils *dw = elfutils();
    size_t count = 0;
    dw->elf_getphdrnum(symbols->elf, &count);
    while (*at < count)
        if (dw->gelf_getphdr(symbols->elf, (int)(*at)++, header) && header->p_type == type)
            return 1;
    return 0;
}

/* An address as the offset in the file that has it, or an offset as its address. */
static int convert(const struct pmclua_symbols *symbols, uint64_t place, int is_address, uint64_t *result)
{
    GElf_Phdr header;
    for (size_t at = 0; symbols_segment(symbols, &at, PT_LOAD, &header);) {
        uint64_t start = is_address ? header.p_vaddr : header.p_offset;
        if ((header.p_flags & PF_X) && place - start < header.p_filesz) {
            *result = place - start + (is_address ? header.p_offset : header.p_vaddr);
            return 0;
        }
    }
    return -ENXIO;
}

int pmclua_symbols_offset(const struct pmclua_symbols *symbols, uint64_t address, uint64_t *offset)
{
    return convert(symbols, address, 1, offset);
}

int symbols_address(const struct pmclua_symbols *symbols, uint64_t offset, uint64_t *address)
{
    return convert(symbols, offset, 0, address);
}

int symbol_name(const struct pmclua_symbols *symbols, struct symbol *symbol)
{
    return symbol->spelt.full ? 0
        : name_spell(&symbol->spelt, symbol->name, symbols_is_go(symbols, symbol->address));
}

int symbols_is_go(const struct pmclua_symbols *symbols, uint64_t address)
{
    return address >= symbols->go_start && address < symbols->go_end;
}

/* Fills in every symbol's spelling; -ENOMEM. */
static int name_all(struct pmclua_symbols *symbols)
{
    for (int32_t i = symbols->named; i < symbols->count; i++) {
        if (symbol_name(symbols, &symbols->symbol[i]) < 0)
            return -ENOMEM;
        symbols->named = i + 1;
    }
    return 0;
}

int32_t pmclua_symbols_count(const struct pmclua_symbols *symbols)
{
    return symbols->count;
}

int pmclua_symbols_function(struct pmclua_symbols *symbols, int32_t index, struct pmclua_function *function)
{
    if (index < 0 || index >= symbols->count)
        return -ENOENT;
    int result = name_all(symbols);
    if (result < 0)
        return result;
    const struct symbol *symbol = &symbols->symbol[index];
    uint64_t offset = 0;
    if (!(symbol->flags & PMCLUA_FUNCTION_IMPORTED))
        result = pmclua_symbols_offset(symbols, symbol->address, &offset);
    if (result == 0)
        *function = (struct pmclua_function){ symbol->name, symbol->spelt.shown, symbol->spelt.full,
                                              symbol->spelt.plain, symbol->address,
                                              offset, symbol->bytes, symbol->flags };
    return result;
}

/* ---- names ---- */

static int is_like(const struct symbol *symbol, const char *glob)
{
    return fnmatch(glob, symbol->spelt.plain, 0) == 0 || fnmatch(glob, symbol->name, 0) == 0;
}

/* `tail_glob` is the pattern behind "*::"; NULL: the pattern is no glob. */
static enum match match(const struct symbol *symbol, const char *pattern, const char *tail_glob)
{
    if (strcmp(symbol->name, pattern) == 0 || strcmp(symbol->spelt.shown, pattern) == 0)
        return BY_NAME;
    if (symbol->flags & PMCLUA_FUNCTION_PART)
        return NO_MATCH;
    enum match how = name_match(&symbol->spelt, pattern);
    if (how)
        return how;
    return tail_glob && (is_like(symbol, pattern) || is_like(symbol, tail_glob)) ? BY_GLOB : NO_MATCH;
}

/* An alias of the function before it, at the same address. */
static int is_alias(const struct pmclua_symbols *symbols, int32_t last, int32_t index)
{
    const struct symbol *symbol = &symbols->symbol[index];
    return last >= 0 && !(symbol->flags & PMCLUA_FUNCTION_IMPORTED) &&
           symbols->symbol[last].address == symbol->address;
}

int32_t pmclua_symbols_match(struct pmclua_symbols *symbols, const char *pattern, int32_t *indices, int32_t size)
{
    int result = name_all(symbols);
    if (result < 0)
        return result;
    char tail[1024], *tail_glob = strpbrk(pattern, "*?[") ? tail : NULL;
    snprintf(tail, sizeof tail, "*::%s", pattern);
    enum match best = NO_MATCH;
    int32_t count = 0, last = -1;
    for (int32_t i = 0; i < symbols->count; i++) {
        enum match how = match(&symbols->symbol[i], pattern, tail_glob);
        if (how == NO_MATCH || how < best)
            continue;
        if (how > best) {
            best = how;
            count = 0;
            last = -1;
        }
        if (is_alias(symbols, last, i))
            continue;
        if (count < size)
            indices[count] = i;
        count++;
        last = i;
    }
    return count;
}
