/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Known answers were worked out by hand. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stats/series.h"

static struct series *new_series(uint64_t t0, uint64_t count0)
{
	struct series *s = malloc(sizeof(*s));

	assert_non_null(s);
	memset(s, 0xa5, sizeof(*s));
	series_start(s, t0, count0);
	return s;
}

/* Points in order, and the intervals adding up to @total. */
static void assert_sound(const struct series *s, uint64_t total)
{
	uint64_t sum = 0;

	assert_in_range(s->n, 1, SERIES_MAX);
	for (uint32_t i = 1; i < s->n; i++) {
		assert_true(s->point[i].t > s->point[i - 1].t);
		assert_true(s->point[i].count >= s->point[i - 1].count);
		sum += s->point[i].count - s->point[i - 1].count;
	}
	assert_int_equal(sum, total);
}

static void nothing_yet(void **state)
{
	struct series *s = new_series(5, 100);
	struct series_summary out = { .n = 77 };

	(void)state;
	assert_int_equal(s->n, 1);
	assert_int_equal(series_stride(s), 1);
	assert_int_equal(series_rates(s, &out), -ENODATA);

	/* no time passed: no interval, whatever was counted */
	assert_int_equal(series_add(s, 5, 200), 0);
	assert_int_equal(series_close(s, 5, 200), 0);
	assert_int_equal(s->n, 1);
	assert_int_equal(series_rates(s, &out), -ENODATA);
	assert_int_equal(out.n, 77);
	free(s);
}

static void rates_by_hand(void **state)
{
	struct series *s = new_series(1000, 7);
	struct series_summary out;

	(void)state;
	assert_int_equal(series_add(s, 1100, 57), 0);  /* 50 in 100: 0.5 */
	assert_int_equal(series_add(s, 1200, 82), 0);  /* 25 in 100: 0.25 */
	assert_int_equal(series_add(s, 1400, 482), 0); /* 400 in 200: 2 */
	assert_int_equal(series_rates(s, &out), 0);
	assert_int_equal(out.n, 3);
	assert_true(out.min == 0.25);
	assert_true(out.median == 0.5);
	assert_true(out.max == 2.0);

	assert_int_equal(series_close(s, 1500, 582), 0); /* 100 in 100: 1 */
	assert_int_equal(series_rates(s, &out), 0);
	assert_int_equal(out.n, 4);
	assert_true(out.min == 0.25);
	assert_true(out.median == 0.75); /* between 0.5 and 1 */
	assert_true(out.max == 2.0);
	assert_sound(s, 575);
	free(s);
}

static void under_ten_waits_for_the_next(void **state)
{
	struct series *s = new_series(0, 0);

	(void)state;
	assert_int_equal(series_add(s, 100, 9), 0);
	assert_int_equal(s->n, 1);
	assert_int_equal(series_add(s, 200, 10), 0);
	assert_int_equal(s->n, 2);
	assert_int_equal(s->point[1].t, 200);
	assert_int_equal(s->point[1].count, 10);
	assert_int_equal(series_add(s, 300, 19), 0);
	assert_int_equal(s->n, 2);
	assert_int_equal(series_add(s, 400, 20), 0);
	assert_int_equal(s->n, 3);
	assert_sound(s, 20);
	free(s);
}

/* The last interval: with @count more after @t more, following one of 100 ticks and 50 counts. */
static uint32_t points_after_close(uint64_t t, uint64_t count)
{
	struct series *s = new_series(0, 0);
	uint32_t n;

	assert_int_equal(series_add(s, 100, 50), 0);
	assert_int_equal(series_close(s, 100 + t, 50 + count), 0);
	n = s->n;
	assert_int_equal(s->point[n - 1].t, 100 + t);
	assert_int_equal(s->point[n - 1].count, 50 + count);
	assert_sound(s, 50 + count);
	free(s);
	return n;
}

