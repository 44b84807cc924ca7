#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>

#include "cpulist.h"

/* One number at *text, which moves past it. */
static int parse_cpu(const char **text)
{
    if (!isdigit((unsigned char)**text))
        return -EINVAL;
    char *end;
    unsigned long cpu = strtoul(*text, &end, 10);
    *text = end;
    return cpu < CPU_SETSIZE ? (int)cpu : -ERANGE;
}

int cpulist_parse(const char *text, cpu_set_t *set)
{
    CPU_ZERO(set);
    for (;;) {
        int first = parse_cpu(&text);
        if (first < 0)
            return first;
        int last = first;
        if (*text == '-') {
            text++;
            last = parse_cpu(&text);
            if (last < first)
                return last < 0 ? last : -EINVAL;
        }
        for (int cpu = first; cpu <= last; cpu++)
            CPU_SET(cpu, set);
        if (*text == '\0')
            return 0;
        if (*text++ != ',')
            return -EINVAL;
    }
}

int cpulist_nth(const cpu_set_t *set, int index)
{
    int count = CPU_COUNT(set);
    if (count == 0)
        return -EINVAL;
    index %= count;
    for (int cpu = 0; ; cpu++)
        if (CPU_ISSET(cpu, set) && index-- == 0)
            return cpu;
}
