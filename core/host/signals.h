/*
 * signals.h: which signals are ours.
 */
#pragma once

/* Takes the signals that we need now, and gives back those that we do not need any more. */
int signals_settle(void);
