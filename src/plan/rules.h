/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The combinations that cannot be, as a table. */
#ifndef RDMETER_PLAN_RULES_H
#define RDMETER_PLAN_RULES_H

#include "plan/point.h"

/*
 * The first rule that the resolved point breaks, told with FAIL_USAGE. opt says what was given;
 * it may be NULL (a server checks the point only). Returns 0 or -EINVAL.
 */
int rules_check_point(const struct options *opt, const struct point *p);

/*
 * Whether a datagram would be longer than the MTU, told with FAIL_SETUP as it is a matter of the
 * devices. Returns 0 or -EOPNOTSUPP.
 */
int rules_check_datagram(const struct point *p);

#endif
