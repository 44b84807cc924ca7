/* chase.c: dependent loads through memory in random order: the latency of wherever the data lies. */
#include <stdlib.h>
#include <pmclua_kernel.h>

/* A cycle through all places, so that prefetchers see no pattern; `next` is where the walk stands. */
struct walk { void **memory; void **next; };

static uint64_t random_below(uint64_t *state, uint64_t n)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (*state >> 33) % n;
}

/* One random cycle through `count` places `stride` bytes apart (Sattolo's shuffle). */
static void *make(const struct pmclua_params *params, uint64_t bytes, uint64_t stride)
{
    uint64_t count = bytes / stride, state = 1, words = stride / sizeof(void *);
    struct walk *walk = malloc(sizeof *walk);
    uint64_t *order = malloc(count * sizeof *order);
    if (!walk || !order || count < 1 || posix_memalign((void **)&walk->memory, 4096, count * stride))
        return pmclua_fail(params, "no memory, or fewer bytes than one stride");
    for (uint64_t i = 0; i < count; i++)
        order[i] = i;
    for (uint64_t i = count - 1; i > 0; i--) {
        uint64_t j = random_below(&state, i), swap = order[i];
        order[i] = order[j];
        order[j] = swap;
    }
    for (uint64_t i = 0; i < count; i++)
        walk->memory[i * words] = &walk->memory[order[i] * words];
    walk->next = walk->memory;
    free(order);
    return walk;
}

void *chase_setup(const struct pmclua_params *params)
{
    uint64_t stride = pmclua_u64(params, "stride", 64);
    uint64_t bytes = pmclua_u64(params, "bytes", 32768);
    return make(params, stride * pmclua_u64(params, "places", bytes / stride), stride);
}

/* One dependent load an iteration. */
void chase(void *state, uint64_t iterations)
{
    struct walk *walk = state;
    void **place = walk->next;
    while (iterations--)
        place = *place;
    pmclua_keep(place);
    walk->next = place;
}

void chase_teardown(void *state)
{
    struct walk *walk = state;
    free(walk->memory);
    free(walk);
}
