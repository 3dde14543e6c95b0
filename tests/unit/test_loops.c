/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The measured loops from end to end on a simulated device, for random draws of everything that a
 * plan can ask for. Whatever it is, each loop ends by itself and every message is accounted for.
 * RDMETER_SEED in the environment repeats a run.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "engine/pingpong.h"
#include "engine/roundtrip.h"
#include "engine/stream.h"
#include "sim.h"

static uint64_t seed;
static struct sim *sim;
static uint64_t slept;

static uint32_t draw(uint64_t *random, uint32_t low, uint32_t high)
{
	return (uint32_t)sim_draw(random, low, high);
}

/* Often the edges, where the mistakes are. */
static uint32_t draw_edge(uint64_t *random, uint32_t low, uint32_t high)
{
	switch (draw(random, 0, 5)) {
	case 0:
		return low;
	case 1:
		return high;
	default:
		return draw(random, low, high);
	}
}

static struct sim_plan draw_plan(uint64_t *random)
{
	struct sim_plan p = { 0 };

	p.iters = draw_edge(random, 1, 200);
	p.warmup = draw_edge(random, 0, 40);
	p.depth = draw_edge(random, 1, SIM_DEPTH);
	p.batch = draw_edge(random, 1, p.depth);
	p.signal = draw(random, 0, 2) ? draw_edge(random, 1, p.depth) : p.batch;
	p.rx_depth = draw_edge(random, 1, 2 * SIM_DEPTH);
	p.qps = draw_edge(random, 1, SIM_QPS);
	p.groups = draw_edge(random, 1, p.qps);
	p.stamp = draw(random, 0, 1) ? 1U << draw(random, 0, 4) : 0;
	p.eager = draw_edge(random, 1, 40);
	p.timed = draw(random, 0, 2) == 0;
	p.polls = draw(random, 1, 600);
	p.immediate = draw(random, 0, 1);
	p.common = draw(random, 0, 3) == 0;
	p.recv_batch = draw_edge(random, 1, p.rx_depth);
	p.sleeps = draw(random, 0, 2) == 0;
	p.calls = draw(random, 0, 2) == 0;
	return p;
}

#define CHECK(condition)                                                                         \
	do {                                                                                     \
		if (!(condition)) {                                                              \
			const struct sim_plan *p_ = &sim->plan;                                  \
			fail_msg("%s, draw %llu: not %s; %s\n"                                   \
				 "iters %llu warmup %llu depth %u batch %u signal %u qps %u "    \
				 "groups %u stamp %u rx %u timed %d", what,                      \
				 (unsigned long long)n, #condition, sim->wrong,                  \
				 (unsigned long long)p_->iters, (unsigned long long)p_->warmup,  \
				 p_->depth, p_->batch, p_->signal, p_->qps, p_->groups,          \
				 p_->stamp, p_->rx_depth, p_->timed);                            \
		}                                                                                \
	} while (0)

/* What each queue pair posted, completed and received, and what that cost on the device. */
static void check_qps(const char *what, uint64_t n)
{
	for (uint32_t i = 0; i < sim->plan.qps; i++) {
		const struct lane_qp *q = &sim->lane_qp[i];
		const struct sim_qp *d = &sim->qp[i];

		CHECK(q->posted == d->messages);
		CHECK(q->completed == d->messages);
		CHECK(q->received == d->arrived);
		CHECK(d->executed == d->posted);
		CHECK(d->freed == d->posted);
		CHECK(!d->unsignalled); /* the last one was signalled */
		CHECK(d->posted == d->messages + d->flushes);
		CHECK(d->flushes <= (sim->plan.timed ? 1 : 0));
		if (!sim->plan.timed && sim->plan.sends)
			CHECK(d->messages == sim->plan.iters + sim->plan.warmup);
		if (!sim->plan.timed && sim->plan.receives)
			CHECK(d->arrived == sim->plan.iters + sim->plan.warmup);
		if (sim->plan.receives && !sim->plan.memory && !sim->plan.common)
			CHECK(d->receives + q->owed == d->arrived + sim->plan.rx_depth);
		if (sim->plan.predicts && !sim->plan.shared)
			CHECK(d->counter == d->messages);
	}
}

static void check_window(const char *what, uint64_t n)
{
	const struct measure *m = &sim->measure;
	uint64_t all = 0;

	for (uint32_t i = 0; i < sim->plan.qps; i++)
		all += sim->plan.receives ? sim->qp[i].arrived : sim->qp[i].messages;
	CHECK(sim->lane.count == all);
	CHECK(m->opened == m->closed);
	CHECK(sim->plan.timed || m->opened);
	if (!m->opened)
		return;
	CHECK(m->window.count + m->warmup <= all);
	CHECK(sim->plan.timed || m->window.count + m->warmup == all);
	CHECK(m->warmup >= (sim->plan.timed ? 0 : sim->plan.warmup * sim->plan.qps));
	CHECK(m->qp_least * sim->plan.qps <= m->window.count);
	CHECK(m->qp_most * sim->plan.qps >= m->window.count);
}

