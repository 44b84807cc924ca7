/*
 * call_counts.h: how often a program makes system calls, counted without rights.
 */
#pragma once

/* Runs the program `path` (`argv`, with its name first) and counts its system calls, its children's and theirs, but not
 * the call that executes it; then ends as it does. `numbers`: the calls to count, "257,41", or "all". Writes to `list`, a
 * line each: "NUMBER COUNT" (65535: those of another word size, which "all" has); "rights" where set-user-ID programs kept
 * none (no_new_privs); "! left" where processes had to be killed that outlived the program by 5 s; "! exec ERRNO" where it
 * could not be executed; "! ERRNO" where calls cannot be counted, and nothing was executed. */
int run_counted(const char *list, const char *numbers, const char *path, char *const *argv, char *const *envp);
