/*
 * probed.h: the runner as a program of its own, which is probed to learn what probing costs.
 */
#pragma once

/* Calls an empty function. */
int empty_calls(unsigned long count);
/* Calls functions of a file of code. Arguments: its path, its bytes of code and of data behind them, rounds, calls
 * of each function in a round, where two functions are that are called before and after these, and where the
 * functions are. */
int probed_calls(int count, char **arguments);
