/*
 * homes.c: which function a copy or a part ("parse.constprop.0", "parse.cold") belongs to, where several source files
 * have functions of one name. Symbols alone tell: local ones are listed behind the name of their file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbols.h"

/* Symbols by their name without suffixes. */
struct homes {
    uint32_t buckets;
    uint32_t *first, *next;        /* of a bucket, of a symbol; 0: none, else a symbol's number from 1 */
};

void homes_free(struct homes *homes)
{
    if (!homes)
        return;
    free(homes->first);
    free(homes->next);
    free(homes);
}

static size_t base_of(const struct pmclua_symbols *symbols, const struct symbol *symbol)
{
    int is_part;
    return symbols_is_go(symbols, symbol->address) ? strlen(symbol->name) : name_base(symbol->name, &is_part);
}

static uint32_t bucket_of(const struct homes *homes, const char *name, size_t length)
{
    uint32_t hash = 2166136261u;               /* FNV-1a */
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    return hash % homes->buckets;
}

static int read_all(struct pmclua_symbols *symbols)
{
    struct homes *homes = symbols->homes = calloc(1, sizeof *homes);
    if (!homes)
        return -ENOMEM;
    homes->buckets = (uint32_t)symbols->count + 1;
    homes->first = calloc(homes->buckets, sizeof *homes->first);
    homes->next = calloc(homes->buckets, sizeof *homes->next);
    if (!homes->first || !homes->next) {
        homes_free(homes);
        symbols->homes = NULL;
        return -ENOMEM;
    }
    for (uint32_t i = (uint32_t)symbols->count; i > 0; i--) {
        const struct symbol *symbol = &symbols->symbol[i - 1];
        uint32_t bucket = bucket_of(homes, symbol->name, base_of(symbols, symbol));
        homes->next[i - 1] = homes->first[bucket];
        homes->first[bucket] = i;
    }
    return 0;
}

static int is_local(const struct symbol *symbol) { return (symbol->flags & PMCLUA_FUNCTION_LOCAL) != 0; }

/* No copy and no part. */
static int is_home(const struct symbol *symbol) { return symbol->name[name_home(symbol->name)] == '\0'; }

/* How surely another symbol is what this one is a copy or part of: of its own source file, seen by all, another copy. */
static int rank(const struct symbol *symbol, const struct symbol *other, size_t length)
{
    int is_named = strncmp(other->name, symbol->name, length) == 0 && other->name[length] == '\0';
    if (is_named && is_local(other) && other->source == symbol->source)
        return 3;
    if (is_named && !is_local(other))
        return 2;
    return other->source == symbol->source && strncmp(other->name, symbol->name, length) == 0
        && name_home(other->name) == length;
}

static int have_same_source(const struct pmclua_symbols *symbols, const struct symbol *one, const struct symbol *other)
{
    const char *ours = one->source ? symbols->source[one->source - 1] : NULL;
    const char *theirs = other->source ? symbols->source[other->source - 1] : NULL;
    return ours && theirs ? strcmp(ours, theirs) == 0 : ours == theirs;
}

/* The symbols of a bucket that have the base of `symbol`. */
static const struct symbol *next_of(const struct pmclua_symbols *symbols, const struct symbol *symbol, size_t base,
                                    uint32_t *at)
{
    while (*at) {
        const struct symbol *other = &symbols->symbol[*at - 1];
        *at = symbols->homes->next[*at - 1];
        if (base_of(symbols, other) == base && memcmp(other->name, symbol->name, base) == 0)
            return other;
    }
    return NULL;
}

int homes_find(struct pmclua_symbols *symbols, const struct symbol *symbol, const struct symbol **home,
               int *is_ambiguous)
{
    *home = symbol;
    *is_ambiguous = 0;
    if (symbols_is_go(symbols, symbol->address) || (!is_local(symbol) && is_home(symbol)))
        return 0;
    int result = symbols->homes ? 0 : read_all(symbols);
    if (result < 0)
        return result;
    size_t base = base_of(symbols, symbol), length = name_home(symbol->name);
    uint32_t first = symbols->homes->first[bucket_of(symbols->homes, symbol->name, base)];
    const struct symbol *other;
    int best = 0;
    for (uint32_t at = first; !is_home(symbol) && (other = next_of(symbols, symbol, base, &at));) {
        int own = rank(symbol, other, length);
        if (own > best) {
            best = own;
            *home = other;
        }
    }
    for (uint32_t at = first; is_local(*home) && (other = next_of(symbols, symbol, base, &at));)
        *is_ambiguous |= is_local(other) && have_same_source(symbols, *home, other)
            && (is_home(other) ? other->address != (*home)->address
                               : !is_home(*home) && other->source != (*home)->source);
    return 0;
}
