/*
 * lists.h: lists that grow. `list` is the address of a list's pointer, which is NULL as long as it is empty.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Makes room for one more in a list of `count` members of `bytes` each, which has room for *room: 0; -ENOMEM, and it
 * is as it was. */
int list_grow(void *list, size_t count, size_t *room, size_t bytes);
/* The same for a list that is seldom added to, and has room for no more than it holds. */
int list_extend(void *list, size_t count, size_t bytes);

/* How many members of a list, sorted by the u64 that each begins with, have one that is not above `value`. */
size_t list_up_to(const void *list, size_t count, size_t bytes, uint64_t value);
