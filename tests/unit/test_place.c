/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where buffers are, what they are made of, and how large; and the attributes of a path. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/fail.h"
#include "host/numa.h"
#include "plan/plan.h"

#include <cmocka.h>

#include "plan_words.h"

static void nodes(void **state)
{
	static const struct {
		struct numa_facts facts;
		int node;
		const char *why;
	} known[] = {
		{ { 1, 2, false, false }, 1, "node 1, the device's" },
		{ { 0, 4, false, false }, 0, "node 0, the device's" },
		{ { 1, 2, true, false }, -1, "kept: rdmeter was started on some CPUs only" },
		{ { 1, 2, false, true }, -1, "kept: rdmeter was started with its memory bound" },
		{ { 0, 1, true, false }, -1, "kept: rdmeter was started on some CPUs only" },
		{ { 0, 1, false, false }, -1, "anywhere: the host has one NUMA node" },
		{ { -1, 0, false, false }, -1, "anywhere: the host has one NUMA node" },
		{ { -1, 2, false, false }, -1, "anywhere: the device's node is unknown" },
		{ { 2, 2, false, false }, -1, "anywhere: the device's node is unknown" },
	};
	struct numa_place place;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		numa_decide(&known[i].facts, &place);
		assert_int_equal(place.node, known[i].node);
		assert_string_equal(place.why, known[i].why);
	}
	assert_int_equal(numa_place_memory(&place, sizeof(place), -1), 0);
	assert_int_equal(numa_place_thread(-1), 0);
}

/* As perftest's users type them, where it has them. */
static void path_options(void **state)
{
	static const struct {
		const char *words;
		size_t at;
		uint64_t value;
	} known[] = {
#define AT(field) offsetof(struct point, field)
		{ "-S 15", AT(sl), 15 },		{ "--sl 0", AT(sl), 0 },
		{ "--tclass=106", AT(tclass), 106 },	{ "--tclass 255", AT(tclass), 255 },
		{ "--flow_label 1048575", AT(flow_label), 1048575 },
		{ "--hop_limit 1", AT(hop_limit), 1 },	{ "--hop-limit 255", AT(hop_limit), 255 },
		{ "--pkey_index 65535", AT(pkey_index), 65535 },
		{ "-u 0", AT(qp_timeout), 0 },		{ "--qp-timeout 31", AT(qp_timeout), 31 },
		{ "--retry_count 7", AT(retry), 7 },	{ "--retry 0", AT(retry), 0 },
		{ "--rnr-retry 7", AT(rnr_retry), 7 },	{ "--min_rnr_timer 31", AT(min_rnr), 31 },
		{ "--sge 64", AT(sge), 64 },
	};
	static const char *const beyond[] = {
		"-S 16", "--tclass 256", "--flow-label 1048576", "--hop-limit 0", "--hop-limit 256",
		"--pkey-index 65536", "-u 32", "--retry 8", "--rnr-retry 8", "--min-rnr 32",
		"--sge 0",
	};
	struct options opt;
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		resolved(&p, known[i].words);
		assert_int_equal(((struct setting *)(void *)((char *)&p + known[i].at))->value,
				 known[i].value);
	}
	for (size_t i = 0; i < COUNT_OF(beyond); i++) {
		assert_int_equal(parse(&opt, beyond[i]), -EINVAL);
		assert_non_null(strstr(fail_last()->text, "out of range"));
	}
}

static void kinds(void **state)
{
	static const struct {
		const char *words;
		uint64_t memory;
	} known[] = {
		{ "", MEMORY_MALLOC },			{ "--memory MALLOC", MEMORY_MALLOC },
		{ "--memory huge2m", MEMORY_HUGE2M },	{ "--memory huge1g", MEMORY_HUGE1G },
		{ "--memory file:/x", MEMORY_FILE },	{ "--memory FILE:b", MEMORY_FILE },
		{ "--memory shm", MEMORY_SHM },		{ "--memory udmabuf", MEMORY_UDMABUF },
	};
	struct options opt;
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		resolved(&p, known[i].words);
		assert_int_equal(p.memory.value, known[i].memory);
	}
	assert_int_equal(parse(&opt, "--memory file:"), -EINVAL);
	assert_non_null(strstr(fail_last()->text, "--memory 'file:': not one of malloc, huge2m"));
	assert_int_equal(parse(&opt, "--memory file"), -EINVAL);
	assert_int_equal(parse(&opt, "--memory shm:/x"), -EINVAL);
}

