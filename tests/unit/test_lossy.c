/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Loops whose messages are lost, late or empty, on a device that does what a script says. */
#include <setjmp.h>
#include <stdarg.h>
#include <endian.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/lane.h"
#include "engine/pingpong.h"
#include "engine/stream.h"
#include "lane_fixture.h"

/* What arrives once so many messages have been posted: the last byte of a message, and its number. */
struct arrival {
	uint64_t after;
	unsigned char last;
	uint32_t number, length;
};

static struct fixture *f;
static const struct arrival *script;
static size_t arrivals, arrived;
static unsigned char in, out, sent[16];
static uint64_t posts, given_back, polls, completed;
static bool writes; /* arrivals are seen in memory */

static int fake_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)qp;
	*bad = wr;
	sent[posts++ % 16] = out;
	for (; writes && arrived < arrivals && posts >= script[arrived].after; arrived++)
		in = script[arrived].last;
	return 0;
}

static int fake_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	*bad = wr;
	for (; wr; wr = wr->next)
		given_back++;
	return 0;
}

/* Of sends everything has completed. The row is over some polls after the last arrival. */
static int fake_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	(void)n;
	if (cq == &f->send_cq[0]) {
		wc[0] = (struct ibv_wc){ .wr_id = wrid_make(0, posts), .qp_num = 100 };
		return completed < posts ? completed = posts, 1 : 0;
	}
	if (arrived == arrivals && ++polls > 10000) {
		atomic_store(&f->control.expected, f->lane.received);
		atomic_store(&f->control.stop, LANE_DRAIN);
	}
	if (arrived == arrivals || posts < script[arrived].after)
		return 0;
	in = script[arrived].last;
	wc[0] = (struct ibv_wc){
		.wr_id = wrid_make(0, 0), .qp_num = 100, .imm_data = htobe32(script[arrived].number),
		.byte_len = script[arrived].length,
	};
	arrived++;
	return 1;
}

static int open_lossy(void **state)
{
	static struct ibv_send_wr wr;
	static struct ibv_recv_wr recv[4];
	struct lane *l;

	if (open_lane(state))
		return -1;
	f = *state;
	l = &f->lane;
	f->context.ops.poll_cq = fake_poll;
	f->context.ops.post_send = fake_send;
	f->context.ops.post_recv = fake_recv;
	l->lossy = l->counts = l->receives = true;
	l->patience = MS;
	l->depth = 16;
	l->batch = l->signal = l->wr_count = 1;
	l->recv_count = 4;
	l->stamp_mask = LANE_NO_STAMPS;
	l->warmup = 0;
	l->window = l->limit = 3;
	l->marker_in = &in;
	l->marker_out = &out;
	f->qp[0].wr = &wr;
	f->qp[0].recv = recv;
	for (uint32_t i = 0; i < l->recv_count; i++)
		recv[i].next = &recv[(i + 1) % l->recv_count];
	l->recv_batch = l->poll_sends = l->poll_receives = 1;
	atomic_store(&f->control.expected, LANE_UNKNOWN);
	in = out = 0;
	posts = given_back = polls = completed = arrived = arrivals = 0;
	writes = false;
	return 0;
}

static void play(const struct arrival *what, size_t count, lane_loop loop)
{
	script = what;
	arrivals = count;
	lane_begin(&f->lane);
	loop(&f->lane);
	assert_int_equal(f->lane.error.kind, LANE_FINE);
	assert_int_equal(f->measure.posted, f->measure.completed);
	assert_true(reached(f) & LANE_LEFT);
}

/* The answer to the second comes after the third was sent; it is no answer to that one. */
static void a_late_answer_is_lost(void **state)
{
	static const struct arrival what[] = {
		{ .after = 1, .last = 1 }, { .after = 3, .last = 2 }, { .after = 3, .last = 3 },
	};

	(void)state;
	play(what, 3, pingpong_initiator(&f->lane, ECHO_RECV, false));
	assert_int_equal(f->measure.posted, 3);
	assert_int_equal(f->measure.received, 2);
	assert_int_equal(f->measure.window.count, 3); /* asked */
	assert_int_equal(f->measure.latency.m.n, 2); /* answered */
	assert_int_equal(given_back, 3);
	assert_int_equal(sent[0] | sent[1] << 8 | sent[2] << 16, 0x030201);
	assert_true(f->measure.window.t1 - f->measure.window.t0 >= MS);
}

/* The late one finds its receive's memory as the answer behind it has left it. */
static void two_answers_in_one_place(void **state)
{
	static const struct arrival what[] = {
		{ .after = 2, .last = 2 }, { .after = 2, .last = 2 }, { .after = 3, .last = 3 },
	};

	(void)state;
	play(what, 3, pingpong_initiator(&f->lane, ECHO_RECV, false));
	assert_int_equal(f->measure.received, 2);
	assert_int_equal(f->measure.latency.m.n, 2);
	assert_int_equal(given_back, 3);
}

/* Only the first and the third come back, as a byte in memory. */
static void markers_are_lost(void **state)
{
	static const struct arrival what[] = { { .after = 1, .last = 1 }, { .after = 3, .last = 3 } };

	(void)state;
	writes = true;
	play(what, 2, pingpong_initiator(&f->lane, ECHO_MEMORY, false));
	assert_int_equal(f->measure.posted, 3);
	assert_int_equal(f->measure.received, 2);
	assert_int_equal(f->measure.latency.m.n, 2);
	assert_int_equal(given_back, 0);
}

