/* Included before each file of core/ in the instrumented tree: a byte for each function, in a file that all
 * processes of a spec share. Safe in a child that shares its maker's memory: a store, once the file is mapped. */
#pragma once
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>
#define PMCLUA_HITS 65536
__attribute__((weak, visibility("hidden"))) unsigned char *pmclua_hits_map;
static inline void pmclua_hit(int id)
{
    if (!pmclua_hits_map) {
        static unsigned char nowhere[PMCLUA_HITS];
        const char *path = getenv("PMCLUA_MUTANTS_HITS_C");
        int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
        void *map = fd >= 0 ? mmap(0, PMCLUA_HITS, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) : MAP_FAILED;
        if (fd >= 0) close(fd);
        pmclua_hits_map = map == MAP_FAILED ? nowhere : map;
    }
    pmclua_hits_map[id] = 1;
}
