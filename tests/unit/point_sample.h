/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A POINT whose settings are not the default ones. Include it after cmocka.h. */
#ifndef TESTS_POINT_SAMPLE_H
#define TESTS_POINT_SAMPLE_H

#include <string.h>

#include "cli/options.h"
#include "control/messages.h"
#include "plan/plan.h"

/* A whole point, without the reasons: they stay with the client. */
static inline void point_sample(struct message_point *m)
{
	char name[] = "rdmeter", host[] = "h", op[] = "--op=read", size[] = "-s1M", n[] = "-n7";
	char qps[] = "-q5", outs[] = "-o255", target[] = "--atomic-target=shared", both[] = "-b";
	char cm[] = "--rdma-cm", tos[] = "--tos=255";
	char *argv[] = { name, host, op, size, n, qps, outs, target, both, cm, tos, NULL };
	struct options opt;

	assert_int_equal(options_parse(&opt, sizeof(argv) / sizeof(argv[0]) - 1, argv), 0);
	assert_int_equal(plan_resolve(&opt, &m->point), 0);
	m->point.mtu.value = 1024;
	m->plan_only = true;
	m->takes = true;
	for (size_t i = 0; i < option_row_count; i++) {
		struct setting *s = point_setting(&m->point, &option_rows[i]);

		if (s)
			memset(s->why, 0, sizeof(s->why));
	}
}

#endif
