/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Schedules. First the arithmetic alone, then the loops on a device that takes a known time for each
 * message, one after the other, with a clock that only a poll in vain moves, by 1 us.
 */
#define _GNU_SOURCE
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "engine/pingpong.h"
#include "engine/roundtrip.h"
#include "engine/stream.h"

#define US 1000
#define PER_S UINT64_C(1000000000) /* a rate of one a second */
#define QPS 2
#define MOST 64

static const struct clock ns_clock = { .mult = UINT64_C(1) << CLOCK_SHIFT };
static struct histogram spare;
static struct measure measure;

static struct pace begin(const struct pace_plan *plan, const struct clock *c, uint64_t messages)
{
	struct pace p;

	histogram_reset(&spare);
	memset(&measure, 0, sizeof(measure));
	histogram_reset(&measure.latency);
	histogram_reset(&measure.pace.response);
	histogram_reset(&measure.pace.lateness);
	pace_init(&p, plan, c);
	pace_begin(&p, 0, messages, &spare);
	return p;
}

/* When message n is due, all before it having left at their times. */
static uint64_t due(const struct pace_plan *plan, const struct clock *c, uint64_t n)
{
	struct pace p = begin(plan, c, UINT64_MAX);

	while (n--)
		pace_leave(&p, c, p.due);
	return p.due;
}

