/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Known answers by python3, which has integers of any size: a counter of F Hz has
 * mult = 10**9 * 2**32 // F, ns = ticks * mult >> 32, ticks = (ns << 32) // mult.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "engine/clock.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static void known_conversions(void **state)
{
	static const struct {
		uint64_t mult, ticks, ns, back;
	} known[] = {
		{ 4294967296u, 0u, 0u,
		  0u }, /* 1000 MHz, 0 s */
		{ 4294967296u, 1u, 1u,
		  1u }, /* 1000 MHz, 1e-09 s */
		{ 4294967296u, 18446744073709551615u, 18446744073709551615u,
		  18446744073709551615u }, /* 1000 MHz, 1.84e+10 s */
		{ 2147483648u, 7u, 3u,
		  6u }, /* 2000 MHz, 3.5e-09 s */
		{ 1789569706u, 1u, 0u,
		  0u }, /* 2400 MHz, 4.17e-10 s */
		{ 1789569706u, 2400000000u, 999999999u,
		  2399999998u }, /* 2400 MHz, 1 s */
		{ 1789569706u, 497664000000000u, 207359999922752u,
		  497663999999999u }, /* 2400 MHz, 2.07e+05 s */
		{ 1431655765u, 946079999684640000u, 315359999821454528u,
		  946079999684639999u }, /* 3000 MHz, 3.15e+08 s */
		{ 223696213333u, 1u, 52u,
		  0u }, /* 19.2 MHz, 5.21e-08 s */
		{ 223696213333u, 3981312000000u, 207359999999691u,
		  3981311999999u }, /* 19.2 MHz, 2.07e+05 s */
		{ 4294967296u, 207360000000000u, 207360000000000u,
		  207360000000000u }, /* 1000 MHz, 2.07e+05 s */
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct clock c = { .mult = known[i].mult, .counter = true };

		if (clock_ns(&c, known[i].ticks) != known[i].ns ||
		    clock_ticks(&c, known[i].ns) != known[i].back)
			fail_msg("row %zu: %llu ns, %llu ticks", i,
				 (unsigned long long)clock_ns(&c, known[i].ticks),
				 (unsigned long long)clock_ticks(&c, known[i].ns));
	}
}

/* Of five readings three are as tight: 200, 300 and 510 with 25 more, 1050, 1102 and 1205. */
static void mean_of_tightest(void **state)
{
	static const uint64_t readings[][3] = { /* before, ns, after */
		{ 100, 1000, 160 }, { 200, 1050, 250 }, { 300, 1102, 350 }, { 400, 1150, 470 },
		{ 510, 1205, 560 },
	};
	struct clock_pairs p = { 0 };
	struct clock_pair mean;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(readings); i++)
		clock_pairs_add(&p, readings[i][0], readings[i][1], readings[i][2]);
	mean = clock_pairs_mean(&p);
	assert_int_equal(p.count, 3);
	assert_int_equal(mean.ticks, 361);
	assert_int_equal(mean.ns, 1119);
}

