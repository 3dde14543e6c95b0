/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The cold side of a lane without a device: edges by hand, at ticks of the test's choosing (one
 * tick is a nanosecond).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/lane.h"
#include "lane_fixture.h"

/* Warm at 500 ms with 10 messages, opened there: the usual beginning. */
static void open_at_500(struct fixture *f)
{
	atomic_store(&f->control.open, true);
	lane_begin(&f->lane);
	edge(f, 500 * MS, 10);
	assert_int_equal(f->lane.state, STATE_OPEN);
	woken(f);
}

static void warms_up_by_time(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	lane_begin(l);
	assert_int_equal(l->state, STATE_WARMING);
	assert_true(l->next_edge == l->started);
	assert_true(l->next_count == UINT64_MAX);
	assert_ptr_equal(l->histogram, &f->spare);
	edge(f, 1 * MS, 5);
	assert_int_equal(l->state, STATE_WARMING);
	assert_true(l->next_edge == l->started + 1 * MS + 20 * US);
	edge(f, 500 * MS - 1, 9);
	assert_int_equal(l->state, STATE_WARMING);
	assert_int_equal(woken(f), 0);
	edge(f, 500 * MS, 10);
	assert_int_equal(l->state, STATE_READY);
	assert_int_equal(reached(f), LANE_WARM);
	assert_int_equal(woken(f), 1);
	assert_false(f->measure.opened);
}

/* However long it takes, no queue pair may open that has moved nothing. */
static void warm_needs_every_qp(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	use_qps(f, 2, 2);
	lane_begin(l);
	edge(f, 900 * MS, 10);
	assert_int_equal(l->state, STATE_WARMING);
	f->qp[1].completed = 1;
	edge(f, 901 * MS, 11);
	assert_int_equal(l->state, STATE_READY);
}

static void receiver_needs_an_arrival(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	l->receives = true;
	l->leads = false;
	lane_begin(l);
	edge(f, 900 * MS, 0);
	assert_int_equal(l->state, STATE_WARMING);
	edge(f, 901 * MS, 1);
	assert_int_equal(l->state, STATE_READY);
}

/* Nor one that nothing has come to, whatever it has sent itself. */
static void receiver_needs_every_qp(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	use_qps(f, 3, 2);
	l->receives = true;
	f->qp[2].received = 8;
	f->qp[1].completed = f->qp[1].posted = 99;
	lane_begin(l);
	edge(f, 900 * MS, 10);
	assert_int_equal(l->state, STATE_WARMING);
	f->qp[1].received = 1;
	edge(f, 901 * MS, 11);
	assert_int_equal(l->state, STATE_READY);
}

/* Completions of three queue pairs: 30 - 20, 500 - 400 and 77 - 7 lie in the window. */
static void window_of_each_qp(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	use_qps(f, 3, 2);
	f->qp[0].received = 9999; /* not what a sender counts */
	f->qp[1].completed = 400;
	f->qp[2].completed = 7;
	atomic_store(&f->control.open, true);
	lane_begin(l);
	edge(f, 500 * MS, 20);
	assert_int_equal(l->state, STATE_OPEN);
	f->qp[0].received = 0;
	f->qp[1].completed = 450; /* on the way */
	edge(f, 600 * MS, 25);
	f->qp[1].completed = 500;
	f->qp[2].completed = 77;
	edge(f, 750 * MS, 30);
	assert_int_equal(l->state, STATE_OPEN); /* ten in all, by the lane's count */
	l->count = 207;
	lane_edge(l, l->started + 800 * MS);
	assert_int_equal(l->state, STATE_OVER);
	assert_int_equal(f->measure.qp_least, 10);
	assert_int_equal(f->measure.qp_most, 100);
	/* What comes after the window changes nothing. */
	f->qp[0].completed = 100000;
	lane_edge(l, l->started + 900 * MS);
	assert_int_equal(f->measure.qp_most, 100);
}

