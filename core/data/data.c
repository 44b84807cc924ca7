/*
 * data.c: what the samples of a profile accessed, and what was mapped there when they were taken.
 *
 * Changes of memory are played again in the order of time, so an address means what it meant at its sample.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "counters/registers.h"
#include "elf/symbols.h"
#include "profile/maps.h"
#include "blocks.h"
#include "host/lists.h"
#include "trace.h"

/* A site of the log as one process has it. */
struct site_of_process { uint64_t key; uint32_t number; };

struct pmclua_data {
    const struct pmclua_profile *facts; /* the caller's block, which may be gone when this is closed */
    uint64_t files;
    const struct pmclua_profile_file **file;
    const struct pmclua_profile_map *map;
    const uint64_t *word;          /* of the records */
    struct functions *functions;   /* by file */
    struct maps maps;
    uint64_t taken;                /* of `map` */
    struct blocks *blocks;         /* NULL: no log of allocations */
    struct pmclua_site *site;      /* of samples */
    struct site_of_process *key;   /* of each site, sorted */
    size_t sites;
};

/* Larger mappings that a stack pointer leads into are no stack alone; the lowest byte that code may use below it. */
enum { STACK_MOST = 64 << 20, RED_ZONE = 128, GUARD_MOST = 1 << 16 };

enum { LOWEST = 4096 };            /* nothing is mapped below */

/* ---- the block ---- */

static const char *path_of(const struct pmclua_profile_file *file) { return (const char *)(file + 1); }

int pmclua_data_open(struct pmclua_data **out, const uint64_t *block)
{
    const struct pmclua_profile *facts = (const void *)block;
    const uint64_t *place = (const uint64_t *)(facts + 1);
    struct pmclua_data *data = calloc(1, sizeof *data);
    int result = data ? maps_new(&data->maps) : -ENOMEM;
    if (result == 0) {
        data->facts = facts;
        data->files = facts->files;
        data->file = calloc(facts->files + 1, sizeof *data->file);
        data->functions = calloc(facts->files + 1, sizeof *data->functions);
        result = data->file && data->functions ? 0 : -ENOMEM;
    }
    for (uint64_t i = 0; result == 0 && i < facts->files; i++) {
        data->file[i] = (const void *)place;
        place = (const uint64_t *)(data->file[i] + 1) + data->file[i]->path_bytes / 8 + 1;
    }
    if (result < 0) {
        pmclua_data_close(data);
        return result;
    }
    const struct pmclua_profile_frame *frame =
        (const void *)((const struct pmclua_profile_hit *)(const void *)place + facts->hits);
    data->map = (const void *)(frame + facts->frames);
    data->word = (const void *)(data->map + facts->maps);
    *out = data;
    return 0;
}

void pmclua_data_close(struct pmclua_data *data)
{
    if (!data)
        return;
    for (uint64_t i = 0; data->functions && i < data->files; i++)
        functions_free(&data->functions[i]);
    maps_free(&data->maps);
    blocks_close(data->blocks);
    free(data->site);
    free(data->key);
    free(data->functions);
    free(data->file);
    free(data);
}

void pmclua_data_code(struct pmclua_data *data, uint32_t file, struct pmclua_symbols *symbols)
{
    data->functions[file - 1].symbols = symbols;
}

/* ---- memory ---- */

static int is_memory(const struct pmclua_data *data, uint64_t file)
{
    const char *path = path_of(data->file[file]);
    return strncmp(path, "//anon", 6) == 0 || strncmp(path, "[anon", 5) == 0 || strcmp(path, "[heap]") == 0;
}

/* When memory grows downwards into an earlier mapping, Linux reports both as one: only the part below is new. */
static int add_mapping(struct pmclua_data *data, struct space *space, const struct pmclua_profile_map *map)
{
    uint64_t start = map->start, bytes = map->bytes;
    const struct mapping *at_end = maps_find(&data->maps, map->pid, start + bytes - 1);
    if (at_end && at_end->file == map->file && is_memory(data, map->file) && at_end->start > start
        && at_end->start + at_end->bytes == start + bytes)
        bytes = at_end->start - start;
    return maps_add(&data->maps, space, start, bytes, map->offset, (uint32_t)map->file);
}

