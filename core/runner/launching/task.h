/*
 * task.h: the runner as what a launcher starts in front of each task of a program: it counts the task and leaves a file.
 */
#pragma once

/* Runs a program (argv) as the plan in `folder` says, with this process's streams, descriptors and environment, leaves
 * its result in a file of its own there, and ends as the program did. Returns only where it could not begin: the
 * status to end with, and *why. */
int task_run(const char *folder, char *const *argv, const char **why);
