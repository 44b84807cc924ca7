/*
 * elfutils.c: opens libdw and libelf once; a failure is remembered.
 */
#include <stdlib.h>
#include <string.h>

#include "elfutils.h"
#include "../host/library.h"

/* Finds functions of libelf and zlib, too: libdw itself needs these. */
#define NAME(name) #name,
static struct elfutils functions;
static struct library library = LIBRARY("libdw.so.1", &functions, ELFUTILS_FUNCTIONS(NAME));

static const char SERVERS[] = "DEBUGINFOD_URLS";

char *elfutils_hide_servers(void)
{
    const char *value = getenv(SERVERS);
    char *servers = value ? strdup(value) : NULL;
    if (servers)
        unsetenv(SERVERS);
    return servers;
}

void elfutils_show_servers(char *servers)
{
    if (servers)
        setenv(SERVERS, servers, 1);
    free(servers);
}

const struct elfutils *elfutils(void)
{
    char *servers = library.state == 0 ? elfutils_hide_servers() : NULL;   /* libdw would open libdebuginfod and libcurl */
    int result = library_open(&library);
    elfutils_show_servers(servers);
    return result == 0 ? &functions : NULL;
}

Elf_Scn *elfutils_section(Elf *elf, const char *name, GElf_Shdr *header)
{
    size_t names = 0;
    functions.elf_getshdrstrndx(elf, &names);
    for (Elf_Scn *scn = NULL; (scn = functions.elf_nextscn(elf, scn));) {
        const char *own = functions.gelf_getshdr(scn, header) ? functions.elf_strptr(elf, names, header->sh_name) : NULL;
        if (own && strcmp(own, name) == 0)
            return scn;
    }
    return NULL;
}
