/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "plan/local.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"

int local_check_plan(const struct options *opt, bool *local)
{
	const struct op *alone = op_list_find(opt->op.text, true);
	const struct op *other = op_list_find(opt->op.text, false);

	*local = alone != NULL;
	if (alone && other)
		return fail(FAIL_USAGE, EINVAL, "--op %s with --op %s: the one runs on this host "
			    "alone, the other needs a HOST; run them apart", alone->name,
			    other->name);
	if (alone && opt->host)
		return fail(FAIL_USAGE, EINVAL, "--op %s with host '%s': it measures the host that "
			    "it runs on, and talks to no other; drop the host, or run it there",
			    alone->name, opt->host);
	return 0;
}

/* Also of those that have no place in a point, as the port of the control connection. */
static const struct option_row *first_foreign(const struct options *opt)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (option_value((struct options *)(uintptr_t)opt, row)->given &&
		    !point_row_is_local(row))
			return row;
	}
	return NULL;
}

int local_check_point(const struct options *opt, const struct point *p)
{
	const struct op *op = point_op(p);
	const struct option_row *foreign;

	if (opt && opt->window.given && !op_has(op, TRAIT_WINDOWS))
		return fail(FAIL_USAGE, EINVAL, "--window with --op %s: the operation has no "
			    "memory window; drop it, or use --op bind", op->name);
	if (!op_is_local(op))
		return 0;
	if (!opt)
		return fail(FAIL_USAGE, EINVAL, "--op %s: it needs no server; run it without a "
			    "host", op->name);
	if (p->test.value != TEST_LAT)
		return fail(FAIL_USAGE, EINVAL, "--test bw with --op %s: it has latencies only; "
			    "drop --test", op->name);
	foreign = first_foreign(opt);
	if (foreign)
		return fail(FAIL_USAGE, EINVAL, "--%s with --op %s: it needs no other side and "
			    "does one thing at a time, so that this means nothing; drop it",
			    foreign->name, op->name);
	return 0;
}

int local_fit(struct point *p, const struct caps *caps)
{
	struct setting *type = &p->window;

	if (!op_has(point_op(p), TRAIT_WINDOWS))
		return 0;
	if (!caps->windows)
		return fail(FAIL_SETUP, EOPNOTSUPP, "--op %s: memory windows are not supported by "
			    "this device; choose another with --ib-dev", point_op(p)->name);
	if (type->value == WINDOW_AUTO) {
		type->value = caps->windows & CAPS_WINDOW_2 ? WINDOW_2 : WINDOW_1;
		snprintf(type->why, sizeof(type->why), "auto: what the device has");
	}
	if (caps->windows & (type->value == WINDOW_1 ? CAPS_WINDOW_1 : CAPS_WINDOW_2))
		return 0;
	return fail(FAIL_SETUP, EOPNOTSUPP, "--window %" PRIu64 ": memory windows of this type are "
		    "not supported by this device; use --window %" PRIu64, type->value,
		    (uint64_t)(WINDOW_1 + WINDOW_2) - type->value);
}

/* A window's region is of all places, since it is bound to each in turn. */
int local_check_caps(const struct point *p, const struct caps *caps)
{
	bool windows = op_has(point_op(p), TRAIT_WINDOWS);
	uint64_t length = windows ? point_working_set(p) : p->size.value;

	if (length <= caps->max_mr_size)
		return 0;
	return fail(FAIL_SETUP, EOPNOTSUPP, "--size %" PRIu64 ": this device allows %" PRIu64
		    " bytes in a memory region%s; lower --size%s", p->size.value,
		    caps->max_mr_size, windows ? ", and it takes one of all places" : "",
		    windows ? " or --slots" : "");
}
