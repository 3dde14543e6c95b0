/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Options -> a resolved point. The defaults were worked out by hand from the formula of the
 * manual: depth = clamp(8 MiB / size, 2, 128), signal = min(32, depth / 4, 64 KiB / size) and at
 * least 1, receives = min(2 depth, 512).
 */
#include <errno.h>
#include <inttypes.h>
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

static void defaults_by_size(void **state)
{
	static const struct {
		const char *size;
		uint64_t bytes, depth, signal, rx_depth, stamp;
	} known[] = {
		{ "1", 1, 128, 32, 256, 1 },
		{ "8", 8, 128, 32, 256, 1 },
		{ "64", 64, 128, 32, 256, 1 },
		{ "2K", 2048, 128, 32, 256, 1 },
		{ "4096", 4096, 128, 16, 256, 1 },
		{ "32K", 32768, 128, 2, 256, 1 },
		{ "64K", 65536, 128, 1, 256, 16 },
		{ "65537", 65537, 127, 1, 254, 16 },
		{ "1M", 1048576, 8, 1, 16, 16 },
		{ "8M", 8388608, 2, 1, 4, 16 },
		{ "1G", 1073741824, 2, 1, 4, 16 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct point p;
		char words[64];

		snprintf(words, sizeof(words), "--test bw -s %s", known[i].size);
		resolved(&p, words);
		assert_int_equal(p.size.value, known[i].bytes);
		assert_int_equal(p.depth.value, known[i].depth);
		assert_int_equal(p.signal.value, known[i].signal);
		assert_int_equal(p.rx_depth.value, known[i].rx_depth);
		assert_int_equal(p.stamp.value, known[i].stamp);
		assert_int_equal(p.batch.value, 1);
		assert_int_equal(p.inline_size.value, 0);
		snprintf(words, sizeof(words), "--test lat -s %s", known[i].size);
		resolved(&p, words);
		assert_int_equal(p.depth.value, known[i].depth);
		assert_int_equal(p.signal.value, known[i].signal);
		assert_int_equal(p.stamp.value, 1);
		assert_int_equal(p.inline_size.value, known[i].bytes <= 256 ? known[i].bytes : 0);
	}
}

static void other_defaults(void **state)
{
	struct point p;

	(void)state;
	resolved(&p, "");
	assert_string_equal(point_op(&p)->name, "write");
	assert_int_equal(p.test.value, TEST_BW);
	assert_int_equal(p.size.value, 65536);
	assert_int_equal(p.duration.value, 2 * SECOND);
	assert_int_equal(p.warmup.value, SECOND / 2);
	assert_int_equal(p.iters.value, 0);
	assert_false(point_counts(&p));
	assert_int_equal(p.align.value, 4096);
	assert_int_equal(p.offset.value, 0);
	assert_int_equal(p.stall_timeout.value, 10 * SECOND);
	assert_int_equal(p.qps.value, 1);
	assert_int_equal(p.sl.value | p.tclass.value | p.flow_label.value | p.pkey_index.value, 0);
	assert_int_equal(p.hop_limit.value, 64);
	assert_int_equal(p.qp_timeout.value, 14);
	assert_int_equal(p.retry.value, 6);
	assert_int_equal(p.rnr_retry.value, 7);
	assert_int_equal(p.min_rnr.value, 12);
	resolved(&p, "--test lat --op SEND");
	assert_string_equal(point_op(&p)->name, "send");
	assert_int_equal(p.size.value, 8);
	assert_int_equal(p.inline_size.value, 8);
	resolved(&p, "--test lat -s 256");
	assert_int_equal(p.inline_size.value, 256);
	resolved(&p, "--test lat -s 257");
	assert_int_equal(p.inline_size.value, 0);
	resolved(&p, "-t 1");
	assert_int_equal(p.signal.value, 1);
	assert_int_equal(p.rx_depth.value, 2);
	resolved(&p, "-t 400 -s 8");
	assert_int_equal(p.signal.value, 32);
	assert_int_equal(p.rx_depth.value, 512);
	resolved(&p, "-t 16 -s 8");
	assert_int_equal(p.signal.value, 4);
	/* Where every post asks: one in 32, or in 16 when messages are large. */
	resolved(&p, "-s 8 -Q 1");
	assert_int_equal(p.stamp.value, 32);
	resolved(&p, "-s 4096 -Q 1");
	assert_int_equal(p.stamp.value, 32);
	resolved(&p, "-s 4097 -Q 1");
	assert_int_equal(p.stamp.value, 16);
	resolved(&p, "-s 8 -Q 16 -l 16");
	assert_int_equal(p.stamp.value, 32);
	resolved(&p, "-s 8 -Q 17 -l 16");
	assert_int_equal(p.stamp.value, 1);
	resolved(&p, "-s 8 -Q 1 --stamp all");
	assert_int_equal(p.stamp.value, 1);
}

/* Every setting says why; what was typed says "given", also when it equals the default. */
static void reasons(void **state)
{
	static const char *const lines[] = { "", "--test lat", "-n 5", "-n 5 --warmup 2" };
	struct point p;

	(void)state;
	for (size_t l = 0; l < COUNT_OF(lines); l++) {
		resolved(&p, lines[l]);
		for (size_t i = 0; i < option_row_count; i++) {
			const struct setting *s = point_setting(&p, &option_rows[i]);

			if (s && s != &p.mtu && !s->why[0])
				fail_msg("'%s': --%s has no reason", lines[l],
					 option_rows[i].name);
		}
	}
	resolved(&p, "-s 64K --batch 1 -Q 1 -D 2 --op write --test bw");
	assert_string_equal(p.size.why, "given");
	assert_string_equal(p.batch.why, "given");
	assert_string_equal(p.signal.why, "given");
	assert_string_equal(p.duration.why, "given");
	assert_string_equal(p.op.why, "given");
	assert_string_equal(p.test.why, "given");
	assert_string_equal(p.depth.why, "default for 64 KiB");
}

static void ends_by_count(void **state)
{
	static const struct {
		const char *words;
		uint64_t iters, warmup;
	} known[] = {
		{ "-n 1", 1, 0 },	      { "-n 5", 5, 0 },
		{ "-n 9", 9, 0 },	      { "-n 10", 10, 1 },
		{ "-n 1001", 1001, 100 },     { "-n 9999", 9999, 999 },
		{ "-n 10000", 10000, 1000 },  { "-n 1000000", 1000000, 1000 },
		{ "-n 5 --warmup 7", 5, 7 },  { "--warmup 0 -n 5000", 5000, 0 },
		{ "-n 5 --warmup 10000000000", 5, UINT64_C(10000000000) },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		resolved(&p, known[i].words);
		assert_true(point_counts(&p));
		assert_int_equal(p.iters.value, known[i].iters);
		assert_int_equal(p.warmup.value, known[i].warmup);
		assert_int_equal(p.duration.value, 0);
	}
	resolved(&p, "--warmup 7");
	assert_int_equal(p.warmup.value, 7 * SECOND);
	resolved(&p, "--warmup 1000000");
	assert_int_equal(p.warmup.value, 1000000 * SECOND);
	resolved(&p, "-D 0 --warmup 0");
	assert_int_equal(p.duration.value, 0);
	assert_int_equal(p.warmup.value, 0);
	assert_false(point_counts(&p));
}

static void ways_to_connect(void **state)
{
	static const struct {
		const char *words;
		uint64_t cm, tos;
	} known[] = {
		{ "", 0, 256 },
		{ "-R", 1, 256 },
		{ "--rdma_cm", 1, 256 },
		{ "-R -T 0", 1, 0 },
		{ "--tos 255 --rdma-cm", 1, 255 },
		{ "--tos default", 0, 256 },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		assert_int_equal(resolve(&p, known[i].words), 0);
		assert_int_equal(p.rdma_cm.value, known[i].cm);
		assert_int_equal(p.tos.value, known[i].tos);
	}
}

/* A combination that cannot be is refused by the names of both, with their values. */
static void refused_by_name(void **state)
{
	static const struct {
		const char *words, *first, *second;
	} known[] = {
		{ "-t 64 -Q 100", "--signal 100", "--tx-depth 64" },
		{ "-Q 100 -t 64", "--signal 100", "--tx-depth 64" },
		{ "-t 99 -Q 100 -s 8", "--signal 100", "--tx-depth 99" },
		{ "-s 8M -Q 3", "--signal 3", "--tx-depth 2" },
		{ "-T 0", "--tos 0: ", "add --rdma-cm" },
		{ "--tos 255", "--tos 255: ", "add --rdma-cm" },
		{ "-R -c uc", "--rdma-cm", "--connection: " },
		{ "-c ud --rdma-cm --op send", "--rdma-cm", "or use rc" },
		{ "-t 64 -l 65", "--batch 65", "--tx-depth 64" },
		{ "-s 1M -l 9", "--batch 9", "--tx-depth 8" },
		{ "-n 10 -D 3", "--iters 10", "--duration 3" },
		{ "-n 10 -D 2", "--iters 10", "--duration 2" },
		{ "-D 0 -n 10", "--iters 10", "--duration 0" },
		{ "--test lat -l 2", "--batch 2", "--test lat" },
		{ "--test lat --stamp 16", "--stamp 16", "--test lat" },
		{ "--test lat --op send -r 1", "--rx-depth 1", "--test lat" },
		{ "--align 64 --offset 64", "--offset 64", "--align 64" },
		{ "--offset 4K", "--offset 4096", "--align 4096" },
		{ "--align 1 --offset 1", "--offset 1", "--align 1" },
		{ "--align 96", "--align 96", "power of two" },
		{ "--align 3", "--align 3", "power of two" },
		{ "--stamp 3", "--stamp 3", "power of two" },
		{ "-n 5 --warmup 0.5", "--warmup '0.5'", "--iters 5" },
		{ "-n 5 --warmup 10ms", "--warmup '10ms'", "--iters 5" },
		{ "--warmup 1000001", "--warmup '1000001'", "--duration" },
		{ "--warmup 1000000000001us", "--warmup '1000000000001us'", "--duration" },
		{ "--op foo", "--op 'foo'", "send, send_imm, write" },
		{ "--op writ", "--op 'writ'", "read, cas, fadd" },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		int rc = resolve(&p, known[i].words);

		if (rc != -EINVAL || fail_last()->class != FAIL_USAGE ||
		    !strstr(fail_last()->text, known[i].first) ||
		    !strstr(fail_last()->text, known[i].second))
			fail_msg("%s: returned %d, '%s'", known[i].words, rc, fail_last()->text);
	}
}

static void accepted(void **state)
{
	static const char *const lines[] = {
		"-t 128 -Q 100 -l 64", "-t 128 -Q 64 -l 48", "-t 64 -Q 64 -l 64", "-t 1 -Q 1 -l 1",
		"-t 1 -Q 7 -n 5 -t 128", "--test lat --batch 1", "--test lat --stamp all",
		"--test lat --op send -r 2", "--test lat --op write -r 1", "--align 1 --offset 0",
		"--align 64 --offset 63", "--align 2M --offset 2097151", "--stamp off",
		"--stamp 1024", "-D 0",
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(lines); i++)
		resolved(&p, lines[i]);
}

static void check_limit(const char *words, const struct caps *caps, const char *told)
{
	struct caps enough = *caps;
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
	assert_non_null(strstr(fail_last()->text, "the device here"));
	/* One more of the limit, and it fits: each caps is one short. */
	enough.max_msg_sz++;
	enough.max_qp_wr++;
	enough.max_cqe++;
	assert_int_equal(fit(words, &enough, &enough, &p), 0);
	assert_int_equal(plan_check_limits(&p, &enough, "it"), 0);
}

static void device_limits(void **state)
{
	struct caps c = roomy;
	struct point p;

	(void)state;
	c.max_msg_sz = 4095;
	check_limit("-s 4096", &c, "--size 4096");
	c = roomy;
	c.max_qp_wr = 127;
	check_limit("-s 8", &c, "--tx-depth 128");
	c.max_qp_wr = 255;
	check_limit("-s 8 --op send", &c, "--rx-depth 256");
	assert_int_equal(fit("-s 8 --op write", &c, &c, &p), 0); /* receives nothing */
	c = roomy;
	c.max_cqe = 127;
	check_limit("-s 8", &c, "--tx-depth 128");
	c.max_cqe = 255;
	check_limit("-s 8 --op send", &c, "--rx-depth 256");
}

/* A server checks for itself: a client's rules may be older, or broken. */
static void server_checks_rules(void **state)
{
	struct point p;

	(void)state;
	resolved(&p, "-t 64");
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), 0);
	p.signal.value = 65;
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), -EINVAL);
	assert_non_null(strstr(fail_last()->text, "--signal 65 with --tx-depth 64"));
	resolved(&p, "-t 64");
	p.align.value = 3;
	assert_int_equal(plan_check_limits(&p, &roomy, "it"), -EINVAL);
}

