#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lists.h"

enum { FIRST_ROOM = 16 };

int list_grow(void *list, size_t count, size_t bytes)
{
    int is_full = count == 0 || (count >= FIRST_ROOM && (count & (count - 1)) == 0);
    if (!is_full)
        return 0;
    void *members;
    memcpy(&members, list, sizeof members);
    void *resized = realloc(members, (count < FIRST_ROOM ? FIRST_ROOM : 2 * count) * bytes);
    if (!resized)
        return -ENOMEM;
    memcpy(list, &resized, sizeof resized);
    /* cppcheck-suppress memleak -- it is the list's */
    return 0;
}

static uint64_t key_of(const void *member)
{
    uint64_t key;
    memcpy(&key, member, sizeof key);
    return key;
}

static int by_key(const void *a, const void *b)
{
    uint64_t one = key_of(a), other = key_of(b);
    return one < other ? -1 : one > other;
}

void list_sort(void *list, size_t count, size_t bytes)
{
    if (count > 0)
        qsort(list, count, bytes, by_key);
}

size_t list_up_to(const void *list, size_t count, size_t bytes, uint64_t value)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (key_of((const char *)list + middle * bytes) <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
