/*
 * dwarf_units.c: line, source and inlined functions of addresses.
 *
 * Every unit is walked once, when an address of it is first asked for, and its functions are kept as ranges: asking
 * libdw for the scopes of each address would walk the unit anew each time.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/lists.h"
#include "symbols.h"

/* A function, or a copy of one in another; `depth` counts from the unit. */
struct scope {
    uint64_t start, end;
    uint32_t depth, is_inlined;
    Dwarf_Die die;
    struct name name;              /* by take_scope; none yet: `full` is NULL */
    const char *declared, *caller_source;
    int32_t caller_line;
};

struct unit {
    Dwarf_Die die;                 /* of split debug information its skeleton, which has the lines */
    Dwarf_Die functions;           /* what has its functions, by find_functions */
    struct package *own;           /* the file that has them, of split debug information that is not packed; NULL */
    struct packed *packed;         /* NULL: they are in the program */
    int is_found;
    struct scope *scope;
    size_t scopes;
    int is_walked;
    struct lines *lines;           /* NULL: not read yet */
};

struct unit_range { uint64_t start, end; uint32_t unit; };

struct units {
    GElf_Addr bias;                /* of the debug information's addresses */
    struct unit *unit;
    struct unit_range *range;      /* by start */
    size_t units, ranges;
    Elf_Data *lines;               /* .debug_line; NULL: there is none */
    struct package *package;       /* NULL: there is none */
    struct pmclua_unread *unread;  /* what debug information is there and could not be read */
    size_t unreads;
};

void units_free(struct units *units)
{
    if (!units)
        return;
    for (size_t i = 0; i < units->units; i++) {
        for (size_t k = 0; k < units->unit[i].scopes; k++)
            name_free(&units->unit[i].scope[k].name);
        free(units->unit[i].scope);
        lines_free(units->unit[i].lines);
        packed_free(units->unit[i].packed);
        package_close(units->unit[i].own);
    }
    package_close(units->package);
    free(units->unread);
    free(units->unit);
    free(units->range);
    free(units);
}

/* ---- units ---- */

int units_have(const struct pmclua_symbols *symbols, uint64_t start, uint64_t end)
{
    uint64_t address = start + symbols->units->bias;
    return end > start && (symbols->sections == 0 || symbols_section(symbols, address) != NULL);
}

static int add_unit(const struct pmclua_symbols *symbols, Dwarf_Die *die)
{
    const struct elfutils *dw = elfutils();
    struct units *units = symbols->units;
    uint32_t number = (uint32_t)units->units;
    Dwarf_Addr base, start, end;
    int result = LIST_ADD(units->unit, units->units, (struct unit){ .die = *die });
    for (ptrdiff_t next = 0; result == 0 && (next = dw->dwarf_ranges(die, next, &base, &start, &end)) > 0;)
        if (units_have(symbols, start, end))
            result = LIST_ADD(units->range, units->ranges, (struct unit_range){ start, end, number });
    return result;
}

/* libdw has uncompressed its sections. */
static Elf_Data *find_lines(Dwarf *dwarf)
{
    Elf *elf = elfutils()->dwarf_getelf(dwarf);
    GElf_Shdr header;
    Elf_Scn *scn = elfutils_section(elf, ".debug_line", &header);
    if (!scn)
        scn = elfutils_section(elf, ".zdebug_line", &header);
    return scn ? elfutils()->elf_getdata(scn, NULL) : NULL;
}

static int note(struct units *units, int32_t kind, const char *name)
{
    return LIST_ADD(units->unread, units->unreads, (struct pmclua_unread){ kind, name });
}

/* dwz moves what several files have in common into one more. */
static int open_shared(struct pmclua_symbols *symbols, Dwarf *dwarf)
{
    const char *missing;
    return debug_shared(symbols, dwarf, &missing) < 0 ? note(symbols->units, PMCLUA_UNREAD_SHARED, missing) : 0;
}

