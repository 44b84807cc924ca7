/*
 * die.c: what a DIE of debug information says: the name of its function, the file that an attribute means.
 */
#include <errno.h>

#include "symbols.h"

int die_name(const struct pmclua_symbols *symbols, Dwarf_Die *die, struct name *name)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute attribute;
    const char *linkage = NULL, *own = dw->dwarf_diename(die);
    if (dw->dwarf_attr_integrate(die, DW_AT_linkage_name, &attribute) ||
        dw->dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attribute))
        linkage = dw->dwarf_formstring(&attribute);
    if (!linkage && !own)
        return -ENOENT;
    int result = name_spell(name, linkage ? linkage : own, symbols->go_end != 0);
    return result == 0 && name->is_vague && own ? name_complete(name, own) : result;
}

const char *die_file(Dwarf_Die *die, unsigned name, Dwarf_Die *skeleton)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute attribute;
    Dwarf_Word number = 0;
    Dwarf_Half version = 0;
    Dwarf_Files *files;
    Dwarf_Die unit;
    size_t count;
    if (!dw->dwarf_attr_integrate(die, name, &attribute) || dw->dwarf_formudata(&attribute, &number) != 0
        || dw->dwarf_cu_info(attribute.cu, &version, NULL, &unit, NULL, NULL, NULL, NULL) != 0
        || (number == 0 && version < 5))
        return NULL;
    int is_read = dw->dwarf_getsrcfiles(&unit, &files, &count) == 0
        || dw->dwarf_getsrcfiles(skeleton, &files, &count) == 0;
    return is_read && number < count ? dw->dwarf_filesrc(files, number, NULL, NULL) : NULL;
}