/* Messages of all queue pairs together are counted in 64 bits. */
static void counts_that_overflow(void **state)
{
	static const struct {
		uint64_t iters, warmup, qps;
		int rc;
	} known[] = {
		{ 1, (UINT64_C(1) << 54) - 2, 1024, 0 },
		{ 1, (UINT64_C(1) << 54) - 1, 1024, -EINVAL },
		{ 1, UINT64_MAX - 1, 1, 0 },
		{ 1, UINT64_MAX, 1, -EINVAL },
		{ UINT64_C(1) << 47, UINT64_C(1) << 63, 2, -EINVAL },
		{ 0, UINT64_MAX, 1024, 0 }, /* a time */
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		resolved(&p, "-n 5 -q 4");
		p.iters.value = known[i].iters;
		p.warmup.value = known[i].warmup;
		p.qps.value = known[i].qps;
		assert_int_equal(plan_check_limits(&p, &roomy, "it"), known[i].rc);
		if (known[i].rc)
			assert_non_null(strstr(fail_last()->text, "more messages than can be "
					       "counted; lower --warmup"));
		fail_clear();
	}
}

static void mtu(void **state)
{
	struct caps small = roomy;
	struct point p;

	(void)state;
	small.active_mtu = 1024;
	assert_int_equal(fit("", &roomy, &small, &p), 0);
	assert_int_equal(p.mtu.value, 1024);
	assert_string_equal(p.mtu.why, "smaller active MTU");
	assert_int_equal(fit("", &small, &roomy, &p), 0);
	assert_int_equal(p.mtu.value, 1024);
	assert_int_equal(fit("", &roomy, &roomy, &p), 0);
	assert_int_equal(p.mtu.value, 4096);
	assert_int_equal(fit("-m 512", &roomy, &small, &p), 0);
	assert_int_equal(p.mtu.value, 512);
	assert_string_equal(p.mtu.why, "given");
	assert_int_equal(fit("-m 1024", &roomy, &small, &p), 0);
	assert_int_equal(fit("-m 2048", &roomy, &small, &p), -EOPNOTSUPP);
	assert_int_equal(fail_last()->class, FAIL_SETUP);
	assert_non_null(strstr(fail_last()->text,
			       "--mtu 2048: the active MTU is 4096 here and 1024 at the server"));
	assert_int_equal(fit("-m 2048", &small, &roomy, &p), -EOPNOTSUPP);
}