static int read_units(struct pmclua_symbols *symbols)
{
    const struct elfutils *dw = elfutils();
    struct units *units = symbols->units = calloc(1, sizeof *units);
    GElf_Addr bias;
    if (!units)
        return -ENOMEM;
    Dwarf *dwarf = dw->dwfl_module_getdwarf(symbols->module, &bias);
    const char *compressed = dwarf ? NULL : debug_compressed(symbols);
    int result = dwarf ? open_shared(symbols, dwarf) : compressed ? note(units, PMCLUA_UNREAD_COMPRESSED, compressed) : 0;
    if (!dwarf || result < 0)
        return result;
    units->bias = bias - symbols->bias;
    units->lines = find_lines(dwarf);
    for (Dwarf_Die *die = NULL; result == 0 && (die = dw->dwfl_module_nextcu(symbols->module, die, &bias));)
        result = add_unit(symbols, die);
    list_sort(units->range, units->ranges, sizeof *units->range);
    if (result < 0) {
        units_free(units);
        symbols->units = NULL;
    }
    return result;
}

static struct unit *unit_at(const struct units *units, uint64_t address)
{
    size_t up_to = list_up_to(units->range, units->ranges, sizeof *units->range, address);
    const struct unit_range *range = up_to ? &units->range[up_to - 1] : NULL;
    return range && address < range->end ? &units->unit[range->unit] : NULL;
}

/* ---- functions of a unit ---- */

/* Looks up what a scope is called and where it is from. */
static int complete_scope(const struct pmclua_symbols *symbols, struct unit *unit, struct scope *scope)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0;
    if (scope->name.full)
        return 0;
    scope->declared = die_file(&scope->die, DW_AT_decl_file, &unit->die);
    if (scope->is_inlined) {
        scope->caller_source = die_file(&scope->die, DW_AT_call_file, &unit->die);
        if (dw->dwarf_attr(&scope->die, DW_AT_call_line, &attribute))
            dw->dwarf_formudata(&attribute, &line);
        scope->caller_line = (int32_t)line;
    }
    return die_name(symbols, &scope->die, &scope->name);
}

static int add_scope(const struct pmclua_symbols *symbols, struct unit *unit, Dwarf_Die *die, uint32_t depth,
                     int is_inlined)
{
    Dwarf_Addr base = 0, start, end;
    ptrdiff_t next = unit->packed ? packed_ranges(unit->packed, die) : 0;
    if (next > 0)
        elfutils()->dwarf_lowpc(&unit->die, &base);
    while ((next = elfutils()->dwarf_ranges(die, next, &base, &start, &end)) > 0) {
        struct scope scope = { .start = start, .end = end, .depth = depth, .die = *die,
                               .is_inlined = (uint32_t)is_inlined };
        if (units_have(symbols, start, end) && LIST_ADD(unit->scope, unit->scopes, scope) < 0)
            return -ENOMEM;
    }
    return 0;
}

enum { DEPTH_MAX = 200 };               /* of nested DIEs: files may be damaged */

static int walk(const struct pmclua_symbols *symbols, struct unit *unit, Dwarf_Die *parent, uint32_t depth)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Die die;
    if (depth > DEPTH_MAX || dw->dwarf_child(parent, &die) != 0)
        return 0;
    int result = 0;
    do {
        int tag = dw->dwarf_tag(&die);
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            result = add_scope(symbols, unit, &die, depth, tag == DW_TAG_inlined_subroutine);
        if (result == 0 && (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block
                            || tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type
                            || tag == DW_TAG_module))
            result = walk(symbols, unit, &die, depth + 1);
    } while (result == 0 && dw->dwarf_siblingof(&die, &die) == 0);
    return result;
}

static int holds(const struct scope *scope, uint64_t place) { return place - scope->start < scope->end - scope->start; }

/* Deeper ones first. */
static int by_depth(const void *a, const void *b)
{
    const struct scope *one = *(const struct scope *const *)a, *other = *(const struct scope *const *)b;
    return (int)other->depth - (int)one->depth;
}

enum { SCOPES_MAX = 64 };

