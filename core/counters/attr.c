/*
 * attr.c: perf_event_attr by the names of its fields.
 *
 * The table is ours, not the installed header's: an OS kernel may know more fields than the headers
 * of the machine that built pmclua (Debian 12's stop before config3), and a zero tail is always
 * accepted. tests/spec/attr_spec.lua holds it against a compiled perf_event_attr.
 */
#include <errno.h>
#include <string.h>

#include "pmclua.h"

/* A field: `width` bits from bit `shift` of 64-bit word `word`. Little-endian only, as are all of
 * pmclua's machines: a u32 at byte 4 is the upper half of word 0. */
struct field { const char *name; uint8_t word, shift, width; };

#define FLAG(name, bit) { name, 5, bit, 1 }

static const struct field fields[] = {
    { "type",            0,  0, 32 },
    { "size",            0, 32, 32 },
    { "config",          1,  0, 64 },
    { "sample_period",   2,  0, 64 },
    { "sample_freq",     2,  0, 64 },
    { "sample_type",     3,  0, 64 },
    { "read_format",     4,  0, 64 },
    FLAG("disabled", 0), FLAG("inherit", 1), FLAG("pinned", 2), FLAG("exclusive", 3),
    FLAG("exclude_user", 4), FLAG("exclude_kernel", 5), FLAG("exclude_hv", 6), FLAG("exclude_idle", 7),
    FLAG("mmap", 8), FLAG("comm", 9), FLAG("freq", 10), FLAG("inherit_stat", 11),
    FLAG("enable_on_exec", 12), FLAG("task", 13), FLAG("watermark", 14),
    { "precise_ip",      5, 15,  2 },
    FLAG("mmap_data", 17), FLAG("sample_id_all", 18), FLAG("exclude_host", 19), FLAG("exclude_guest", 20),
    FLAG("exclude_callchain_kernel", 21), FLAG("exclude_callchain_user", 22), FLAG("mmap2", 23),
    FLAG("comm_exec", 24), FLAG("use_clockid", 25), FLAG("context_switch", 26), FLAG("write_backward", 27),
    FLAG("namespaces", 28), FLAG("ksymbol", 29), FLAG("bpf_event", 30), FLAG("aux_output", 31),
    FLAG("cgroup", 32), FLAG("text_poke", 33), FLAG("build_id", 34), FLAG("inherit_thread", 35),
    FLAG("remove_on_exec", 36), FLAG("sigtrap", 37), FLAG("defer_callchain", 38), FLAG("defer_output", 39),
    { "wakeup_events",      6,  0, 32 },
    { "wakeup_watermark",   6,  0, 32 },
    { "bp_type",            6, 32, 32 },
    { "bp_addr",            7,  0, 64 },
    { "kprobe_func",        7,  0, 64 },
    { "uprobe_path",        7,  0, 64 },
    { "config1",            7,  0, 64 },
    { "bp_len",             8,  0, 64 },
    { "kprobe_addr",        8,  0, 64 },
    { "probe_offset",       8,  0, 64 },
    { "config2",            8,  0, 64 },
    { "branch_sample_type", 9,  0, 64 },
    { "sample_regs_user",  10,  0, 64 },
    { "sample_stack_user", 11,  0, 32 },
    { "clockid",           11, 32, 32 },
    { "sample_regs_intr",  12,  0, 64 },
    { "aux_watermark",     13,  0, 32 },
    { "sample_max_stack",  13, 32, 16 },
    { "aux_sample_size",   14,  0, 32 },
    { "aux_action",        14, 32, 32 },
    { "sig_data",          15,  0, 64 },
    { "config3",           16,  0, 64 },
    { "config4",           17,  0, 64 },
};

enum { FIELDS = sizeof fields / sizeof *fields };

static const struct field *find(const char *name)
{
    for (int i = 0; i < FIELDS; i++)
        if (strcmp(fields[i].name, name) == 0)
            return &fields[i];
    return NULL;
}

static uint64_t mask_of(const struct field *field)
{
    return field->width == 64 ? UINT64_MAX : (UINT64_C(1) << field->width) - 1;
}

int pmclua_attr_set(struct pmclua_attr *attr, const char *name, uint64_t value)
{
    const struct field *field = find(name);
    if (!field)
        return -ENOENT;
    uint64_t mask = mask_of(field);
    if (value > mask)
        return -ERANGE;
    uint64_t *word = &attr->words[field->word];
    *word = (*word & ~(mask << field->shift)) | value << field->shift;
    return 0;
}

static uint64_t value_of(const struct pmclua_attr *attr, const struct field *field)
{
    return attr->words[field->word] >> field->shift & mask_of(field);
}

int pmclua_attr_get(const struct pmclua_attr *attr, const char *name, uint64_t *value)
{
    const struct field *field = find(name);
    if (!field)
        return -ENOENT;
    *value = value_of(attr, field);
    return 0;
}

int32_t pmclua_attr_next(const struct pmclua_attr *attr, int32_t from)
{
    for (int32_t i = from; i < FIELDS; i++)
        if (value_of(attr, &fields[i]))
            return i;
    return -ENOENT;
}

const char *pmclua_attr_name(int32_t index)
{
    return index >= 0 && index < FIELDS ? fields[index].name : NULL;
}
