/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Known answers were worked out by hand where a comment shows how, and by python3's statistics
 * and fractions modules (exact rationals) where a comment gives the expression.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "stats/histogram.h"
#include "stats/measure.h"
#include "stats/moments.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

#define assert_close(got, want) assert_true(fabs((got) - (want)) <= 1e-12 * fabs(want))

/* xorshift64: reproducible, and independent of the C library. */
static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static struct moments moments_of(const uint64_t *v, size_t n)
{
	struct moments m;

	moments_init(&m);
	for (size_t i = 0; i < n; i++)
		moments_add(&m, v[i]);
	return m;
}

static void assert_same_moments(const struct moments *a, const struct moments *b)
{
	assert_int_equal(a->n, b->n);
	assert_int_equal(a->sum, b->sum);
	assert_int_equal(a->min, b->min);
	assert_int_equal(a->max, b->max);
	assert_true(a->sumsq == b->sumsq);
}

/* Allocated, because it is large for a stack; the caller frees. */
static struct histogram *new_histogram(void)
{
	struct histogram *h = malloc(sizeof(*h));

	assert_non_null(h);
	memset(h, 0xa5, sizeof(*h));
	histogram_reset(h);
	return h;
}

static void moments_of_nothing(void **state)
{
	struct moments m;

	(void)state;
	memset(&m, 0xa5, sizeof(m));
	moments_init(&m);
	assert_int_equal(m.n, 0);
	assert_int_equal(m.sum, 0);
	assert_true(m.sumsq == 0);
	assert_int_equal(m.min, UINT64_MAX);
	assert_int_equal(m.max, 0);
	assert_true(isnan(moments_mean(&m)));
	assert_true(isnan(moments_stdev(&m)));
}

static void moments_of_one_and_two(void **state)
{
	struct moments m = moments_of((uint64_t[]){ 7 }, 1);

	(void)state;
	assert_true(moments_mean(&m) == 7.0);
	assert_true(isnan(moments_stdev(&m)));
	assert_int_equal(m.min, 7);
	assert_int_equal(m.max, 7);

	/* mean 2.5, squared distances 0.25 twice, over n - 1 = 1: sqrt(0.5) */
	m = moments_of((uint64_t[]){ 3, 2 }, 2);
	assert_true(moments_mean(&m) == 2.5);
	assert_close(moments_stdev(&m), sqrt(0.5));
	assert_int_equal(m.min, 2);
	assert_int_equal(m.max, 3);

	m = moments_of((uint64_t[]){ 0 }, 1);
	assert_int_equal(m.min, 0);
	assert_int_equal(m.max, 0);
	assert_true(moments_mean(&m) == 0.0);
}