static int take_scopes(const struct pmclua_symbols *symbols, struct unit *unit, uint64_t address,
                       struct pmclua_code *code, struct pmclua_inlined_at *inlined, int32_t size)
{
    struct scope *found[SCOPES_MAX] = { NULL };
    size_t count = 0;
    for (size_t i = 0; i < unit->scopes && count < SCOPES_MAX; i++)
        if (holds(&unit->scope[i], address))
            found[count++] = &unit->scope[i];
    qsort(found, count, sizeof *found, by_depth);
    for (size_t i = 0; i < count; i++) {
        struct scope *scope = found[i];
        int result = complete_scope(symbols, unit, scope), is_named = result == 0;
        if (result == -ENOMEM)
            return result;
        const char *plain = scope->name.plain, *full = scope->name.full;
        if (!scope->is_inlined) {
            code->declared = scope->declared;
            if (is_named && (!code->function || (code->flags & PMCLUA_FUNCTION_VAGUE))) {
                code->function = plain;
                code->full = full;
            }
            return 0;
        }
        if (code->inlined < size && is_named)
            inlined[code->inlined++] = (struct pmclua_inlined_at){ plain, full, scope->caller_source, scope->declared,
                                                                   scope->caller_line };
    }
    return 0;
}

/* Finds what has the functions of a unit: of split debug information another file, or a part of a package. */
static int find_functions(struct pmclua_symbols *symbols, struct unit *unit)
{
    const struct elfutils *dw = elfutils();
    struct units *units = symbols->units;
    Dwarf_Die split = { 0 };
    Dwarf_Attribute name;
    uint8_t type = 0;
    if (unit->is_found)
        return 0;
    unit->is_found = 1;
    unit->functions = unit->die;
    if (dw->dwarf_cu_info(unit->die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) != 0 || type != DW_UT_skeleton)
        return 0;
    unit->own = package_of_unit(symbols, &unit->die);
    int result = unit->own ? package_find(unit->own, &unit->die, &unit->packed, &split) : 0;
    if (result == 0 && !units->package)
        units->package = package_open(symbols);
    if (result == 0 && units->package)
        result = package_find(units->package, &unit->die, &unit->packed, &split);
    if (result > 0)
        unit->functions = split;
    if (result == 0 && (dw->dwarf_attr(&unit->die, DW_AT_dwo_name, &name)
                        || dw->dwarf_attr(&unit->die, DW_AT_GNU_dwo_name, &name)))
        result = note(units, PMCLUA_UNREAD_SPLIT, dw->dwarf_formstring(&name));
    return result < 0 ? result : 0;
}

static int walk_unit(struct pmclua_symbols *symbols, struct unit *unit)
{
    if (unit->is_walked)
        return 0;
    int result = find_functions(symbols, unit);
    if (result == 0)
        result = walk(symbols, unit, &unit->functions, 0);
    unit->is_walked = result == 0;
    if (result < 0)
        unit->scopes = 0;
    return result;
}

int32_t units_number(struct pmclua_symbols *symbols, uint64_t address)
{
    int result = symbols->units ? 0 : read_units(symbols);
    const struct unit *unit = result == 0 ? unit_at(symbols->units, address - symbols->units->bias) : NULL;
    return result < 0 ? result : unit ? (int32_t)(unit - symbols->units->unit) : -ENOENT;
}

int units_unit(struct pmclua_symbols *symbols, int32_t number, Dwarf_Die *skeleton, Dwarf_Die *functions)
{
    int result = symbols->units ? 0 : read_units(symbols);
    if (result < 0)
        return result;
    if (number < 0 || (size_t)number >= symbols->units->units)
        return -ENOENT;
    struct unit *unit = &symbols->units->unit[number];
    result = find_functions(symbols, unit);
    *skeleton = unit->die;
    *functions = unit->functions;
    return result;
}

GElf_Addr units_bias(const struct pmclua_symbols *symbols) { return symbols->units->bias; }

int pmclua_symbols_unread(const struct pmclua_symbols *symbols, int32_t index, struct pmclua_unread *unread)
{
    if (!symbols->units || index < 0 || (size_t)index >= symbols->units->unreads)
        return -ENOENT;
    *unread = symbols->units->unread[index];
    return 0;
}