static uint64_t id(const char *words)
{
	struct point p;

	assert_int_equal(fit(words, &roomy, &roomy, &p), 0);
	return point_config_id(&p);
}

static void config_id(void **state)
{
	static const char *const same[] = {
		"--op write", "--test bw", "--direction out", "-s 64K", "-s 65536", "-t 128",
		"-r 256", "-l 1", "-Q 1", "-I 0", "--stamp 16", "--align 4096", "--offset 0",
		"-q 1", "--atomic-target qp", "-D 2", "-D 2000ms", "--warmup 0.5", "-m 4096", "-p 1", "--stall-timeout 3",
		"--connect-timeout 3", "-d rxe0", "--peer-dev rxe1", "--bind ::1", "--plan",
		"-Q 1 -l 1 -t 128 -s 64K --test bw --op write -r 256 -I 0 --stamp 16 -D 2",
	};
	static const char *const other[] = {
		"--op send", "--test lat", "-s 64", "-n 100", "-n 101", "-n 100 --warmup 1",
		"-D 3", "--warmup 1", "-t 127", "-r 255", "-l 2", "-Q 2", "-I 1", "--stamp 32",
		"--stamp off", "-q 2", "--direction in", "-b", "--op read", "--op read -o 8",
		"--op fadd", "--op fadd --atomic-target shared", "--align 64", "--offset 1", "-m 2048",
	};
	uint64_t plain = id(""), ids[COUNT_OF(other)];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(same); i++)
		if (id(same[i]) != plain)
			fail_msg("%s has another id than the defaults", same[i]);
	for (size_t i = 0; i < COUNT_OF(other); i++) {
		ids[i] = id(other[i]);
		if (ids[i] == plain)
			fail_msg("%s has the id of the defaults", other[i]);
		for (size_t j = 0; j < i; j++)
			if (ids[i] == ids[j])
				fail_msg("%s and %s have one id", other[i], other[j]);
	}
	assert_true(id("--test lat") == id("-s 8 --test lat -I 8 -D 2 --stamp all"));
}

