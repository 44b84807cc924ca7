/*
 * variables.c: which variable of a file a byte belongs to. They are sorted when one is first asked for.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "host/lists.h"
#include "symbols.h"

struct variable { uint64_t address, bytes; int is_of_threads; char *name; };

struct variables { struct variable *list; size_t count; };

void variables_free(struct variables *variables)
{
    if (!variables)
        return;
    for (size_t i = 0; i < variables->count; i++)
        free(variables->list[i].name);
    free(variables->list);
    free(variables);
}

/* Orders the names of one variable; the best known comes last. */
static int by_address(const void *a, const void *b)
{
    const struct variable *one = a, *other = b;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    if (one->bytes != other->bytes)
        return one->bytes < other->bytes ? -1 : 1;
    size_t underscores = strspn(one->name, "_"), others = strspn(other->name, "_");
    return underscores != others ? (underscores > others ? -1 : 1) : strcmp(other->name, one->name);
}

static int read_variables(struct pmclua_symbols *symbols)
{
    struct variables *variables = calloc(1, sizeof *variables);
    struct pmclua_object object;
    int result = variables ? 0 : -ENOMEM;
    for (int32_t at = 0; result == 0 && (at = pmclua_symbols_object(symbols, at, &object)) > 0;) {
        if (!(object.flags & (PMCLUA_OBJECT_DATA | PMCLUA_OBJECT_OF_THREADS)) || object.bytes == 0)
            continue;
        struct name name = { .text = NULL };
        result = name_spell(&name, object.name, 0);
        if (result < 0)
            break;
        struct variable variable = { .address = object.address, .bytes = object.bytes, .name = strdup(name.full),
            .is_of_threads = (object.flags & PMCLUA_OBJECT_OF_THREADS) != 0 };
        name_free(&name);
        result = variable.name ? LIST_ADD(variables->list, variables->count, variable) : -ENOMEM;
        if (result < 0)
            free(variable.name);
    }
    if (result < 0) {
        variables_free(variables);
        return result;
    }
    if (variables->count)
        qsort(variables->list, variables->count, sizeof *variables->list, by_address);
    symbols->variables = variables;
    return 0;
}

enum { NESTED_MOST = 16 };             /* variables that begin within another one */

static int find(struct pmclua_symbols *symbols, uint64_t address, int is_of_threads, struct pmclua_variable *out)
{
    int result = symbols->variables ? 0 : read_variables(symbols);
    if (result < 0)
        return result;
    const struct variables *all = symbols->variables;
    size_t up_to = list_up_to(all->list, all->count, sizeof *all->list, address);
    for (size_t i = up_to, tries = 0; all->list && i-- > 0 && tries < NESTED_MOST; tries++) {
        const struct variable *variable = &all->list[i];
        if (variable->is_of_threads != is_of_threads)
            tries--;
        else if (address - variable->address < variable->bytes) {
            *out = (struct pmclua_variable){ variable->address, variable->bytes, address - variable->address, variable->name,
                                             is_of_threads };
            return 0;
        }
    }
    return -ENOENT;
}

/* The address of an offset in the file, or in the zeroes that follow it in memory. */
static int address_of(const struct pmclua_symbols *symbols, uint64_t offset, uint64_t *address)
{
    for (int is_zeroed = 0; is_zeroed < 2; is_zeroed++) {
        GElf_Phdr header;
        for (size_t at = 0; symbols_segment(symbols, &at, PT_LOAD, &header);)
            if (offset - header.p_offset < (is_zeroed ? header.p_memsz : header.p_filesz)
                && (!is_zeroed || (header.p_flags & PF_W))) {
                *address = offset - header.p_offset + header.p_vaddr;
                return 0;
            }
    }
    return -ERANGE;
}

int pmclua_symbols_variable(struct pmclua_symbols *symbols, uint64_t offset, struct pmclua_variable *variable)
{
    uint64_t address;
    int result = address_of(symbols, offset, &address);
    return result == 0 ? find(symbols, address, 0, variable) : result;
}

int pmclua_symbols_thread_variable(struct pmclua_symbols *symbols, int64_t distance, struct pmclua_variable *variable)
{
    GElf_Phdr header;
    size_t at = 0;
    if (!symbols_segment(symbols, &at, PT_TLS, &header))
        return -ENOENT;
    uint64_t align = header.p_align ? header.p_align : 1, bytes = (header.p_memsz + align - 1) / align * align;
    /* x86: the thread pointer is behind the program's block; Arm: two words before it. */
    uint64_t place = symbols->machine == EM_AARCH64 ? (uint64_t)distance - (align > 16 ? align : 16) : (uint64_t)distance + bytes;
    return find(symbols, place, 1, variable);
}
