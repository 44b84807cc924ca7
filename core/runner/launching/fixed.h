/*
 * fixed.h: a program that draws the same in every run.
 */
#pragma once

/* Runs a program (argv, its path first) whose random numbers and time of day are the same each time, and ends as it
 * does. Lists, a line each: "pid N", the program's; what it and its children asked for, "getrandom", "/dev/urandom",
 * "/dev/random", "time", "gettimeofday", "clock_gettime"; "! NAME" where that could not be fixed; "!" where nothing
 * could, and nothing was executed. */
int run_fixed(const char *list, char *const *argv, char *const *envp);
/* Restarts this process's random numbers, where it is run with fixed ones. */
void fixed_restart(void);
