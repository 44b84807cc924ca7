/*
 * dwarf_units.c: line, source and inlined functions of addresses.
 *
 * Every unit is walked once, when an address of it is first asked for, and its functions are kept as ranges: asking
 * libdw for the scopes of each address would walk the unit anew each time.
 */
#include <errno.h>
#include <stdlib.h>

#include "demangle.h"
#include "host/lists.h"
#include "symbols.h"

/* A function, or a copy of one in another; `depth` counts from the unit. */
struct scope {
    uint64_t start, end;
    uint32_t depth, is_inlined;
    const char *name, *declared, *caller_source;
    int32_t caller_line;
};

struct unit {
    Dwarf_Die die;
    struct scope *scope;
    size_t scopes, room;
    int is_walked;
};

struct unit_range { uint64_t start, end; uint32_t unit; };

struct units {
    GElf_Addr bias;                /* of the debug information's addresses */
    struct unit *unit;
    struct unit_range *range;      /* by start */
    size_t units, ranges, unit_room, range_room;
    char **name;                   /* that had to be made */
    size_t names, name_room;
};

void units_free(struct units *units)
{
    if (!units)
        return;
    for (size_t i = 0; i < units->units; i++)
        free(units->unit[i].scope);
    for (size_t i = 0; i < units->names; i++)
        free(units->name[i]);
    free(units->name);
    free(units->unit);
    free(units->range);
    free(units);
}

/* ---- units ---- */

static int by_start(const void *a, const void *b)
{
    const struct unit_range *one = a, *other = b;
    return one->start < other->start ? -1 : one->start > other->start;
}

static int add_range(struct units *units, uint64_t start, uint64_t end)
{
    if (list_grow(&units->range, units->ranges, &units->range_room, sizeof *units->range) < 0)
        return -ENOMEM;
    units->range[units->ranges++] = (struct unit_range){ start, end, (uint32_t)units->units };
    return 0;
}

static int add_unit(struct units *units, Dwarf_Die *die)
{
    const struct elfutils *dw = elfutils();
    if (list_grow(&units->unit, units->units, &units->unit_room, sizeof *units->unit) < 0)
        return -ENOMEM;
    units->unit[units->units] = (struct unit){ .die = *die };
    Dwarf_Addr base, start, end;
    int result = 0;
    for (ptrdiff_t next = 0; result == 0 && (next = dw->dwarf_ranges(die, next, &base, &start, &end)) > 0;)
        if (end > start)
            result = add_range(units, start, end);
    units->units++;
    return result;
}

static int read_units(struct pmclua_symbols *symbols)
{
    const struct elfutils *dw = elfutils();
    struct units *units = symbols->units = calloc(1, sizeof *units);
    GElf_Addr bias;
    if (!units)
        return -ENOMEM;
    if (!dw->dwfl_module_getdwarf(symbols->module, &bias))
        return 0;
    units->bias = bias - symbols->bias;
    int result = 0;
    for (Dwarf_Die *die = NULL; result == 0 && (die = dw->dwfl_module_nextcu(symbols->module, die, &bias));)
        result = add_unit(units, die);
    if (units->ranges)
        qsort(units->range, units->ranges, sizeof *units->range, by_start);
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

static const char *keep(struct units *units, char *name)
{
    if (!name || list_grow(&units->name, units->names, &units->name_room, sizeof name) < 0) {
        free(name);
        return NULL;
    }
    return units->name[units->names++] = name;
}

char *die_plain_name(Dwarf_Die *die)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute attribute;
    const char *linkage = NULL;
    if (dw->dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dw->dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        linkage = dw->dwarf_formstring(&attribute);
    char *shown = linkage ? demangle(linkage) : NULL, *plain = shown ? plain_name(shown) : NULL;
    free(shown);
    return plain;
}

static const char *name_of(struct units *units, Dwarf_Die *die)
{
    const char *plain = keep(units, die_plain_name(die));
    return plain ? plain : elfutils()->dwarf_diename(die);
}

static void take_caller(const struct unit *unit, Dwarf_Die *die, struct scope *scope)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute attribute;
    Dwarf_Word line = 0, number = 0;
    Dwarf_Files *files;
    size_t count;
    Dwarf_Die top = unit->die;
    if (dw->dwarf_attr(die, DW_AT_call_line, &attribute) && dw->dwarf_formudata(&attribute, &line) == 0)
        scope->caller_line = (int32_t)line;
    if (dw->dwarf_attr(die, DW_AT_call_file, &attribute) && dw->dwarf_formudata(&attribute, &number) == 0
        && dw->dwarf_getsrcfiles(&top, &files, &count) == 0 && number < count)
        scope->caller_source = dw->dwarf_filesrc(files, number, NULL, NULL);
}

