/*
 * debuginfod.c: asks the servers that DEBUGINFOD_URLS names for the debug information of a build. libdebuginfod is opened
 * when first needed; libdw, which would ask for any file and wait for 90 s, is kept from doing so (symbols.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <elfutils/libdwfl.h>

#include "pmclua.h"
#include "../host/library.h"

typedef int progress_function(debuginfod_client *client, long done, long whole);

static struct {
    debuginfod_client *(*begin)(void);
    void (*end)(debuginfod_client *client);
    void (*set_progressfn)(debuginfod_client *client, progress_function *progress);
    void (*set_user_data)(debuginfod_client *client, void *data);
    void *(*get_user_data)(debuginfod_client *client);
    int (*find_debuginfo)(debuginfod_client *client, const unsigned char *id, int bytes, char **path);
} debuginfod;

static struct library library = LIBRARY("libdebuginfod.so.1", &debuginfod, "debuginfod_begin", "debuginfod_end",
    "debuginfod_set_progressfn", "debuginfod_set_user_data", "debuginfod_get_user_data", "debuginfod_find_debuginfo");

static int64_t now_ms(void) { return (int64_t)(pmclua_now_ns() / 1000000); }

/* Is called some times a second, and ends the request where it returns 1. */
static int is_late(debuginfod_client *client, long done, long whole)
{
    (void)done;
    (void)whole;
    const int64_t *deadline = debuginfod.get_user_data(client);
    return now_ms() >= *deadline;
}

int pmclua_debuginfod_find(const uint8_t *id, int32_t bytes, int32_t timeout_ms, char *path, size_t path_bytes)
{
    int result = library_open(&library);
    if (result < 0)
        return result;
    debuginfod_client *client = debuginfod.begin();
    if (!client)
        return -ENOMEM;
    int64_t deadline = now_ms() + timeout_ms;
    char *found = NULL;
    debuginfod.set_user_data(client, &deadline);
    debuginfod.set_progressfn(client, is_late);
    int fd = debuginfod.find_debuginfo(client, id, bytes, &found);
    debuginfod.end(client);
    if (fd < 0)
        return now_ms() >= deadline || fd == -ETIME ? -ETIMEDOUT : fd;
    close(fd);
    int length = snprintf(path, path_bytes, "%s", found);
    free(found);
    return length >= 0 && (size_t)length < path_bytes ? 0 : -ENAMETOOLONG;
}
