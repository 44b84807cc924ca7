/*
 * sampler_records.c: samples kept one by one, with the user's registers and the top of the stack, or with the address that
 * the event tells; and all that processes have mapped. What they accessed is found later (core/data), not while the
 * workload runs.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "counters/attr.h"
#include "counters/registers.h"
#include "host/lists.h"
#include "sampler.h"

/* The most that are kept: 60 MB. */
enum { RECORDS_MAX = 1 << 17, STACK_BYTES = STACK_WORDS * 8 };

int sampler_keeps_records(const struct pmclua_sampler *sampler) { return (sampler->asked.options & PMCLUA_DATA) != 0; }

/* Faults of pages and of alignment, and what a PMU notes with precision. */
static int has_addresses(const struct pmclua_attr *attr)
{
    struct perf_event_attr native = native_of(attr);
    if (native.type != PERF_TYPE_SOFTWARE)
        return native.precise_ip > 0;
    return native.config == PERF_COUNT_SW_PAGE_FAULTS || native.config == PERF_COUNT_SW_PAGE_FAULTS_MIN
        || native.config == PERF_COUNT_SW_PAGE_FAULTS_MAJ || native.config == PERF_COUNT_SW_ALIGNMENT_FAULTS;
}

/* The stack pointer of a fault tells whose stack it is on; precise samples have none that fits the address. */
static int has_pointer(const struct pmclua_attr *attr) { return has_addresses(attr) && native_of(attr).precise_ip == 0; }

static int has_source(const struct pmclua_attr *attr) { return native_of(attr).precise_ip > 0; }

void sampler_ask_for_records(struct perf_event_attr *native, const struct pmclua_sampler *sampler)
{
    native->sample_type |= PERF_SAMPLE_ADDR;
    if (has_source(&sampler->asked.attr))
        native->sample_type |= PERF_SAMPLE_DATA_SRC;
    if (has_addresses(&sampler->asked.attr)) {
        native->sample_type |= PERF_SAMPLE_CPU;
        if (has_pointer(&sampler->asked.attr)) {
            native->sample_type |= PERF_SAMPLE_REGS_USER;
            native->sample_regs_user = 1ull << STACK_POINTER;
        }
        return;
    }
    native->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
    native->sample_regs_user = ALL_REGISTERS;
    native->sample_stack_user = STACK_BYTES;
}

/* ---- changes of memory ---- */

int sampler_note_map(struct pmclua_sampler *sampler, const struct pmclua_profile_map *map)
{
    struct records *records = &sampler->records;
    return sampler_keeps_records(sampler) ? LIST_ADD(records->map, records->maps, *map) : 0;
}

int sampler_note_mapping(struct pmclua_sampler *sampler, uint32_t pid, const struct hit_file *file, uint64_t offset)
{
    if (!sampler_keeps_records(sampler))
        return 0;
    static char nameless[] = "//anon";             /* as events of mappings call what /proc has no name for */
    struct hit_file named = *file;
    named.path = *file->path ? file->path : nameless;
    int64_t number = hits_file(&sampler->hits, &named);
    if (number < 0)
        return -ENOMEM;
    return sampler_note_map(sampler, &(struct pmclua_profile_map){ .kind = PMCLUA_MAP_ADDED, .pid = pid,
        .start = file->from, .bytes = file->to - file->from, .offset = offset, .file = (uint64_t)number });
}

/* ---- samples ---- */

/* The next record, zeroed; NULL: there is no memory, or no room. */
static struct pmclua_profile_sample *next_record(struct pmclua_sampler *sampler, int *result)
{
    struct records *records = &sampler->records;
    int is_told = has_addresses(&sampler->asked.attr);
    records->size = sizeof(struct pmclua_profile_sample) / 8
        + (is_told ? 0 : (size_t)REGISTERS + STACK_WORDS);
    sampler->facts.records_lost += records->count >= RECORDS_MAX;
    if (records->count >= RECORDS_MAX)
        return NULL;
    *result = list_grow(&records->word, records->count, records->size * sizeof *records->word);
    if (*result < 0)
        return NULL;
    uint64_t *place = records->word + records->count++ * records->size;
    memset(place, 0, records->size * sizeof *place);
    return (struct pmclua_profile_sample *)place;
}

/* u64 ABI, and unless that is 0 the registers; u64 bytes of the stack, these, and unless they are 0 how many are valid. */
static void take_registers(struct pmclua_profile_sample *out, const uint64_t *word, const uint64_t *end)
{
    uint64_t *registers = (uint64_t *)(out + 1);
    if (word >= end || *word != PERF_SAMPLE_REGS_ABI_64 || end - word < 2 + REGISTERS)
        return;
    memcpy(registers, word + 1, REGISTERS * sizeof *registers);
    out->has_registers = 1;
    word += 1 + REGISTERS;
    uint64_t bytes = *word;
    if (bytes != STACK_BYTES || (uint64_t)(end - word) < 2 + bytes / 8)
        return;
    memcpy(registers + REGISTERS, word + 1, bytes);
    uint64_t valid = word[1 + bytes / 8];
    out->stack_bytes = (uint32_t)(valid < bytes ? valid : bytes);
}

int sampler_take_record(struct pmclua_sampler *sampler, const struct perf_event_header *header, uint32_t file,
                        uint64_t offset)
{
    const struct sample_record *sample = (const void *)(header + 1);
    const uint64_t *word = (const void *)(sample + 1), *end = (const void *)((const uint8_t *)header + header->size);
    int is_told = has_addresses(&sampler->asked.attr), result = 0;
    if (file == LINUX_FILE && !is_told)      /* what Linux accesses for a program is not seen */
        return 0;
    struct pmclua_profile_sample *out = word < end ? next_record(sampler, &result) : NULL;
    if (!out)
        return result;
    out->file = file;
    out->offset = offset;
    out->maps = sampler->records.maps;
    out->time_ns = sample->time;
    out->pid = sample->pid;
    out->tid = sample->tid;
    out->data_address = *word++;
    if (is_told && word < end) {
        out->cpu = (uint32_t)*word++;
        out->data_source = has_source(&sampler->asked.attr) && word < end ? *word : 0;
        if (has_pointer(&sampler->asked.attr) && end - word >= 2 && *word == PERF_SAMPLE_REGS_ABI_64)
            out->stack_pointer = word[1];
    } else if (!is_told)
        take_registers(out, word, end);
    return 0;
}
