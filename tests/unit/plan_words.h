/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Command lines as one string, planned. Include it after cmocka.h. */
#ifndef TESTS_PLAN_WORDS_H
#define TESTS_PLAN_WORDS_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "plan/plan.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define SECOND UINT64_C(1000000000)
#define WORDS 64

static inline int parse(struct options *opt, const char *words)
{
	static char text[1024];
	char *argv[WORDS], *save = NULL, name[] = "rdmeter", host[] = "host";
	int argc = 0;

	snprintf(text, sizeof(text), "%s", words);
	argv[argc++] = name;
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save)) {
		assert_true(argc < WORDS - 2);
		argv[argc++] = w;
	}
	argv[argc++] = host;
	argv[argc] = NULL;
	fail_clear();
	return options_parse(opt, argc, argv);
}

static inline int resolve(struct point *p, const char *words)
{
	struct options opt;

	if (parse(&opt, words))
		fail_msg("%s: %s", words, fail_last()->text);
	return plan_resolve(&opt, p);
}

static inline void resolved(struct point *p, const char *words)
{
	if (resolve(p, words))
		fail_msg("%s: %s", words, fail_last()->text);
}

static const struct caps roomy = {
	.max_msg_sz = 1ULL << 31, .max_mr_size = UINT64_MAX, .max_qp = 1024, .max_qp_wr = 16384,
	.max_srq_wr = 16384, .max_srq_sge = 32,
	.max_sge = 32, .max_cqe = 32767, .max_rd_init = 16, .max_rd_res = 16, .atomics = 1,
	.active_mtu = 4096,
};

/* As plan_fit sees two devices. 0, or what it returned, with fail_last() saying why. */
static inline int fit(const char *words, const struct caps *ours, const struct caps *theirs,
	       struct point *p)
{
	struct options opt;

	assert_int_equal(parse(&opt, words), 0);
	assert_int_equal(plan_resolve(&opt, p), 0);
	return plan_fit(&opt, p, ours, theirs);
}

#endif
