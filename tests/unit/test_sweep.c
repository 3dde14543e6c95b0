/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plans of sweeps: which points, in which order, which of them are one, which cannot be. Orders
 * were written down by hand; the shuffled ones come from a program in another language that does
 * what plan/sweep.h says.
 */
#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "control/messages.h"
#include "plan/plan.h"

#include <cmocka.h> /* late: it has a macro named fail */

#include "plan_words.h"

/* The values of a point's varied options: "write/64/2 ..."; '!' marks a refused point. */
static void describe(const struct plan *plan, char *out, size_t size)
{
	size_t used = 0;

	out[0] = '\0';
	for (size_t i = 0; i < plan->count; i++) {
		if (i)
			used += (size_t)snprintf(out + used, size - used, " ");
		for (size_t k = 0; k < plan->varied_count; k++) {
			const struct option_row *row = plan->varied[k];
			uint64_t value = point_setting(&plan->points[i], row)->value;

			used += (size_t)snprintf(out + used, size - used, "%s", k ? "/" : "");
			if (row->kind == OPTION_TEXT)
				used += (size_t)snprintf(out + used, size - used, "%s",
							 ops[value].name);
			else
				used += (size_t)snprintf(out + used, size - used, "%" PRIu64,
							 value);
		}
		if (plan->refused[i])
			used += (size_t)snprintf(out + used, size - used, "!");
	}
}

static void make(struct plan *plan, const char *words)
{
	struct options opt;

	if (parse(&opt, words) || plan_make(&opt, plan))
		fail_msg("%s: %s", words, fail_last()->text);
}

static void check_plan(const char *words, const char *points)
{
	struct plan plan;
	char text[1000];

	make(&plan, words);
	describe(&plan, text, sizeof(text));
	if (strcmp(text, points))
		fail_msg("%s: %s", words, text);
	assert_true(plan.sweep);
	assert_false(plan.overview);
	plan_free(&plan);
	assert_null(plan.points);
	assert_null(plan.refused);
}

/* Operation, test, then the table's order, whatever the order on the command line. */
static void order(void **state)
{
	(void)state;
	check_plan("-s 1,4", "1 4");
	check_plan("-s 4,1", "4 1");
	check_plan("-l 1,2 -s 64,128", "64/1 64/2 128/1 128/2");
	check_plan("-s 64,128 -l 1,2", "64/1 64/2 128/1 128/2");
	check_plan("-t 4,8 -s 64,128 -l 1,2",
		   "64/4/1 64/4/2 64/8/1 64/8/2 128/4/1 128/4/2 128/8/1 128/8/2");
	check_plan("--op read,write -s 1,2", "read/1 read/2 write/1 write/2");
	check_plan("--op read,write --test bw,lat -s 1,2",
		   "read/1/1 read/1/2 read/0/1 read/0/2 write/1/1 write/1/2 write/0/1 write/0/2");
	check_plan("--mtu 1024,256 --direction in,out", "1/1024 1/256 0/1024 0/256");
	check_plan("--offset 0,8 --align 64,4K", "64/0 64/8 4096/0 4096/8");
}

/* A point of a sweep is the one that its values alone give. */
static void points_are_their_values(void **state)
{
	struct plan plan;
	size_t i = 0;

	(void)state;
	make(&plan, "--op write --test lat,bw -s 2:8M:x4 --mtu 512,1024 -n 50");
	assert_int_equal(plan.count, 2 * 12 * 2);
	for (int test = 0; test < 2; test++) {
		for (uint64_t size = 2; size <= 8 << 20; size *= 4) {
			for (int mtu = 512; mtu <= 1024; mtu *= 2) {
				struct point alone;
				char words[120];

				snprintf(words, sizeof(words), "--op write --test %s -s %" PRIu64
					 " --mtu %d -n 50", test ? "bw" : "lat", size, mtu);
				resolved(&alone, words);
				assert_memory_equal(&plan.points[i++], &alone, sizeof(alone));
			}
		}
	}
	assert_int_equal(i, plan.count);
	plan_free(&plan);
}

/* 2, 4 ... 8 MiB are 2^1 to 2^23. */
static void all_sizes(void **state)
{
	struct plan plan;

	(void)state;
	make(&plan, "-a");
	assert_int_equal(plan.count, 23);
	for (size_t i = 0; i < plan.count; i++)
		assert_int_equal(plan.points[i].size.value, 2U << i);
	assert_string_equal(point_op(plan.points)->name, "write");
	assert_int_equal(plan.points[0].test.value, TEST_BW);
	plan_free(&plan);
}

