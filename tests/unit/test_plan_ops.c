/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plans of several operations, both directions and many queue pairs. Defaults by hand from the
 * manual's formula: depth = clamp(8 MiB / (size x qps), 2, 128), and what follows from the depth.
 */
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

/* "write:bw read:lat ..." */
static void describe(const struct plan *plan, char *out, size_t size)
{
	out[0] = '\0';
	for (size_t i = 0; i < plan->count; i++) {
		size_t used = strlen(out);

		snprintf(out + used, size - used, "%s%s:%s", used ? " " : "",
			 point_op(&plan->points[i])->name,
			 plan->points[i].test.value == TEST_LAT ? "lat" : "bw");
	}
}

static void check_plan(const char *words, const char *points)
{
	struct options opt;
	struct plan plan;
	char text[400];

	if (parse(&opt, words) || plan_make(&opt, &plan))
		fail_msg("%s: %s", words, fail_last()->text);
	describe(&plan, text, sizeof(text));
	plan_free(&plan);
	assert_null(plan.points);
	if (strcmp(text, points))
		fail_msg("%s: %s", words, text);
}

static void lists(void **state)
{
	(void)state;
	check_plan("--op write", "write:bw");
	check_plan("--op write --test lat", "write:lat");
	check_plan("--op read,write", "read:bw write:bw");
	check_plan("--op write,read", "write:bw read:bw");
	check_plan("--op SEND,Write_IMM --test lat", "send:lat write_imm:lat");
	check_plan("--op write --test lat,bw", "write:lat write:bw");
	check_plan("--op cas,send --test bw,lat", "cas:bw cas:lat send:bw send:lat");
	check_plan("--op read,read", "read:bw read:bw");
	check_plan("--op all", "send:bw send_imm:bw write:bw write_imm:bw read:bw cas:bw fadd:bw");
	check_plan("--op ALL --test lat",
		   "send:lat send_imm:lat write:lat write_imm:lat read:lat cas:lat fadd:lat");
	check_plan("--op all --test lat,bw",
		   "send:lat send:bw send_imm:lat send_imm:bw write:lat write:bw write_imm:lat "
		   "write_imm:bw read:lat read:bw cas:lat cas:bw fadd:lat fadd:bw");
	check_plan("--test lat", "write:lat");
	check_plan("-c uc --op all", "send:bw send_imm:bw write:bw write_imm:bw");
	check_plan("-c ud --op all --test lat", "send:lat send_imm:lat");
	check_plan("-c ud", "send:lat send:bw send:bw send_imm:lat send_imm:bw send_imm:bw");
}

/* Each point of a list is the one that its operation and test alone would give. */
static void lists_are_their_parts(void **state)
{
	static const char *const tests[] = { "lat", "bw" };
	size_t with_peers = 0;
	struct options opt;
	struct plan plan;

	(void)state;
	for (size_t i = 0; i < op_count; i++)
		with_peers += !op_is_local(&ops[i]);
	assert_int_equal(parse(&opt, "--op all --test lat,bw -n 50"), 0);
	assert_int_equal(plan_make(&opt, &plan), 0);
	assert_int_equal(plan.count, 2 * with_peers);
	for (size_t i = 0; i < plan.count; i++) {
		struct point alone;
		char words[80];

		snprintf(words, sizeof(words), "--op %s --test %s -n 50", ops[i / 2].name,
			 tests[i % 2]);
		resolved(&alone, words);
		assert_memory_equal(&plan.points[i], &alone, sizeof(alone));
	}
	plan_free(&plan);
}

