/*
 * elfutils.c: opens libdw and libelf once; a failure is remembered.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "elfutils.h"

static struct elfutils functions;
static enum { NOT_TRIED, READY, ABSENT } state;

static void *find(void *libdw, void *libelf, const char *name)
{
    void *function = dlsym(libdw, name);
    return function ? function : dlsym(libelf, name);
}

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

static int load(void)
{
    void *libdw = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    void *libelf = dlopen("libelf.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!libdw || !libelf)
        return 0;
#define ELFUTILS_LOAD(name) \
    if (!(functions.name = (__typeof__(functions.name))find(libdw, libelf, #name))) \
        return 0;
    ELFUTILS_FUNCTIONS(ELFUTILS_LOAD)
    return 1;
}

const struct elfutils *elfutils(void)
{
    if (state == NOT_TRIED) {
        char *servers = elfutils_hide_servers();       /* libdw would open libdebuginfod, and libcurl with it */
        state = load() ? READY : ABSENT;
        elfutils_show_servers(servers);
    }
    return state == READY ? &functions : 0;
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