/* 256 messages on, the last byte is 0. */
static void numbers_go_around(void **state)
{
	static struct arrival what[300];

	(void)state;
	for (uint64_t i = 0; i < 300; i++)
		what[i] = (struct arrival){ .after = i + 1, .last = (unsigned char)((i + 1) % 256) };
	f->lane.window = f->lane.limit = 300;
	play(what, 300, pingpong_initiator(&f->lane, ECHO_RECV, false));
	assert_int_equal(f->measure.received, 300);
}

/* Whatever is new is answered with its own number; an empty datagram leaves the old one there. */
static void a_responder_answers_what_is_new(void **state)
{
	static const struct arrival what[] = {
		{ .last = 1 }, { .last = 1 }, { .last = 3 }, { .last = 200 },
	};

	(void)state;
	f->lane.leads = false;
	f->lane.limit = UINT64_MAX;
	play(what, 4, pingpong_responder(&f->lane, ECHO_RECV));
	assert_int_equal(f->measure.posted, 3);
	assert_int_equal(f->measure.received, 3);
	assert_int_equal(given_back, 4);
	assert_int_equal(sent[0] | sent[1] << 8 | sent[2] << 16, 0xc80301);
}

static void receive(const struct arrival *what, size_t count)
{
	f->lane.leads = false;
	play(what, count, stream_receiver(&f->lane));
}

/* An empty datagram gives its receive back, and is no message. */
static void empty_datagrams_do_not_count(void **state)
{
	static const struct arrival what[] = { { .length = 41 }, { .length = 40 }, { .length = 48 } };

	(void)state;
	f->lane.header = 40;
	receive(what, 3);
	assert_int_equal(f->measure.received, 2);
	assert_int_equal(given_back, 3);
}

/* Numbers may be missing, but not come twice; datagrams may overtake each other. */
static void numbers_rise(void **state)
{
	static const struct arrival what[] = {
		{ .number = 0 }, { .number = 5, .length = 50 }, { .number = 5, .length = 50 },
		{ .number = 7, .length = 50 }, { .number = 6, .length = 50 },
	};

	(void)state;
	f->lane.immediate = true;
	receive(what, 2);
	assert_int_equal(f->measure.data_errors, 0);
	arrived = 0;
	polls = 0;
	atomic_store(&f->control.stop, LANE_RUN);
	f->qp[0].next_immediate = 0;
	receive(what, 5);
	assert_int_equal(f->measure.data_errors, 2);
	arrived = 1;
	polls = 0;
	atomic_store(&f->control.stop, LANE_RUN);
	f->lane.header = 40;
	f->measure.data_errors = 0;
	receive(what, 5);
	assert_int_equal(f->measure.data_errors, 0);
}

/* What is missing is lost after 100 ms without an arrival, or a second in all. */
static void giving_up(void **state)
{
	struct lane *l = &f->lane;

	(void)state;
	assert_false(lane_gives_up(l, 1000 * MS)); /* from now on */
	l->arrived = 1050 * MS;
	assert_false(lane_gives_up(l, 1149 * MS));
	assert_true(lane_gives_up(l, 1150 * MS));
	l->arrived = 1940 * MS;
	assert_false(lane_gives_up(l, 1999 * MS));
	assert_true(lane_gives_up(l, 2000 * MS));
	l->awaited_since = 0;
	l->arrived = 0;
	assert_false(lane_gives_up(l, 5000 * MS));
	assert_false(lane_gives_up(l, 5099 * MS));
	assert_true(lane_gives_up(l, 5100 * MS));
}

/* A count that is never reached ends by the peer's word, and by the last arrival. */
static void a_count_ends_by_message(void **state)
{
	struct lane *l = &f->lane;

	(void)state;
	l->leads = false;
	l->warmup = 2;
	l->window = 10;
	lane_begin(l);
	edge(f, MS, 2);
	edge(f, 2 * MS, 7);
	l->arrived = l->started + 3 * MS;
	l->count = 9;
	l->awaited_since = 1;
	lane_lull(l);
	assert_false(reached(f) & LANE_CLOSED);
	atomic_store(&f->control.finished, true);
	lane_lull(l);
	assert_true(reached(f) & LANE_CLOSED);
	assert_int_equal(f->measure.window.count, 7);
	assert_int_equal(f->measure.window.t1 - f->measure.window.t0, 2 * MS);
}

/* The same when not even the warm-up has come. */
static void a_warmup_ends_by_message(void **state)
{
	struct lane *l = &f->lane;

	(void)state;
	l->leads = false;
	l->warmup = 2;
	lane_begin(l);
	l->awaited_since = 1;
	atomic_store(&f->control.finished, true);
	lane_lull(l);
	assert_true(reached(f) & LANE_WARM);
	assert_true(reached(f) & LANE_CLOSED);
	assert_int_equal(f->measure.window.count, 0);
}

#define LOSSY(name) cmocka_unit_test_setup_teardown(name, open_lossy, close_lane)

int main(void)
{
	const struct CMUnitTest tests[] = {
		LOSSY(a_late_answer_is_lost),
		LOSSY(two_answers_in_one_place),
		LOSSY(markers_are_lost),
		LOSSY(numbers_go_around),
		LOSSY(a_responder_answers_what_is_new),
		LOSSY(empty_datagrams_do_not_count),
		LOSSY(numbers_rise),
		LOSSY(giving_up),
		LOSSY(a_count_ends_by_message),
		LOSSY(a_warmup_ends_by_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
