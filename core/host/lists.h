/*
 * lists.h: lists that grow. `list` is the address of a list's pointer, which is NULL as long as it is empty.
 *
 * A list has room for 16 members, or for the next power of two: so its count alone tells when it is full.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Makes room for one more in a list of `count` members of `bytes` each: 0; -ENOMEM, and it is as it was. */
int list_grow(void *list, size_t count, size_t bytes);
/* Appends a member, and counts it: 0; -ENOMEM. */
#define LIST_ADD(list, count, ...) \
    (list_grow(&(list), (size_t)(count), sizeof *(list)) < 0 ? -ENOMEM : ((list)[(count)++] = __VA_ARGS__, 0))

/* Sorts a list by the u64 that each member begins with. */
void list_sort(void *list, size_t count, size_t bytes);
/* How many members of a list sorted so begin with one that is not above `value`. */
size_t list_up_to(const void *list, size_t count, size_t bytes, uint64_t value);
