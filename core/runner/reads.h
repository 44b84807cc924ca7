/*
 * reads.h: which files a program looks for.
 */
#pragma once

/* Runs argv and writes a list of the files that it looked for to `path`: its exit status; 1 where it was not executed,
 * 125 where the list is not whole. */
int list_reads(const char *path, char **argv);