static void even_gaps(void **state)
{
	/* 3 GHz: a third of a nanosecond a tick. */
	static const struct clock three = { .mult = (UINT64_C(1) << CLOCK_SHIFT) / 3, .counter = true };
	static const struct {
		uint64_t rate, n, due;
	} known[] = {
		{ PER_S / 2, 1, 2 * PER_S }, { PER_S / 2, 3, 6 * PER_S },
		{ PER_S / 1000, 7, 7000 * PER_S }, { 1000 * PER_S, 1, 1000000 },
		{ 3 * PER_S, 1, 333333333 }, { 3 * PER_S, 2, 666666666 },
		{ 7 * PER_S, 7000, 1000 * PER_S - 1 }, /* 2^-64 of a tick short, each time */
		{ 7000000 * PER_S, 7000000, PER_S - 1 }, { 8000000 * PER_S, 8000000, PER_S },
		{ 999 * PER_S, 999000, 1000 * PER_S - 1 }, { PER_S * PER_S, 12345, 12345 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		struct pace_plan plan = { .rate = known[i].rate, .burst = 1 };

		assert_int_equal(due(&plan, &ns_clock, known[i].n), known[i].due);
	}
	/* 2^32 / 3 is cut by a third: 1,000 messages of 1 ms are 3e9 (1 + 2.3e-10) ticks. */
	assert_int_equal(due(&(struct pace_plan){ .rate = 1000 * PER_S, .burst = 1 }, &three, 1000),
			 3000000000);
}

static void bursts(void **state)
{
	struct pace_plan plan = { .rate = 1000 * PER_S, .burst = 4 };

	(void)state;
	for (uint64_t n = 0; n < 4; n++)
		assert_int_equal(due(&plan, &ns_clock, n), 0);
	assert_int_equal(due(&plan, &ns_clock, 4), 4000 * US);
	assert_int_equal(due(&plan, &ns_clock, 7), 4000 * US);
	assert_int_equal(due(&plan, &ns_clock, 8), 8000 * US);
}

/* One a millisecond: messages that leave late shift nothing, and are counted as they wait. */
static void lateness(void **state)
{
	struct pace_plan plan = { .rate = 1000 * PER_S, .burst = 1 };
	struct pace p = begin(&plan, &ns_clock, 1000);

	(void)state;
	pace_open(&p, &measure.pace, 0);
	pace_leave(&p, &ns_clock, 0);
	pace_leave(&p, &ns_clock, 1000 * US + 999999); /* the next one is not due yet */
	assert_int_equal(p.backlog, 0);
	pace_leave(&p, &ns_clock, 7500 * US); /* of 2 ms; those of 3 to 7 wait */
	assert_int_equal(p.backlog, 5);
	assert_int_equal(p.due, 3000 * US);
	for (int i = 3; i < 11; i++)
		pace_leave(&p, &ns_clock, 10000 * US);
	assert_int_equal(p.due, 11000 * US);
	pace_close(&p, &measure.pace, 10500 * US, &spare);
	assert_true(measure.pace.active);
	assert_int_equal(measure.pace.backlog, 7); /* at 10 ms message 3 left, and 4 to 10 were due */
	assert_true(measure.pace.kept == 1);
	assert_int_equal(measure.pace.lateness.m.n, 11);
	/* 0, 0.999999, 5.5, and 7 to 0 ms */
	assert_int_equal(measure.pace.lateness.m.sum, 999999 + 5500 * US + 28000 * US);
	assert_int_equal(spare.m.n, 0);
}

/* At its end nothing waits that does not exist; and what waits at the window's end counts. */
static void backlog(void **state)
{
	struct pace_plan plan = { .rate = 1000 * PER_S, .burst = 1 };
	struct pace p = begin(&plan, &ns_clock, 3);

	(void)state;
	pace_open(&p, &measure.pace, 0);
	pace_leave(&p, &ns_clock, 100000 * US);
	assert_int_equal(p.backlog, 2);
	pace_leave(&p, &ns_clock, 100000 * US);
	pace_leave(&p, &ns_clock, 102000 * US); /* due at 2 ms, and no more to come */
	pace_close(&p, &measure.pace, 200000 * US, &spare);
	assert_int_equal(measure.pace.backlog, 2);
	assert_true(measure.pace.kept == 0.5); /* 100 ms behind at 200 */
	pace_close(&p, &measure.pace, 50000 * US, &spare); /* an edge that is past by then */
	assert_true(measure.pace.kept == 0);

	p = begin(&plan, &ns_clock, UINT64_MAX);
	pace_open(&p, &measure.pace, 0);
	pace_leave(&p, &ns_clock, 0);
	pace_close(&p, &measure.pace, 4000 * US, &spare); /* of 1 ms is next, 2 to 4 behind it */
	assert_int_equal(measure.pace.backlog, 3);
	assert_true(measure.pace.kept == 0.25);

	plan.burst = 4;
	p = begin(&plan, &ns_clock, UINT64_MAX);
	pace_open(&p, &measure.pace, 0);
	pace_leave(&p, &ns_clock, 8500 * US); /* 3 of its burst, and those of 4 and 8 ms */
	assert_int_equal(p.backlog, 11);
}

/* Five deviations of the mean, of the variance and of the share above the mean. */
static void poisson(void **state)
{
	const uint64_t n = 1000000;
	struct pace_plan plan = { .rate = 1000000 * PER_S, .burst = 1, .poisson = true, .seed = 1 };
	struct pace p = begin(&plan, &ns_clock, UINT64_MAX), other;
	uint64_t above = 0, alike = 0;
	struct moments m;

	(void)state;
	moments_init(&m);
	plan.seed = 2;
	other = begin(&plan, &ns_clock, UINT64_MAX);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t from = p.due, other_from = other.due;

		pace_next(&p);
		pace_next(&other);
		moments_add(&m, p.due - from);
		above += p.due - from > 1000;
		alike += p.due - from == other.due - other_from;
	}
	assert_true(fabs(moments_mean(&m) - 1000) < 5);
	assert_true(fabs(moments_stdev(&m) * moments_stdev(&m) - 1e6) < 5 * 1e6 * sqrt(8.0 / (double)n));
	assert_true(fabs((double)above - 367879) < 5 * 482);
	assert_true(alike < n / 100);
	/* Gaps of less than a tick add up as well. */
	plan.rate = PER_S * PER_S;
	assert_true(fabs((double)due(&plan, &ns_clock, n) - (double)n) < 5 * 1000);
	assert_int_equal(due(&plan, &ns_clock, n), due(&plan, &ns_clock, n));
}

/* ---- the device ---- */

static struct {
	uint64_t now, free_at;
	uint64_t done[MOST], wr_id[MOST];
	uint64_t at[MOST];     /* when message i was posted... */
	uint32_t on[MOST];     /* ...and on which queue pair */
	uint32_t posted, polled, stall;
	uint64_t takes, stalls;
	uint64_t old[MOST];
} device;