/* The samples that were kept are those of the histogram, in the order of time. */
static void check_samples(const char *what, uint64_t n)
{
	const struct samples *s = &sim->samples;
	uint64_t sum = 0;

	for (uint64_t i = 0; i < s->count; i++) {
		sum += s->sample[i].ns;
		CHECK(!i || s->sample[i].at >= s->sample[i - 1].at);
	}
	CHECK(s->count == (sim->plan.sampled ? sim->measure.latency.m.n : 0));
	CHECK(!sim->plan.sampled || sum == sim->measure.latency.m.sum);
}

/* Receives of the common queue are where they were, or wait to be given back. */
static void check_common(const char *what, uint64_t n)
{
	uint64_t there = 0;

	for (uint32_t i = 0; i < sim->plan.rx_depth; i++)
		there += sim->srq_there[i];
	CHECK(!sim->lane.shared || there + sim->common.owed == sim->plan.rx_depth);
	CHECK(!sim->lane.shared || sim->srq_used == sim->lane.received);
}

static void check_totals(const char *what, uint64_t n)
{
	uint64_t posted = 0, arrived = 0, stamped = 0, mask = sim->plan.stamp - 1;
	unsigned int reached = atomic_load(&sim->report.reached);

	for (uint32_t i = 0; i < sim->plan.qps; i++) {
		posted += sim->qp[i].messages;
		arrived += sim->qp[i].arrived;
		stamped += sim->plan.stamp ? (sim->qp[i].signalled + mask) / (mask + 1) : 0;
	}
	CHECK(sim->measure.posted == posted);
	CHECK(sim->measure.completed == posted);
	CHECK(sim->measure.received == arrived);
	CHECK(sim->lane.received == arrived);
	CHECK(sim->measure.data_errors == (sim->plan.misnumbered ? arrived : 0));
	CHECK(reached & LANE_LEFT);
	CHECK(!sim->plan.sends || reached & LANE_SENT);
	CHECK(!sim->measure.opened || (reached & (LANE_WARM | LANE_CLOSED)) == 3);
	/* What is outstanding when the load ends is reaped without being timed. */
	if (sim->plan.rate) /* the spare one has its responses and lateness too */
		CHECK(sim->measure.latency.m.n <= stamped || !sim->plan.stamp);
	else if (sim->plan.stamp && !sim->plan.timed && !sim->plan.receives)
		CHECK(sim->spare.m.n + sim->measure.latency.m.n == stamped);
	else if (sim->plan.stamp)
		CHECK(sim->spare.m.n + sim->measure.latency.m.n <= stamped);
	CHECK(sim->plan.shared || !sim->lane.missed);
	CHECK(!sim->plan.shared || sim->shared_counter + sim->lane.missed == posted);
	CHECK(sim->measure.missed == sim->lane.missed);
}

/* No event is left unacknowledged, or its queue could not be destroyed. */
static void check_events(const char *what, uint64_t n)
{
	for (uint32_t i = 0; i < sim->plan.groups; i++)
		CHECK(!sim->send_cq[i].unacked && !sim->recv_cq[i].unacked);
	CHECK(sim->plan.sleeps || !sim->slept);
	slept += sim->slept;
}

static void check_all(const char *what, uint64_t n)
{
	CHECK(!sim->wrong[0]);
	CHECK(sim->lane.error.kind == LANE_FINE);
	check_qps(what, n);
	check_window(what, n);
	check_totals(what, n);
	check_samples(what, n);
	check_events(what, n);
	check_common(what, n);
}

/* Opens the n-th draw of a kind and hands it to the loop that its lane has. */
static void run(const char *what, uint64_t n, const struct sim_plan *plan,
		lane_loop (*choose)(const struct lane *l))
{
	sim_open(sim, plan, seed ^ n << 20);
	lane_begin(&sim->lane);
	choose(&sim->lane)(&sim->lane);
	check_all(what, n);
}

static lane_loop duplex(const struct lane *l)
{
	(void)l;
	return stream_duplex;
}

static lane_loop initiator(const struct lane *l)
{
	return pingpong_initiator(l, sim->plan.memory ? ECHO_MEMORY : ECHO_RECV, false);
}

static lane_loop paced_initiator(const struct lane *l)
{
	return pingpong_initiator(l, sim->plan.memory ? ECHO_MEMORY : ECHO_RECV, true);
}

