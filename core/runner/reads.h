/*
 * reads.h: which files a program looks for.
 */
#pragma once

#include "launch.h"

/* Runs what is to be launched and lists in `launch->list` what it looked for: its exit status; 1 where it was not
 * executed, 125 where the list is not whole. For a process that ends then. */
int list_reads(const struct launch *launch);
