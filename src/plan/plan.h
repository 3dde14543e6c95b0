/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Options and both devices' capabilities -> a point, or a refusal that names what clashes. */
#ifndef RDMETER_PLAN_PLAN_H
#define RDMETER_PLAN_PLAN_H

#include "cli/options.h"
#include "plan/point.h"
#include "verbs/caps.h"

/* The points that the options ask for, in the order in which they are run. */
struct plan {
	struct point *points;
	size_t count;
	bool overview; /* of every operation: points that a device does not support are left out */
};

/*
 * Every operation asked for with every test asked for, each resolved by plan_resolve(). An
 * operation list of "all" is every operation. With neither --op nor --test it is the overview:
 * for each operation a latency at 8 B, a message rate at 64 B and a bandwidth at 64 KiB, half a
 * second each. 0, or -errno told; plan_free() in either case.
 */
int plan_make(const struct options *opt, struct plan *plan);
void plan_free(struct plan *plan);

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
