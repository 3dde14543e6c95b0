/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shapes of series and histograms, with values worked out by hand. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stats/shape.h"

#include <cmocka.h>

#define ABOUT(a, b) assert_true(fabs((a) - (b)) < 1e-9)

/* Intervals of 100 ns with these counts. */
static void fill(struct series *s, const unsigned int *counts, size_t n)
{
	uint64_t count = 1000, t = UINT64_C(1) << 60; /* a clock that has been running for long */

	series_start(s, t, count);
	for (size_t i = 0; i < n; i++) {
		count += counts[i];
		t += 100;
		assert_int_equal(series_add(s, t, count), 0);
	}
	assert_int_equal(s->n, n + 1);
}

static void even(void **state)
{
	static const unsigned int counts[] = { 500, 500, 500, 500, 500 };
	struct series_shape shape;
	static struct series s;

	(void)state;
	fill(&s, counts, 5);
	assert_int_equal(series_shape(&s, &shape), 0);
	assert_int_equal(shape.n, 5);
	ABOUT(shape.mean, 5.0);
	ABOUT(shape.cv, 0);
	ABOUT(shape.drift, 0);
	ABOUT(shape.first, 0);
	ABOUT(shape.first_mads, 0);
}

/*
 * 4, 4.5, 5, 5.5, 6 a ns: mean 5; squares 1 + .25 + 0 + .25 + 1 = 2.5, over 4 is .625, its root
 * .790569 over 5 is .158114. The line gains 2 from first to last: 40 % of the mean, with no error.
 * Median 5, deviations 1, .5, 0, .5, 1: their median .5; the first is 1 off, 2 of them, -20 %.
 */
static void straight_line(void **state)
{
	static const unsigned int counts[] = { 400, 450, 500, 550, 600 };
	struct series_shape shape;
	static struct series s;

	(void)state;
	fill(&s, counts, 5);
	assert_int_equal(series_shape(&s, &shape), 0);
	ABOUT(shape.cv, sqrt(0.625) / 5);
	ABOUT(shape.drift, 0.4);
	assert_true(shape.drift_error < 1e-6);
	ABOUT(shape.first, -0.2);
	ABOUT(shape.first_mads, 2);
}

/*
 * 6, 4, 5, 4, 6: no slope, since it is symmetric. Squares 1 + 1 + 0 + 1 + 1 = 4: CV is 1 / 5.
 * Standard error of the slope in intervals: sqrt(4 / 3 / 10); times 4 intervals, over 5.
 */
static void up_and_down(void **state)
{
	static const unsigned int counts[] = { 600, 400, 500, 400, 600 };
	struct series_shape shape;
	static struct series s;

	(void)state;
	fill(&s, counts, 5);
	assert_int_equal(series_shape(&s, &shape), 0);
	ABOUT(shape.cv, 0.2);
	ABOUT(shape.drift, 0);
	ABOUT(shape.drift_error, sqrt(4.0 / 3 / 10) * 4 / 5);
}

/* All but the first are alike: the median deviation is 0, and the first infinitely far off. */
static void slow_start(void **state)
{
	static const unsigned int counts[] = { 300, 500, 500, 500, 500, 500 };
	struct series_shape shape;
	static struct series s;

	(void)state;
	fill(&s, counts, 6);
	assert_int_equal(series_shape(&s, &shape), 0);
	ABOUT(shape.first, -0.4);
	assert_true(isinf(shape.first_mads));
}

static void no_shape(void **state)
{
	static const unsigned int counts[] = { 500, 500, 500, 500, 500 };
	struct series_shape shape;
	static struct series s;

	(void)state;
	fill(&s, counts, 4);
	assert_int_equal(series_shape(&s, &shape), -ENODATA);
	fill(&s, counts, 5);
	s.point[2].t = s.point[1].t;
	assert_int_equal(series_shape(&s, &shape), -EINVAL);
	s = (struct series){ .n = 0 };
	assert_int_equal(series_shape(&s, &shape), -ENODATA);
	s = (struct series){ .n = 6 };
	for (uint32_t i = 0; i < 6; i++)
		s.point[i].t = i;
	assert_int_equal(series_shape(&s, &shape), -ENODATA); /* nothing was counted */
}

