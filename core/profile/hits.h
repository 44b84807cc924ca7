/*
 * hits.h: how many samples fell on each instruction of each file. Private to the core.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { BUILD_ID_MAX = 20, LINUX_FILE = 0 };   /* file 0 is Linux itself: offsets are addresses */

/* Build id, or device and inode as Linux has them where it is mapped, tell files of one name apart. */
struct hit_file {
    char *path;                    /* as the process has it, which may be in another mount namespace */
    uint64_t device, inode;        /* 0: not known */
    uint64_t since_ns;             /* CLOCK_MONOTONIC: first mapped then; of code in memory: its process began; 0 */
    uint64_t from, to;             /* where `task` has it */
    uint32_t task;                 /* the last that was seen to have it */
    int held;                      /* a descriptor of it, where nothing on its path is known to be it; -1 */
    uint32_t pid;                  /* of code in memory alone, which is its process's: offsets are addresses; 0 */
    uint32_t id_bytes;
    uint8_t build_id[BUILD_ID_MAX];
};

struct hit { uint64_t offset, count; uint32_t file; uint16_t thread, is_used; };

/* Memory grows with the instructions that were hit, never with samples. */
struct hits {
    struct hit_file *file;
    uint32_t files;
    struct hit *table;             /* open addressing; a power of two */
    uint64_t slots, used;
};

int  hits_new(struct hits *hits);
void hits_free(struct hits *hits);
/* The number of a file, added when first seen; -ENOMEM. `path` is copied. */
int64_t hits_file(struct hits *hits, const struct hit_file *file);
/* `thread`: apart from those of others; 0: not told apart. -ENOMEM. */
int  hits_add(struct hits *hits, uint32_t file, uint64_t offset, uint32_t thread);
