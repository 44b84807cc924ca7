/*
 * stand_in.h: a process of ours in the place of the program that it has started.
 */
#pragma once

/* By its pidfd, which tells one that has been reaped from who has its pid now. */
int stand_in_signal(int ended, int number);
/* What ends the program ends us, by its end; `ended` is its pidfd. SIGTERM for us is for the program, unless a process
 * group of ours has got its signals already. */
void stand_in_for(int ended);
/* Ends as the program did, whose status is as waitpid has it, without a core file of ours: an exit status, or it does
 * not return. */
int stand_in_end(int status);
