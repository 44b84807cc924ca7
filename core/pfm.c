/*
 * pfm.c: libpfm4, opened when first needed and never linked.
 *
 * The library keeps global state and is not thread-safe, nor is this file. Once it has been opened and
 * initialised it stays so until the process ends; a failure is remembered.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Not <linux/perf_event.h>: libpfm4 brings a perf_event_attr of its own, with the same layout. */
#include <perfmon/pfmlib_perf_event.h>

#include "host/library.h"
#include "pmclua.h"

#define PFM_FUNCTIONS(X) X(initialize) X(get_pmu_info) X(get_event_next) X(get_event_info) X(get_event_attr_info) \
    X(get_os_event_encoding)
#define MEMBER(name) __typeof__(pfm_##name) *name;
#define NAME(name) "pfm_" #name,

static struct { PFM_FUNCTIONS(MEMBER) } pfm;
static struct library library = LIBRARY("libpfm.so.4", &pfm, PFM_FUNCTIONS(NAME));
static int32_t pmus[PFM_PMU_MAX];  /* the numbers that are PMUs: libpfm4's have holes */
static int32_t pmu_count;

/* Where the last pmclua_pfm_event left off: libpfm4 only offers "the next event". */
static struct { int32_t pmu, position; int index; } cursor = { -1, 0, 0 };

/* Do not confuse the code of a list's end with that of no memory. */
static int found(int code) { return code == PFM_SUCCESS ? 0 : code == PFM_ERR_NOMEM ? -ENOMEM : -ENOENT; }

static int pmu_info(int32_t pmu, pfm_pmu_info_t *info)
{
    *info = (pfm_pmu_info_t){ .size = sizeof *info };
    return found(pfm.get_pmu_info((pfm_pmu_t)pmu, info));
}

/* 0 when libpfm4 can be used. */
static int ready(void)
{
    int is_first = library.state == 0, result = library_open(&library);
    if (result < 0 || !is_first)
        return result;
    if (pfm.initialize() != PFM_SUCCESS)
        return library.state = -ELIBACC;
    pfm_pmu_info_t info;
    for (int32_t pmu = 0; pmu < PFM_PMU_MAX; pmu++)
        if (pmu_info(pmu, &info) == 0)
            pmus[pmu_count++] = pmu;
    return 0;
}

/* An event that is not there is told from one that is there and was asked for wrongly. */
static int errno_of(int code)
{
    switch (code) {
    case PFM_ERR_NOTFOUND:
    case PFM_ERR_NOTSUPP:
        return -ENOENT;
    case PFM_ERR_NOMEM:
        return -ENOMEM;
    default:
        return -EINVAL;
    }
}

int pmclua_pfm_encode(const char *name, struct pmclua_attr *attr, char *full, size_t bytes, int32_t *code)
{
    int result = ready();
    if (result < 0)
        return result;

    /* The larger of both views, so that neither side writes or reads past it. */
    union { struct perf_event_attr pfm; struct pmclua_attr words; } encoded;
    memset(&encoded, 0, sizeof encoded);
    char *text = NULL;
    pfm_perf_encode_arg_t argument = { .attr = &encoded.pfm, .fstr = &text, .size = sizeof argument };
    int levels = PFM_PLM0 | PFM_PLM3 | PFM_PLMH;
    int error = pfm.get_os_event_encoding(name, levels, PFM_OS_PERF_EVENT_EXT, &argument);
    if (error != PFM_SUCCESS) {
        if (code)
            *code = error;
        free(text);
        return errno_of(error);
    }
    pmclua_attr_set(&encoded.words, "size", 0);   /* it is filled in when opened */
    *attr = encoded.words;
    const char *said = *argument.fstr;            /* libpfm4 may leave it unset */
    if (full && bytes > 0)
        snprintf(full, bytes, "%s", said ? said : name);
    if (code)
        *code = 0;
    free(text);
    return 0;
}

int pmclua_pfm_pmu(int32_t position, struct pmclua_pfm_pmu *pmu)
{
    int result = ready();
    if (result < 0)
        return result;
    pfm_pmu_info_t info;
    result = position < 0 || position >= pmu_count ? -ENOENT : pmu_info(pmus[position], &info);
    if (result < 0)
        return result;
    pmu->name = info.name;
    pmu->description = info.desc;
    pmu->pmu = pmus[position];
    pmu->present = info.is_present;
    pmu->events = info.nevents;
    return 0;
}

/* The index of the `position`-th event, stepping on from the last one asked for where that is nearer. */
static int event_index(int32_t pmu, int32_t position)
{
    pfm_pmu_info_t info;
    if (cursor.pmu != pmu || cursor.position > position) {
        if (pmu_info(pmu, &info) < 0)
            return -1;
        cursor.pmu = pmu;
        cursor.position = 0;
        cursor.index = info.first_event;
    }
    for (; cursor.index >= 0 && cursor.position < position; cursor.position++)
        cursor.index = pfm.get_event_next(cursor.index);
    return cursor.index;
}

int pmclua_pfm_event(int32_t pmu, int32_t position, struct pmclua_pfm_event *event)
{
    int result = ready();
    if (result < 0)
        return result;
    int index = position < 0 ? -1 : event_index(pmu, position);
    if (index < 0)
        return -ENOENT;
    pfm_event_info_t info = { .size = sizeof info };
    result = found(pfm.get_event_info(index, PFM_OS_PERF_EVENT_EXT, &info));
    if (result < 0)
        return result;
    event->name = info.name;
    event->description = info.desc;
    event->index = index;
    return 0;
}

int pmclua_pfm_attribute(int32_t event, int32_t position, const char **name, const char **description,
                         int32_t *is_umask)
{
    int result = ready();
    if (result < 0)
        return result;
    pfm_event_attr_info_t info = { .size = sizeof info };
    result = position < 0 ? -ENOENT : found(pfm.get_event_attr_info(event, position, PFM_OS_PERF_EVENT_EXT, &info));
    if (result < 0)
        return result;
    *name = info.name;
    *description = info.desc;
    *is_umask = info.type == PFM_ATTR_UMASK;
    return 0;
}