/* As perftest's by default; what is asked for is what there is. */
static void working_sets(void **state)
{
	static const struct {
		const char *words;
		uint64_t stride, slots, bytes;
	} known[] = {
		{ "-s 1", 64, 64, 4096 },
		{ "-s 65", 128, 32, 4096 },
		{ "-s 2K", 2048, 2, 4096 },
		{ "-s 2049", 2112, 1, 2112 },
		{ "-s 64K", 65536, 1, 65536 },
		{ "-s 64 -q 8", 64, 64, 32768 },
		{ "-s 64 --slots 1", 64, 1, 64 },
		{ "-s 64 --slots 100000 -q 2", 64, 100000, 12800000 },
		{ "-s 64K --slots 16", 65536, 16, 1048576 },
		{ "-s 64 -t 128 --verify", 64, 128, 8192 },
		{ "-s 64 -t 10 --verify", 64, 64, 4096 },
		{ "-s 64 -t 10 --slots 3 --verify", 64, 10, 640 },
		{ "-s 64K -t 10 -r 7 --op send --verify", 65536, 17, 1114112 },
		{ "-s 64K -t 10 -r 7 --op write_imm --verify", 65536, 17, 1114112 },
		{ "-s 64K -t 10 -r 7 --op read --verify", 65536, 10, 655360 },
		{ "-s 64K -t 10 --op send --verify --slots 99", 65536, 99, 6488064 },
		{ "--op cas --verify", 64, 1, 64 },
		{ "--op send --test lat -s 64 --verify", 64, 1, 64 },
		{ "--op fadd", 64, 1, 64 },
		{ "--op fadd --slots 1", 64, 1, 64 },
		{ "--op send --test lat -s 8", 64, 1, 64 },
		{ "--op read --test lat -s 8", 64, 1, 64 },
		{ "--op read --test lat -s 8 --slots 77", 64, 77, 4928 },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		resolved(&p, known[i].words);
		assert_int_equal(point_stride(&p), known[i].stride);
		assert_int_equal(point_slots(&p), known[i].slots);
		assert_int_equal(point_working_set(&p), known[i].bytes);
	}
}

static void relaxed(void **state)
{
	static const struct {
		const char *words;
		uint64_t on;
	} known[] = {
		{ "", 1 },
		{ "--relaxed-ordering off", 0 },
		{ "--relaxed-ordering on", 1 },
		{ "--relaxed-ordering auto", 1 },
		{ "--test lat", 0 },
		{ "--test lat --relaxed-ordering auto", 0 },
		{ "--test lat --relaxed-ordering off", 0 },
		{ "--test lat --op send", 1 },
		{ "--test lat --op write_imm --relaxed-ordering on", 1 },
		{ "--test lat --op read", 1 },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		resolved(&p, known[i].words);
		assert_int_equal(p.relaxed_ordering.value, known[i].on);
	}
}

static void refused(void **state)
{
	static const struct {
		const char *words, *says;
	} known[] = {
		{ "--test lat --slots 2", "--slots 2 with --test lat: a ping-pong keeps" },
		{ "--test lat --op send --slots 2", "--slots 2 with --test lat" },
		{ "--op cas --slots 2", "--slots 2 with --op cas: a counter has one place" },
		{ "--test lat --relaxed-ordering on",
		  "--relaxed-ordering on with --test lat: this operation's arrival" },
		{ "-s 1T --slots 2000 -t 2", "--slots 2000 with --size 1099511627776: more memory" },
		{ "-s 3 --sge 4", "--sge 4 with --size 3: each entry" },
		{ "--op fadd --sge 2", "--sge 2 with --op fadd: a counter" },
		{ "-s 1T --slots 1M -q 1024 -t 2", "--slots" },
	};
	struct point p;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct options opt;

		if (!parse(&opt, known[i].words))
			assert_int_equal(plan_resolve(&opt, &p), -EINVAL);
		assert_non_null(strstr(fail_last()->text, known[i].says));
	}
}

/* In an overview, what is meant for bandwidths leaves latencies and counters as they are. */
static void overview(void **state)
{
	struct options opt;
	struct plan plan;

	(void)state;
	assert_int_equal(parse(&opt, "--slots 200 --sge 2 --relaxed-ordering on"), 0);
	assert_int_equal(plan_make(&opt, &plan), 0);
	assert_true(plan.count > 14);
	for (size_t i = 0; i < plan.count; i++) {
		const struct point *p = &plan.points[i];
		bool counter = point_op(p)->flow == FLOW_COUNTER;

		assert_int_equal(p->slots.value,
				 p->test.value == TEST_LAT || counter ? 1 : 200);
		assert_int_equal(p->sge.value, counter ? 1 : 2);
	}
	plan_free(&plan);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nodes),	cmocka_unit_test(kinds),
		cmocka_unit_test(working_sets), cmocka_unit_test(relaxed),
		cmocka_unit_test(refused),	cmocka_unit_test(path_options),
		cmocka_unit_test(overview),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