/* Arrivals: 130 - 10 and 4 - 4; a queue pair that stood still is seen as one. */
static void window_of_each_receiver(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	use_qps(f, 2, 1);
	l->receives = true;
	l->leads = false;
	f->qp[1].received = 4;
	f->qp[1].completed = 1000; /* in both directions there are some */
	atomic_store(&f->control.open, true);
	lane_begin(l);
	edge(f, 500 * MS, 10);
	assert_int_equal(l->state, STATE_OPEN);
	f->qp[1].completed = 5000;
	edge(f, 750 * MS, 130);
	assert_int_equal(l->state, STATE_OVER);
	assert_int_equal(f->measure.qp_least, 0);
	assert_int_equal(f->measure.qp_most, 120);
	assert_int_equal(f->measure.window.count, 120);
}

static void opens_when_told(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	lane_begin(l);
	edge(f, 500 * MS, 10);
	edge(f, 600 * MS, 20);
	assert_int_equal(l->state, STATE_READY);
	assert_true(l->next_edge == l->started + 600 * MS + 20 * US);
	assert_int_equal(woken(f), 1);
	atomic_store(&f->control.open, true);
	edge(f, 700 * MS, 30);
	assert_int_equal(l->state, STATE_OPEN);
	assert_true(f->measure.opened);
	assert_false(f->measure.closed);
	assert_int_equal(f->measure.warmup, 30);
	assert_true(f->measure.window.t0 == 700 * MS);
	assert_ptr_equal(l->histogram, &f->measure.latency);
	assert_true(l->next_edge == l->started + 800 * MS);
	assert_int_equal(woken(f), 0);
}

/* Being told early opens nothing before the warm-up is over. */
static void told_early(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->control.open, true);
	lane_begin(&f->lane);
	edge(f, 499 * MS, 10);
	assert_false(f->measure.opened);
	edge(f, 501 * MS, 11);
	assert_true(f->measure.opened);
	assert_int_equal(reached(f), LANE_WARM);
}

static void closes_by_time(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	open_at_500(f);
	edge(f, 600 * MS, 110);
	assert_true(l->next_edge == l->started + 700 * MS);
	edge(f, 701 * MS, 210); /* late: the next is on the grid all the same */
	assert_true(l->next_edge == l->started + 750 * MS); /* the end comes before the grid */
	edge(f, 750 * MS - 1, 259); /* one that no interval ends at */
	assert_int_equal(l->state, STATE_OPEN);
	edge(f, 750 * MS, 260);
	assert_int_equal(l->state, STATE_OVER);
	assert_true(f->measure.closed);
	assert_true(f->measure.window.t0 == 500 * MS);
	assert_true(f->measure.window.t1 == 750 * MS);
	assert_int_equal(f->measure.window.count, 250);
	assert_ptr_equal(l->histogram, &f->spare);
	assert_int_equal(reached(f), LANE_WARM | LANE_CLOSED);
	assert_int_equal(woken(f), 1);
	/* The load stays on; what follows is not counted, nor told again. */
	edge(f, 900 * MS, 400);
	assert_int_equal(f->measure.window.count, 250);
	assert_true(f->measure.window.t1 == 750 * MS);
	assert_true(l->next_edge == l->started + 1000 * MS);
	assert_int_equal(woken(f), 0);
	/* The last 49 ms are less than half of the interval before, and join it. */
	assert_int_equal(f->measure.series.n, 3);
	assert_true(f->measure.series.point[0].t == 500 * MS);
	assert_true(f->measure.series.point[1].t == 600 * MS);
	assert_true(f->measure.series.point[2].t == 750 * MS);
	assert_int_equal(f->measure.series.point[2].count, 260);
}

/* A window that ends before the first interval does has that end, not the interval's. */
static void shorter_than_an_interval(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	l->window = 30 * MS;
	open_at_500(f);
	assert_true(l->next_edge == l->started + 530 * MS);
	edge(f, 530 * MS, 210);
	assert_int_equal(l->state, STATE_OVER);
	assert_true(f->measure.window.t1 == 530 * MS);
	assert_int_equal(f->measure.window.count, 200);
}

/* 100 completions in the window are enough, 99 are not; warm-up ones do not count. */
static void few_completions_extend(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	open_at_500(f);
	edge(f, 750 * MS, 109);
	assert_int_equal(l->state, STATE_OPEN);
	assert_true(l->next_edge == l->started + 800 * MS); /* back on the grid */
	edge(f, 800 * MS, 109);
	edge(f, 1234 * MS, 110);
	assert_int_equal(l->state, STATE_OVER);
	assert_int_equal(f->measure.window.count, 100);
	assert_true(f->measure.window.t1 == 1234 * MS);
}