static void equal_points_are_one(void **state)
{
	(void)state;
	check_plan("-s 8,16,8", "8 16");
	check_plan("--op write,cas -s 4:16:x2", "write/4 write/8 write/16 cas/8");
	check_plan("--op cas,write -s 16,4", "cas/8 write/16 write/4");
	check_plan("--op cas,fadd -s 1,64 -t 2,4",
		   "cas/8/2 cas/8/4 fadd/8/2 fadd/8/4");
	check_plan("--op cas -a", "8");
	check_plan("--op read,read -s 1,2", "1 2");
	check_plan("-D 1 -s 1,2 --align 64,64", "1/64 2/64");
}

/* What clashes in some rows is refused there; in all of them, at once. */
static void clashes(void **state)
{
	struct options opt;
	struct plan plan;

	(void)state;
	check_plan("-t 2,8 -l 1,4 -Q 1", "2/1 2/4! 8/1 8/4");
	check_plan("--test lat,bw -q 1,2", "0/1 0/2! 1/1 1/2");
	make(&plan, "-t 2,8 -l 1,4 -Q 1");
	assert_int_equal(plan.refused[1]->class, FAIL_USAGE);
	assert_non_null(strstr(plan.refused[1]->text, "--batch 4 with --tx-depth 2"));
	assert_int_equal(fail_last()->class, FAIL_NONE);
	plan_free(&plan);
	assert_int_equal(parse(&opt, "-t 2,3 -l 4,5 -Q 1"), 0);
	assert_int_equal(plan_make(&opt, &plan), -EINVAL);
	plan_free(&plan);
	assert_int_equal(fail_last()->class, FAIL_USAGE);
	assert_non_null(strstr(fail_last()->text, "--batch 4 with --tx-depth 2"));
}

/* A rate of data is as many messages as their size makes of it; one that cannot be is told. */
static void rates(void **state)
{
	struct options opt;
	struct plan plan;

	(void)state;
	assert_int_equal(parse(&opt, "--op write --test bw --rate 8Mb/s,64Mb/s -s 1000,8000"), 0);
	assert_int_equal(plan_make(&opt, &plan), 0);
	assert_int_equal(plan.count, 4);
	/* The size is before the rate: it varies more slowly. */
	assert_int_equal(plan.points[0].rate.value, 1000000000000);
	assert_int_equal(plan.points[1].rate.value, 8000000000000);
	assert_int_equal(plan.points[2].rate.value, 125000000000);
	assert_int_equal(plan.points[3].rate.value, 1000000000000);
	assert_string_equal(plan.points[1].rate.why, "64Mb/s");
	plan_free(&plan);
	assert_int_equal(parse(&opt, "--op write --test bw --rate 1k,1Tb/s -s 64,8"), 0);
	assert_int_equal(plan_make(&opt, &plan), -EINVAL);
	assert_non_null(strstr(fail_last()->text, "--rate 1Tb/s with messages of 64 bytes"));
	plan_free(&plan);
}