static void bad_lists(void **state)
{
	static const struct {
		const char *words, *told;
	} known[] = {
		{ "--op write,nope,read", "--op 'nope': no such operation; there are send, " },
		{ "--op write,", "--op '': no such operation" },
		{ "--op ,write", "--op '': no such operation" },
		{ "--op write,,read", "--op '': no such operation" },
		{ "--op all,write", "--op 'all': no such operation" },
		{ "--op write,cas -s 64", "--size 64 with --op cas" },
		{ "--op write --test bw,lat -q 2", "--qp 2 with --test lat" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct options opt;
		struct plan plan;
		int rc = parse(&opt, known[i].words);

		assert_int_equal(rc, 0);
		rc = plan_make(&opt, &plan);
		plan_free(&plan);
		if (rc != -EINVAL || fail_last()->class != FAIL_USAGE ||
		    !strstr(fail_last()->text, known[i].told))
			fail_msg("%s: returned %d, '%s'", known[i].words, rc, fail_last()->text);
	}
}

/* A datagram has one packet: the default is the MTU, and what was asked for is not cut. */
static void datagrams(void **state)
{
	struct caps small = roomy;
	struct point p;

	(void)state;
	small.active_mtu = 1024;
	assert_int_equal(fit("-c ud --op send", &roomy, &small, &p), 0);
	assert_int_equal(p.size.value, 1024);
	assert_int_equal(p.depth.value, 128); /* 8 MiB / 1 KiB is more */
	assert_int_equal(p.signal.value, 32);
	assert_int_equal(fit("-c ud --op send", &roomy, &roomy, &p), 0);
	assert_int_equal(p.size.value, 4096);
	assert_int_equal(p.signal.value, 16); /* 64 KiB / 4 KiB */
	assert_int_equal(fit("-c ud --op send -m 256", &roomy, &roomy, &p), 0);
	assert_int_equal(p.size.value, 256);
	assert_int_equal(fit("-c ud --op send --test lat", &small, &roomy, &p), 0);
	assert_int_equal(p.size.value, 8);
	assert_int_equal(fit("-c ud --op send -s 1K", &small, &roomy, &p), 0);
	assert_int_equal(fit("-c ud --op send -s 1025", &small, &roomy, &p), -EOPNOTSUPP);
	assert_non_null(strstr(fail_last()->text, "--size 1025 with --connection UD"));
	assert_non_null(strstr(fail_last()->text, "MTU of 1024 bytes"));
	assert_int_equal(fit("-c uc --op send -s 1025", &small, &roomy, &p), 0);
	assert_int_equal(fit("-c ud --op send -s 1K", &roomy, &roomy, &p), 0);
	p.mtu.value = 512; /* as a server sees it */
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), -EOPNOTSUPP);
}

/* Of tests the words are known to the option itself. */
static void bad_tests(void **state)
{
	static const char *const known[] = { "lat,", ",bw", "lat,,bw", "lat,nope", "all" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct options opt;
		char words[40];

		snprintf(words, sizeof(words), "--test %s", known[i]);
		assert_int_equal(parse(&opt, words), -EINVAL);
		assert_int_equal(fail_last()->class, FAIL_USAGE);
		assert_non_null(strstr(fail_last()->text, "--test '"));
	}
}

static void check_refused(const char *words, const char *told)
{
	struct point p;
	int rc = resolve(&p, words);

	if (rc != -EINVAL || fail_last()->class != FAIL_USAGE || !strstr(fail_last()->text, told))
		fail_msg("%s: returned %d, '%s'", words, rc, fail_last()->text);
}

