/*
 * members.c: which member of a variable a byte belongs to, by the debug information: "[3].hits". Variables are looked for
 * in all units, once, when a member is first asked for.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lists.h"
#include "symbols.h"

/* A variable by its address as the file has it, of one of threads within their block; `die` declares its type. */
struct declared { uint64_t address; int is_of_threads; Dwarf_Die die; };

struct members { struct declared *list; size_t count; };

enum { DEPTH_MOST = 64 };          /* of scopes, and of types in one another */

void members_free(struct members *members)
{
    if (members)
        free(members->list);
    free(members);
}

/* ---- variables ---- */

/* Where a variable always is: 1; 0: it moves, or it was optimised away. */
static int is_fixed(Dwarf_Die *die, uint64_t bias, struct declared *out)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute location, value;
    Dwarf_Op *op;
    size_t ops;
    if (!dw->dwarf_attr(die, DW_AT_location, &location) || dw->dwarf_getlocation(&location, &op, &ops) != 0 || ops == 0)
        return 0;
    *out = (struct declared){ .address = op[0].number, .die = *die };
    out->is_of_threads = ops == 2 && (op[1].atom == DW_OP_form_tls_address || op[1].atom == DW_OP_GNU_push_tls_address);
    if (ops != 1 && !out->is_of_threads)
        return 0;
    int is_indexed = op[0].atom == DW_OP_addrx || op[0].atom == DW_OP_GNU_addr_index;
    if (is_indexed && (dw->dwarf_getlocation_attr(&location, &op[0], &value) != 0
                       || dw->dwarf_formaddr(&value, &out->address) != 0))
        return 0;
    out->address += out->is_of_threads ? 0 : bias;
    return op[0].atom == DW_OP_addr || is_indexed || out->is_of_threads;
}

static int add_all(struct members *members, Dwarf_Die *parent, uint64_t bias, int depth)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Die die;
    int result = 0, more = depth < DEPTH_MOST ? dw->dwarf_child(parent, &die) : 1;
    for (; result == 0 && more == 0; more = dw->dwarf_siblingof(&die, &die)) {
        struct declared found;
        switch (dw->dwarf_tag(&die)) {
        case DW_TAG_variable:
            if (is_fixed(&die, bias, &found))
                result = LIST_ADD(members->list, members->count, found);
            break;
        case DW_TAG_namespace: case DW_TAG_module: case DW_TAG_subprogram: case DW_TAG_lexical_block:
            result = add_all(members, &die, bias, depth + 1);
            break;
        default:
            break;
        }
    }
    return result;
}

static int read_members(struct pmclua_symbols *symbols)
{
    struct members *members = symbols->members = calloc(1, sizeof *members);
    Dwarf_Die skeleton, unit;
    int result = members ? 0 : -ENOMEM;
    for (int32_t i = 0; result == 0 && units_unit(symbols, i, &skeleton, &unit) == 0; i++)
        result = add_all(members, &unit, units_bias(symbols), 0);
    if (result < 0) {
        members_free(members);
        symbols->members = NULL;
    } else {
        list_sort(members->list, members->count, sizeof *members->list);
    }
    return result;
}

/* ---- types ---- */

/* The way down to a byte: what is left of its distance, what the variable has from the byte on, and the text so far. */
struct way { uint64_t left, behind, most; char *text; size_t bytes, used; };

__attribute__((format(printf, 2, 3)))
static int put(struct way *way, const char *form, ...)
{
    va_list values;
    va_start(values, form);
    int more = vsnprintf(way->text + way->used, way->bytes - way->used, form, values);
    va_end(values);
    if (more < 0 || (size_t)more >= way->bytes - way->used)
        return -ENAMETOOLONG;
    way->used += (size_t)more;
    return 0;
}

/* The type that an attribute refers to, without its other names; 0: there is none. */
static int type_of(Dwarf_Die *die, Dwarf_Die *type)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Attribute attribute;
    return dw->dwarf_attr_integrate(die, DW_AT_type, &attribute) && dw->dwarf_formref_die(&attribute, type)
        && dw->dwarf_peel_type(type, type) == 0;
}

static int number_of(Dwarf_Die *die, unsigned name, uint64_t *number)
{
    Dwarf_Attribute attribute;
    const struct elfutils *dw = elfutils();
    return dw->dwarf_attr_integrate(die, name, &attribute) && dw->dwarf_formudata(&attribute, number) == 0;
}

/* How many elements a dimension has: 1; 0: the declaration does not say. */
static int extent(Dwarf_Die *dimension, uint64_t *count)
{
    uint64_t last, first = 0;
    if (number_of(dimension, DW_AT_count, count))
        return 1;
    number_of(dimension, DW_AT_lower_bound, &first);
    if (!number_of(dimension, DW_AT_upper_bound, &last))
        return 0;
    *count = last - first + 1;
    return last + 1 > first;
}

enum { DIMENSIONS_MOST = 8 };

