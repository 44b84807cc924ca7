/*
 * signals.h: which signals are ours.
 */
#pragma once

/* Takes the signals that are needed now, and restores the others. */
int signals_settle(void);