static void refused(void **state)
{
	static const struct {
		const char *words, *told;
	} known[] = {
		{ "--op cas -s 4", "--size 4 with --op cas" },
		{ "--op cas -s 7", "--size 7 with --op cas" },
		{ "--op fadd -s 9", "--size 9 with --op fadd: atomics are 8 bytes long" },
		{ "--op fadd --test lat -s 64K", "--size 65536 with --op fadd" },
		{ "--op read --test lat -Q 2", "--signal 2 with --test lat" },
		{ "--op cas --test lat -Q 32", "--signal 32 with --test lat" },
		{ "--op fadd --test lat -Q 2", "--signal 2 with --test lat" },
		{ "--test lat --direction both", "--direction both with --test lat" },
		{ "--test lat -b --op read", "--direction both with --test lat" },
		{ "--test lat -q 2", "--qp 2 with --test lat" },
		{ "--test lat --op fadd -q 1024", "--qp 1024 with --test lat" },
		{ "--op read -I 8 -s 8", "--inline 8 with --op read" },
		{ "--op cas -I 8", "--inline 8 with --op cas" },
		{ "--op fadd --test lat -I 1", "--inline 1 with --op fadd" },
		{ "--op cas --offset 4", "--offset 4 with --align 4096: atomics" },
		{ "--op fadd --offset 1", "--offset 1 with --align 4096: atomics" },
		{ "--op fadd --align 4", "--offset 0 with --align 4: atomics" },
		{ "--op cas --align 1", "--offset 0 with --align 1: atomics" },
		{ "-c uc --op read", "--op read with --connection UC: UC does not have it, as "
				     "reads and atomics are answered, and nothing is here; it "
				     "has send, send_imm, write, write_imm" },
		{ "-c UD --op write", "--op write with --connection UD: UD does not have it, as "
				      "a datagram names a queue pair, and no address of its "
				      "memory; it has send, send_imm" },
		{ "--connection=ud --op fadd --test lat", "--op fadd with --connection UD" },
		{ "-c uc --op send --test lat --loss-timeout 10", "--loss-timeout with "
								  "--stall-timeout" },
		{ "-q 8 -s 1M -l 2 -t 1", "--batch 2 with --tx-depth 1" },
		{ "-q 128 -s 1M -Q 3", "--signal 3 with --tx-depth 2" },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++)
		check_refused(known[i].words, known[i].told);
	/* A server sees it too, from a client whose rules are broken. */
	resolved(&p, "--op cas");
	p.size.value = 16;
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), -EINVAL);
	resolved(&p, "--test lat");
	p.direction.value = DIRECTION_BOTH;
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), -EINVAL);
	resolved(&p, "--test lat --op send");
	p.qps.value = 2;
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), -EINVAL);
}

static void accepted(void **state)
{
	static const char *const lines[] = {
		"--op cas -s 8", "--op fadd --size 8 --test lat", "--op read -I 0",
		"--op read --test lat -Q 1", "--op read -Q 32 -s 8", "--op cas --offset 8",
		"--op fadd --align 8", "--op write --offset 1", "--op write --align 4",
		"--test lat --direction in", "--test lat -q 1", "-q 1024 -b", "--op read -s 1",
		"--op cas --test lat --align 64 --offset 56",
		"-c RC --op cas", "-c uc --op write_imm", "--transport UD --op send_imm --test lat",
		"-c rc --test lat --loss-timeout 10", "-c uc --test bw --loss-timeout 10",
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		resolved(&p, lines[i]);
}

static void defaults_of_atomics(void **state)
{
	static const char *const lines[] = { "--op cas", "--op fadd", "--op cas --test lat" };
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		resolved(&p, lines[i]);
		assert_int_equal(p.size.value, 8);
		assert_string_equal(p.size.why, "the operation's only one");
		assert_int_equal(p.depth.value, 128);
		assert_int_equal(p.inline_size.value, 0);
		assert_string_equal(p.inline_size.why, "the operation carries no payload out");
		assert_int_equal(p.atomic_target.value, ATOMIC_QP);
	}
	resolved(&p, "--op fadd -s 8 --atomic-target shared");
	assert_string_equal(p.size.why, "given");
	assert_int_equal(p.atomic_target.value, ATOMIC_SHARED);
}

/* Where the completion is the answer each one is asked for; elsewhere the formula holds. */
static void signals_of_lat(void **state)
{
	static const struct {
		const char *words;
		uint64_t signal;
	} known[] = {
		{ "--op read --test lat", 1 },	    { "--op cas --test lat", 1 },
		{ "--op fadd --test lat", 1 },	    { "--op read --test lat -s 4K", 1 },
		{ "--op write --test lat", 32 },    { "--op send_imm --test lat", 32 },
		{ "--op read --test bw -s 8", 32 }, { "--op cas --test bw", 32 },
		{ "--op fadd -t 16", 4 },	    { "--op read --test lat -Q 1", 1 },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		resolved(&p, known[i].words);
		if (p.signal.value != known[i].signal)
			fail_msg("%s: signal %llu", known[i].words,
				 (unsigned long long)p.signal.value);
	}
	resolved(&p, "--op read --test lat");
	assert_string_equal(p.signal.why, "each completion is an answer");
	assert_int_equal(p.stamp.value, 1);
	assert_int_equal(p.size.value, 8);
	assert_int_equal(p.inline_size.value, 0);
}