/* Reads the lines of a unit. */
static int read_lines(const struct pmclua_symbols *symbols, struct unit *unit)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute attribute;
    Dwarf_Word offset;
    if (unit->lines || !symbols->units->lines || !dw->dwarf_attr(&unit->die, DW_AT_stmt_list, &attribute)
        || dw->dwarf_formudata(&attribute, &offset) != 0)
        return 0;
    int result = lines_read(symbols, symbols->units->lines, offset, &unit->lines);
    if (result < 0) {
        lines_free(unit->lines);
        unit->lines = NULL;
    }
    return result;
}

static const char *file_of(const struct unit *unit, const struct source_line *line)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Die die = unit->die;
    Dwarf_Files *files;
    size_t count;
    return dw->dwarf_getsrcfiles(&die, &files, &count) == 0 && line->file < count
        ? dw->dwarf_filesrc(files, line->file, NULL, NULL) : NULL;
}

int units_find(struct pmclua_symbols *symbols, uint64_t address, struct pmclua_code *code,
                struct pmclua_inlined_at *inlined, int32_t size)
{
    int result = symbols->units ? 0 : read_units(symbols);
    if (result < 0)
        return result;
    uint64_t place = address - symbols->units->bias;
    struct unit *unit = unit_at(symbols->units, place);
    if (!unit)
        return 0;
    result = walk_unit(symbols, unit);
    if (result == 0)
        result = read_lines(symbols, unit);
    if (result < 0)
        return result;
    const struct source_line *beyond, *line = unit->lines ? lines_find(unit->lines, place, &beyond) : NULL;
    if (line) {
        code->line = line->number;
        code->source = file_of(unit, line);
    }
    return take_scopes(symbols, unit, place, code, inlined, size);
}

/* ---- where a function is written ---- */

/* A function's scopes: its ranges and what is in it. */
struct body { const struct scope *first, *beyond; };

static struct body body_of(const struct unit *unit, const struct scope *function)
{
    const struct scope *end = unit->scope + unit->scopes, *beyond = function + 1;
    while (beyond < end && (beyond->die.addr == function->die.addr || beyond->depth > function->depth))
        beyond++;
    return (struct body){ function, beyond };
}

static int is_copied(struct body body, uint64_t place)
{
    for (const struct scope *scope = body.first; scope < body.beyond; scope++)
        if (scope->is_inlined && holds(scope, place))
            return 1;
    return 0;
}

/* The last line of `file` in a range, inlined code left out. */
static int32_t last_line(const struct unit *unit, struct body body, const struct scope *range, const char *file)
{
    const struct source_line *beyond, *line = lines_find(unit->lines, range->start, &beyond);
    int32_t last = 0;
    for (; line && line < beyond && line->address < range->end; line++) {
        const char *source = line->number > last ? file_of(unit, line) : NULL;
        if (source && strcmp(source, file) == 0 && !is_copied(body, line->address))
            last = line->number;
    }
    return last;
}

static const struct scope *function_at(const struct unit *unit, uint64_t place)
{
    for (size_t i = 0; unit && i < unit->scopes; i++)
        if (!unit->scope[i].is_inlined && unit->scope[i].declared && holds(&unit->scope[i], place))
            return &unit->scope[i];
    return NULL;
}

int pmclua_symbols_written(struct pmclua_symbols *symbols, uint64_t address, int32_t *first, int32_t *last)
{
    uint64_t place = symbols->units ? address - symbols->units->bias : 0;
    const struct unit *unit = symbols->units ? unit_at(symbols->units, place) : NULL;
    const struct scope *function = function_at(unit, place);
    Dwarf_Die die = function ? function->die : (Dwarf_Die){ 0 };
    int line = 0;
    if (!function || !unit->lines || elfutils()->dwarf_decl_line(&die, &line) != 0 || line <= 0)
        return -ENOENT;
    *first = *last = line;
    struct body body = body_of(unit, function);
    for (const struct scope *range = body.first; range < body.beyond; range++) {
        int32_t own = range->die.addr == function->die.addr ? last_line(unit, body, range, function->declared) : 0;
        *last = own > *last ? own : *last;
    }
    return 0;
}
