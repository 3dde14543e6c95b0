/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Plans of operations that need no peer: what they take, what they refuse, where things lie. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "plan/plan.h"

#include <cmocka.h> /* late: it has a macro named fail */

#include "plan_words.h"

#define TEST(name) cmocka_unit_test(name)

static void defaults(void **state)
{
	struct point p;

	(void)state;
	resolved(&p, "--op reg");
	assert_int_equal(p.test.value, TEST_LAT);
	assert_string_equal(p.test.why, "the operation's only one");
	assert_int_equal(p.size.value, 4096);
	assert_int_equal(p.slots.value, 16);
	assert_int_equal(p.relaxed_ordering.value, RELAXED_ON);
	resolved(&p, "--op bind --test lat -s 4M");
	assert_string_equal(p.test.why, "given");
	assert_int_equal(p.slots.value, 4);
	assert_int_equal(p.window.value, WINDOW_AUTO);
	resolved(&p, "--op reg -s 64M");
	assert_int_equal(p.slots.value, 1);
	resolved(&p, "--op reg -s 64M --slots 3");
	assert_int_equal(p.slots.value, 3);
}

/* Every place begins at the same distance from a page. */
static void places(void **state)
{
	static const struct {
		const char *words;
		uint64_t stride, pages;
	} known[] = {
		{ "-s 1", 4096, 1 }, { "-s 4K", 4096, 1 }, { "-s 4097", 8192, 2 },
		{ "-s 64K", 65536, 16 }, { "-s 65537", 69632, 17 },
		{ "-s 4K --offset 1", 8192, 2 }, { "-s 4095 --offset 1", 4096, 1 },
		{ "-s 4K --align 64 --offset 60", 8192, 2 }, { "-s 8 --align 1M", 1 << 20, 1 },
		{ "-s 8 --align 16K --offset 5000", 16384, 1 },
		{ "-s 8K --align 16K --offset 5000", 16384, 3 },
		{ "-s 12K --memory huge2m", 16384, 1 },
		{ "-s 2M --memory huge2m", 2 << 20, 1 },
		{ "-s 2097153 --memory huge2m", 4 << 20, 2 },
		{ "-s 3M --memory huge1g", 4 << 20, 1 },
		{ "-s 1G --memory huge1g", 1 << 30, 1 },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		char words[80];

		snprintf(words, sizeof(words), "--op reg %s", known[i].words);
		resolved(&p, words);
		if (point_stride(&p) != known[i].stride || point_pages(&p) != known[i].pages)
			fail_msg("%s: every %llu, %llu pages", words,
				 (unsigned long long)point_stride(&p),
				 (unsigned long long)point_pages(&p));
	}
	/* The others keep to cache lines. */
	resolved(&p, "--op write -s 65");
	assert_int_equal(point_stride(&p), 128);
}

static void refused(void **state)
{
	static const struct {
		const char *words, *told;
	} known[] = {
		{ "--op reg --test bw", "--test bw with --op reg: it has latencies only" },
		{ "--op reg -q 1", "--qp with --op reg: " },
		{ "--op reg --direction out", "--direction with --op reg: " },
		{ "--op bind -b", "--bidirectional with --op bind: " },
		{ "--op bind -t 128", "--tx-depth with --op bind: " },
		{ "--op bind --sge 1", "--sge with --op bind: " },
		{ "--op reg --mr one", "--mr with --op reg: " },
		{ "--op reg --verify", "--verify with --op reg: " },
		{ "--op bind -m 1024", "--mtu with --op bind: " },
		{ "--op reg --peer-dev x", "--peer-dev with --op reg: " },
		{ "--op reg -p 1", "--port with --op reg: " },
		{ "--op reg --connect-timeout 1", "--connect-timeout with --op reg: " },
		{ "--op reg --window 2", "--window with --op reg: the operation has no" },
		{ "--op write --window auto", "--window with --op write: the operation has no" },
		{ "--op reg --align 48", "--align 48" },
		{ "--op reg --offset 4K", "--offset 4096 with --align 4096" },
		{ "--op reg -s 1T --slots 1048576", "--slots 1048576 with --size" },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		int rc = resolve(&p, known[i].words);

		if (rc != -EINVAL || fail_last()->class != FAIL_USAGE ||
		    !strstr(fail_last()->text, known[i].told))
			fail_msg("%s: returned %d, '%s'", known[i].words, rc, fail_last()->text);
	}
	resolved(&p, "--op bind -n 5 --warmup 1 --align 64 --offset 8 --slots 4 --memory shm "
		 "--relaxed-ordering off --window 1 -d x -i 1 -x 2 --stall-timeout 1 --quiet -F");
}

