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
    int16_t order[CPU_SETSIZE];
    int count = cpulist_order(text, order);
    CPU_ZERO(set);
    for (int i = 0; i < count; i++)
        CPU_SET(order[i], set);
    return count < 0 ? count : 0;
}

int cpulist_order(const char *text, int16_t *order)
{
    cpu_set_t seen;
    CPU_ZERO(&seen);
    for (int count = 0;;) {
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
        for (int cpu = first; cpu <= last; cpu++) {
            if (!CPU_ISSET(cpu, &seen))
                order[count++] = (int16_t)cpu;
            CPU_SET(cpu, &seen);
        }
        if (*text == '\0')
            return count;
        if (*text++ != ',')
            return -EINVAL;
    }
}