static int add_scope(struct units *units, struct unit *unit, Dwarf_Die *die, uint32_t depth, int is_inlined)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Addr base, start, end;
    struct scope scope = { .depth = depth, .is_inlined = (uint32_t)is_inlined };
    for (ptrdiff_t next = 0; (next = dw->dwarf_ranges(die, next, &base, &start, &end)) > 0;) {
        if (end <= start)
            continue;
        if (list_grow(&unit->scope, unit->scopes, &unit->room, sizeof scope) < 0)
            return -ENOMEM;
        if (!scope.name) {
            scope.name = name_of(units, die);
            scope.declared = dw->dwarf_decl_file(die);
            if (is_inlined)
                take_caller(unit, die, &scope);
        }
        scope.start = start;
        scope.end = end;
        unit->scope[unit->scopes++] = scope;
    }
    return 0;
}

enum { DEPTH_MAX = 200 };               /* of nested DIEs: files may be damaged */

static int walk(struct units *units, struct unit *unit, Dwarf_Die *parent, uint32_t depth)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Die die;
    if (depth > DEPTH_MAX || dw->dwarf_child(parent, &die) != 0)
        return 0;
    int result = 0;
    do {
        int tag = dw->dwarf_tag(&die);
        if (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine)
            result = add_scope(units, unit, &die, depth, tag == DW_TAG_inlined_subroutine);
        if (result == 0 && (tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block
                            || tag == DW_TAG_namespace || tag == DW_TAG_class_type || tag == DW_TAG_structure_type
                            || tag == DW_TAG_module))
            result = walk(units, unit, &die, depth + 1);
    } while (result == 0 && dw->dwarf_siblingof(&die, &die) == 0);
    return result;
}

/* Deeper ones first. */
static int by_depth(const void *a, const void *b)
{
    const struct scope *one = *(const struct scope *const *)a, *other = *(const struct scope *const *)b;
    return (int)other->depth - (int)one->depth;
}

enum { SCOPES_MAX = 64 };

static void take_scopes(const struct unit *unit, uint64_t address, struct pmclua_code *code,
                        struct pmclua_inlined_at *inlined, int32_t size)
{
    const struct scope *found[SCOPES_MAX] = { NULL };
    size_t count = 0;
    for (size_t i = 0; i < unit->scopes && count < SCOPES_MAX; i++)
        if (address - unit->scope[i].start < unit->scope[i].end - unit->scope[i].start)
            found[count++] = &unit->scope[i];
    qsort(found, count, sizeof *found, by_depth);
    for (size_t i = 0; i < count; i++) {
        const struct scope *scope = found[i];
        if (!scope->is_inlined) {
            code->declared = scope->declared;
            if (!code->function)
                code->function = scope->name;
            return;
        }
        if (code->inlined < size && scope->name)
            inlined[code->inlined++] = (struct pmclua_inlined_at){ scope->name, scope->caller_source, scope->declared,
                                                                   scope->caller_line };
    }
}

static int walk_unit(struct units *units, struct unit *unit)
{
    if (unit->is_walked)
        return 0;
    int result = walk(units, unit, &unit->die, 0);
    unit->is_walked = result == 0;
    if (result < 0)
        unit->scopes = 0;
    return result;
}

int units_find(struct pmclua_symbols *symbols, uint64_t address, struct pmclua_code *code,
                struct pmclua_inlined_at *inlined, int32_t size)
{
    const struct elfutils *dw = elfutils();
    int result = symbols->units ? 0 : read_units(symbols);
    if (result < 0)
        return result;
    struct units *units = symbols->units;
    uint64_t place = address - units->bias;
    struct unit *unit = unit_at(units, place);
    if (!unit)
        return 0;
    result = walk_unit(units, unit);
    if (result < 0)
        return result;
    Dwarf_Line *line = dw->dwarf_getsrc_die(&unit->die, place);
    if (line && dw->dwarf_lineno(line, &code->line) == 0)
        code->source = dw->dwarf_linesrc(line, NULL, NULL);
    take_scopes(unit, place, code, inlined, size);
    return 0;
}