/* A server has nothing to do with them, whatever a client sends. */
static void no_server(void **state)
{
	struct point p;

	(void)state;
	resolved(&p, "--op reg");
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), -EINVAL);
	assert_non_null(strstr(fail_last()->text, "--op reg: it needs no server"));
}

static void hosts(void **state)
{
	static const struct {
		const char *words, *told;
	} known[] = {
		{ "--op reg", "--op reg with host 'host': " },
		{ "--op bind,reg", "--op reg with host 'host': " },
		{ "--op write,reg", "--op reg with --op write: " },
		{ "--op BIND,send", "--op bind with --op send: " },
	};
	struct options opt;
	struct plan plan;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		assert_int_equal(parse(&opt, known[i].words), 0);
		assert_int_equal(plan_make(&opt, &plan), -EINVAL);
		plan_free(&plan);
		if (!strstr(fail_last()->text, known[i].told))
			fail_msg("%s: '%s'", known[i].words, fail_last()->text);
	}
	assert_int_equal(parse(&opt, "--op reg,bind -s 64,4K"), 0);
	opt.host = NULL;
	assert_int_equal(plan_make(&opt, &plan), 0);
	assert_true(plan.local);
	assert_int_equal(plan.count, 4);
	plan_free(&plan);
	assert_int_equal(parse(&opt, "--op write"), 0);
	assert_int_equal(plan_make(&opt, &plan), 0);
	assert_false(plan.local);
	plan_free(&plan);
}

static enum command command_of(const char *op)
{
	char name[] = "rdmeter", option[] = "--op", value[40];
	char *argv[] = { name, option, value, NULL };
	struct options opt;

	snprintf(value, sizeof(value), "%s", op);
	assert_int_equal(options_parse(&opt, 3, argv), 0);
	return opt.command;
}

/* Without a host it is measured here, or served. */
static void commands(void **state)
{
	(void)state;
	assert_int_equal(command_of("reg"), COMMAND_MEASURE);
	assert_int_equal(command_of("write,Bind"), COMMAND_MEASURE);
	assert_int_equal(command_of("write"), COMMAND_SERVE);
	assert_int_equal(command_of("all"), COMMAND_SERVE);
	assert_int_equal(command_of("regs,bin"), COMMAND_SERVE);
}

static void windows(void **state)
{
	static const struct {
		const char *words;
		uint32_t windows;
		uint64_t type; /* 0: refused */
	} known[] = {
		{ "--op bind", CAPS_WINDOW_1, WINDOW_1 }, { "--op bind", CAPS_WINDOW_2, WINDOW_2 },
		{ "--op bind", CAPS_WINDOW_1 | CAPS_WINDOW_2, WINDOW_2 }, { "--op bind", 0, 0 },
		{ "--op bind --window 1", CAPS_WINDOW_1 | CAPS_WINDOW_2, WINDOW_1 },
		{ "--op bind --window 1", CAPS_WINDOW_2, 0 },
		{ "--op bind --window 2", CAPS_WINDOW_1, 0 },
	};
	struct caps caps = roomy;
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		int rc;

		caps.windows = known[i].windows;
		rc = fit(known[i].words, &caps, &caps, &p);
		if (rc != (known[i].type ? 0 : -EOPNOTSUPP) ||
		    (!rc && p.window.value != known[i].type))
			fail_msg("%s: %d, type %llu", known[i].words, rc,
				 (unsigned long long)p.window.value);
	}
}

/* A registration is bounded by its region, and by nothing of a message. */
static void limits(void **state)
{
	struct caps caps = roomy;
	struct point p;

	(void)state;
	caps.windows = CAPS_WINDOW_1;
	caps.max_msg_sz = 1;
	caps.max_qp_wr = 1;
	caps.max_mr_size = 8192;
	assert_int_equal(fit("--op reg -s 8192", &caps, &caps, &p), 0);
	assert_int_equal(fit("--op reg -s 8193", &caps, &caps, &p), -EOPNOTSUPP);
	assert_int_equal(fit("--op bind -s 4K --slots 2", &caps, &caps, &p), 0);
	assert_int_equal(fit("--op bind -s 4K --slots 3", &caps, &caps, &p), -EOPNOTSUPP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(defaults), TEST(places), TEST(refused), TEST(no_server), TEST(hosts),
		TEST(commands), TEST(windows), TEST(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
