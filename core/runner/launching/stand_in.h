/*
 * stand_in.h: a process of ours in the place of the program that it has started.
 */
#pragma once

/* By its pidfd, which tells one that has been reaped from who has its pid now. */
int stand_in_signal(int ended, int number);
/* Leaves SIGINT and SIGQUIT to the program, whose end is ours; `ended` is its pidfd. SIGTERM is passed on to it, unless we
 * lead a process group, which has got the signal already. */
void stand_in_for(int ended);
/* Ends as the program did, whose status is as waitpid has it, without a core file of ours: an exit status, or it does
 * not return. */
int stand_in_end(int status);
/* Dies of a signal, without a core file: where that does not end us, the status to end with. */
int stand_in_die(int number);
