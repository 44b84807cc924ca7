/*
 * listing.c: whether files are as they were when a compilation looked for them (lua/pmclua/workload/dependencies.lua).
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "clocks.h"
#include "pmclua.h"

int pmclua_signature(const char *path, char signature[PMCLUA_SIGNATURE_BYTES], uint32_t *mode, uint64_t *mtime_ns)
{
    struct stat facts;
    if (stat(path, &facts) < 0)
        return -errno;
    *mode = facts.st_mode;
    *mtime_ns = ns_of(facts.st_mtim);
    snprintf(signature, PMCLUA_SIGNATURE_BYTES, "%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%" PRIx64 ".%" PRIx64,
             (uint64_t)facts.st_dev, (uint64_t)facts.st_ino, (uint64_t)facts.st_size, *mtime_ns,
             ns_of(facts.st_ctim));
    return 0;
}

/* The words of a line before its path, by its kind. */
static int words_before(const char *line)
{
    return strncmp(line, "absent ", 7) == 0 || strncmp(line, "folder ", 7) == 0 ? 1
         : strncmp(line, "list ", 5) == 0 ? 2
         : strncmp(line, "file ", 5) == 0 ? 3 : 0;
}

static const char *after_words(const char *line, int words)
{
    while (words-- > 0)
        line = strchr(line, ' ') + 1;
    return line;
}

/* `end`: the line's newline. */
static int holds(const char *line, const char *end)
{
    char path[PATH_MAX], signature[PMCLUA_SIGNATURE_BYTES];
    uint32_t mode = 0;
    uint64_t mtime_ns;
    int words = words_before(line);
    const char *name = words ? after_words(line, words) : end;
    if (name >= end || (size_t)(end - name) >= sizeof path)
        return 0;
    memcpy(path, name, (size_t)(end - name));
    path[end - name] = '\0';
    int found = pmclua_signature(path, signature, &mode, &mtime_ns) == 0;
    if (words == 1)
        return *line == 'a' ? !found : found && S_ISDIR(mode);
    size_t length = strlen(signature);
    const char *known = after_words(line, 1);
    return found && strncmp(known, signature, length) == 0 && known[length] == ' ';
}

int64_t pmclua_listing_next(const char *listing, uint64_t from)
{
    const char *end;
    for (const char *line = listing + from; *line; line = end + 1) {
        end = strchr(line, '\n');
        if (!end || !holds(line, end))
            return line - listing;
    }
    return -1;
}
