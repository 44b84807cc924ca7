/*
 * inlined.c: functions that the compiler copied into their callers, by the debug information: they have
 * no place at which a probe would see all of their calls.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "symbols.h"

struct search {
    const char *name;              /* as people write it */
    struct pmclua_inlined *found;
};

static const char *linkage_name(Dwarf_Die *die)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute attribute;
    if (dw->dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dw->dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        return dw->dwarf_formstring(&attribute);
    return NULL;
}

/* Whether `name` is all of the spelling, or what stands behind one of its "::". */
static int is_name(const char *spelling, const char *name)
{
    size_t length = strlen(spelling), count = strlen(name);
    if (length < count || strcmp(spelling + length - count, name) != 0)
        return 0;
    return length == count || (length > count + 2 && memcmp(spelling + length - count - 2, "::", 2) == 0);
}

static int is_called(Dwarf_Die *die, const char *name)
{
    const char *own = elfutils()->dwarf_diename(die), *linkage = linkage_name(die);
    if (own && strcmp(own, name) == 0)
        return 1;
    char *shown = linkage ? demangle(linkage) : NULL, *plain = shown ? plain_name(shown) : NULL;
    int is_it = plain && is_name(plain, name);
    free(shown);
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
