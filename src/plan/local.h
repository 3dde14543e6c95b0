/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What holds for operations that need no peer, and run on this host alone. */
#ifndef RDMETER_PLAN_LOCAL_H
#define RDMETER_PLAN_LOCAL_H

#include <stdbool.h>

#include "cli/options.h"
#include "plan/point.h"
#include "verbs/caps.h"

/*
 * Whether the operations that are asked for are such: *local. With others among them they are
 * refused, and so they are with a host. 0, or -EINVAL told.
 */
int local_check_plan(const struct options *opt, bool *local);

/*
 * Refuses options that mean nothing to the operation, where they were given; opt is NULL on a
 * server, which has no such operation at all. 0, or -EINVAL told.
 */
int local_check_point(const struct options *opt, const struct point *p);

/* The type of window, once the device is known. 0, or -EOPNOTSUPP told. */
int local_fit(struct point *p, const struct caps *caps);

/* Limits of the device; the same. */
int local_check_caps(const struct point *p, const struct caps *caps);

#endif