static void strides_and_slots(void **state)
{
	static const struct {
		uint64_t size, stride;
		uint32_t slots;
	} known[] = {
		{ 1, 64, 64 },	      { 63, 64, 64 },	 { 64, 64, 64 },     { 65, 128, 32 },
		{ 128, 128, 32 },     { 129, 192, 21 },	 { 1024, 1024, 4 },  { 1025, 1088, 3 },
		{ 2048, 2048, 2 },    { 2049, 2112, 1 }, { 4096, 4096, 1 },  { 4097, 4160, 1 },
		{ 65536, 65536, 1 },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		char words[64];

		snprintf(words, sizeof(words), "-s %" PRIu64, known[i].size);
		resolved(&p, words);
		assert_int_equal(point_stride(&p), known[i].stride);
		assert_int_equal(point_slots(&p), known[i].slots);
		snprintf(words, sizeof(words), "--test lat -s %" PRIu64, known[i].size);
		resolved(&p, words);
		assert_int_equal(point_slots(&p), 1);
	}
}

/* The first failure is the cause: what follows from it is neither told nor kept. */
static void first_failure_stays(void **state)
{
	struct point p;

	(void)state;
	assert_int_equal(resolve(&p, "-t 64 -Q 100"), -EINVAL);
	p.depth.value = 200;
	assert_int_equal(plan_check_limits(&p, &(struct caps){ 0 }, "it"), -EOPNOTSUPP);
	assert_int_equal(fail_last()->class, FAIL_USAGE);
	assert_non_null(strstr(fail_last()->text, "--signal 100 with --tx-depth 64"));
	fail_clear();
	assert_int_equal(fail_last()->class, FAIL_NONE);
	assert_int_equal(plan_check_limits(&p, &(struct caps){ 0 }, "it"), -EOPNOTSUPP);
	assert_int_equal(fail_last()->class, FAIL_SETUP);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults_by_size),
		cmocka_unit_test(other_defaults),
		cmocka_unit_test(reasons),
		cmocka_unit_test(ends_by_count),
		cmocka_unit_test(ways_to_connect),
		cmocka_unit_test(refused_by_name),
		cmocka_unit_test(accepted),
		cmocka_unit_test(device_limits),
		cmocka_unit_test(server_checks_rules),
		cmocka_unit_test(counts_that_overflow),
		cmocka_unit_test(mtu),
		cmocka_unit_test(config_id),
		cmocka_unit_test(strides_and_slots),
		cmocka_unit_test(first_failure_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
