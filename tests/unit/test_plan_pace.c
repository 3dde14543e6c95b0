/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* --rate and --gap: what they become, and what they are refused with. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fail.h"
#include "plan/pace.h"
#include "plan/plan.h"

#include <cmocka.h>

#include "plan_words.h"

/* Messages in 10^9 s: those of 64 KiB at 10 Gb/s are 10^10 / 8 / 65536 = 19073.486328125 a second. */
static void rates(void **state)
{
	static const struct {
		const char *words;
		uint64_t rate;
	} known[] = {
		{ "", 0 },
		{ "--rate 1000", 1000000000000 },
		{ "--rate 0.5", 500000000 },
		{ "--rate 0.5 -s 1M", 500000000 },
		{ "--rate 2.5M", 2500000000000000 },
		{ "--rate 10Gb/s", 19073486328125 },
		{ "--rate 10Gb/s -s 65536", 19073486328125 },
		{ "--rate 1MB/s -s 1000", 1000000000000 },
		{ "--rate 1MB/s --test lat", 125000000000000 }, /* of 8 B */
		{ "--rate 1MiB/s -s 1K", 1024000000000 },
		{ "--rate 1Gb/s -s 3", 41666666666666700 }, /* to 15 digits */
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		resolved(&p, known[i].words);
		if (p.rate.value != known[i].rate)
			fail_msg("%s: %llu", known[i].words, (unsigned long long)p.rate.value);
	}
	resolved(&p, "--rate 10Gb/s");
	assert_string_equal(p.rate.why, "10Gb/s");
}

/* Each message is signalled and timed, unless something else is asked for. */
static void defaults(void **state)
{
	struct point p;

	(void)state;
	resolved(&p, "--rate 1k");
	assert_int_equal(p.signal.value, 1);
	assert_int_equal(p.stamp.value, 1);
	assert_int_equal(p.burst.value, 1);
	assert_int_equal(p.arrival.value, ARRIVAL_FIXED);
	assert_int_equal(p.gap.value, 0);
	resolved(&p, "--rate 1k -s 64 -Q 8 --stamp 4");
	assert_int_equal(p.signal.value, 8);
	assert_int_equal(p.stamp.value, 4);
	resolved(&p, "-s 64 --burst 1 --arrival fixed --seed 1 --gap 0"); /* the defaults */
	assert_int_equal(p.signal.value, 32);
	resolved(&p, "--test lat --gap 10us");
	assert_int_equal(p.gap.value, 10000);
}

static void pauses(void **state)
{
	static const struct {
		const char *words;
		uint64_t ns;
	} known[] = {
		{ "", 0 },
		{ "--rate 1k", 1000000 },
		{ "--rate 1k --burst 16", 16000000 },
		{ "--rate 1k --arrival poisson", 20000000 },
		{ "--test lat --gap 3ms", 3000000 },
		{ "--rate 0.2", 5 * SECOND },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		resolved(&p, known[i].words);
		assert_int_equal(pace_pause(&p), known[i].ns);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *words, *first, *second;
	} known[] = {
		{ "--burst 2", "--burst 2", "--rate" },
		{ "--arrival poisson", "--arrival poisson", "--rate" },
		{ "--rate 1k --seed 2", "--seed 2", "--arrival fixed" },
		{ "--seed 2", "--seed 2", "--arrival fixed" },
		{ "--seed 0", "--seed 0", "--arrival fixed" },
		{ "--rate 1k -l 2", "--batch 2", "--rate" },
		{ "--rate 1k --gap 1us --test lat", "--gap", "--rate" },
		{ "--gap 1us", "--gap", "--test bw" },
		{ "--rate 0.19", "--stall-timeout", "--rate" },
		{ "--rate 100 --stall-timeout 19ms", "--stall-timeout", "--rate" },
		{ "--rate 3 --arrival poisson", "--stall-timeout", "--rate" },
		{ "--rate 100 --burst 501", "--stall-timeout", "--rate" },
		{ "--test lat --gap 6", "--stall-timeout", "--gap" },
		{ "--rate 0", "--rate 0 with", "out of range" },
		{ "--rate 0b/s", "--rate 0b/s with", "out of range" },
		{ "--rate 2G", "--rate 2G with", "out of range" },
		{ "--rate 1b/s", "--rate 1b/s with", "65536 bytes" },
	};
	struct options opt;
	struct plan plan;
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		int rc = parse(&opt, known[i].words);

		rc = rc ? rc : plan_resolve(&opt, &p);
		if (rc != -EINVAL || fail_last()->class != FAIL_USAGE ||
		    !strstr(fail_last()->text, known[i].first) ||
		    !strstr(fail_last()->text, known[i].second))
			fail_msg("%s: returned %d, '%s'", known[i].words, rc, fail_last()->text);
	}
	assert_int_equal(parse(&opt, "--rate 1k"), 0);
	opt.op.given = opt.test.given = false;
	assert_int_equal(plan_make(&opt, &plan), -EINVAL);
	assert_non_null(strstr(fail_last()->text, "overview"));
	plan_free(&plan);
}

static void accepted(void **state)
{
	static const char *const lines[] = {
		"--rate 0.2", "--rate 100 --burst 500", "--rate 1000M -s 1", "--rate 4 --arrival poisson",
		"--rate 1k --arrival poisson --seed 9", "--test lat --rate 1k --burst 9",
		"--rate 1k --direction in", "--rate 1k -b -q 5 --op send", "--test lat --gap 5",
		"--rate 0.001 --stall-timeout 2000", "--rate 1k --stamp off",
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		resolved(&p, lines[i]);
}

/* What a server is asked for by something else than this client. */
static void server_checks(void **state)
{
	struct point p;

	(void)state;
	resolved(&p, "--rate 1k");
	p.mtu.value = 1024;
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), 0);
	p.rate.value = 1;
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), -EINVAL);
	p.rate.value = UINT64_MAX;
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rates),    cmocka_unit_test(defaults), cmocka_unit_test(pauses),
		cmocka_unit_test(refused),  cmocka_unit_test(accepted), cmocka_unit_test(server_checks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
