/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The estimate of the time left, against sums done by hand, and how times are written. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/estimate.h"
#include "report/progress.h"

#define MS UINT64_C(1000000)
#define SECOND (1000 * MS)

/* duration 0: it lasts for ever */
static void add_timed(struct estimate *e, uint64_t duration, uint64_t warmup)
{
	struct point p = { .duration.value = duration, .warmup.value = warmup, .qps.value = 1 };

	assert_int_equal(estimate_add(e, &p, false), 0);
}

static void add_counted(struct estimate *e, unsigned int test, uint64_t iters, uint64_t warmup,
			uint64_t qps)
{
	struct point p = {
		.test.value = test, .iters.value = iters, .warmup.value = warmup,
		.qps.value = qps, .duration.value = 2 * SECOND, /* the default, which says nothing */
	};

	assert_int_equal(estimate_add(e, &p, false), 0);
}

static uint64_t left_of(const struct estimate *e, uint64_t elapsed, uint64_t into)
{
	uint64_t left = 12345;

	assert_true(estimate_left(e, elapsed, into, &left));
	return left;
}

static bool is_known(const struct estimate *e)
{
	uint64_t left;

	return estimate_left(e, 0, 0, &left);
}

/* Four rows of 2 s and 0.5 s. */
static void timed_rows(void **state)
{
	struct estimate e = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		add_timed(&e, 2 * SECOND, 500 * MS);
	assert_int_equal(left_of(&e, 0, 0), 10 * SECOND);
	assert_int_equal(left_of(&e, SECOND, SECOND), 9 * SECOND);
	/* A row cannot take less than nothing: the others are left. */
	assert_int_equal(left_of(&e, 3 * SECOND, 3 * SECOND), 7500 * MS);
	/* The first one took 0.1 s more: three of 2.6 s. */
	estimate_done(&e, 2600 * MS);
	assert_int_equal(left_of(&e, 2600 * MS, 0), 7800 * MS);
	/* The second 0.3 s more, on the average 0.2 s: 2.7 s each, of which one is 0.7 s old. */
	estimate_done(&e, 2800 * MS);
	assert_int_equal(left_of(&e, 6100 * MS, 700 * MS), 4700 * MS);
	estimate_done(&e, 2700 * MS);
	estimate_done(&e, 2700 * MS);
	assert_int_equal(left_of(&e, 10800 * MS, 0), 0);
	estimate_done(&e, SECOND); /* one too many changes nothing */
	assert_int_equal(left_of(&e, 11 * SECOND, 0), 0);
	estimate_free(&e);
}

/* Rows of unlike length have their own, and the same beside it. */
static void unlike_rows(void **state)
{
	struct estimate e = { 0 };

	(void)state;
	add_timed(&e, 1 * SECOND, 0);
	add_timed(&e, 4 * SECOND, 1 * SECOND);
	add_timed(&e, 100 * MS, 0);
	estimate_done(&e, 1250 * MS);
	/* 5.25 s and 0.35 s */
	assert_int_equal(left_of(&e, 1250 * MS, 0), 5600 * MS);
	estimate_free(&e);
}

/* A row that failed at once makes the others cheaper, on the average, but none less than free. */
static void failed_rows(void **state)
{
	struct estimate e = { 0 };

	(void)state;
	for (int i = 0; i < 4; i++)
		add_timed(&e, 900 * MS, 100 * MS);
	add_timed(&e, 100 * MS, 0);
	estimate_done(&e, 0);
	estimate_done(&e, 1 * SECOND);
	/* Beside: (-1 + 0) / 2 = -0.5 s: two of 0.5 s and one of nothing. */
	assert_int_equal(left_of(&e, SECOND, 0), 1 * SECOND);
	estimate_free(&e);
}

static void refused_rows_cost_nothing(void **state)
{
	struct point p = { .duration.value = 5 * SECOND };
	struct estimate e = { 0 };

	(void)state;
	add_timed(&e, 1 * SECOND, 0);
	assert_int_equal(estimate_add(&e, &p, true), 0);
	add_timed(&e, 1 * SECOND, 0);
	assert_int_equal(left_of(&e, 0, 0), 2 * SECOND);
	estimate_done(&e, 1200 * MS);
	estimate_done(&e, 0); /* and are no reason to think that a row costs less */
	assert_int_equal(left_of(&e, 1200 * MS, 0), 1200 * MS);
	estimate_free(&e);
}

