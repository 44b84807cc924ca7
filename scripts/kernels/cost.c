/* cost.c: two small things that a program asks of the OS kernel: a fresh page, and a system call. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <pmclua_kernel.h>

enum { PAGE = 4096, PAGES = 256 };

/* Touches one fresh page an iteration; 256 are mapped at a time. */
void fresh_page(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations > 0) {
        uint64_t pages = iterations < PAGES ? iterations : PAGES;
        char *memory = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED)
            return;
        madvise(memory, pages * PAGE, MADV_NOHUGEPAGE);
        for (uint64_t i = 0; i < pages; i++)
            ((volatile char *)memory)[i * PAGE] = 1;
        munmap(memory, pages * PAGE);
        iterations -= pages;
    }
}

void system_call(void *state, uint64_t iterations)
{
    (void)state;
    while (iterations--)
        syscall(SYS_getppid);
}