static void rate_between(void **state)
{
	const struct clock_pair from = { .ticks = 5000, .ns = 700 };
	const struct clock_pair second = { .ticks = 2400005000, .ns = 1000000700 };
	const struct clock_pair day = { .ticks = 1658880005000, .ns = 86400000000700 };

	(void)state;
	assert_int_equal(clock_mult(&from, &second), 1789569706); /* 2400 MHz */
	assert_int_equal(clock_mult(&from, &day), 223696213333); /* 19.2 MHz, 24 h */
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void check_name(const struct clock *c)
{
	const char *name = clock_name(c);

	if (c->counter)
		assert_true(!strcmp(name, "tsc") || !strcmp(name, "cntvct"));
	else
		assert_string_equal(name, "CLOCK_MONOTONIC_RAW");
}

static void calibrated(void **state)
{
	struct clock c;

	(void)state;
	clock_begin(&c);
	assert_false(c.calibrated);
	clock_calibrate(&c);
	assert_true(c.calibrated);
	check_name(&c);
	assert_true(c.mult > 0);
	if (!c.counter)
		assert_true(c.mult == UINT64_C(1) << 32);
	else
		assert_true(clock_raw_ns() - c.from.ns >= CLOCK_LEAST_NS);
	assert_true(c.resolution_ns >= 1);
	assert_true(c.resolution_ns < 1000000);
	assert_true(c.read_ns >= 1);
	assert_true(c.read_ns < 1000000);
	assert_true(c.drift_ppm == 0);
}

/* Two ticks a nanosecond in the 10 s that it is said to have begun ago: half a nanosecond each. */
static void over_all_the_time(void **state)
{
	const uint64_t half = UINT64_C(1) << 31;
	struct clock c;

	(void)state;
	clock_begin(&c);
	if (!c.counter)
		return;
	c.from.ns -= 10000000000;
	c.from.ticks -= 20000000000;
	clock_calibrate(&c);
	assert_true(c.mult > half - half / 50 && c.mult < half + half / 50);
	assert_true(c.drift_ppm == 0);
}

/* A counter that begins anew keeps its rate, and one that does so before it has one is not used. */
static void set_back(void **state)
{
	struct clock c, fresh;
	uint64_t mult;

	(void)state;
	clock_begin(&c);
	if (!c.counter)
		return;
	fresh = c;
	clock_calibrate(&c);
	mult = c.mult;
	c.from.ticks += UINT64_C(1) << 50;
	clock_calibrate(&c);
	assert_true(c.counter);
	assert_true(c.mult == mult);
	assert_true(c.drift_ppm == 0);
	assert_true(c.from.ticks < UINT64_C(1) << 50 || c.from.ticks <= clock_stop(&c));
	fresh.from.ticks += UINT64_C(1) << 50;
	clock_calibrate(&fresh);
	assert_false(fresh.counter);
	assert_true(fresh.mult == UINT64_C(1) << 32);
}

/* Goes forwards, whichever of the two reads comes first. */
static void monotonic(const struct clock *c)
{
	uint64_t last = clock_start(c);

	for (int i = 0; i < 100000; i++) {
		uint64_t now = i & 1 ? clock_start(c) : clock_stop(c);

		if (now < last)
			fail_msg("%llu after %llu", (unsigned long long)now,
				 (unsigned long long)last);
		last = now;
	}
}

/* 50 ms by the kernel's clock are 45 to 55 ms by ours: a wrong shift or unit is far outside. */
static void keeps_time(const struct clock *c)
{
	uint64_t from = monotonic_ns(), ticks = clock_start(c), kernel, ours;

	while (monotonic_ns() - from < 50000000)
		;
	ours = clock_ns(c, clock_stop(c) - ticks);
	kernel = monotonic_ns() - from;
	assert_true(ours > kernel - kernel / 10);
	assert_true(ours < kernel + kernel / 10);
}

static void both_sources(void **state)
{
	struct clock c, raw = { .mult = UINT64_C(1) << 32 };

	(void)state;
	clock_begin(&c);
	clock_calibrate(&c);
	monotonic(&c);
	monotonic(&raw);
	keeps_time(&c);
	keeps_time(&raw);
	check_name(&raw);
	raw.counter = true;
	check_name(&raw);
}

/* The counter is calibrated against the kernel's clock even where the kernel does not use it. */
static void refining(void **state)
{
	struct clock c, raw;
	uint64_t mult;

	(void)state;
	clock_begin(&c);
	clock_calibrate(&c);
	raw = c;
	raw.counter = false;
	mult = raw.mult;
	clock_calibrate(&raw);
	assert_true(raw.mult == mult && raw.drift_ppm == 0);
	if (!c.counter)
		return;
	clock_calibrate(&c);
	assert_true(c.drift_ppm < 100000);
	keeps_time(&c);
	/* A rate that was 1 % off is mended, and said: 10,000 ppm of the right one, about 9,900. */
	mult = c.mult;
	c.mult += c.mult / 100;
	clock_calibrate(&c);
	assert_true(c.mult > mult - mult / 1000 && c.mult < mult + mult / 1000);
	assert_true(c.drift_ppm > 5000 && c.drift_ppm < 20000);
	keeps_time(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_conversions),
		cmocka_unit_test(mean_of_tightest),
		cmocka_unit_test(rate_between),
		cmocka_unit_test(calibrated),
		cmocka_unit_test(over_all_the_time),
		cmocka_unit_test(set_back),
		cmocka_unit_test(both_sources),
		cmocka_unit_test(refining),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