static void bad_sweeps(void **state)
{
	static const struct {
		const char *words, *told;
	} known[] = {
		{ "-a -s 64", "--all with --size 64: it is --size 2:8M:x2; give one of them" },
		{ "--pivot", "--pivot: it shows two options that vary, beside --test, and there "
			     "is none" },
		{ "--pivot -s 1,2 --test lat,bw", "--pivot: it shows two options that vary, beside "
						  "--test, and there is one" },
		{ "-D 0 -s 1,2", "--duration 0 with a sweep" },
		{ "--shuffle 1", "--shuffle with the overview" },
		{ "-s 1:400:+1 -t 1:400:+1", "--size, --tx-depth: more than 100000 rows" },
		{ "-n 1:100000:+1 -s 1:100000:+1 -t 1:100000:+1 -r 1:100000:+1",
		  "--size, --iters: more than 100000 rows" },
		{ "--op all -s 1:400:+1 -t 1:200:+1", "--op and --test with what is swept: more "
						      "than 100000 rows" },
		{ "--op nope -s 1,2", "--op 'nope': no such operation" },
		{ "-n 5 -D 1 -s 1,2", "--iters 5 with --duration 1" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct options opt;
		struct plan plan;
		int rc;

		assert_int_equal(parse(&opt, known[i].words), 0);
		rc = plan_make(&opt, &plan);
		plan_free(&plan);
		if (rc != -EINVAL || fail_last()->class != FAIL_USAGE ||
		    !strstr(fail_last()->text, known[i].told))
			fail_msg("%s: returned %d, '%s'", known[i].words, rc, fail_last()->text);
	}
}

static void shuffled(void **state)
{
	(void)state;
	check_plan("-s 1:128:x2 --shuffle 1", "1 8 128 2 4 64 32 16");
	check_plan("-s 1:128:x2 --shuffle 2", "1 4 128 2 64 8 32 16");
	check_plan("-s 1:16:x2 --shuffle 0", "4 8 1 2 16");
	/* Of the rows by depth and batch, 2/1 2/4! 8/1 8/4, the same way: reasons go along. */
	check_plan("-t 2,8 -l 1,4 -Q 1 --shuffle 7", "8/1 8/4 2/1 2/4!");
}

/* Sizes beyond what a device has go with --all only, and all points are known before the run. */
static void devices(void **state)
{
	struct caps small = roomy;
	struct options opt;
	struct plan plan;

	(void)state;
	small.max_msg_sz = 4096;
	assert_int_equal(parse(&opt, "-a --op write,cas"), 0);
	assert_int_equal(plan_make(&opt, &plan), 0);
	assert_int_equal(plan.count, 24);
	assert_int_equal(plan_bound(&opt, &plan, &roomy, &small), 0);
	assert_int_equal(plan.count, 13); /* 2^1 to 2^12, and the 8 bytes of cas */
	assert_int_equal(plan.points[11].size.value, 4096);
	assert_int_equal(plan.points[12].size.value, 8);
	small.max_msg_sz = 1;
	assert_int_equal(plan_bound(&opt, &plan, &small, &roomy), -EOPNOTSUPP);
	plan_free(&plan);

	small.max_msg_sz = 4096;
	small.active_mtu = 1024;
	make(&plan, "-s 64,8K --mtu 1024,2048");
	assert_int_equal(parse(&opt, "-s 64,8K --mtu 1024,2048"), 0);
	assert_int_equal(plan_bound(&opt, &plan, &roomy, &small), 0);
	assert_int_equal(plan.count, 4);
	assert_int_equal(plan_fit_sweep(&opt, &plan, &roomy, &small), 0);
	assert_null(plan.refused[0]);
	assert_non_null(strstr(plan.refused[1]->text, "--mtu 2048: the active MTU is 4096 here"));
	assert_non_null(strstr(plan.refused[2]->text, "--size 8192: the server's device allows"));
	assert_int_equal(plan.refused[2]->class, FAIL_SETUP);
	assert_non_null(plan.refused[3]);
	plan_free(&plan);
}

/* Every file in scripts/sweeps makes a plan without a point that cannot be. */
static void ready_sweeps(void **state)
{
	static const struct {
		const char *name;
		size_t rows;
	} known[] = {
		{ "sizes", 23 }, { "depths", 20 }, { "batch-signal", 49 }, { "alignment", 30 },
		{ "qps", 14 },   { "inline", 10 }, { "read-depth", 15 },
	};
	const char *tree = getenv("SRCDIR");

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct plan plan;
		char words[4096];

		snprintf(words, sizeof(words), "@%s/scripts/sweeps/%s", tree ? tree : ".",
			 known[i].name);
		make(&plan, words);
		if (plan.count != known[i].rows)
			fail_msg("%s: %zu rows", known[i].name, plan.count);
		for (size_t k = 0; k < plan.count; k++)
			if (plan.refused[k])
				fail_msg("%s: %s", known[i].name, plan.refused[k]->text);
		plan_free(&plan);
	}
}

/* A peer of before these keys does not send them; what it gets is what it ever got. */
static void absent_marks_are_false(void **state)
{
	(void)state;
	for (int set = 0; set < 2; set++) {
		struct message_accept accept = { .kept = set }, accept_got = { .kept = !set };
		struct message_abort word = { .row = set }, word_got = { .row = !set };
		struct message_point asked = { .keep = set }, asked_got = { .keep = !set };
		const char *key;
		json_t *json = message_accept(&accept);

		assert_int_equal(json_object_get(json, "kept") != NULL, set);
		assert_int_equal(message_get_accept(json, &accept_got, &key), 0);
		assert_int_equal(accept_got.kept, set);
		json_decref(json);
		json = message_abort("ABORT", &word);
		assert_int_equal(json_object_get(json, "row") != NULL, set);
		assert_int_equal(message_get_abort(json, &word_got, &key), 0);
		assert_int_equal(word_got.row, set);
		json_decref(json);
		resolved(&asked.point, "-s 64");
		asked.point.mtu.value = 1024;
		json = message_point(&asked);
		assert_int_equal(json_object_get(json, "keep") != NULL, set);
		assert_int_equal(message_get_point(json, &asked_got, &key), 0);
		assert_int_equal(asked_got.keep, set);
		json_decref(json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(order),
		cmocka_unit_test(points_are_their_values),
		cmocka_unit_test(all_sizes),
		cmocka_unit_test(equal_points_are_one),
		cmocka_unit_test(clashes),
		cmocka_unit_test(rates),
		cmocka_unit_test(bad_sweeps),
		cmocka_unit_test(shuffled),
		cmocka_unit_test(devices),
		cmocka_unit_test(ready_sweeps),
		cmocka_unit_test(absent_marks_are_false),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
