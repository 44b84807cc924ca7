/*
 * symbols.c: the functions of an ELF file: names, addresses, and where in the file they begin.
 *
 * elfutils reads the file and finds its separate debug file (build-id, debuglink, .gnu_debugdata).
 * Addresses are those of the file before it is loaded; file offsets come from its own program headers,
 * because a debug file has none that are of use.
 */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "demangle.h"
#include "host/lists.h"
#include "symbols.h"

/* ---- opening ---- */

static char *debuginfo_path;       /* NULL: the customary places */

static int report_file(struct pmclua_symbols *symbols, const char *path)
{
    const struct elfutils *dw = elfutils();
    static Dwfl_Callbacks callbacks = { .debuginfo_path = &debuginfo_path };
    callbacks.find_debuginfo = dw->dwfl_standard_find_debuginfo;
    callbacks.section_address = dw->dwfl_offline_section_address;
    symbols->dwfl = dw->dwfl_begin(&callbacks);
    if (!symbols->dwfl)
        return -ENOMEM;
    dw->dwfl_report_begin(symbols->dwfl);
    symbols->module = dw->dwfl_report_offline(symbols->dwfl, path, path, -1);
    dw->dwfl_report_end(symbols->dwfl, NULL, NULL);
    GElf_Ehdr header;
    symbols->elf = symbols->module ? dw->dwfl_module_getelf(symbols->module, &symbols->bias) : NULL;
    if (!symbols->elf || !dw->gelf_getehdr(symbols->elf, &header))
        return -ENOEXEC;
    symbols->machine = header.e_machine;
    return header.e_type == ET_EXEC || header.e_type == ET_DYN ? 0 : -ENOEXEC;
}

static uint32_t flags_of(const char *name, const GElf_Sym *sym, GElf_Word section)
{
    int type = GELF_ST_TYPE(sym->st_info), is_part = strstr(name, ".cold") || strstr(name, ".part.");
    return (section == SHN_UNDEF ? PMCLUA_FUNCTION_IMPORTED : 0)
        | (type == STT_GNU_IFUNC ? PMCLUA_FUNCTION_INDIRECT : 0)
        | (type == STT_NOTYPE ? PMCLUA_FUNCTION_UNTYPED : 0)
        | (GELF_ST_BIND(sym->st_info) == STB_LOCAL ? PMCLUA_FUNCTION_LOCAL : 0)
        | (is_part ? PMCLUA_FUNCTION_PART : 0);
}

/* Typed functions; and labels of assembly that other files may call, which have no type. */
static int is_function(const GElf_Sym *sym, const char *name, GElf_Word section)
{
    int type = GELF_ST_TYPE(sym->st_info);
    if (!*name || section == SHN_ABS || section == (GElf_Word)-1)
        return 0;
    return type == STT_FUNC || type == STT_GNU_IFUNC ||
           (type == STT_NOTYPE && section != SHN_UNDEF && GELF_ST_BIND(sym->st_info) == STB_GLOBAL);
}

static int take_symbol(struct pmclua_symbols *symbols, int index)
{
    GElf_Sym sym;
    GElf_Addr address;
    GElf_Word section = 0;
    const char *name = elfutils()->dwfl_module_getsym_info(symbols->module, index, &sym, &address, &section,
                                                           NULL, NULL);
    if (!name || !is_function(&sym, name, section))
        return 0;
    struct symbol symbol = { .address = address - symbols->bias, .bytes = sym.st_size,
                             .flags = flags_of(name, &sym, section) };
    uint64_t offset;
    if (symbol.flags & PMCLUA_FUNCTION_IMPORTED)
        symbol.address = symbol.bytes = 0;
    else if (pmclua_symbols_offset(symbols, symbol.address, &offset) < 0)
        return 0;
    symbol.name = strndup(name, strcspn(name, "@"));
    if (!symbol.name)
        return -ENOMEM;
    symbols->symbol[symbols->count++] = symbol;
    return 0;
}

/* By address; of one address the name that others see first, then the shorter. */
static int compare(const void *a, const void *b)
{
    const struct symbol *left = a, *right = b;
    if (left->address != right->address)
        return left->address < right->address ? -1 : 1;
    int locals = (int)(left->flags & PMCLUA_FUNCTION_LOCAL) - (int)(right->flags & PMCLUA_FUNCTION_LOCAL);
    return locals ? locals : strcmp(left->name, right->name);
}

/* Assembly often states no size: such a function ends where the next one begins, or its section ends. */
static void guess_sizes(struct pmclua_symbols *symbols)
{
    uint64_t next = UINT64_MAX;
    for (int32_t i = symbols->count; i-- > 0;) {
        struct symbol *symbol = &symbols->symbol[i];
        const struct section *section = symbols_section(symbols, symbol->address);
        uint64_t end = section && section->end < next ? section->end : next == UINT64_MAX ? 0 : next;
        if (symbol->bytes == 0 && end > symbol->address && !(symbol->flags & PMCLUA_FUNCTION_IMPORTED)) {
            symbol->bytes = end - symbol->address;
            symbol->flags |= PMCLUA_FUNCTION_GUESSED;
        }
        if (i > 0 && symbols->symbol[i - 1].address != symbol->address)
            next = symbol->address;
    }
}

