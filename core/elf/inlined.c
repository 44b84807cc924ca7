/*
 * inlined.c: functions that the compiler copied into their callers, by the debug information: they have
 * no place at which a probe would see all of their calls.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

struct search {
    const char *name;              /* as people write it */
    struct pmclua_inlined *found;
};

static int is_called(Dwarf_Die *die, const char *name)
{
    const char *own = elfutils()->dwarf_diename(die);
    if (own && strcmp(own, name) == 0)
        return 1;
    char *plain = die_plain_name(die);
    int is_it = plain && match_end(plain, strlen(plain), name) != NO_MATCH;
    free(plain);
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
    if (!dw->dwarf_func_inline(die) || !is_called(die, search->name))
        return DWARF_CB_OK;
    int before = search->found->places;
    dw->dwarf_func_inline_instances(die, count_place, search->found);
    if (search->found->places == before || search->found->file)
        return DWARF_CB_OK;
    search->found->file = dw->dwarf_decl_file(die);
    dw->dwarf_decl_line(die, &search->found->line);
    return DWARF_CB_OK;
}

int pmclua_symbols_inlined(struct pmclua_symbols *symbols, const char *name, int32_t index,
                           struct pmclua_inlined *inlined)
{
    const struct elfutils *dw = elfutils();
    GElf_Addr bias;
    if (!dw->dwfl_module_getdwarf(symbols->module, &bias))
        return -ENODATA;
    *inlined = (struct pmclua_inlined){ 0 };
    struct search search = { name, inlined };
    if (index >= 0 && index < symbols->count) {
        Dwarf_Die *unit = dw->dwfl_module_addrdie(symbols->module,
                                                  symbols->symbol[index].address + symbols->bias, &bias);
        if (!unit)
            return -ENODATA;
        dw->dwarf_getfuncs(unit, visit, &search, 0);
        return 0;
    }
    for (Dwarf_Die *unit = NULL; (unit = dw->dwfl_module_nextcu(symbols->module, unit, &bias));)
        dw->dwarf_getfuncs(unit, visit, &search, 0);
    return 0;
}
