/*
 * replay.c: a target without libFuzzer: each file as it is, then so many mutations of it, always the same.
 *
 * usage: TARGET MUTATIONS FILE…        prints how many inputs were tried
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

static uint64_t state;

/* xorshift64* (Vigna, TOMS 42(4), 2016). */
static uint64_t draw(uint64_t below)
{
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return (state * UINT64_C(2685821657736338717) >> 16) % below;
}

/* What is at `at` becomes what is somewhere behind it. */
static size_t copy(uint8_t *bytes, size_t count, size_t at)
{
    size_t from = at + draw(count - at);
    memmove(bytes + at, bytes + from, 1 + draw(count - from));
    return count;
}

/* Returns the new length; there is room for a byte more. */
static size_t mutate(uint8_t *bytes, size_t count)
{
    static const uint8_t ends[] = { 0, 1, 0x7f, 0x80, 0xff, '"', '{', '[', ',', '%', '9', '-' };
    size_t at = draw(count);
    switch (draw(6)) {
    case 0: bytes[at] ^= (uint8_t)(1u << draw(8)); return count;
    case 1: bytes[at] = ends[draw(sizeof ends)]; return count;
    case 2: memset(bytes + at, draw(2) ? 0xff : 0, count - at < 8 ? count - at : 8); return count;
    case 3: return copy(bytes, count, at);
    case 4: return at + 1;
    default:
        memmove(bytes + at + 1, bytes + at, count - at);
        bytes[at] = ends[draw(sizeof ends)];
        return count + 1;
    }
}

static void try_mutations(const uint8_t *bytes, size_t count, long mutations)
{
    for (long i = 0; i < mutations && count > 0; i++) {
        uint64_t steps = 1 + draw(4);
        uint8_t *other = malloc(count + steps);
        size_t length = count;
        memcpy(other, bytes, count);
        while (steps-- > 0)
            length = mutate(other, length);
        fuzz_one(other, length);
        free(other);
    }
}

static uint8_t *read_file(const char *path, size_t *count)
{
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0) {
        perror(path);
        exit(2);
    }
    *count = (size_t)ftell(file);
    rewind(file);
    uint8_t *bytes = malloc(*count + 1);
    if (!bytes || fread(bytes, 1, *count, file) != *count)
        exit(2);
    fclose(file);
    return bytes;
}

int main(int argc, char **argv)
{
    long mutations = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    for (int i = 2; i < argc; i++) {
        size_t count;
        uint8_t *bytes = read_file(argv[i], &count);
        state = 20240601 + (uint64_t)i;
        fuzz_one(bytes, count);
        try_mutations(bytes, count, mutations);
        free(bytes);
    }
    printf("%ld inputs\n", (argc - 2) * (mutations + 1));
    return 0;
}
