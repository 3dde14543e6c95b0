/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a device limits. */
#ifndef RDMETER_PLAN_LIMITS_H
#define RDMETER_PLAN_LIMITS_H

#include "plan/point.h"
#include "verbs/caps.h"

/*
 * The first of one device's limits that the point goes beyond, told with FAIL_SETUP. Returns 0 or
 * -EOPNOTSUPP. whose: as in "the server's device".
 */
int limits_check(const struct point *p, const struct caps *caps, const char *whose);

#endif
