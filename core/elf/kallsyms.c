/*
 * kallsyms.c: the functions of Linux itself, as /proc/kallsyms lists them: "ffffffff81000000 T name [module]".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/lists.h"
#include "names.h"
#include "pmclua.h"

struct place { uint64_t address; const char *name; };

struct pmclua_kallsyms {
    char *text;                    /* of the file: names point into it, and each ends where its line does */
    struct place *place;           /* by address */
    size_t places;
};

/* The whole file, which does not tell its size; NUL behind it. */
static int read_whole(char **text, const char *path)
{
    size_t size = 0;
    FILE *file = fopen(path, "re");
    if (!file)
        return -errno;
    errno = 0;
    ssize_t got = getdelim(text, &size, '\0', file);
    int result = got < 0 || ferror(file) ? -(errno ? errno : ENODATA) : 0;
    fclose(file);
    return result;
}

static int is_code(char kind) { return kind == 't' || kind == 'T' || kind == 'w' || kind == 'W'; }

/* Takes in one line; where it ends. */
static char *take_line(struct pmclua_kallsyms *known, char *line)
{
    char *rest, *end = line + strcspn(line, "\n");
    uint64_t address = strtoull(line, &rest, 16);
    if (end - rest > 3 && is_code(rest[1]))
        known->place[known->places++] = (struct place){ address, rest + 3 };
    if (*end)
        *end++ = '\0';
    return end;
}

static int by_address(const void *a, const void *b)
{
    const struct place *one = a, *other = b;
    if (one->address != other->address)
        return one->address < other->address ? -1 : 1;
    return one->name < other->name ? -1 : one->name > other->name;
}

int pmclua_kallsyms_open(struct pmclua_kallsyms **out, const char *path)
{
    struct pmclua_kallsyms *known = calloc(1, sizeof *known);
    int result = known ? read_whole(&known->text, path) : -ENOMEM;
    size_t lines = 1;
    for (const char *at = result == 0 ? known->text : NULL; at && (at = strchr(at, '\n')); at++)
        lines++;
    if (result == 0 && !(known->place = calloc(lines, sizeof *known->place)))
        result = -ENOMEM;
    for (char *at = result == 0 ? known->text : NULL; at && *at;)
        at = take_line(known, at);
    if (result == 0 && known->places)
        qsort(known->place, known->places, sizeof *known->place, by_address);
    /* To whom they are hidden all addresses are 0. */
    if (result == 0 && (known->places == 0 || known->place[known->places - 1].address == 0))
        result = -EACCES;
    if (result < 0)
        pmclua_kallsyms_close(known);
    else
        *out = known;
    return result;
}

void pmclua_kallsyms_close(struct pmclua_kallsyms *known)
{
    if (!known)
        return;
    free(known->place);
    free(known->text);
    free(known);
}

static void copy_name(char *out, size_t bytes, const char *name)
{
    char whole[PMCLUA_SYMBOL_BYTES];
    snprintf(whole, sizeof whole, "%.*s", (int)strcspn(name, "\t "), name);
    struct name spelt;
    snprintf(out, bytes, "%s", name_spell(&spelt, whole, 0) < 0 ? whole : spelt.plain);
    name_free(&spelt);
}

int pmclua_kallsyms_find(const struct pmclua_kallsyms *known, uint64_t address, struct pmclua_linux_function *out)
{
    size_t up_to = list_up_to(known->place, known->places, sizeof *known->place, address);
    if (up_to == 0)
        return -ENOENT;
    const struct place *place = &known->place[up_to - 1];
    while (place > known->place && place[-1].address == place->address)
        place--;                               /* of several names of one place the first */
    const char *name = place->name, *module = strchr(name, '[');
    memset(out, 0, sizeof *out);
    copy_name(out->name, sizeof out->name, name);
    if (module)
        snprintf(out->module, sizeof out->module, "%.*s", (int)strcspn(module + 1, "]"), module + 1);
    return 0;
}
