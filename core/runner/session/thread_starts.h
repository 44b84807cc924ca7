/*
 * thread_starts.h: whether a thread has started threads or processes.
 */
#pragma once

#include <stdint.h>

/* An event of the thread that opened it: a task-clock whose ring tells of each start. */
struct thread_starts {
    const struct perf_event_mmap_page *page;   /* NULL: closed */
    int fd;
    uint64_t id, head;
};

int  thread_starts_open(struct thread_starts *starts);
/* Whether there were any since the last call, or since it was opened. */
int  thread_starts_seen(struct thread_starts *starts);
void thread_starts_close(struct thread_starts *starts);