/* python3 -c 'import statistics as s; print(s.stdev(LIST))', LIST as below */
static void stdev_against_python(void **state)
{
	static const struct {
		uint64_t v[8];
		size_t n;
		double mean, stdev;
	} known[] = {
		{ { 1000, 1400, 1800, 2200, 2600 }, 5, 1800, 632.4555320336759 },
		{ { 2, 4, 4, 4, 5, 5, 7, 9 }, 8, 5, 2.138089935299395 },
		/* a textbook sumsq - sum^2/n in double gives 0 or a NAN here */
		{ { 1000000000000001, 1000000000000002, 1000000000000004 },
		  3,
		  1000000000000002.33333,
		  1.5275252316519468 },
		{ { 5, 5, 5, 5 }, 4, 5, 0 },
		{ { UINT64_MAX / 4, UINT64_MAX / 4, UINT64_MAX / 4 }, 3, 0x1p62, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		struct moments m = moments_of(known[i].v, known[i].n);

		assert_close(moments_mean(&m), known[i].mean);
		assert_close(moments_stdev(&m), known[i].stdev);
	}
}

/* What perftest's truncated stdev and hidden maximum would miss: one 10 ms in 1000 of 2 us. */
static void one_outlier_is_seen(void **state)
{
	struct moments m;

	(void)state;
	moments_init(&m);
	for (int i = 0; i < 1001; i++)
		moments_add(&m, i == 500 ? 10000000 : 2000);

	/* python3: statistics.stdev([2000] * 1000 + [10000000]), statistics.mean of the same */
	assert_close(moments_stdev(&m), 316006.5566663829);
	assert_close(moments_mean(&m), 11988.011988011988);
	assert_int_equal(m.max, 10000000);
}

/* Doubling by merging a set with itself gets to counts that no loop could record. */
static void counts_beyond_32_bits(void **state)
{
	struct moments m = moments_of((uint64_t[]){ 1, 2 }, 2);
	struct moments self;

	(void)state;
	for (int i = 0; i < 33; i++) {
		self = m;
		moments_merge(&m, &self);
	}
	assert_int_equal(m.n, UINT64_C(1) << 34);
	assert_int_equal(m.sum, 3 * (UINT64_C(1) << 33));
	assert_true(moments_mean(&m) == 1.5);
	/* sqrt(n/4 / (n-1)) with n = 2^34 */
	assert_close(moments_stdev(&m), 0.5000000000145519);

	/* the smallest deviation that there can be: one sample off by one among 2^33 */
	m = moments_of((uint64_t[]){ 5 }, 1);
	for (int i = 0; i < 33; i++) {
		self = m;
		moments_merge(&m, &self);
	}
	moments_add(&m, 6);
	/* M2 = 1 - 1/n, n = 2^33 + 1: sqrt((n-1)/n / (n-1)) = 1/sqrt(n) */
	assert_close(moments_stdev(&m), 1 / sqrt(8589934593.0));
}

static void sums_near_the_end(void **state)
{
	/* sum 2^64 - 4; mean 2^63 - 2, squared distances 1 twice: sqrt(2) */
	struct moments m = moments_of((uint64_t[]){ INT64_MAX, INT64_MAX - 2 }, 2);
	struct moments other;

	(void)state;
	assert_int_equal(m.sum, UINT64_MAX - 3);
	assert_true(moments_mean(&m) == 0x1p63);
	assert_close(moments_stdev(&m), sqrt(2));

	/* one more and the sum saturates: no mean rather than a small one */
	moments_add(&m, 4);
	assert_int_equal(m.sum, UINT64_MAX);
	assert_int_equal(m.n, 3);
	assert_int_equal(m.max, INT64_MAX);
	assert_true(isnan(moments_mean(&m)));
	assert_true(isnan(moments_stdev(&m)));
	moments_add(&m, 100);
	assert_int_equal(m.sum, UINT64_MAX);

	m = moments_of((uint64_t[]){ INT64_MAX, 1 }, 2);
	other = moments_of((uint64_t[]){ INT64_MAX, 1 }, 2);
	moments_merge(&m, &other);
	assert_int_equal(m.sum, UINT64_MAX);
	assert_true(isnan(moments_mean(&m)));
}

/* Random values spread over lanes, in another order, merged in another order. */
/* Of what came from elsewhere: 1 and 2, 7, nothing, two of 2^63 - 1, and what cannot be. */
static void possible_moments(void **state)
{
	const unsigned __int128 large = ((unsigned __int128)1 << 63) - 1;
	const struct {
		bool possible;
		struct moments m; /* n, sum, min, max, sumsq */
	} known[] = {
		{ true, { 2, 3, 1, 2, 5 } },
		{ false, { 2, 3, 1, 2, 4 } }, /* 9 / 2 is above 4 */
		{ false, { 2, 3, 1, 2, 6 } },
		{ false, { 2, 5, 1, 2, 13 } },
		{ false, { 2, 1, 1, 2, 1 } },
		{ true, { 1, 7, 7, 7, 49 } },
		{ false, { 1, 7, 7, 7, 48 } },
		{ false, { 1, 7, 7, 7, 50 } },
		{ false, { 1, 7, 8, 7, 49 } },
		{ true, { 0, 0, UINT64_MAX, 0, 0 } },
		{ false, { 0, 0, 0, 0, 0 } },
		{ false, { 0, 1, UINT64_MAX, 0, 0 } },
		{ true, { 2, UINT64_MAX - 1, (uint64_t)large, (uint64_t)large,
			  2 * large * large } },
		{ true, { 2, UINT64_MAX, 0, UINT64_MAX, 0 } }, /* saturated: unknown */
		{ false, { 1, UINT64_MAX, 5, 5, 25 } },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (moments_possible(&known[i].m) != known[i].possible)
			fail_msg("moments %zu", i);
}

static void merge_equals_single_pass(void **state)
{
	enum { LANES = 7, SAMPLES = 20000 };
	struct histogram *one = new_histogram(), *merged = new_histogram();
	struct histogram *lane[LANES];
	uint64_t seed = 0x9e3779b97f4a7c15;

	(void)state;
	for (int i = 0; i < LANES; i++)
		lane[i] = new_histogram();
	for (int i = 0; i < SAMPLES; i++) {
		uint64_t v = next_random(&seed) >> (16 + next_random(&seed) % 40);

		histogram_record(one, v);
		histogram_record(lane[next_random(&seed) % (LANES - 1)], v);
	}

	/* lane[LANES - 1] is empty: it must not disturb the minimum */
	for (int i = LANES; i-- > 0;)
		histogram_merge(merged, lane[i]);
	assert_same_moments(&merged->m, &one->m);
	assert_memory_equal(merged->count, one->count, sizeof(one->count));
	assert_int_equal(one->m.n, SAMPLES);

	for (int i = 0; i < LANES; i++)
		free(lane[i]);
	free(one);
	free(merged);
}

static void buckets_by_hand(void **state)
{
	static const struct {
		uint64_t v;
		uint32_t idx;
		uint64_t low, high;
	} known[] = {
		{ 0, 0, 0, 0 },
		{ 127, 127, 127, 127 },
		{ 128, 128, 128, 128 }, /* e = 7: width 1 */
		{ 255, 255, 255, 255 },
		{ 256, 256, 256, 257 }, /* e = 8: width 2 */
		{ 259, 257, 258, 259 },
		{ 511, 383, 510, 511 },
		{ 512, 384, 512, 515 }, /* e = 9: width 4 */
		/* 10^6: e = 19, (13 << 7) + (1000000 >> 12 & 127 = 244 & 127 = 116) */
		{ 1000000, 1780, 999424, 1003519 },
		{ UINT64_MAX, HISTOGRAM_BUCKETS - 1, UINT64_C(0xff) << 56, UINT64_MAX },
	};

	(void)state;
	assert_int_equal(HISTOGRAM_BUCKETS, 7424); /* 58 groups of 128 */
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		assert_int_equal(histogram_index(known[i].v), known[i].idx);
		assert_int_equal(histogram_low(known[i].idx), known[i].low);
		assert_int_equal(histogram_high(known[i].idx), known[i].high);
	}
}

/* Every bucket begins where the one before ended, and maps to itself at both ends. */
static void buckets_tile_the_range(void **state)
{
	uint64_t next = 0;

	(void)state;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		uint64_t low = histogram_low(i), high = histogram_high(i);

		assert_int_equal(low, next);
		assert_true(high >= low);
		assert_true(high - low <= low / 128);
		assert_int_equal(histogram_index(low), i);
		assert_int_equal(histogram_index(high), i);
		next = high + 1;
	}
	assert_int_equal(next, 0); /* one past UINT64_MAX */
}