static lane_loop roundtrip(const struct lane *l)
{
	return roundtrip_loop(l, false);
}

static lane_loop paced_roundtrip(const struct lane *l)
{
	return roundtrip_loop(l, true);
}

static lane_loop paced_stream(const struct lane *l)
{
	(void)l;
	return stream_paced;
}

static lane_loop responder(const struct lane *l)
{
	return pingpong_responder(l, sim->plan.memory ? ECHO_MEMORY : ECHO_RECV);
}

static void senders(void **state)
{
	uint64_t random = seed;

	(void)state;
	for (uint64_t n = 0; n < 2500; n++) {
		struct sim_plan p = draw_plan(&random);

		p.sends = true;
		p.sampled = n & 1;
		run("sender", n, &p, stream_sender);
	}
}

static void swappers(void **state)
{
	uint64_t random = seed + 1, missed = 0;

	(void)state;
	for (uint64_t n = 0; n < 1000; n++) {
		struct sim_plan p = draw_plan(&random);

		p.sends = p.predicts = true;
		p.immediate = false;
		p.shared = draw(&random, 0, 1);
		run("compare-and-swap", n, &p, stream_sender);
		missed += sim->lane.missed;
	}
	assert_true(missed > 0);
}

static void receivers(void **state)
{
	uint64_t random = seed + 2;

	(void)state;
	for (uint64_t n = 0; n < 800; n++) {
		struct sim_plan p = draw_plan(&random);

		p.receives = true;
		p.peer = SIM_SENDER;
		p.arrivals = p.iters + p.warmup;
		p.stamp = 0;
		run("receiver", n, &p, stream_receiver);
	}
}

static void duplexes(void **state)
{
	uint64_t random = seed + 3;

	(void)state;
	for (uint64_t n = 0; n < 1000; n++) {
		struct sim_plan p = draw_plan(&random);

		p.sends = p.receives = true;
		p.sampled = n & 1;
		p.peer = SIM_SENDER;
		p.arrivals = p.timed ? UINT64_MAX : p.iters + p.warmup;
		run("duplex", n, &p, duplex);
	}
}

static struct sim_plan draw_lat(uint64_t *random)
{
	struct sim_plan p = draw_plan(random);

	p.qps = p.groups = p.batch = p.recv_batch = 1;
	p.stamp = 0;
	p.sends = true;
	return p;
}

/* The first sample that is kept ends after the window's opening, the last one at its end. */
static void check_ends(const char *what, uint64_t n)
{
	const struct window *w = &sim->measure.window;
	const struct samples *s = &sim->samples;

	if (!s->count)
		return;
	CHECK(s->sample[0].at > 0);
	CHECK(sim->plan.timed || s->sample[s->count - 1].at == w->t1 - w->t0);
}

static void roundtrips(void **state)
{
	uint64_t random = seed + 4;

	(void)state;
	for (uint64_t n = 0; n < 800; n++) {
		struct sim_plan p = draw_lat(&random);
		const char *what = "round trip";

		p.predicts = draw(&random, 0, 1);
		p.immediate = false;
		p.signal = 1;
		p.sampled = n & 1;
		run(what, n, &p, roundtrip);
		check_ends(what, n);
		CHECK(sim->spare.m.n + sim->measure.latency.m.n == sim->qp[0].messages);
	}
}

static void initiators(void **state)
{
	uint64_t random = seed + 5;

	(void)state;
	for (uint64_t n = 0; n < 800; n++) {
		struct sim_plan p = draw_lat(&random);
		const char *what = "initiator";

		p.receives = true;
		p.peer = SIM_ECHO;
		p.memory = draw(&random, 0, 1);
		p.immediate = !p.memory && p.immediate;
		p.sleeps &= !p.memory;
		p.sampled = n & 1;
		run(what, n, &p, initiator);
		CHECK(sim->spare.m.n + sim->measure.latency.m.n == sim->qp[0].messages);
	}
}

static void responders(void **state)
{
	uint64_t random = seed + 6;

	(void)state;
	for (uint64_t n = 0; n < 800; n++) {
		struct sim_plan p = draw_lat(&random);
		const char *what = "responder";

		p.receives = true;
		p.timed = false; /* it is the initiator that stops */
		p.peer = SIM_ASKER;
		p.arrivals = p.iters + p.warmup;
		p.memory = draw(&random, 0, 1);
		p.immediate = !p.memory && p.immediate;
		p.sleeps &= !p.memory;
		run(what, n, &p, responder);
		CHECK(sim->qp[0].messages == sim->qp[0].arrived);
	}
}

