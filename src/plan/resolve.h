/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The settings of one point: what was given, and the defaults of the rest (design section 3). */
#ifndef RDMETER_PLAN_RESOLVE_H
#define RDMETER_PLAN_RESOLVE_H

#include <stdint.h>

#include "cli/options.h"
#include "plan/point.h"

#define DATAGRAM_MOST 4096 /* bytes: the largest MTU that there is */

static inline uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static inline uint64_t clamp(uint64_t v, uint64_t low, uint64_t high)
{
	return v < low ? low : v > high ? high : v;
}

/* A given value or the table's default, with that as its reason. */
void setting_take(struct setting *s, const struct option_value *v);

/*
 * Fills every setting but an MTU that was not given, each with its reason, and looks at none of the
 * rules. 0, or -errno told.
 */
int resolve_point(const struct options *opt, struct point *p);

#endif