static int compare_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/*
 * Percentiles against a sorted array, for many sizes and spreads. The rank is worked out here in
 * another way, by counting in ten-thousandths: the smallest r with r * 10000 >= t * n.
 */
static void percentiles_against_sorting(void **state)
{
	static const unsigned tenthousandths[] = { 1,    1000, 2500, 3333, 5000, 7500,
						   9000, 9500, 9900, 9990, 9999 };
	enum { MOST = 5000 };
	uint64_t *v = malloc(MOST * sizeof(*v)), seed = 42;
	struct histogram *h = new_histogram();

	(void)state;
	assert_non_null(v);
	for (size_t n = 1; n <= MOST; n += 1 + n / 9) {
		unsigned shift = 20 + (unsigned)(next_random(&seed) % 40);

		histogram_reset(h);
		for (size_t i = 0; i < n; i++) {
			v[i] = next_random(&seed) >> shift;
			histogram_record(h, v[i]);
		}
		qsort(v, n, sizeof(*v), compare_u64);

		for (size_t i = 0; i < COUNT_OF(tenthousandths); i++) {
			uint64_t got = UINT64_MAX;
			size_t r = 1;
			int ret;

			while (r * 10000 < tenthousandths[i] * n)
				r++;
			ret = histogram_percentile(h, tenthousandths[i] / 10000.0, &got);
			if (n - r < 10) {
				assert_int_equal(ret, -ENODATA);
				assert_int_equal(got, UINT64_MAX);
				continue;
			}
			assert_int_equal(ret, 0);
			assert_true(got >= v[r - 1]);
			assert_true(got - v[r - 1] <= v[r - 1] / 128);
		}
	}
	free(v);
	free(h);
}

