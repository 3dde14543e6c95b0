/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Sizes and counts, rounded up. */
#ifndef RDMETER_BASE_ROUND_H
#define RDMETER_BASE_ROUND_H

#include <stdint.h>

/* The next multiple of `to`, which is not 0. */
static inline uint64_t round_up(uint64_t value, uint64_t to)
{
	return (value + to - 1) / to * to;
}

/* The least power of two that is not below the value; of values up to 2^63. */
static inline uint64_t power_of_two_from(uint64_t value)
{
	uint64_t p = 1;

	while (p < value)
		p *= 2;
	return p;
}

#endif