static int take_map(struct pmclua_data *data, const struct pmclua_profile_map *map)
{
    struct space *space = maps_space(&data->maps, map->pid), *parent = NULL;
    if (map->kind == PMCLUA_MAP_FORK)
        parent = maps_space(&data->maps, map->other);
    if (!space || (map->kind == PMCLUA_MAP_FORK && !parent))
        return -ENOMEM;
    switch (map->kind) {
    case PMCLUA_MAP_ADDED: return map->file < data->files && map->bytes ? add_mapping(data, space, map) : 0;
    case PMCLUA_MAP_FORK:  maps_fork(space, parent); return 0;
    case PMCLUA_MAP_EXEC:  maps_exec(space); return 0;
    default:               maps_end(&data->maps, space); return 0;
    }
}

/* Linux maps a program's zeroed variables behind its file; they are that file's. What is mapped from its beginning on is
 * something else. */
static const struct mapping *file_before(struct pmclua_data *data, uint32_t pid, const struct mapping *mapping)
{
    const struct mapping *before = maps_find(&data->maps, pid, mapping->start - 1);
    int is_file = before && path_of(data->file[before->file])[0] == '/' && !is_memory(data, before->file);
    return is_file && before->offset > 0 && before->start + before->bytes == mapping->start ? before : NULL;
}

static int is_on_stack(uint64_t address, uint64_t pointer, const struct mapping *mapping)
{
    if (pointer == 0 || (mapping && (pointer - mapping->start >= mapping->bytes || mapping->bytes > STACK_MOST)))
        return 0;
    return mapping || address - (pointer - RED_ZONE) < STACK_MOST;
}

/* The C library's stacks lie behind a page that nobody may touch, and something else is below; Go's lie among other things
 * in its heap. What is mapped for the next stack, newer than this one, is joined with the page until it is divided. */
static int is_guarded(struct pmclua_data *data, uint32_t pid, uint64_t pointer)
{
    const struct mapping *stack = maps_find(&data->maps, pid, pointer);
    const struct mapping *guard = stack ? maps_find(&data->maps, pid, stack->start - 1) : NULL;
    return guard && is_memory(data, guard->file)
        && (guard->number > stack->number || maps_find(&data->maps, pid, stack->start - 1 - GUARD_MOST) != guard);
}

static void find_mapping(struct pmclua_data *data, uint64_t stack_pointer, struct pmclua_access *access)
{
    const struct mapping *mapping = maps_find(&data->maps, access->pid, access->address);
    int is_file = mapping && !is_memory(data, mapping->file);
    access->is_stack = mapping && strncmp(path_of(data->file[mapping->file]), "[stack", 6) == 0;
    if (!is_file && is_on_stack(access->address, stack_pointer, mapping))
        access->is_stack = 1;
    if (!mapping)
        return;
    const struct mapping *file = is_file ? NULL : file_before(data, access->pid, mapping);
    access->start = mapping->start;
    access->bytes = mapping->bytes;
    access->number = mapping->number;
    access->file = (file ? file : mapping)->file + 1;
    access->is_behind_file = file != NULL;
    access->offset = file ? access->address - file->start + file->offset : access->address - mapping->start + mapping->offset;
}

/* ---- samples ---- */

#if defined __x86_64__
/* Our number of each register, in perf's order: ax bx cx dx si di bp sp ip flags r8 … */
static const int8_t NUMBERS[REGISTERS] = { 0, 3, 1, 2, 6, 7, 5, 4, NONE, NONE, 8, 9, 10, 11, 12, 13, 14, 15 };
/* By DWARF's number. */
static const uint8_t BY_DWARF[] = { 0, 2, 1, 3, 6, 7, 5, 4, 8, 9, 10, 11, 12, 13, 14, 15 };
enum { FLAGS = PERF_REG_X86_FLAGS };
static const uint64_t KNOWN = 0xffff;
#elif defined __aarch64__
/* pmclua, perf and DWARF number x0 to x30 and sp alike. Samples have no flags. */
static const int8_t NUMBERS[REGISTERS] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,
                                           24, 25, 26, 27, 28, 29, 30, 31, NONE };