static void extension_ends_at_ten_times(void **state)
{
	struct fixture *f = *state;

	open_at_500(f);
	edge(f, 750 * MS, 11);
	edge(f, 500 * MS + 2500 * MS - 1, 12);
	assert_int_equal(f->lane.state, STATE_OPEN);
	edge(f, 500 * MS + 2500 * MS, 12);
	assert_int_equal(f->lane.state, STATE_OVER);
	assert_int_equal(f->measure.window.count, 2);
	assert_true(f->measure.window.t1 - f->measure.window.t0 == 2500 * MS);
}

static void counts_messages(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	l->counts = true;
	l->warmup = 100;
	l->window = 1000;
	lane_begin(l);
	assert_true(l->next_count == 100);
	assert_true(l->next_edge == l->started + 100 * MS); /* only to tell of progress */
	edge(f, 1 * MS, 99);
	assert_int_equal(l->state, STATE_WARMING);
	assert_true(l->next_edge == l->started + 101 * MS);
	assert_int_equal(atomic_load(&f->report.completed), 99);
	edge(f, 2 * MS, 100); /* nobody has to tell it to open */
	assert_int_equal(l->state, STATE_OPEN);
	assert_int_equal(reached(f), LANE_WARM);
	assert_true(l->next_count == 1100);
	assert_int_equal(f->measure.warmup, 100);
	edge(f, 10000 * MS, 1099);
	assert_int_equal(l->state, STATE_OPEN);
	edge(f, 10001 * MS, 1100);
	assert_int_equal(l->state, STATE_OVER);
	assert_int_equal(f->measure.window.count, 1000);
	assert_true(f->measure.window.t0 == 2 * MS);
	assert_true(f->measure.window.t1 == 10001 * MS);
	assert_true(l->next_count == UINT64_MAX);
}

/* Completions come in lumps: what lies in the window is what is counted, whatever was asked. */
static void counts_lumps(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	l->counts = true;
	l->warmup = 100;
	l->window = 1000;
	lane_begin(l);
	edge(f, 1 * MS, 128);
	assert_int_equal(f->measure.warmup, 128);
	assert_true(l->next_count == 1100);
	edge(f, 5 * MS, 1120);
	assert_true(f->measure.closed);
	assert_int_equal(f->measure.window.count, 992);
}

static void counts_from_the_first(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	l->counts = true;
	l->warmup = 0;
	l->window = 1;
	lane_begin(l);
	assert_int_equal(l->state, STATE_OPEN); /* a sender's window begins with its first post */
	assert_true(f->measure.window.t0 == 0);
	assert_int_equal(reached(f), LANE_WARM);
	assert_true(l->next_count == 1);
	edge(f, 3 * MS, 1);
	assert_int_equal(f->measure.window.count, 1);
	assert_true(f->measure.window.t1 == 3 * MS);
}

/* A receiver has no clock before the first arrival: its window begins with that. */
static void receiver_counts_from_the_first(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	l->counts = l->receives = true;
	l->leads = false;
	l->warmup = 0;
	l->window = 10;
	lane_begin(l);
	assert_int_equal(l->state, STATE_WARMING);
	assert_true(l->next_count == 1);
	edge(f, 3 * MS, 1);
	assert_int_equal(l->state, STATE_OPEN);
	edge(f, 4 * MS, 10);
	assert_int_equal(f->measure.window.count, 9);
	assert_true(f->measure.window.t0 == 3 * MS);
}

