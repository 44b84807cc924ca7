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

/* What an instruction belongs to: names of Go, lines, inlined functions, source lines. */
static void look_into(struct pmclua_symbols *symbols, uint64_t offset)
{
    struct pmclua_code code;
    struct pmclua_inlined_at inlined[FOUND];
    int32_t first, last;
    if (pmclua_symbols_code(symbols, offset, &code, inlined, FOUND) < 0)
        return;
    HOLD(!code.function || code.full);
    for (int32_t i = 0; i < code.inlined && i < FOUND; i++)
        HOLD(inlined[i].function && inlined[i].full);
    pmclua_symbols_written(symbols, code.address, &first, &last);
}

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
    look_into(symbols, function.offset);
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
        struct pmclua_unread unread;
        for (int32_t i = 0; pmclua_symbols_unread(symbols, i, &unread) == 0; i++)
            HOLD(i < FUNCTIONS);
        pmclua_symbols_close(symbols);
    }
    struct pmclua_linked linked;
    char texts[256];
    HOLD(pmclua_linked_read(path, &linked, texts, sizeof texts) <= (int32_t)sizeof texts);
    close(fd);
    return 0;
}