static void counted_rows(void **state)
{
	struct estimate e = { 0 };

	(void)state;
	add_counted(&e, TEST_BW, 900, 100, 1);  /* 1,000 messages */
	add_counted(&e, TEST_BW, 900, 100, 2);  /* 2,000 */
	add_counted(&e, TEST_BW, 4000, 0, 1);   /* 4,000 */
	assert_false(is_known(&e));
	estimate_done(&e, 100 * MS);
	/* 0.1 ms a message */
	assert_int_equal(left_of(&e, 100 * MS, 0), 600 * MS);
	estimate_done(&e, 500 * MS);
	/* 600 ms for 3,000 of them: 0.2 ms */
	assert_int_equal(left_of(&e, 600 * MS, 0), 800 * MS);
	assert_int_equal(left_of(&e, 900 * MS, 300 * MS), 500 * MS);
	estimate_free(&e);
}

/* A test has its own pace; one that is not known yet has the other's. */
static void counted_tests(void **state)
{
	struct estimate e = { 0 };

	(void)state;
	add_counted(&e, TEST_LAT, 1000, 0, 1);
	add_counted(&e, TEST_BW, 1000, 0, 1);
	add_counted(&e, TEST_LAT, 1000, 0, 1);
	add_counted(&e, TEST_BW, 1000, 0, 1);
	estimate_done(&e, 400 * MS);
	assert_int_equal(left_of(&e, 0, 0), 1200 * MS);
	estimate_done(&e, 100 * MS);
	assert_int_equal(left_of(&e, 0, 0), 500 * MS);
	estimate_free(&e);
}

static void without_an_end(void **state)
{
	struct estimate e = { 0 };

	(void)state;
	add_timed(&e, 0, 500 * MS);
	assert_false(is_known(&e));
	estimate_free(&e);
}

/* --max-time 2.5: rows of 1 s begin at 0, 1 and 2. */
static void bounded(void **state)
{
	struct estimate e = { .most = 2500 * MS };

	(void)state;
	for (int i = 0; i < 10; i++)
		add_timed(&e, 1 * SECOND, 0);
	assert_int_equal(left_of(&e, 0, 0), 3 * SECOND);
	estimate_done(&e, 1 * SECOND);
	estimate_done(&e, 1 * SECOND);
	assert_int_equal(left_of(&e, 2200 * MS, 200 * MS), 800 * MS);
	/* The present row runs on when the time is up. */
	assert_int_equal(left_of(&e, 2800 * MS, 800 * MS), 200 * MS);
	estimate_free(&e);
}

/* More rows than there was room for at first. */
static void many_rows(void **state)
{
	struct estimate e = { 0 };

	(void)state;
	for (int i = 0; i < 100; i++)
		add_timed(&e, (uint64_t)(i + 1) * MS, 0);
	assert_int_equal(left_of(&e, 0, 0), 5050 * MS);
	estimate_free(&e);
	assert_int_equal(left_of(&e, 0, 0), 0);
}

static void times(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text;
	} known[] = {
		{ 0, "0.0 s" }, { 49 * MS, "0.0 s" }, { 50 * MS, "0.1 s" },
		{ 9949 * MS, "9.9 s" }, { 9950 * MS, "10 s" }, { 59499 * MS, "59 s" },
		{ 59500 * MS, "1:00" }, { 3599 * SECOND, "59:59" }, { 3600 * SECOND, "1:00:00" },
		{ 359999 * SECOND, "99:59:59" },
	};
	char text[PROGRESS_TIME];

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		assert_string_equal(progress_time(text, known[i].ns), known[i].text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timed_rows),
		cmocka_unit_test(unlike_rows),
		cmocka_unit_test(failed_rows),
		cmocka_unit_test(refused_rows_cost_nothing),
		cmocka_unit_test(counted_rows),
		cmocka_unit_test(counted_tests),
		cmocka_unit_test(without_an_end),
		cmocka_unit_test(bounded),
		cmocka_unit_test(many_rows),
		cmocka_unit_test(times),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