static const uint8_t BY_DWARF[] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
                                    26, 27, 28, 29, 30, 31 };
enum { FLAGS = 0 };
static const uint64_t KNOWN = 0xffffffff;
#endif

#if defined __x86_64__ || defined __aarch64__
/* Whether an address is in the frame of the function that was sampled, not in one of its callers'. */
static int is_in_frame(struct pmclua_symbols *symbols, const struct moment *moment, uint64_t at, uint64_t address)
{
    int32_t base;
    int64_t distance;
    if (frame_end(symbols, at, &base, &distance) < 0 || base < 0 || base >= (int32_t)sizeof BY_DWARF)
        return 0;
    uint64_t low = moment->stack_pointer - RED_ZONE, end = moment->general[BY_DWARF[base]] + (uint64_t)distance;
    return end > low && address - low < end - low;
}

static void trace_sample(struct pmclua_data *data, const struct pmclua_profile_sample *sample, struct pmclua_access *access,
                         int *result)
{
    const uint64_t *registers = (const uint64_t *)(sample + 1);
    uint64_t address, general[GENERAL] = { 0 };
    const struct function *function = functions_at(&data->functions[sample->file], sample->offset, &address, result);
    int32_t index = function ? function_step(function, address) : -1;
    if (index < 0)
        return;
    for (int i = 0; i < REGISTERS; i++)
        if (NUMBERS[i] != NONE)
            general[NUMBERS[i]] = registers[i];
    struct moment moment = { .function = function, .index = (uint32_t)index, .general = general, .known = KNOWN,
        .flags = registers[FLAGS], .bias = registers[INSTRUCTION_POINTER] - address,
        .stack = (const uint8_t *)(registers + REGISTERS), .stack_pointer = registers[STACK_POINTER],
        .stack_bytes = sample->stack_bytes };
    struct finding found;
    trace(&moment, &found);
    access->kind = found.kind;
    access->certainty = found.certainty;
    access->address = found.address;
    access->size = found.bytes;
    access->is_write = found.is_write;
    access->is_of_thread = found.is_of_thread;
    int has_address = found.kind == PMCLUA_DATA_AT || found.kind == PMCLUA_DATA_FED;
    if (has_address && !found.is_of_thread && found.address < LOWEST) {      /* where a chain ended, by NULL */
        access->kind = PMCLUA_DATA_LOST;
        return;
    }
    if (has_address && !found.is_of_thread)
        find_mapping(data, registers[STACK_POINTER], access);
    access->is_in_frame = access->is_stack
        && is_in_frame(data->functions[sample->file].symbols, &moment, address, access->address);
}
#else
/* This machine's registers are not undone: skid.c refuses events that do not tell addresses. */
static void trace_sample(struct pmclua_data *data, const struct pmclua_profile_sample *sample, struct pmclua_access *access,
                         int *result)
{
    (void)data; (void)sample; (void)access; (void)result;
}
#endif

static int find_accesses(struct pmclua_data *data, struct pmclua_access *accesses)
{
    const uint64_t *word = data->word;
    int result = 0;
    for (uint64_t i = 0; i < data->facts->records; i++, word += data->facts->record_u64s) {
        const struct pmclua_profile_sample *sample = (const void *)word;
        for (; result == 0 && data->taken < sample->maps; data->taken++)
            result = take_map(data, &data->map[data->taken]);
        struct pmclua_access *access = &accesses[i];
        *access = (struct pmclua_access){ .kind = PMCLUA_DATA_NO_CODE, .pid = sample->pid, .tid = sample->tid,
            .code = (uint32_t)sample->file + 1, .code_offset = sample->offset, .source = sample->data_source,
            .cpu = sample->cpu, .time_ns = sample->time_ns };
        if (sample->has_registers && result == 0)
            trace_sample(data, sample, access, &result);
        if (result < 0)
            return result;
        if (sample->data_address) {
            access->kind = PMCLUA_DATA_AT;
            access->certainty = PMCLUA_DATA_TOLD;
            access->address = sample->data_address;
            int is_stack = is_guarded(data, sample->pid, sample->stack_pointer);
            find_mapping(data, is_stack ? sample->stack_pointer : 0, access);
        }
    }
    return 0;
}

