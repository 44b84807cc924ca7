/*
 * samples.h: records of a perf ring buffer, taken apart.
 */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>

/* The fields of every record: at the beginning of a sample, at the end of others (sample_id_all). */
enum { SAMPLE_BASE = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME };

/* The layouts of other records, after the header; sample_id_all follows. */
struct task_record { uint32_t pid, ppid, tid, ptid; uint64_t time; };
struct lost_record { uint64_t id, lost; };
struct comm_record { uint32_t pid, tid; char name[]; };

/* Pointers are into the record. */
struct sample {
    uint64_t id, time_ns;
    uint32_t pid, tid;
    uint64_t enabled_ns, running_ns;
    uint64_t members;              /* of the group's reading: value and id of each */
    const uint64_t *member;
    const uint8_t *raw;
    uint32_t raw_bytes;
    uint64_t stack_pointer;        /* 0: none was taken */
};

/* Id, time, pid and tid of any record that was made with SAMPLE_BASE; -EPROTO: it is too short. */
int sample_base(const struct perf_event_header *record, struct sample *sample);
/* The rest of a PERF_RECORD_SAMPLE made with `sample_type` (SAMPLE_BASE, READ of a group with both times
 * and ids, RAW, REGS_USER of one register); -EPROTO. */
int sample_rest(const struct perf_event_header *record, uint64_t sample_type, struct sample *sample);
