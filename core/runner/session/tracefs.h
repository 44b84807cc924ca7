/*
 * tracefs.h: probes that are defined through tracefs, so that threads and children inherit them.
 */
#pragma once

#include <stdint.h>

/* Up to two tracepoints: [0] of all plain probes, [1] of all return probes. Each hit says in its raw data
 * which of its probes it was. All probes are in files, or all are in Linux. Zeroed: there are none. */
struct tracefs_probes {
    char group[64];
    int of_kernel;
    struct tracefs_event { int is_defined; uint64_t id; uint32_t field; } event[2];      /* field: offset */
};

/* Removes what runners that are no longer alive have left. */
void tracefs_clean(void);
/* Defines a probe at `offset` of the open file `fd`, to be known as `number`. -EACCES, -ENOENT: no
 * tracefs for us. */
int  tracefs_add(struct tracefs_probes *probes, int fd, uint64_t offset, int is_return, uint32_t number);
/* Defines a probe at a place of Linux, "FUNCTION+0x10" or "0xADDRESS". -EINVAL: that is no such place. */
int  tracefs_add_kernel(struct tracefs_probes *probes, const char *place, int is_return);
/* Makes ids and fields known, after the last was added. */
int  tracefs_finish(struct tracefs_probes *probes);
/* Takes all of them away; no event may be open on them any more. */
void tracefs_remove(struct tracefs_probes *probes);