static int add_section(struct pmclua_symbols *symbols, const GElf_Shdr *header, const char *name)
{
    if (list_extend(&symbols->section, (size_t)symbols->sections, sizeof *symbols->section) < 0)
        return -ENOMEM;
    int is_plt = name && strncmp(name, ".plt", 4) == 0;
    symbols->section[symbols->sections++] = (struct section){ header->sh_addr, header->sh_addr + header->sh_size,
                                                              (uint32_t)header->sh_entsize, is_plt };
    return 0;
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

static int read_table(struct pmclua_symbols *symbols)
{
    int count = elfutils()->dwfl_module_getsymtab(symbols->module);
    if (count <= 0)
        return 0;              /* a file may have no symbols at all */
    symbols->symbol = calloc((size_t)count, sizeof *symbols->symbol);
    if (!symbols->symbol)
        return -ENOMEM;
    for (int i = 0; i < count; i++) {
        int result = take_symbol(symbols, i);
        if (result < 0)
            return result;
    }
    qsort(symbols->symbol, (size_t)symbols->count, sizeof *symbols->symbol, compare);
    guess_sizes(symbols);
    return 0;
}

/* elfutils opens what it is given, and whoever opens a pipe may wait for ever. */
static int open_file(const char *path)
{
    uint32_t uid;
    uint64_t bytes;
    int fd = pmclua_open_plain(path, 0, &uid, &bytes);
    return fd == -ENOTSUP || fd == -EISDIR ? -ENOEXEC : fd;
}

int pmclua_symbols_open(struct pmclua_symbols **out, const char *path)
{
    if (!elfutils())
        return -ELIBACC;
    struct pmclua_symbols *symbols = calloc(1, sizeof *symbols);
    if (!symbols)
        return -ENOMEM;
    symbols->fd = open_file(path);
    int result = symbols->fd < 0 ? symbols->fd : report_file(symbols, path);
    if (result == 0)
        result = read_sections(symbols);
    if (result == 0)
        result = read_table(symbols);
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
        free(symbols->symbol[i].shown);
        free(symbols->symbol[i].plain);
    }
    free(symbols->symbol);
    free(symbols->section);
    free(symbols->start);
    stubs_free(symbols->stubs);
    units_free(symbols->units);
    if (symbols->dwfl)
        elfutils()->dwfl_end(symbols->dwfl);
    if (symbols->fd >= 0)
        close(symbols->fd);
    free(symbols);
}

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

int pmclua_symbols_offset(const struct pmclua_symbols *symbols, uint64_t address, uint64_t *offset)
{
    GElf_Phdr header;
    for (size_t at = 0; symbols_segment(symbols, &at, PT_LOAD, &header);)
        if ((header.p_flags & PF_X) && address - header.p_vaddr < header.p_filesz) {
            *offset = address - header.p_vaddr + header.p_offset;
            return 0;
        }
    return -ENXIO;
}

int symbol_name(struct symbol *symbol)
{
    if (symbol->plain)
        return 0;
    symbol->shown = demangle(symbol->name);
    if (!symbol->shown)
        symbol->shown = strdup(symbol->name);
    symbol->plain = symbol->shown ? plain_name(symbol->shown) : NULL;
    if (symbol->plain)
        return 0;
    free(symbol->shown);
    symbol->shown = NULL;
    return -ENOMEM;
}

/* Fills in every symbol's spelling; -ENOMEM. */
static int name_all(struct pmclua_symbols *symbols)
{
    for (int32_t i = symbols->named; i < symbols->count; i++) {
        if (symbol_name(&symbols->symbol[i]) < 0)
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
        *function = (struct pmclua_function){ symbol->name, symbol->shown, symbol->plain, symbol->address,
                                              offset, symbol->bytes, symbol->flags };
    return result;
}

/* ---- names ---- */

/* Without the template's arguments: "convert" of "convert<long>". */
static size_t base_length(const char *name)
{
    size_t length = strlen(name);
    int depth = 0;
    for (size_t i = length; i-- > 0 && (depth > 0 || i + 1 == length);) {
        depth += (name[i] == '>') - (name[i] == '<');
        if (depth == 0)
            return i == 0 || name[i] != '<' ? length : i;
    }
    return length;
}

/* "parse" is meant by itself; "Parser::parse" where the source says "json::Parser::parse". */
enum match match_end(const char *name, size_t length, const char *pattern)
{
    size_t count = strlen(pattern);
    if (length < count || memcmp(name + length - count, pattern, count) != 0)
        return NO_MATCH;
    if (length == count)
        return BY_NAME;
    return length > count + 2 && memcmp(name + length - count - 2, "::", 2) == 0 ? BY_TAIL : NO_MATCH;
}

static int is_like(const struct symbol *symbol, const char *glob)
{
    return fnmatch(glob, symbol->plain, 0) == 0 || fnmatch(glob, symbol->name, 0) == 0;
}

/* `tail_glob` is the pattern behind "*::"; NULL: the pattern is none to be matched so. */
static enum match match(const struct symbol *symbol, const char *pattern, const char *tail_glob)
{
    if (strcmp(symbol->name, pattern) == 0 || strcmp(symbol->shown, pattern) == 0)
        return BY_NAME;
    if (symbol->flags & PMCLUA_FUNCTION_PART)
        return NO_MATCH;
    enum match whole = match_end(symbol->plain, strlen(symbol->plain), pattern);
    enum match base = match_end(symbol->plain, base_length(symbol->plain), pattern);
    if (whole || base)
        return whole > base ? whole : base;
    return tail_glob && (is_like(symbol, pattern) || is_like(symbol, tail_glob)) ? BY_GLOB : NO_MATCH;
}

/* An alias of the function before it, which is of the same address. */
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
