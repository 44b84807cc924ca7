/*
 * elf.c: functions of programs whose files are anything (core/elf/symbols.c, core/elf/returns.c, by elfutils and
 * Capstone, which are not watched here as our own code is).
 *
 * What holds: each function that is listed can be asked for, by its index and by its name, and where it ends.
 */
#define _GNU_SOURCE
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "pmclua.h"

enum { EXITS = 8, FOUND = 8, FUNCTIONS = 64 };

static void look_at(struct pmclua_symbols *symbols, int32_t index)
{
    struct pmclua_function function;
    struct pmclua_exit exits[EXITS];
    struct pmclua_body body;
    int32_t found[FOUND];
    HOLD(pmclua_symbols_function(symbols, index, &function) == 0);
    HOLD(function.name && function.shown && strlen(function.name) < SIZE_MAX);
    pmclua_symbols_exits(symbols, index, exits, EXITS, &body);
    pmclua_symbols_match(symbols, function.name, found, FOUND);
}

int fuzz_one(const uint8_t *bytes, size_t count)
{
    struct pmclua_symbols *symbols = NULL;
    char path[64];
    int fd = memfd_create("elf", MFD_CLOEXEC);
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (fd < 0 || write(fd, bytes, count) != (ssize_t)count)
        abort();
    if (pmclua_symbols_open(&symbols, path, NULL) == 0) {
        int32_t n = pmclua_symbols_count(symbols), found[FOUND];
        HOLD(n >= 0);
        for (int32_t i = 0; i < n && i < FUNCTIONS; i++)
            look_at(symbols, i);
        pmclua_symbols_match(symbols, "*", found, FOUND);
        pmclua_symbols_close(symbols);
    }
    struct pmclua_linked linked;
    char texts[256];
    HOLD(pmclua_linked_read(path, &linked, texts, sizeof texts) <= (int32_t)sizeof texts);
    close(fd);
    return 0;
}