/* The last two threads whose stack pointers led into a mapping, and whether several threads use it as a stack. */
struct users { uint32_t last, before; int is_common; };

static void note_user(const struct pmclua_data *data, struct users *of, const struct pmclua_access *access)
{
    int is_named = access->file && strncmp(path_of(data->file[access->file - 1]), "[stack", 6) == 0;
    of->is_common |= access->tid == of->before || (access->tid == access->pid && !is_named);
    if (access->tid != of->last)
        of->before = of->last;
    of->last = access->tid;
}

/* A mapping in which several threads have their stacks in turns is no thread's stack: in Go's heap they lie among other
 * things. Nor is one into which code led the first thread, whose own stack is named. One thread after another is fine:
 * glibc reuses the stacks of ended threads. Frames are told by the code. */
static int tell_common_stacks(const struct pmclua_data *data, struct pmclua_access *accesses)
{
    uint64_t most = 0, count = data->facts->records;
    for (uint64_t i = 0; i < count; i++)
        most = accesses[i].number > most ? accesses[i].number : most;
    struct users *users = calloc(most + 1, sizeof *users);
    if (!users)
        return -ENOMEM;
    for (uint64_t i = 0; i < count; i++)
        if (accesses[i].is_stack && accesses[i].number > 0)
            note_user(data, &users[accesses[i].number], &accesses[i]);
    for (uint64_t i = 0; i < count; i++)
        if (users[accesses[i].number].is_common)
            accesses[i].is_stack = accesses[i].is_in_frame;
    free(users);
    return 0;
}

/* ---- blocks of the heap ---- */

int pmclua_data_heap(struct pmclua_data *data, const char *path, struct pmclua_heap *facts)
{
    return blocks_open(&data->blocks, path, facts);
}

int pmclua_data_site(const struct pmclua_data *data, uint32_t number, struct pmclua_site *site)
{
    if (number == 0 || number > data->sites)
        return -ENOENT;
    *site = data->site[number - 1];
    return 0;
}

static int may_be_block(const struct pmclua_access *access)
{
    return (access->kind == PMCLUA_DATA_AT || access->kind == PMCLUA_DATA_FED) && !access->is_of_thread;
}

/* Each return address, by what is mapped there when a block of the site is accessed. */
static void resolve(struct pmclua_data *data, uint32_t number, uint32_t pid, struct pmclua_site *site)
{
    uint64_t frame[PMCLUA_SITE_FRAMES];
    *site = (struct pmclua_site){ .frames = blocks_site(data->blocks, number, frame) };
    for (uint32_t i = 0; i < site->frames; i++) {
        const struct mapping *mapping = maps_find(&data->maps, pid, frame[i] - 1);
        site->file[i] = mapping ? mapping->file + 1 : 0;
        site->offset[i] = mapping ? frame[i] - 1 - mapping->start + mapping->offset : frame[i] - 1;
    }
}

/* Gives a site of the log its number among the sites of samples. */
static int number_site(struct pmclua_data *data, struct pmclua_access *access)
{
    uint64_t key = (uint64_t)access->pid << 32 | access->site;
    size_t at = list_up_to(data->key, data->sites, sizeof *data->key, key);
    if (at > 0 && data->key[at - 1].key == key) {
        access->site = data->key[at - 1].number;
        return 0;
    }
    if (list_grow(&data->site, data->sites, sizeof *data->site) < 0
        || list_grow(&data->key, data->sites, sizeof *data->key) < 0)
        return -ENOMEM;
    resolve(data, access->site, access->pid, &data->site[data->sites]);
    memmove(data->key + at + 1, data->key + at, (data->sites - at) * sizeof *data->key);
    access->site = (uint32_t)++data->sites;
    data->key[at] = (struct site_of_process){ key, access->site };
    return 0;
}