/* Without an end there is one interval in 100 ms, then, when 1,024 are full, in 200. */
static void interval_grid(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;
	uint64_t n = 10;

	l->window = UINT64_MAX / 2;
	open_at_500(f);
	for (int i = 1; i <= 1024; i++) {
		assert_true(l->next_edge == l->started + 500 * MS + (uint64_t)i * 100 * MS);
		n += 20;
		edge(f, l->next_edge - l->started + 7, n);
	}
	assert_int_equal(series_stride(&f->measure.series), 2);
	assert_int_equal(f->measure.series.n, 513);
	/* What is published stays as fresh, but only every other edge ends an interval. */
	assert_true(l->next_edge == l->started + 500 * MS + 1025 * 100 * MS);
	edge(f, l->next_edge - l->started, n + 20);
	assert_int_equal(f->measure.series.n, 513);
	assert_true(l->next_edge == l->started + 500 * MS + 1026 * 100 * MS);
	edge(f, l->next_edge - l->started, n + 30);
	assert_int_equal(f->measure.series.n, 514);
	assert_true(f->measure.series.point[513].t == 500 * MS + 1026 * 100 * MS);
	/* Edges that were slept through are not made up for. */
	edge(f, 500 * MS + 1501 * 100 * MS, n + 40);
	assert_true(l->next_edge == l->started + 500 * MS + 1502 * 100 * MS);
}

static void assert_mark(const struct fixture *f, uint64_t ns, uint64_t count, uint64_t in_flight)
{
	struct lane_mark m;

	assert_true(lane_read_mark(&f->report, &m));
	assert_true(m.ns == ns);
	assert_true(m.count == count);
	assert_true(m.in_flight == in_flight);
}

/* How far the window has come, from its opening at 500 ms with 10 messages to its end. */
static void marks_the_window(void **state)
{
	struct fixture *f = *state;
	struct lane_mark m;

	lane_begin(&f->lane);
	edge(f, 400 * MS, 8);
	assert_false(lane_read_mark(&f->report, &m));
	atomic_store(&f->control.open, true);
	edge(f, 500 * MS, 10);
	assert_mark(f, 0, 0, 3);
	edge(f, 601 * MS, 110);
	assert_mark(f, 101 * MS, 100, 3);
	edge(f, 700 * MS, 111); /* too few for an interval, but told */
	assert_mark(f, 200 * MS, 101, 3);
	edge(f, 750 * MS, 260);
	assert_mark(f, 250 * MS, 250, 3);
	assert_int_equal(f->measure.window.count, 250);
	/* The load stays on, and is not of the window. */
	edge(f, 900 * MS, 400);
	assert_mark(f, 250 * MS, 250, 3);
	/* One that is being written is not read: four have been. */
	assert_int_equal(atomic_load(&f->report.marks), 8);
}

static void publishes_progress(void **state)
{
	struct fixture *f = *state;

	use_qps(f, 2, 2);
	lane_begin(&f->lane);
	f->qp[1].posted = 1000;
	f->qp[1].completed = 900;
	f->lane.received = 77;
	edge(f, 1 * MS, 5);
	assert_int_equal(atomic_load(&f->report.posted), 1008);
	assert_int_equal(atomic_load(&f->report.completed), 905);
	assert_int_equal(atomic_load(&f->report.received), 77);
	assert_int_equal(f->measure.posted, 1008);
	assert_int_equal(f->measure.completed, 905);
	assert_int_equal(f->measure.received, 77);
}

/* DRAIN before the end: the window closes now, with all that is in it. */
static void early_drain_closes_now(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	open_at_500(f);
	edge(f, 600 * MS, 60);
	l->started = clock_start(&l->clock) - 650 * MS; /* let "now" be 650 ms */
	l->count = f->qp[0].completed = f->qp[0].posted = 75;
	atomic_store(&f->control.stop, LANE_DRAIN);
	lane_drain_sends(l);
	assert_int_equal(l->state, STATE_OVER);
	assert_int_equal(f->measure.window.count, 65);
	assert_true(f->measure.window.t1 >= 650 * MS);
	assert_int_equal(reached(f), LANE_WARM | LANE_CLOSED | LANE_SENT);
	lane_end(l);
	assert_int_equal(reached(f), LANE_WARM | LANE_CLOSED | LANE_SENT | LANE_LEFT);
	assert_int_equal(f->measure.window.count, 65);
}

static void receiver_drained_closes_now(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	open_at_500(f);
	edge(f, 600 * MS, 60);
	l->started = clock_start(&l->clock) - 650 * MS;
	l->count = 75;
	atomic_store(&f->control.stop, LANE_DRAIN);
	lane_end(l);
	assert_int_equal(f->measure.window.count, 65);
	assert_true(f->measure.window.t1 >= 650 * MS);
	assert_int_equal(reached(f), LANE_WARM | LANE_CLOSED | LANE_LEFT);
}

