/*
 * descendants.h: the processes that a process has started, and those that these have.
 */
#pragma once

/* Sends a signal to each that there is at this moment, parents first; how many got it. 0 too where the OS kernel does
 * not list children (CONFIG_PROC_CHILDREN). */
int descendants_signal(int pid, int signal);
