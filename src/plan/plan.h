/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and both devices' capabilities -> a point, or a refusal that names what clashes. */
#ifndef RDMETER_PLAN_PLAN_H
#define RDMETER_PLAN_PLAN_H

#include "base/fail.h"
#include "cli/options.h"
#include "plan/point.h"
#include "verbs/caps.h"

#define PLAN_VARIED_MOST 24 /* options that can be swept, operation and test included */

/* The points that the options ask for, in the order in which they are run. */
struct plan {
	struct point *points;
	struct failure **refused; /* by point: why it cannot be, or NULL; only in a sweep */
	size_t count;
	bool overview; /* of every operation: points that a device does not support are left out */
	bool sweep;    /* an option has several values */
	bool local;    /* of operations that need no peer; then none does */
	const struct option_row *varied[PLAN_VARIED_MOST]; /* of a sweep: those with several */
	size_t varied_count;
};

/*
 * Every operation asked for with every test asked for, each resolved by plan_resolve(). An
 * operation list of "all" is every operation with a peer that the transport has. With neither --op
 * nor --test it is the overview: for each of these a latency at 8 B, a message rate at 64 B and a
 * bandwidth at 64 KiB, or at the MTU where that is the most, half a second each. 0, or -errno told;
 * plan_free() in either case.
 *
 * Options with several values make a sweep: operations outermost, then tests, then the options in
 * the order of the table, the last varying fastest. There a size is brought within what the
 * operation can have, points that are equal then are measured once, and a point that breaks a rule
 * is kept as refused, unless all of them do.
 */
int plan_make(const struct options *opt, struct plan *plan);
void plan_free(struct plan *plan);

/*
 * plan_fit() for every point of a sweep, so that all of it is known before the first row; a point
 * that does not fit is kept as refused. 0, or -ENOMEM told.
 */
int plan_fit_sweep(const struct options *opt, struct plan *plan, const struct caps *ours,
		   const struct caps *theirs);

/*
 * With --all, leaves out sizes that one of the devices does not have, and says so. 0, or -errno
 * told when none is left.
 */
int plan_bound(const struct options *opt, struct plan *plan, const struct caps *ours,
	       const struct caps *theirs);

/*
 * What can be refused before anybody is asked: values that clash whatever the devices can do.
 * Fills every setting but the MTU. Returns 0, or -EINVAL after having told why.
 */
int plan_resolve(const struct options *opt, struct point *p);

/*
 * The rest, once both devices are known: the MTU, and both devices' limits. ours and theirs say
 * whose limit it was. Returns 0, or -EOPNOTSUPP after having told why.
 */
int plan_fit(const struct options *opt, struct point *p, const struct caps *ours,
	     const struct caps *theirs);

/*
 * Reads and atomics that an initiator may have outstanding towards a responder: the least of what
 * was asked for (0: nothing was), what the one may begin and the other accept.
 */
uint32_t plan_outstanding(const struct point *p, const struct caps *initiator,
			  const struct caps *responder);

/* Whether the device can do the operation at all; false where plan_fit would refuse it for that. */
bool plan_supports(const struct point *p, const struct caps *caps);

/* The part of plan_fit that a server checks for itself, on what the client sent. */
int plan_check_limits(const struct point *p, const struct caps *caps, const char *whose);

#endif