static void close_merges_a_stub(void **state)
{
	struct series *s;

	(void)state;
	assert_int_equal(points_after_close(100, 10), 3);
	assert_int_equal(points_after_close(100, 9), 2);
	assert_int_equal(points_after_close(50, 10), 3);
	assert_int_equal(points_after_close(49, 1000), 2);
	assert_int_equal(points_after_close(0, 0), 2);
	assert_int_equal(points_after_close(0, 1000), 2);

	/* the only interval stays, however little there is in it */
	s = new_series(0, 0);
	assert_int_equal(series_close(s, 10, 3), 0);
	assert_int_equal(s->n, 2);
	assert_sound(s, 3);
	free(s);
}

/* As a caller does it: edges spaced by the stride. */
static void run(struct series *s, uint32_t base_intervals)
{
	uint64_t t = 0;

	while (t < base_intervals) {
		t += series_stride(s);
		assert_int_equal(series_add(s, t, t * 20), 0);
		assert_sound(s, t * 20);
	}
}

static void full_merges_pairs(void **state)
{
	struct series *s = new_series(0, 0);
	struct series_summary out;

	(void)state;
	run(s, 1023);
	assert_int_equal(s->n, 1024);
	assert_int_equal(series_stride(s), 1);

	/* the 1,024th interval fills it: 512 double ones */
	assert_int_equal(series_add(s, 1024, 1024 * 20), 0);
	assert_int_equal(s->n, 513);
	assert_int_equal(series_stride(s), 2);
	assert_int_equal(s->merge, 2);
	for (uint32_t i = 0; i < s->n; i++) {
		assert_int_equal(s->point[i].t, 2 * i);
		assert_int_equal(s->point[i].count, 40 * i);
	}
	assert_sound(s, 1024 * 20);

	series_start(s, 0, 0);
	assert_int_equal(series_stride(s), 1);
	run(s, 100000);
	/* 512 to 1,023 intervals of 128: 100,000 / 128 = 781.25, so the run ended at 782 */
	assert_int_equal(series_stride(s), 128);
	assert_int_equal(s->n, 783);
	assert_int_equal(series_rates(s, &out), 0);
	assert_int_equal(out.n, 782);
	assert_true(out.min == 20 && out.median == 20 && out.max == 20);
	free(s);
}

/* A window that ends at the very edge that would have filled the array keeps all intervals. */
static void close_takes_the_last_place(void **state)
{
	struct series *s = new_series(0, 0);
	struct series_summary out;

	(void)state;
	run(s, 1023);
	assert_int_equal(series_close(s, 1024, 1024 * 20), 0);
	assert_int_equal(s->n, SERIES_MAX);
	assert_int_equal(series_rates(s, &out), 0);
	assert_int_equal(out.n, 1024);
	assert_sound(s, 1024 * 20);
	free(s);
}

/* Random steps, quiet spells among them, for longer than the array: nothing is lost. */
static void random_runs_keep_the_sum(void **state)
{
	uint32_t seed = 1;

	(void)state;
	for (int round = 0; round < 50; round++) {
		struct series *s = new_series(1000, 12345);
		uint64_t t = 1000, count = 12345;
		struct series_summary out;

		for (int i = 0; i < 200 * round; i++) {
			seed = seed * 1664525 + 1013904223;
			t += seed >> 28; /* 0 as well */
			count += seed >> 24 & 31;
			assert_int_equal(series_add(s, t, count), 0);
		}
		assert_int_equal(series_close(s, t + 1, count + 3), 0);
		assert_sound(s, count + 3 - 12345);
		assert_int_equal(s->point[0].t, 1000);
		assert_int_equal(s->point[s->n - 1].t, t + 1);
		assert_int_equal(series_rates(s, &out), 0);
		assert_true(out.min <= out.median && out.median <= out.max);
		assert_true(isfinite(out.max) && out.min >= 0);
		free(s);
	}
}