/* Immediate data out of order are counted by all that receive. */
static void wrong_numbers(void **state)
{
	uint64_t random = seed + 7;

	(void)state;
	for (uint64_t n = 0; n < 50; n++) {
		struct sim_plan p = draw_lat(&random);

		p.timed = false;
		p.receives = p.immediate = p.misnumbered = true;
		p.arrivals = p.iters + p.warmup;
		p.peer = SIM_ECHO;
		run("initiator", n, &p, initiator);
		p.peer = SIM_ASKER;
		run("responder", n, &p, responder);
		p.qps = draw(&random, 1, SIM_QPS);
		p.peer = SIM_SENDER;
		run("duplex", n, &p, duplex);
		p.sends = false;
		run("receiver", n, &p, stream_receiver);
	}
}

/* By schedule, of up to so many messages a microsecond: late most of the time, or hardly. */
static struct sim_plan draw_paced(uint64_t *random)
{
	struct sim_plan p = draw_plan(random);

	p.sends = true;
	p.batch = 1;
	p.iters = p.iters > 50 ? 50 : p.iters;
	p.rate = sim_draw(random, 1, 100) * UINT64_C(10000000000000000);
	p.burst_size = draw_edge(random, 1, 20);
	return p;
}

/* Messages are spread in turn; each that was timed has a response, and is late by that much. */
static void check_paced(const char *what, uint64_t n)
{
	const struct measure *m = &sim->measure;
	uint64_t most = sim->qp[0].messages, least = most;

	for (uint32_t i = 1; i < sim->plan.qps; i++) {
		CHECK(sim->qp[i].messages <= sim->qp[i - 1].messages);
		least = sim->qp[i].messages;
	}
	CHECK(most - least <= 1);
	CHECK(m->pace.response.m.n == m->latency.m.n);
	CHECK(m->pace.response.m.sum >= m->latency.m.sum);
	CHECK(m->pace.active == m->opened);
}

static void paced_streams(void **state)
{
	uint64_t random = seed + 8;

	(void)state;
	for (uint64_t n = 0; n < 600; n++) {
		struct sim_plan p = draw_paced(&random);

		p.predicts = draw(&random, 0, 1);
		p.immediate = !p.predicts && p.immediate;
		if (draw(&random, 0, 1)) {
			p.predicts = false;
			p.receives = true;
			p.peer = SIM_SENDER;
			p.arrivals = p.timed ? UINT64_MAX : p.iters + p.warmup;
		}
		p.sampled = n & 1;
		run("paced stream", n, &p, paced_stream);
		check_paced("paced stream", n);
	}
}

static void paced_latencies(void **state)
{
	uint64_t random = seed + 9;

	(void)state;
	for (uint64_t n = 0; n < 600; n++) {
		struct sim_plan p = draw_paced(&random);
		bool echoes = draw(&random, 0, 1);

		p.qps = p.groups = 1;
		p.sampled = n & 1;
		p.stamp = 0;
		p.rate = draw(&random, 0, 2) ? p.rate : 0; /* else it has gaps */
		p.receives = echoes;
		p.peer = echoes ? SIM_ECHO : SIM_IDLE;
		p.memory = echoes && draw(&random, 0, 1);
		p.predicts = !echoes;
		p.signal = echoes ? p.signal : 1;
		p.immediate = echoes && !p.memory && p.immediate;
		p.sleeps &= !p.memory;
		p.recv_batch = 1;
		run("paced latency", n, &p, echoes ? paced_initiator : paced_roundtrip);
		if (p.rate)
			check_paced("paced latency", n);
	}
}

static int open_sim(void **state)
{
	const char *given = getenv("RDMETER_SEED");

	(void)state;
	seed = given ? strtoull(given, NULL, 0) : clock_raw_ns();
	print_message("# RDMETER_SEED=%llu\n", (unsigned long long)seed);
	sim = aligned_alloc(LANE_LINE, sizeof(*sim));
	if (!sim)
		return -1;
	memset(sim, 0, sizeof(*sim));
	return 0;
}

/* Those before did not only poll. */
static void sleepers(void **state)
{
	(void)state;
	assert_true(slept > 1000);
}

static int close_sim(void **state)
{
	(void)state;
	free(sim);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(senders),
		cmocka_unit_test(swappers),
		cmocka_unit_test(receivers),
		cmocka_unit_test(duplexes),
		cmocka_unit_test(roundtrips),
		cmocka_unit_test(initiators),
		cmocka_unit_test(responders),
		cmocka_unit_test(wrong_numbers),
		cmocka_unit_test(paced_streams),
		cmocka_unit_test(paced_latencies),
		cmocka_unit_test(sleepers),
	};

	return cmocka_run_group_tests(tests, open_sim, close_sim);
}