static void defaults_by_qps(void **state)
{
	static const struct {
		const char *words;
		uint64_t depth, signal, rx_depth;
	} known[] = {
		{ "-s 64K -q 1", 128, 1, 256 },	    { "-s 64K -q 2", 64, 1, 128 },
		{ "-s 64K -q 5", 25, 1, 50 },	    { "-s 64K -q 16", 8, 1, 16 },
		{ "-s 64K -q 64", 2, 1, 4 },	    { "-s 64K -q 1024", 2, 1, 4 },
		{ "-s 8 -q 1024", 128, 32, 256 },   { "-s 4K -q 16", 128, 16, 256 },
		{ "-s 4K -q 17", 120, 16, 240 },    { "-s 4K -q 256", 8, 2, 16 },
		{ "-s 1000 -q 100", 83, 20, 166 },  { "-s 1M -q 3", 2, 1, 4 },
		{ "-s 64K -q 2 -t 100", 100, 1, 200 },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		char words[80];

		snprintf(words, sizeof(words), "--op send %s", known[i].words);
		resolved(&p, words);
		if (p.depth.value != known[i].depth || p.signal.value != known[i].signal ||
		    p.rx_depth.value != known[i].rx_depth)
			fail_msg("%s: depth %llu, signal %llu, receives %llu", words,
				 (unsigned long long)p.depth.value,
				 (unsigned long long)p.signal.value,
				 (unsigned long long)p.rx_depth.value);
	}
	resolved(&p, "-s 64K -q 5");
	assert_string_equal(p.depth.why, "default for 64 KiB and 5 QPs");
	assert_string_equal(p.qps.why, "given");
	resolved(&p, "-s 64K");
	assert_string_equal(p.depth.why, "default for 64 KiB");
	assert_string_equal(p.qps.why, "default");
}

static void directions(void **state)
{
	struct point long_name, letter;

	(void)state;
	resolved(&long_name, "--direction both");
	resolved(&letter, "-b");
	assert_int_equal(letter.direction.value, DIRECTION_BOTH);
	assert_string_equal(letter.direction.why, "given");
	assert_string_equal(long_name.direction.why, "given");
	assert_true(point_config_id(&letter) == point_config_id(&long_name));
	resolved(&letter, "--direction both -b");
	assert_int_equal(letter.direction.value, DIRECTION_BOTH);
	check_refused("--direction out -b", "--direction with --bidirectional: ");
	check_refused("--direction in -b", "--direction with --bidirectional: ");
	resolved(&letter, "");
	assert_int_equal(letter.direction.value, DIRECTION_OUT);
	assert_string_equal(letter.direction.why, "default");
	resolved(&letter, "--direction in");
	assert_int_equal(letter.direction.value, DIRECTION_IN);
}