static int percentile_of_ramp(uint64_t n, double p, uint64_t *value)
{
	struct histogram *h = new_histogram();
	int ret;

	/* 1 to n: below 256 buckets have width 1, so that the value is the rank */
	for (uint64_t i = 1; i <= n; i++)
		histogram_record(h, i);
	*value = UINT64_MAX;
	ret = histogram_percentile(h, p, value);
	free(h);
	return ret;
}

static void percentile_needs_ten_beyond(void **state)
{
	uint64_t v;

	(void)state;
	assert_int_equal(percentile_of_ramp(19, 0.5, &v), -ENODATA); /* rank 10, 9 beyond */
	assert_int_equal(v, UINT64_MAX);
	assert_int_equal(percentile_of_ramp(20, 0.5, &v), 0); /* rank 10, 10 beyond */
	assert_int_equal(v, 10);
	assert_int_equal(percentile_of_ramp(21, 0.5, &v), 0); /* rank 11, 10 beyond */
	assert_int_equal(v, 11);

	assert_int_equal(percentile_of_ramp(99, 0.9, &v), -ENODATA); /* rank 90, 9 beyond */
	assert_int_equal(percentile_of_ramp(100, 0.9, &v), 0);
	assert_int_equal(v, 90);
	assert_int_equal(percentile_of_ramp(999, 0.99, &v), -ENODATA); /* rank 990, 9 beyond */
	assert_int_equal(percentile_of_ramp(1000, 0.99, &v), 0);
	assert_in_range(v, 990, 991); /* buckets of width 4 from 512 on: 988 to 991 */
	assert_int_equal(percentile_of_ramp(9999, 0.999, &v), -ENODATA);
	assert_int_equal(percentile_of_ramp(10000, 0.999, &v), 0);

	/* the maximum is always there */
	assert_int_equal(percentile_of_ramp(1, 1.0, &v), 0);
	assert_int_equal(v, 1);
	assert_int_equal(percentile_of_ramp(1, 0.5, &v), -ENODATA);
	assert_int_equal(percentile_of_ramp(1000, 1.0, &v), 0);
	assert_int_equal(v, 1000);
	assert_int_equal(percentile_of_ramp(1000, 1.0 - 1e-15, &v), -ENODATA);
	assert_int_equal(percentile_of_ramp(0, 1.0, &v), -ENODATA);
	assert_int_equal(percentile_of_ramp(0, 0.5, &v), -ENODATA);
	assert_int_equal(percentile_of_ramp(10, 1e-15, &v), -ENODATA); /* rank 1, not 0 */
	assert_int_equal(percentile_of_ramp(11, 1e-15, &v), 0);
	assert_int_equal(v, 1);
}

static void percentile_refuses_nonsense(void **state)
{
	static const double wrong[] = { 0.0, -0.5, 1.0000001, 50, NAN, INFINITY };
	struct histogram *h = new_histogram();
	uint64_t v = 3;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		assert_int_equal(percentile_of_ramp(100, wrong[i], &v), -EINVAL);

	/* counts that do not add up, as a damaged file may have them */
	histogram_record(h, 1);
	h->m.n = 1000;
	assert_int_equal(histogram_percentile(h, 0.5, &v), -EINVAL);
	free(h);
}

/*
 * Ranks at which the ceiling of a double product is off by one: 0.07 * 100 and 0.55 * 100 come out
 * a little above 7 and 55 (python3 -c 'print(0.07 * 100, 0.55 * 100)').
 */
static void percentile_rank_is_exact(void **state)
{
	static const struct {
		uint64_t n;
		double p;
		uint64_t rank;
	} known[] = {
		{ 100, 0.07, 7 }, { 100, 0.55, 55 }, { 50, 0.58, 29 }, { 100, 0.9, 90 },
		{ 200, 0.95, 190 }, { 100, 0.0701, 8 }, { 100, 0.29, 29 }, { 250, 0.333, 84 },
	};
	uint64_t v;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		assert_int_equal(percentile_of_ramp(known[i].n, known[i].p, &v), 0);
		assert_int_equal(v, known[i].rank);
	}
}

