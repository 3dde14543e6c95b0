/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cross product of swept options, and what is done to the points that come of it. Operations
 * and tests are outside (plan/plan.c); of the options here the one that stands last in
 * cli/options.def varies fastest.
 */
#ifndef RDMETER_PLAN_SWEEP_H
#define RDMETER_PLAN_SWEEP_H

#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "cli/values.h"
#include "plan/plan.h"
#include "plan/resolve.h"

struct sweep {
	const struct option_row *row[PLAN_VARIED_MOST];
	struct values values[PLAN_VARIED_MOST];
	size_t count; /* options that have several values */
	size_t combinations;
};

/*
 * Takes the swept options out of opt. 0, or -errno told: more combinations than VALUES_MOST are
 * refused. s is to be given to sweep_close() in either case.
 */
int sweep_open(struct sweep *s, const struct options *opt);
void sweep_close(struct sweep *s);

/* Puts the values of the i-th combination into one. */
void sweep_take(const struct sweep *s, size_t i, struct options *one);

/*
 * Once all points are there: finds what varies, leaves the first of points that are equal, and
 * refuses a plan of which no point can be. 0, or -errno told.
 */
int sweep_finish(const struct sweep *sweep, const struct options *opt, struct plan *plan);

/* Refuses options that need a sweep where there is none, and the other way. 0, or -errno told. */
int sweep_check(const struct options *opt, const struct plan *plan);

/* The failure told last is why point i cannot be; it is forgotten. 0, or -ENOMEM told. */
int sweep_refuse(struct plan *plan, size_t i);

/*
 * Fisher-Yates from the last row to the second, with splitmix64 from the seed: row i changes
 * places with row (r * (i + 1)) >> 64, r the next number.
 */
void sweep_shuffle(struct plan *plan, uint64_t seed);

/* The options as if what varies had been given for this point alone. */
void sweep_options_of(const struct options *opt, const struct point *p, struct options *one);

#endif