static struct lane lane;
static struct lane_qp lane_qp[QPS];
static struct lane_control control;
static struct lane_report report;
static struct ibv_context context;
static struct ibv_qp qps[QPS];
static struct ibv_cq cq;

int clock_gettime(clockid_t id, struct timespec *ts)
{
	if (id != CLOCK_MONOTONIC_RAW)
		return (int)syscall(SYS_clock_gettime, id, ts);
	ts->tv_sec = (time_t)(device.now / 1000000000);
	ts->tv_nsec = (long)(device.now % 1000000000);
	return 0;
}

static int post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	uint32_t i = device.posted++;

	(void)bad;
	assert_true(i < MOST);
	device.at[i] = device.now;
	device.on[i] = qp->qp_num;
	device.wr_id[i] = wr->wr_id;
	device.free_at = (device.now > device.free_at ? device.now : device.free_at) +
			 device.takes + (i + 1 == device.stall ? device.stalls : 0);
	device.done[i] = device.free_at;
	return 0;
}

static int poll(struct ibv_cq *queue, int n, struct ibv_wc *wc)
{
	uint32_t i = device.polled;

	(void)queue;
	(void)n;
	if (i == device.posted || device.done[i] > device.now) {
		device.now += US;
		return 0;
	}
	wc[0] = (struct ibv_wc){ .wr_id = device.wr_id[i] };
	device.polled++;
	return 1;
}

static void roundtrip_paced(struct lane *l)
{
	roundtrip_loop(l, true)(l);
}

/* Runs a loop with messages of each queue pair, from 5 ms on. */
static void run(lane_loop loop, const struct pace_plan *plan, uint32_t queue_pairs, uint32_t depth,
		uint64_t messages)
{
	static struct ibv_send_wr wr[QPS];
	static uint64_t stamps[QPS][MOST], intended[QPS][MOST];
	static struct lane_group group;

	begin(plan, &ns_clock, 0);
	device.now = device.free_at = 5000 * US;
	device.posted = device.polled = 0;
	context.ops.post_send = post;
	context.ops.poll_cq = poll;
	cq.context = &context;
	group = (struct lane_group){ .send_cq = &cq, .recv_cq = &cq, .qp = lane_qp,
				     .qps = queue_pairs };
	lane = (struct lane){
		.control = &control, .report = &report, .group = &group, .qp = lane_qp,
		.groups = 1, .qps = queue_pairs, .depth = depth, .batch = 1, .signal = 1,
		.wr_count = 1, .stamp_ring = MOST - 1, .limit = messages, .leads = true,
		.counts = true, .window = messages * queue_pairs, .event_fd = -1,
		.burst = UINT32_MAX, .measure = &measure, .spare = &spare, .clock = ns_clock,
	};
	for (uint32_t i = 0; i < queue_pairs; i++) {
		qps[i] = (struct ibv_qp){ .context = &context, .qp_num = i };
		lane_qp[i] = (struct lane_qp){ .qp = &qps[i], .index = i, .wr = &wr[i],
					       .stamps = stamps[i], .intended = intended[i] };
	}
	atomic_store(&control.stop, LANE_RUN);
	pace_init(&lane.pace, plan, &ns_clock);
	lane_begin(&lane);
	loop(&lane);
	assert_int_equal(lane.error.kind, LANE_FINE);
	assert_int_equal(device.posted, messages * queue_pairs);
	assert_int_equal(measure.latency.m.n, device.posted);
}