static void counts_beyond_53_bits(void **state)
{
	const uint64_t big = UINT64_C(1) << 60;
	struct series *s = new_series(big, big);
	struct series_summary out;

	(void)state;
	assert_int_equal(series_add(s, big + 2, big + 3000), 0);
	assert_int_equal(series_close(s, big + 4, 3 * big), 0);
	assert_int_equal(series_rates(s, &out), 0);
	assert_true(out.min == 1500);
	assert_true(out.max == (double)(2 * big - 3000) / 2);
	assert_sound(s, 2 * big);
	free(s);
}

static void going_back_is_an_error(void **state)
{
	struct series *s = new_series(100, 100);
	struct series_summary out;

	(void)state;
	assert_int_equal(series_add(s, 99, 200), -EINVAL);
	assert_int_equal(series_add(s, 200, 99), -EINVAL);
	assert_int_equal(series_close(s, 99, 200), -EINVAL);
	assert_int_equal(series_close(s, 200, 99), -EINVAL);
	assert_int_equal(s->n, 1);
	assert_int_equal(s->point[0].t, 100);

	/* as a peer could send it */
	s->n = 2;
	s->point[1] = (struct series_point){ .t = 100, .count = 200 };
	assert_int_equal(series_rates(s, &out), -EINVAL);
	s->point[1] = (struct series_point){ .t = 200, .count = 99 };
	assert_int_equal(series_rates(s, &out), -EINVAL);
	s->n = SERIES_MAX + 1;
	assert_int_equal(series_rates(s, &out), -EINVAL);
	s->n = 0;
	assert_int_equal(series_rates(s, &out), -ENODATA);
	free(s);
}

/*
 * Points (100, 10), (200, 30), (300, 30) and (700, 130): 0.2 a unit of time, then nothing, then
 * 0.25.
 */
static void count_between_points(void **state)
{
	static const struct {
		uint64_t t;
		double count;
	} known[] = {
		{ 0, 10 },   { 99, 10 },  { 100, 10 },	{ 101, 10.2 }, { 150, 20 },
		{ 175, 25 }, { 199, 29.8 }, { 200, 30 }, { 250, 30 },  { 300, 30 },
		{ 301, 30.25 }, { 500, 80 }, { 699, 129.75 }, { 700, 130 }, { 701, 130 },
		{ UINT64_MAX, 130 },
	};
	struct series *s = new_series(100, 10);

	(void)state;
	s->n = 4;
	s->point[1] = (struct series_point){ .t = 200, .count = 30 };
	s->point[2] = (struct series_point){ .t = 300, .count = 30 };
	s->point[3] = (struct series_point){ .t = 700, .count = 130 };
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (fabs(series_count_at(s, known[i].t) - known[i].count) > 1e-9)
			fail_msg("at %llu: %f", (unsigned long long)known[i].t,
				 series_count_at(s, known[i].t));
	free(s);
}

static void count_of_few_points(void **state)
{
	struct series *s = new_series(100, 10);

	(void)state;
	assert_true(series_count_at(s, 0) == 10);
	assert_true(series_count_at(s, 100) == 10);
	assert_true(series_count_at(s, 101) == 10);
	s->n = 0; /* as a peer could send it; what is in the points means nothing */
	assert_true(series_count_at(s, 0) == 0);
	assert_true(series_count_at(s, 1000) == 0);
	s->n = 2;
	s->point[1] = (struct series_point){ .t = 104, .count = 12 };
	assert_true(series_count_at(s, 103) == 11.5);
	free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_yet),
		cmocka_unit_test(rates_by_hand),
		cmocka_unit_test(under_ten_waits_for_the_next),
		cmocka_unit_test(close_merges_a_stub),
		cmocka_unit_test(full_merges_pairs),
		cmocka_unit_test(close_takes_the_last_place),
		cmocka_unit_test(random_runs_keep_the_sum),
		cmocka_unit_test(counts_beyond_53_bits),
		cmocka_unit_test(going_back_is_an_error),
		cmocka_unit_test(count_between_points),
		cmocka_unit_test(count_of_few_points),
	};

	return cmocka_run_group_tests_name("series", tests, NULL, NULL);
}
