/*
 * called.c: a program whose functions do work that Linux counts in the thread that does it, for a played PMU (pmu.c,
 * "kind"): a piece of the first kind is a getppid(2), one of the second a getpgid(2).
 *
 * parse is called three times, emit twice, and once more by a thread of its own; other work is done outside. With an argument parse is
 * called a fourth time.
 */
#include <pthread.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <unistd.h>

__attribute__((noinline)) static void work(int first, int second)
{
    while (first-- > 0)
        syscall(SYS_getppid);
    while (second-- > 0)
        syscall(SYS_getpgid, 0);
}

__attribute__((noinline)) void parse(void)
{
    work(100, 10);
    __asm__ volatile("");              /* no tail call */
}

__attribute__((noinline)) void emit(void)
{
    work(10, 40);
    __asm__ volatile("");
}

static void *emit_apart(void *unused)
{
    emit();
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t thread;
    (void)argv;
    for (int i = 0; i < 3; i++) {
        parse();
        work(7, 3);
        if (i > 0)
            emit();
    }
    if (argc > 1)
        parse();
    return pthread_create(&thread, NULL, emit_apart, NULL) || pthread_join(thread, NULL);
}
