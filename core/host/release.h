/*
 * release.h: which Linux this is.
 */
#pragma once

/* Whether it is this one or a later. */
int release_is_from(int major, int minor);
