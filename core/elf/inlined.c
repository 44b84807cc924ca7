/*
 * inlined.c: functions that the compiler copied into their callers, by the debug information: they have
 * no place at which a probe would see all of their calls.
 */
#include <errno.h>
#include <string.h>

#include "symbols.h"

struct search {
    const struct pmclua_symbols *symbols;
    const char *name;              /* as people write it */
    Dwarf_Die *skeleton;           /* unit that is searched */
    struct pmclua_inlined *found;
};

static int is_called(const struct search *search, Dwarf_Die *die)
{
    const char *own = elfutils()->dwarf_diename(die);
    if (own && strcmp(own, search->name) == 0)
        return 1;
    struct name name;
    if (die_name(search->symbols, die, &name) < 0)
        return 0;
    int is_it = name_match(&name, search->name) != NO_MATCH;
    name_free(&name);
    return is_it;
}

static int count_place(Dwarf_Die *die, void *argument)
{
    (void)die;
    ((struct pmclua_inlined *)argument)->places++;
    return DWARF_CB_OK;
}

static int visit(Dwarf_Die *die, void *argument)
{
    const struct elfutils *dw = elfutils();
    struct search *search = argument;
    if (!dw->dwarf_func_inline(die) || !is_called(search, die))
        return DWARF_CB_OK;
    int before = search->found->places;
    dw->dwarf_func_inline_instances(die, count_place, search->found);
    if (search->found->places == before || search->found->file)
        return DWARF_CB_OK;
    search->found->file = die_file(die, DW_AT_decl_file, search->skeleton);
    dw->dwarf_decl_line(die, &search->found->line);
    return DWARF_CB_OK;
}

int pmclua_symbols_inlined(struct pmclua_symbols *symbols, const char *name, int32_t index,
                           struct pmclua_inlined *inlined)
{
    *inlined = (struct pmclua_inlined){ 0 };
    Dwarf_Die skeleton, functions;
    struct search search = { symbols, name, &skeleton, inlined };
    int is_one = index >= 0 && index < symbols->count;
    int32_t number = is_one ? units_number(symbols, symbols->symbol[index].address) : 0;
    if (number < 0 || units_unit(symbols, number, &skeleton, &functions) < 0)
        return -ENODATA;
    while (units_unit(symbols, number, &skeleton, &functions) == 0) {
        elfutils()->dwarf_getfuncs(&functions, visit, &search, 0);
        if (is_one)
            break;
        number++;
    }
    return 0;
}