/* Value and maximum: the highest equivalent, unless the maximum is below it. */
static void percentile_stays_below_max(void **state)
{
	struct histogram *h = new_histogram();
	uint64_t v;

	(void)state;
	for (int i = 0; i < 100; i++)
		histogram_record(h, 1000000);
	assert_int_equal(histogram_percentile(h, 0.5, &v), 0);
	assert_int_equal(v, 1000000);
	histogram_record(h, 2000000);
	assert_int_equal(histogram_percentile(h, 0.5, &v), 0);
	assert_int_equal(v, 1003519); /* see buckets_by_hand */
	free(h);
}

/* 2^33 samples and the extremes of the value range. */
static void histogram_of_very_many(void **state)
{
	struct histogram *h = new_histogram(), *self = new_histogram();
	uint64_t v;

	(void)state;
	histogram_record(h, 10);
	histogram_record(h, 20);
	for (int i = 0; i < 32; i++) {
		memcpy(self, h, sizeof(*h));
		histogram_merge(h, self);
	}
	assert_int_equal(h->m.n, UINT64_C(1) << 33);
	assert_int_equal(h->count[10], UINT64_C(1) << 32);
	assert_int_equal(histogram_percentile(h, 0.5, &v), 0);
	assert_int_equal(v, 10);
	assert_int_equal(histogram_percentile(h, 0.5000000002, &v), 0);
	assert_int_equal(v, 20);

	histogram_reset(h);
	for (int i = 0; i < 30; i++)
		histogram_record(h, i < 15 ? 0 : UINT64_MAX);
	assert_int_equal(histogram_percentile(h, 0.5, &v), 0);
	assert_int_equal(v, 0);
	assert_int_equal(histogram_percentile(h, 0.6, &v), 0);
	assert_int_equal(v, UINT64_MAX);
	free(h);
	free(self);
}

static void walk_over_buckets(void **state)
{
	struct histogram *h = new_histogram();
	uint32_t seen[4], n = 0, i = 0;

	(void)state;
	assert_false(histogram_next(h, &i));

	histogram_record(h, 0);
	histogram_record(h, 256);
	histogram_record(h, 257);
	histogram_record(h, UINT64_MAX);
	for (i = 0; histogram_next(h, &i); i++) {
		assert_true(n < COUNT_OF(seen));
		seen[n++] = i;
	}
	assert_int_equal(n, 3);
	assert_int_equal(seen[0], 0);
	assert_int_equal(seen[1], 256);
	assert_int_equal(h->count[256], 2);
	assert_int_equal(seen[2], HISTOGRAM_BUCKETS - 1);
	free(h);
}

/* Part of the wire and of the file formats: a copy is a measure. */
static void measure_is_plain_data(void **state)
{
	struct measure *a = calloc(1, sizeof(*a)), *b = calloc(1, sizeof(*b));

	(void)state;
	assert_non_null(a);
	assert_non_null(b);
	histogram_reset(&a->latency);
	histogram_record(&a->latency, 5);
	a->series.n = 1;
	*b = *a;
	assert_same_moments(&b->latency.m, &a->latency.m);
	assert_int_equal(b->series.n, 1);
	free(a);
	free(b);
}

static void of_zeroed_memory(void **state)
{
	struct histogram *h = calloc(1, sizeof(*h)), *reset = new_histogram();

	(void)state;
	assert_non_null(h);
	histogram_init(h);
	assert_memory_equal(h, reset, sizeof(*h));
	histogram_record(h, 7);
	assert_int_equal(h->m.min, 7);
	free(reset);
	free(h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(moments_of_nothing),
		cmocka_unit_test(moments_of_one_and_two),
		cmocka_unit_test(stdev_against_python),
		cmocka_unit_test(one_outlier_is_seen),
		cmocka_unit_test(counts_beyond_32_bits),
		cmocka_unit_test(of_zeroed_memory),
		cmocka_unit_test(sums_near_the_end),
		cmocka_unit_test(possible_moments),
		cmocka_unit_test(merge_equals_single_pass),
		cmocka_unit_test(buckets_by_hand),
		cmocka_unit_test(buckets_tile_the_range),
		cmocka_unit_test(percentiles_against_sorting),
		cmocka_unit_test(percentile_needs_ten_beyond),
		cmocka_unit_test(percentile_refuses_nonsense),
		cmocka_unit_test(percentile_rank_is_exact),
		cmocka_unit_test(percentile_stays_below_max),
		cmocka_unit_test(histogram_of_very_many),
		cmocka_unit_test(walk_over_buckets),
		cmocka_unit_test(measure_is_plain_data),
	};

	return cmocka_run_group_tests_name("stats", tests, NULL, NULL);
}
