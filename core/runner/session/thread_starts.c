/*
 * thread_starts.c: whether a thread has started threads or processes.
 *
 * Counters that are read in user space are not inherited (the OS kernel refuses to map those that are), and
 * those that are inherited miss threads which were there before them. So whoever counts must know. An event
 * with attr.task has the OS kernel write a record of each new task that its thread makes into a ring, whose
 * head then moves.
 *
 * The event is a task-clock that runs all the time: it is the guard of the others, too (guard.c).
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "counters/attr.h"
#include "thread_starts.h"

/* A page that tells, and one of data. Mapped to be read only, the ring is overwritten and never full. */
static size_t ring_bytes(void) { return 2 * (size_t)sysconf(_SC_PAGESIZE); }

int thread_starts_open(struct thread_starts *starts)
{
    struct pmclua_attr attr = attr_of(&(struct perf_event_attr){
        .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_TASK_CLOCK, .exclude_kernel = 1, .task = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_ID });
    *starts = (struct thread_starts){ 0 };
    int fd = pmclua_open(&attr, 0, -1, -1, 0);
    if (fd < 0)
        return fd;
    void *page = mmap(NULL, ring_bytes(), PROT_READ, MAP_SHARED, fd, 0);
    if (page == MAP_FAILED) {
        int result = -errno;
        pmclua_close(fd);
        return result;
    }
    *starts = (struct thread_starts){ .page = page, .fd = fd };
    if (pmclua_ioctl(fd, PMCLUA_IOC_ID, 0, &starts->id) < 0)
        thread_starts_close(starts);
    return 0;
}

int thread_starts_seen(struct thread_starts *starts)
{
    if (!starts->page)
        return 0;
    const volatile struct perf_event_mmap_page *page = starts->page;
    uint64_t before = starts->head;
    starts->head = page->data_head;
    return starts->head != before;
}

void thread_starts_close(struct thread_starts *starts)
{
    if (!starts->page)
        return;
    munmap((void *)starts->page, ring_bytes());
    pmclua_close(starts->fd);
    *starts = (struct thread_starts){ 0 };
}
