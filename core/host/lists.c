#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lists.h"

enum { FIRST_ROOM = 16 };

static int resize(void *list, size_t count, size_t bytes)
{
    void *members;
    memcpy(&members, list, sizeof members);
    void *resized = realloc(members, count * bytes);
    if (!resized)
        return -ENOMEM;
    memcpy(list, &resized, sizeof resized);
    /* cppcheck-suppress memleak -- it is the list's */
    return 0;
}

int list_grow(void *list, size_t count, size_t *room, size_t bytes)
{
    size_t larger = *room ? 2 * *room : FIRST_ROOM;
    if (count < *room)
        return 0;
    int result = resize(list, larger, bytes);
    if (result == 0)
        *room = larger;
    return result;
}

int list_extend(void *list, size_t count, size_t bytes)
{
    return resize(list, count + 1, bytes);
}

size_t list_up_to(const void *list, size_t count, size_t bytes, uint64_t value)
{
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        uint64_t key;
        memcpy(&key, (const char *)list + middle * bytes, sizeof key);
        if (key <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}
