/*
 * lines.c: record lines (core/lines) from bytes that anyone may have written.
 *
 * What holds: nothing outside the buffers is touched; a line that is scanned can be written from its form
 * and values, and what is written scans to the same form and values again, as a known form too.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"
#include "pmclua.h"

struct scan { char *form; uint64_t *values; uint8_t *absent; size_t form_bytes, size; int32_t count; };

static struct scan scan_line(const char *line, size_t bytes)
{
    struct scan scan = { .form_bytes = 2 * bytes + 1, .size = bytes / 2 + 1 };
    scan.form = malloc(scan.form_bytes);
    scan.values = malloc(scan.size * sizeof *scan.values);
    scan.absent = malloc(scan.size);
    scan.count = pmclua_line_scan(line, bytes, scan.form, scan.form_bytes, scan.values, scan.absent, scan.size);
    return scan;
}

static void free_scan(struct scan *scan)
{
    free(scan->form);
    free(scan->values);
    free(scan->absent);
}

static void hold_same(const struct scan *a, const struct scan *b)
{
    HOLD(a->count == b->count && strcmp(a->form, b->form) == 0);
    for (int32_t i = 0; i < a->count; i++)
        HOLD(a->absent[i] == b->absent[i] && (a->absent[i] || a->values[i] == b->values[i]));
}

static void check_written(const struct scan *scan, const char *line, size_t bytes)
{
    struct scan again = scan_line(line, bytes);
    hold_same(scan, &again);
    if (!strchr(line, '%'))          /* a known form has none in its strings */
        HOLD(pmclua_line_match(line, bytes, scan->form, again.values, again.absent, again.size) == scan->count);
    free_scan(&again);
}

int fuzz_one(const uint8_t *bytes, size_t count)
{
    char *line = malloc(count + 1), *out = malloc(count + 1);
    memcpy(line, bytes, count);
    struct scan scan = scan_line(line, count);
    if (scan.count >= 0) {
        int32_t length = pmclua_line_write(out, count, scan.form, scan.values, scan.absent, (size_t)scan.count);
        HOLD(length >= 0);            /* without the blanks it is no longer than it was */
        out[length] = '\0';
        check_written(&scan, out, (size_t)length);
    }
    free_scan(&scan);
    free(line);
    free(out);
    return 0;
}
