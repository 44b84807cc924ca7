/*
 * descriptors.h: the descriptors that the runner was started with.
 */
#pragma once

/* Keeps all but `channel` for commands, close-on-exec. A standard one cannot be kept: -EMFILE: there are too few; -EBADF:
 * it is closed, and nothing can stand in. */
int  descriptors_keep(int channel);
/* Standard descriptors as pmclua gave them (0, 1, 2). */
int  descriptors_standard(int fd);
/* The descriptors that pmclua itself inherited: how many. */
int  descriptors_inherited(const int **list);
/* Closes them all: for a runner that runs a kernel and no commands. */
void descriptors_close(void);