/* When they were posted, in us from the beginning. */
static void check_posts(const uint64_t *us, size_t n)
{
	assert_int_equal(device.posted, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal((device.at[i] - 5000 * US) / US, us[i]);
}

#define POSTS(...)                                                        \
	do {                                                              \
		static const uint64_t us_[] = { __VA_ARGS__ };            \
		check_posts(us_, sizeof(us_) / sizeof(us_[0]));           \
	} while (0)

/* Sums, in us: of services, of responses, of lateness; and the largest backlog. */
static void check_sums(uint64_t service, uint64_t response, uint64_t late, uint64_t waiting)
{
	assert_int_equal(measure.latency.m.sum, service * US);
	assert_int_equal(measure.pace.response.m.sum, response * US);
	assert_int_equal(measure.pace.lateness.m.sum, late * US);
	assert_int_equal(measure.pace.backlog, waiting);
	assert_int_equal(spare.m.n, 0);
}

static const struct pace_plan each_10us = { .rate = 100000 * PER_S, .burst = 1 };

static void latency_by_schedule(void **state)
{
	(void)state;
	device.takes = 4 * US;
	run(roundtrip_paced, &each_10us, 1, 1, 5);
	POSTS(0, 10, 20, 30, 40);
	check_sums(20, 20, 0, 0);
	/* Slower than the rate: answers at 25, 50, 75, 100; due at 0, 10, 20, 30. */
	device.takes = 25 * US;
	run(roundtrip_paced, &each_10us, 1, 1, 4);
	POSTS(0, 25, 50, 75);
	check_sums(100, 25 + 40 + 55 + 70, 15 + 30 + 45, 1);
	assert_true(fabs(measure.pace.kept - 0.55) < 1e-12); /* 45 us behind at 100 */
	/* The second takes 31 us more, so that those of 20, 30 and 40 us wait, and then catch up. */
	device.takes = 4 * US;
	device.stall = 2;
	device.stalls = 31 * US;
	run(roundtrip_paced, &each_10us, 1, 1, 7);
	POSTS(0, 10, 45, 49, 53, 57, 61);
	check_sums(7 * 4 + 31, 4 + 35 + 29 + 23 + 17 + 11 + 5, 25 + 19 + 13 + 7 + 1, 2);
	device.stall = 0;
}

static void gaps(void **state)
{
	(void)state;
	device.takes = 4 * US;
	run(roundtrip_paced, &(struct pace_plan){ .gap_ns = 7 * US, .burst = 1 }, 1, 1, 4);
	POSTS(0, 11, 22, 33);
	assert_int_equal(measure.latency.m.sum, 16 * US);
	assert_false(measure.pace.active);
}

static void stream_by_schedule(void **state)
{
	(void)state;
	device.takes = 4 * US;
	run(stream_paced, &each_10us, 1, 8, 5);
	POSTS(0, 10, 20, 30, 40);
	check_sums(20, 20, 0, 0);
	/* Done at 25, 50, 75, 100, 125; two fit, so the third leaves when the first is done. */
	device.takes = 25 * US;
	run(stream_paced, &each_10us, 1, 2, 5);
	POSTS(0, 10, 25, 50, 75);
	check_sums(25 + 40 + 50 + 50 + 50, 25 + 40 + 55 + 70 + 85, 5 + 20 + 35, 1);
}

/* Two queue pairs in turn, three at a time. */
static void stream_in_bursts(void **state)
{
	static const uint32_t on[] = { 0, 1, 0, 1, 0, 1 };
	struct pace_plan plan = each_10us;

	(void)state;
	plan.burst = 3;
	device.takes = 4 * US;
	run(stream_paced, &plan, 2, 8, 3);
	POSTS(0, 0, 0, 30, 30, 30);
	for (int i = 0; i < 6; i++)
		assert_int_equal(device.on[i], on[i]);
	check_sums(2 * (4 + 8 + 12), 2 * (4 + 8 + 12), 0, 2);
	/* With room for one on each the third of a burst waits for its queue pair, until 4 us. */
	run(stream_paced, &plan, 2, 1, 3);
	POSTS(0, 0, 4, 30, 30, 34);
	check_sums(2 * (4 + 8 + 8), 2 * (4 + 8 + 12), 8, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(even_gaps),
		cmocka_unit_test(bursts),
		cmocka_unit_test(lateness),
		cmocka_unit_test(backlog),
		cmocka_unit_test(poisson),
		cmocka_unit_test(latency_by_schedule),
		cmocka_unit_test(gaps),
		cmocka_unit_test(stream_by_schedule),
		cmocka_unit_test(stream_in_bursts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
