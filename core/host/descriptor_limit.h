/*
 * descriptor_limit.h: what pmclua_descriptors_take has changed.
 */
#pragma once

#include <stdint.h>

/* The soft limit on descriptors before it was raised; 0: it is as it was. */
uint64_t descriptors_found(void);
