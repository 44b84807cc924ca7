/*
 * command.h: commands: programs that are executed once a repetition.
 */
#pragma once

#include "runner/probing/region_set.h"
#include "runner/session/answer.h"
#include "runner/session/event_set.h"
#include "runner/session/run.h"
#include "streams.h"

struct command {
    char **argv, **envp;           /* envp NULL: the runner's own environment */
    char *path;                    /* what is executed: argv[0] as found in PATH */
    char *directory;
    struct stream_choice streams;
    uint64_t foreground;
    uint64_t standard;             /* 1: signals by default, no core file */
    uint64_t grace_ns;             /* between SIGTERM and SIGKILL at the time limit; 0: SIGKILL at once */
    uint64_t watched;              /* 1: the programs that it executes are watched, also where nothing counts it */
    int pinned;
    cpu_set_t cpus;
    struct region_set *regions;    /* NULL: none */
};

/* A new command from its message; -errno. The message is copied, nothing is run yet. */
int  command_new(struct command **command, const struct pmclua_message *message);
/* Opens, while nothing runs, what the first repetition would have to open. */
void command_prepare(void);
/* One repetition. */
void command_run(struct command *command, const struct event_set *set, const struct run *run, struct answer *answer);
void command_free(struct command *command);