static int choose_blocks(struct pmclua_data *data, const struct pmclua_access *accesses)
{
    uint64_t *address = malloc((data->facts->records + 1) * sizeof *address);
    size_t count = 0;
    if (!address)
        return -ENOMEM;
    for (uint64_t i = 0; i < data->facts->records; i++)
        if (may_be_block(&accesses[i]))
            address[count++] = accesses[i].address;
    int result = blocks_choose(data->blocks, address, count);
    free(address);
    return result;
}

/* The library that records allocations, and its log. */
static int is_recorder(const struct pmclua_data *data, uint64_t file)
{
    return file < data->files && strstr(path_of(data->file[file]), "/pmclua-heap") != NULL;
}

/* Whether the clock of the [vdso] was read for the library: it is among those that wait on the stack. */
static int is_asked_by_recorder(struct pmclua_data *data, const struct pmclua_profile_sample *sample)
{
    const uint64_t *stack = (const uint64_t *)(sample + 1) + REGISTERS;
    if (!sample->has_registers || strcmp(path_of(data->file[sample->file]), "[vdso]") != 0)
        return 0;
    for (uint32_t i = 0; i < sample->stack_bytes / sizeof *stack; i++) {
        const struct mapping *mapping = maps_find(&data->maps, sample->pid, stack[i]);
        if (mapping && is_recorder(data, mapping->file))
            return 1;
    }
    return 0;
}

static int is_recording(struct pmclua_data *data, const struct pmclua_profile_sample *sample,
                        const struct pmclua_access *access)
{
    return is_recorder(data, sample->file) || (access->file > 0 && is_recorder(data, access->file - 1))
        || is_asked_by_recorder(data, sample);
}

/* Plays memory once more, now that it is known which addresses matter. */
static int find_blocks(struct pmclua_data *data, struct pmclua_access *accesses)
{
    const uint64_t *word = data->word;
    int result = choose_blocks(data, accesses);
    maps_free(&data->maps);
    data->taken = 0;
    if (result == 0)
        result = maps_new(&data->maps);
    for (uint64_t i = 0; result == 0 && i < data->facts->records; i++, word += data->facts->record_u64s) {
        const struct pmclua_profile_sample *sample = (const void *)word;
        for (; result == 0 && data->taken < sample->maps; data->taken++)
            result = take_map(data, &data->map[data->taken]);
        if (result == 0 && is_recording(data, sample, &accesses[i]))
            accesses[i].kind = PMCLUA_DATA_RECORDING;
        if (result == 0 && may_be_block(&accesses[i]))
            result = blocks_find(data->blocks, sample->time_ns, &accesses[i]);
        if (result == 0 && accesses[i].site)
            result = number_site(data, &accesses[i]);
    }
    return result;
}

int pmclua_data_find(struct pmclua_data *data, struct pmclua_access *accesses)
{
    int result = find_accesses(data, accesses);
    if (result == 0)
        result = tell_common_stacks(data, accesses);
    return result == 0 && data->blocks ? find_blocks(data, accesses) : result;
}

/* ---- one sample by itself ---- */

int pmclua_data_trace(const struct pmclua_recorded *recorded, struct pmclua_access *access)
{
    struct function function = { .start = recorded->start, .end = recorded->start + recorded->bytes,
                                 .machine = recorded->machine };
    int result = function_decode(&function, recorded->code);
    int32_t index = result == 0 && function.steps ? function_step(&function, recorded->instruction) : -1;
    struct moment moment = { .function = &function, .index = (uint32_t)index, .general = recorded->general,
        .known = recorded->known, .flags = recorded->flags, .stack = (const uint8_t *)recorded->stack,
        .stack_pointer = recorded->stack_pointer, .stack_bytes = recorded->stack_bytes };
    struct finding found = { .kind = PMCLUA_DATA_NO_CODE };
    if (index >= 0)
        trace(&moment, &found);
    *access = (struct pmclua_access){ .kind = found.kind, .certainty = found.certainty, .address = found.address,
        .size = found.bytes, .is_write = found.is_write, .is_of_thread = found.is_of_thread };
    function_release(&function);
    return result;
}