static struct histogram h;

static int clear(void **state)
{
	(void)state;
	histogram_reset(&h);
	return 0;
}

/* n samples at the lowest value of that bin: bins are 16 buckets, 8 an octave from 128 on. */
static void hump(uint64_t value, unsigned int n)
{
	while (n--)
		histogram_record(&h, value);
}

/*
 * 1,024 is the first value of a bin of 128 ns, its middle 1,088; 4,096 of one of 512, 4,352.
 * Between them there is nothing. 700 of 1,000 are below.
 */
static void two_humps(void **state)
{
	struct histogram_modes m;

	(void)state;
	hump(1024, 700);
	hump(4096, 300);
	assert_true(histogram_bimodal(&h, 1, &m));
	assert_true(m.low == 1088);
	assert_true(m.high == 4352);
	ABOUT(m.low_share, 0.7);
}

/* A tenth on either side it must be, and 100 at the peak. */
static void small_humps(void **state)
{
	struct histogram_modes m;

	(void)state;
	hump(1024, 901);
	hump(4096, 99);
	assert_false(histogram_bimodal(&h, 1, &m));
	hump(4096, 1);
	assert_false(histogram_bimodal(&h, 1, &m)); /* 100 of 1,001 are less than a tenth... */
	hump(4096, 1);
	assert_true(histogram_bimodal(&h, 1, &m)); /* ...and 101 of 1,002 are not */
	histogram_reset(&h);
	hump(1024, 100);
	hump(4096, 901);
	assert_false(histogram_bimodal(&h, 1, &m));
	hump(1024, 1);
	assert_true(histogram_bimodal(&h, 1, &m));
	histogram_reset(&h);
	hump(1024, 300);
	hump(4096, 99);
	assert_false(histogram_bimodal(&h, 1, &m));
	hump(4096, 1);
	assert_true(histogram_bimodal(&h, 1, &m));
}

/* Bins begin at 1,024, 1,152, 1,280: the middle one may hold half of the smaller one's 200. */
static void shallow_valley(void **state)
{
	struct histogram_modes m;

	(void)state;
	hump(1024, 400);
	hump(1152, 101);
	hump(1280, 200);
	assert_false(histogram_bimodal(&h, 1, &m));
	histogram_reset(&h);
	hump(1024, 400);
	hump(1152, 100);
	hump(1280, 200);
	assert_true(histogram_bimodal(&h, 1, &m));
	assert_true(m.low == 1088 && m.high == 1344);
	ABOUT(m.low_share, 400.0 / 700);
}

static void one_hump_with_a_tail(void **state)
{
	struct histogram_modes m;
	uint64_t value = 1024;

	(void)state;
	assert_false(histogram_bimodal(&h, 1, &m)); /* and none at all */
	hump(960, 500);
	for (unsigned int n = 1000; n; n = n * 3 / 4) { /* a bin after the other */
		hump(value, n);
		value += (UINT64_C(1) << (63 - __builtin_clzll(value))) / 8;
	}
	assert_false(histogram_bimodal(&h, 1, &m));
}

/* Steps of 52 ns make a comb of bins of 16 ns; from 128 x 13 on bins have 208 ns, 4 steps. */
static void steps_of_the_clock(void **state)
{
	struct histogram_modes m;

	(void)state;
	for (uint64_t v = 0; v < 1000; v += 52)
		hump(v, 500);
	assert_true(histogram_bimodal(&h, 1, &m));
	assert_false(histogram_bimodal(&h, 52, &m));
	hump(4096, 10000);
	hump(16384, 10000);
	assert_true(histogram_bimodal(&h, 52, &m));
	assert_true(m.low == 4352 && m.high == 17408);
}

#define H(name) cmocka_unit_test_setup(name, clear)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(even),
		cmocka_unit_test(straight_line),
		cmocka_unit_test(up_and_down),
		cmocka_unit_test(slow_start),
		cmocka_unit_test(no_shape),
		H(two_humps),
		H(small_humps),
		H(shallow_valley),
		H(one_hump_with_a_tail),
		H(steps_of_the_clock),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
