/*
 * walk.c: a program whose page faults are known: each call of walk() takes PAGES of them, within a mark.
 *
 * usage: walk N                     that many calls
 *        walk serve GO DONE         one call of ROUND for each line of the FIFO GO; then a line to DONE
 */
#include <pmclua_mark.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGES = 4, ROUND = 100 };

__attribute__((noinline)) void walk(void)
{
    /* Not by libc: what is to fail in this program is what its marks call. */
    volatile char *place = (char *)syscall(SYS_mmap, 0, PAGES * 4096, PROT_READ | PROT_WRITE,
                                           MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < PAGES; i++)
        place[i * 4096] = 1;
    syscall(SYS_munmap, place, PAGES * 4096);
}

static void walk_often(int count)
{
    for (int i = 0; i < count; i++) {
        pmclua_mark_begin("walk");
        walk();
        pmclua_mark_end("walk");
    }
}

/* Both ends are open for both ways, so that none of them ever ends. */
static int serve(const char *go, const char *done)
{
    int from = open(go, O_RDWR), to = open(done, O_RDWR);
    char byte;
    while (read(from, &byte, 1) == 1) {
        walk_often(ROUND);
        if (write(to, "\n", 1) != 1)
            return 1;
    }
    return 1;
}

int main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], "serve") == 0)
        return serve(argv[2], argv[3]);
    walk_often(argc > 1 ? atoi(argv[1]) : 1);
    return 0;
}