/* Goes on to an element. 1; 0: the byte is beyond the array's bound, or is not to be told. */
static int enter_array(struct way *way, Dwarf_Die *type, Dwarf_Die *inner, int *result)
{
    const struct elfutils *dw = elfutils();
    uint64_t counts[DIMENSIONS_MOST], size, stride;
    int dimensions = 0;
    Dwarf_Die die;
    if (!type_of(type, inner) || dw->dwarf_aggregate_size(inner, &size) != 0 || size == 0
        || number_of(type, DW_AT_byte_stride, &stride) || number_of(type, DW_AT_ordering, &stride))
        return 0;
    for (int more = dw->dwarf_child(type, &die); more == 0; more = dw->dwarf_siblingof(&die, &die)) {
        if (dw->dwarf_tag(&die) != DW_TAG_subrange_type)
            continue;
        if (dimensions == DIMENSIONS_MOST)
            return 0;
        if (!extent(&die, &counts[dimensions]))
            counts[dimensions] = dimensions == 0 ? (way->left + way->behind) / size : 0;    /* a flexible member */
        dimensions++;
    }
    for (int i = 0; i < dimensions; i++) {
        uint64_t bytes = size;
        for (int k = i + 1; k < dimensions; k++)
            if (__builtin_mul_overflow(bytes, counts[k], &bytes))
                return 0;
        uint64_t index = bytes ? way->left / bytes : UINT64_MAX;
        if (index >= counts[i])
            return 0;
        way->left -= index * bytes;
        *result = counts[i] > way->most ? put(way, "[]") : put(way, "[%llu]", (unsigned long long)index);
        if (*result < 0)
            return 0;
    }
    return dimensions > 0;
}

/* Where a member begins and how long it is: 1; 0: the declaration does not say. */
static int place_of(Dwarf_Die *member, Dwarf_Die *type, uint64_t *start, uint64_t *bytes)
{
    const struct elfutils *dw = elfutils();
    uint64_t bit, bits;
    if (!type_of(member, type))
        return 0;
    if (!number_of(member, DW_AT_data_member_location, start))
        *start = number_of(member, DW_AT_data_bit_offset, &bit) ? bit / 8 : 0;
    if (number_of(member, DW_AT_bit_size, &bits) && number_of(member, DW_AT_data_bit_offset, &bit))
        *bytes = (bit + bits + 7) / 8 - *start;
    else if (dw->dwarf_aggregate_size(type, bytes) != 0)
        *bytes = dw->dwarf_tag(type) == DW_TAG_array_type ? UINT64_MAX : 0;    /* a flexible one has what is left */
    return *bytes > 0;
}

/* Goes on to the member that has the byte. 1; 0: several have it (a union), or none does: *is_padding. */
static int enter_members(struct way *way, Dwarf_Die *type, Dwarf_Die *inner, int *is_padding, int *result)
{
    const struct elfutils *dw = elfutils();
    Dwarf_Die die, own, found = *type;
    uint64_t start, bytes, first = 0;
    int count = 0, has_variants = 0;
    for (int more = dw->dwarf_child(type, &die); more == 0; more = dw->dwarf_siblingof(&die, &die)) {
        int tag = dw->dwarf_tag(&die);
        has_variants |= tag == DW_TAG_variant_part;
        if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !place_of(&die, &own, &start, &bytes)
            || way->left < start || way->left - start >= bytes)
            continue;
        found = die;
        *inner = own;
        first = start;
        count++;
    }
    *is_padding = count == 0 && !has_variants;
    if (count != 1 || has_variants)
        return 0;
    const char *name = dw->dwarf_tag(&found) == DW_TAG_member ? dw->dwarf_diename(&found) : NULL;
    way->left -= first;
    *result = name ? put(way, ".%s", name) : 0;
    return *result == 0;
}

static int descend(struct way *way, Dwarf_Die *type, struct pmclua_member *member)
{
    const struct elfutils *dw = elfutils();
    int result = 0, is_in = 1;
    for (int depth = 0; result == 0 && is_in && depth < DEPTH_MOST; depth++) {
        Dwarf_Die inner;
        switch (dw->dwarf_tag(type)) {
        case DW_TAG_array_type:
            is_in = enter_array(way, type, &inner, &result);
            break;
        case DW_TAG_structure_type: case DW_TAG_class_type: case DW_TAG_union_type:
            is_in = enter_members(way, type, &inner, &member->is_padding, &result);
            break;
        default:
            is_in = 0;
        }
        if (is_in)
            *type = inner;
    }
    member->offset = way->left;
    return result;
}

int pmclua_symbols_member(struct pmclua_symbols *symbols, const struct pmclua_variable *variable, uint64_t most,
                          struct pmclua_member *member)
{
    int result = symbols->members ? 0 : read_members(symbols);
    if (result < 0)
        return result;
    const struct members *all = symbols->members;
    struct way way = { .left = variable->offset, .most = most,
        .behind = variable->bytes - (variable->offset < variable->bytes ? variable->offset : variable->bytes), .text = member->name, .bytes = sizeof member->name };
    *member = (struct pmclua_member){ .offset = variable->offset };
    for (size_t i = list_up_to(all->list, all->count, sizeof *all->list, variable->address);
         i-- > 0 && all->list[i].address == variable->address;) {
        Dwarf_Die die = all->list[i].die, type;
        uint64_t bytes;
        if (all->list[i].is_of_threads != variable->is_of_threads || !type_of(&die, &type)
            || (variable->offset >= variable->bytes && elfutils()->dwarf_aggregate_size(&type, &bytes) == 0
                && variable->offset >= bytes))
            continue;
        return descend(&way, &type, member);
    }
    return -ENODATA;
}