/* The least of what is asked, what the one may begin and what the other accepts. */
static void outstanding(void **state)
{
	static const struct {
		const char *words;
		uint32_t our_init, our_res, their_init, their_res, got;
		const char *why;
	} known[] = {
		{ "--op read", 16, 1, 1, 16, 16, "what both devices allow" },
		{ "--op read", 16, 1, 1, 8, 8, "what both devices allow" },
		{ "--op read", 4, 99, 99, 8, 4, "what both devices allow" },
		{ "--op read -o 3", 4, 99, 99, 8, 3, "given" },
		{ "--op read -o 4", 4, 99, 99, 8, 4, "given" },
		{ "--op read -o 5", 4, 99, 99, 8, 4, "5 -> 4, what both allow" },
		{ "--op cas -o 255", 128, 1, 1, 16, 16, "255 -> 16, what both allow" },
		{ "--op read --direction in", 99, 5, 7, 99, 5, "what both devices allow" },
		{ "--op read --direction in -o 6", 99, 5, 7, 99, 5,
		  "6 -> 5, what both allow" },
		{ "--op fadd --direction in -o 4", 99, 5, 7, 99, 4, "given" },
		{ "--op write -o 9", 16, 16, 16, 16, 0, "given, but the operation reads nothing" },
		{ "--op send", 16, 16, 16, 16, 0, "the operation reads nothing" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct caps ours = roomy, theirs = roomy;
		struct point p;

		ours.max_rd_init = known[i].our_init;
		ours.max_rd_res = known[i].our_res;
		theirs.max_rd_init = known[i].their_init;
		theirs.max_rd_res = known[i].their_res;
		assert_int_equal(fit(known[i].words, &ours, &theirs, &p), 0);
		if (p.outs.value != known[i].got || strcmp(p.outs.why, known[i].why))
			fail_msg("%s: %llu (%s)", known[i].words,
				 (unsigned long long)p.outs.value, p.outs.why);
	}
}

/* As each side takes it for its two directions. */
static void outstanding_each_way(void **state)
{
	struct caps ours = { .max_rd_init = 9, .max_rd_res = 3 };
	struct caps theirs = { .max_rd_init = 7, .max_rd_res = 8 };
	struct point p;

	(void)state;
	resolved(&p, "--op read -b");
	assert_int_equal(plan_outstanding(&p, &ours, &theirs), 8);
	assert_int_equal(plan_outstanding(&p, &theirs, &ours), 3);
	p.outs.value = 5;
	assert_int_equal(plan_outstanding(&p, &ours, &theirs), 5);
	assert_int_equal(plan_outstanding(&p, &theirs, &ours), 3);
	p.outs.value = 1;
	assert_int_equal(plan_outstanding(&p, &theirs, &ours), 1);
}

/* Told of either side's device, and by a server for itself. */
static void check_unable(const char *words, const struct caps *caps, const char *told)
{
	struct point p;

	assert_int_equal(fit(words, caps, &roomy, &p), -EOPNOTSUPP);
	assert_int_equal(fail_last()->class, FAIL_SETUP);
	assert_non_null(strstr(fail_last()->text, told));
	assert_non_null(strstr(fail_last()->text, "this side's device"));
	assert_int_equal(fit(words, &roomy, caps, &p), -EOPNOTSUPP);
	assert_non_null(strstr(fail_last()->text, told));
	assert_non_null(strstr(fail_last()->text, "the server's device"));
	fail_clear();
	assert_int_equal(plan_check_limits(&p, caps, "the device here"), -EOPNOTSUPP);
	assert_non_null(strstr(fail_last()->text, told));
}

static void devices_that_cannot(void **state)
{
	struct caps no_atomics = roomy, no_init = roomy, no_res = roomy, few = roomy;
	struct point p;

	(void)state;
	no_atomics.atomics = 0;
	no_init.max_rd_init = 0;
	no_res.max_rd_res = 0;
	few.max_qp = 4;
	check_unable("--op cas", &no_atomics, "--op cas: ");
	check_unable("--op fadd --test lat", &no_atomics, "has no atomics");
	assert_int_equal(fit("--op read", &no_atomics, &no_atomics, &p), 0);
	assert_int_equal(fit("--op write", &no_atomics, &no_atomics, &p), 0);
	check_unable("--op read", &no_init,
		     "allows 0 reads and atomics to be begun and accepts 16");
	check_unable("--op read", &no_res,
		     "allows 16 reads and atomics to be begun and accepts 0");
	check_unable("--op fadd", &no_res, "--op fadd: ");
	assert_int_equal(fit("--op send", &no_init, &no_res, &p), 0);
	check_unable("-q 5", &few, "--qp 5: ");
	check_unable("-q 5", &few, "allows 4 queue pairs; lower --qp");
	assert_int_equal(fit("-q 4", &few, &few, &p), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists),
		cmocka_unit_test(lists_are_their_parts),
		cmocka_unit_test(bad_lists),
		cmocka_unit_test(bad_tests),
		cmocka_unit_test(datagrams),
		cmocka_unit_test(refused),
		cmocka_unit_test(accepted),
		cmocka_unit_test(defaults_of_atomics),
		cmocka_unit_test(signals_of_lat),
		cmocka_unit_test(defaults_by_qps),
		cmocka_unit_test(directions),
		cmocka_unit_test(outstanding),
		cmocka_unit_test(outstanding_each_way),
		cmocka_unit_test(devices_that_cannot),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