/* After an abort or a failure only what was whole at the last edge is true. */
static void abort_closes_at_the_last_edge(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	open_at_500(f);
	edge(f, 600 * MS, 60);
	l->count = 75;
	f->qp[0].posted = 99;
	atomic_store(&f->control.stop, LANE_ABORT);
	lane_drain_sends(l);
	assert_false(reached(f) & LANE_SENT);
	lane_end(l);
	assert_int_equal(f->measure.window.count, 50);
	assert_true(f->measure.window.t1 == 600 * MS);
}

static void end_without_a_window(void **state)
{
	struct fixture *f = *state;

	lane_begin(&f->lane);
	edge(f, 1 * MS, 1);
	lane_end(&f->lane);
	assert_false(f->measure.opened || f->measure.closed);
	assert_int_equal(reached(f), LANE_LEFT);
	assert_int_equal(woken(f), 1);
}

static void clock_is_read_as_needed(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	lane_begin(l);
	assert_int_equal(l->clock_every, 1);
	l->clock_apart = 1000000 * MS; /* every reading comes soon after the last */
	for (int i = 0; i < 10; i++)
		lane_clock(l);
	assert_int_equal(l->clock_every, LANE_CLOCK);
	l->clock_apart = 0; /* and now too late */
	for (int i = 0; i < 10; i++) {
		l->clock_at = clock_start(&l->clock) - 1;
		lane_clock(l);
	}
	assert_int_equal(l->clock_every, 1);
}

/* An edge that passes while nothing arrives is taken with the next arrival, at once. */
static void idle_keeps_the_edge(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	l->warmup = 0;
	lane_begin(l);
	l->clock_every = LANE_CLOCK;
	l->clock_apart = 1000000 * MS;
	for (int i = 0; i < LANE_CLOCK + 5; i++)
		lane_idle(l);
	assert_int_equal(l->state, STATE_WARMING);
	f->qp[0].completed = l->count = 1;
	lane_passed(l);
	assert_int_equal(l->state, STATE_READY);
	/* A count that is reached is an edge without waiting for the clock's turn. */
	l->state = STATE_WARMING;
	l->counts = true;
	l->warmup = 5;
	l->next_count = 5;
	l->next_edge = UINT64_MAX;
	l->since_clock = 0;
	l->clock_every = LANE_CLOCK;
	l->count = 4;
	lane_passed(l);
	assert_int_equal(l->state, STATE_WARMING);
	l->count = 5;
	lane_passed(l);
	assert_int_equal(l->state, STATE_OPEN);
}

static void work_request_ids(void **state)
{
	uint64_t id = wrid_make(16383, (UINT64_C(1) << 48) + 5);

	(void)state;
	assert_int_equal(wrid_qp(id), 16383);
	assert_int_equal(id & WRID_SEQ, 5); /* the sequence wraps, nothing else is touched */
	assert_false(id & (WRID_STAMPED | WRID_FLUSH));
	assert_int_equal(wrid_qp(id | WRID_STAMPED | WRID_FLUSH), 16383);
	assert_true(wrid_make(0, WRID_SEQ) == 0xffffffffffff);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(warms_up_by_time),
		TEST(warm_needs_every_qp),
		TEST(receiver_needs_an_arrival),
		TEST(receiver_needs_every_qp),
		TEST(window_of_each_qp),
		TEST(window_of_each_receiver),
		TEST(opens_when_told),
		TEST(told_early),
		TEST(closes_by_time), TEST(shorter_than_an_interval),
		TEST(few_completions_extend),
		TEST(extension_ends_at_ten_times),
		TEST(counts_messages),
		TEST(counts_lumps),
		TEST(counts_from_the_first),
		TEST(receiver_counts_from_the_first),
		TEST(interval_grid),
		TEST(publishes_progress), TEST(marks_the_window),
		TEST(early_drain_closes_now),
		TEST(receiver_drained_closes_now),
		TEST(abort_closes_at_the_last_edge),
		TEST(end_without_a_window),
		TEST(clock_is_read_as_needed),
		TEST(idle_keeps_the_edge),
		TEST(work_request_ids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
