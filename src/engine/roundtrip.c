/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency of reads and atomics: one operation in flight on one queue pair, from just before the
 * post to the moment that its completion is seen. The other side does nothing.
 */
#include "engine/roundtrip.h"

#include "engine/calls.h"
#include "engine/wait.h"

/* What an instance does; constant in each of them but the one that looks them up. */
struct how {
	bool predicts; /* compare-and-swaps: what each one finds is held against its own number */
	bool sampled;  /* samples are kept one by one */
	bool content;  /* messages are verified one by one */
	bool paced;    /* operations leave by schedule, or after a gap */
	bool sleeps;   /* until a completion tells of itself */
	bool calls;    /* operations are posted by calls */
};

#define NONE UINT64_MAX

/*
 * The newest sample. It is recorded when the next one has been taken, or before anything looks:
 * recording hangs on the clock read at its end, and the one that begins the next sample waits for
 * all of that. Of the sample before, all is there already.
 */
struct taken {
	uint64_t ticks; /* NONE: there is none */
	uint64_t end;
};

always_inline void record(struct lane *l, struct taken s, const bool sampled)
{
	uint64_t ns = clock_ns(&l->clock, s.ticks);

	histogram_record(l->histogram, ns);
	if (sampled)
		lane_keep(l, s.end, ns);
}

/* Cold: before an edge, or the loop's end. */
static void __attribute__((noinline, cold)) settle(struct lane *l, struct taken s, bool sampled)
{
	if (s.ticks != NONE)
		record(l, s, sampled);
}

/*
 * The request of operation n, from 0 on; that each asks for a completion is seen to by
 * lane_begin(). In the wr_id the queue pair's part is 0: it is the lane's first, and the only one.
 */
always_inline void make_one(struct lane_qp *q, struct ibv_send_wr *wr, uint64_t n,
			    const struct how h)
{
	if (h.predicts) {
		wr->wr.atomic.compare_add = n;
		wr->wr.atomic.swap = n + 1;
	}
	wr->wr_id = n + 1;
	q->posted = n + 1;
}

always_inline int post_one(struct lane *l, struct lane_qp *q, struct ibv_send_wr *wr,
			   const struct how h)
{
	struct ibv_send_wr *bad;
	int rc = h.calls ? calls_post(q->ex, wr) : ibv_post_send(q->qp, wr, &bad);

	if (__builtin_expect(rc, 0))
		lane_failed_call(l, LANE_POST, rc);
	return rc;
}

/* With one in flight nothing but its own completion can come; -1: leave. */
always_inline int done_one(struct lane *l, struct lane_qp *q, const struct ibv_wc *wc, uint64_t n)
{
	if (__builtin_expect(wc->wr_id == n + 1, 1))
		return 0;
	lane_stray(l, q);
	return -1;
}

/* What operation n, the last completed one, has found; -1: leave. */
always_inline int check_one(struct lane *l, struct lane_qp *q, uint32_t slot, uint64_t n)
{
	if (__builtin_expect(q->results[slot] == n, 1))
		return 0;
	q->checked = n;
	q->results_at = slot;
	lane_check_results(l, q);
	return l->error.kind == LANE_FINE ? 0 : -1;
}

always_inline void body(struct lane *l, const struct how h)
{
	struct lane_qp *const q = l->qp;
	struct ibv_send_wr *wr = q->wr, *const ring_end = wr + l->wr_count;
	struct taken last = { .ticks = NONE };
	uint64_t n = 0;

	while (__builtin_expect(lane_stop(l) == LANE_RUN, 1) && n < l->limit) {
		uint64_t begin, end;
		struct ibv_wc wc;

		if (h.paced && lane_wait(l))
			break;
		make_one(q, wr, n, h);
		begin = clock_start(&l->clock);
		if (post_one(l, q, wr, h) || lane_wait_one(l, &wc, h.sleeps))
			break;
		end = clock_stop(&l->clock);
		if (done_one(l, q, &wc, n))
			break;
		if (__builtin_expect(last.ticks != NONE, 1))
			record(l, last, h.sampled);
		last = (struct taken){ end - begin, end };
		if (h.paced)
			lane_answered(l, begin, end, true);
		if (h.content)
			lane_inspect_reads(l, q, 1);
		q->completed = n + 1;
		if (h.predicts && check_one(l, q, (uint32_t)(wr - q->wr), n))
			break;
		wr = wr + 1 == ring_end ? q->wr : wr + 1;
		l->count = ++n;
		if (end >= l->next_edge || n >= l->next_count) {
			settle(l, last, h.sampled);
			last.ticks = NONE;
			lane_edge(l, end);
		}
	}
	settle(l, last, h.sampled);
	lane_drain_sends(l);
	lane_end(l);
}

#define INSTANCE(name, ...) \
	static void name(struct lane *l) { body(l, (struct how){ __VA_ARGS__ }); }

INSTANCE(plain, .sampled = false)
INSTANCE(sampled, .sampled = true)
INSTANCE(predicting, .predicts = true)
INSTANCE(predicting_sampled, .predicts = true, .sampled = true)

/* Sleeping, calls, checks and waiting for the clock cost more than looking up which there are. */
static void otherwise(struct lane *l)
{
	body(l, (struct how){
		.predicts = l->predicts, .sampled = l->samples != NULL, .sleeps = l->rest != NULL,
		.content = l->content && l->content->reads, .calls = l->calls,
		.paced = l->pace.active || l->pace.gap,
	});
}

lane_loop roundtrip_loop(const struct lane *l, bool paced)
{
	static const lane_loop instances[][2] = { /* [predicts][sampled] */
		{ plain, sampled }, { predicting, predicting_sampled },
	};

	if (paced || l->rest || l->calls || (l->content && l->content->reads))
		return otherwise;
	return instances[l->predicts][l->samples != NULL];
}
