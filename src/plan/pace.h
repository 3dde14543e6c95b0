/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* When messages leave: by schedule, with gaps, or as soon as they can. */
#ifndef RDMETER_PLAN_PACE_H
#define RDMETER_PLAN_PACE_H

#include "cli/options.h"
#include "plan/point.h"

/*
 * Fills rate, burst, arrival, seed and gap of a point whose size is known. The rate becomes
 * messages in 10^9 s, whatever unit it was given in; 0 is none. 0, or -EINVAL told.
 */
int pace_resolve(const struct options *opt, struct point *p);

/* The longest time without a message that is to be expected, in ns; 0 without schedule or gap. */
uint64_t pace_pause(const struct point *p);

#endif
