/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency of reads and atomics: one operation in flight on one queue pair, from just before the
 * post to the moment that its completion is seen. The other side does nothing.
 */
#include "engine/roundtrip.h"

#include "engine/calls.h"
#include "engine/wait.h"

#define always_inline static inline __attribute__((always_inline))

always_inline int post_one(struct lane *l, struct lane_qp *q, const bool calls)
{
	struct ibv_send_wr *wr = &q->wr[q->at], *bad;
	int rc;

	q->at = q->at + 1 == l->wr_count ? 0 : q->at + 1;
	if (l->predicts) {
		wr->wr.atomic.compare_add = q->posted;
		wr->wr.atomic.swap = q->posted + 1;
	}
	q->posted++;
	wr->wr_id = wrid_make(q->index, q->posted);
	wr->send_flags = IBV_SEND_SIGNALED;
	rc = calls ? calls_post(q->ex, wr) : ibv_post_send(q->qp, wr, &bad);
	if (__builtin_expect(rc, 0))
		lane_failed_call(l, LANE_POST, rc);
	return rc;
}

/* Until the one operation has completed; -1: leave. */
always_inline int wait_one(struct lane *l, struct lane_qp *q, const bool sleeps)
{
	struct ibv_wc wc;

	if (lane_wait_one(l, &wc, sleeps))
		return -1;
	return lane_done(l, q, wc.wr_id) ? 0 : -1;
}

/* An instance's parts are constant, but for the one that looks them up. */
always_inline void body(struct lane *l, const bool sampled, const bool paced, const bool sleeps,
			const bool calls)
{
	struct lane_qp *q = l->qp;

	while (__builtin_expect(lane_stop(l) == LANE_RUN, 1) && q->posted < l->limit) {
		uint64_t begin, end, ns;

		if (paced && lane_wait(l))
			break;
		begin = clock_start(&l->clock);
		if (post_one(l, q, calls) || wait_one(l, q, sleeps))
			break;
		end = clock_stop(&l->clock);
		ns = clock_ns(&l->clock, end - begin);
		histogram_record(l->histogram, ns);
		if (sampled)
			lane_keep(l, end, ns);
		if (paced)
			lane_answered(l, begin, end, true);
		if (l->content && l->content->reads)
			lane_inspect_reads(l, q, 1);
		q->completed++;
		if (l->predicts)
			lane_check_results(l, q);
		l->count++;
		if (l->error.kind != LANE_FINE)
			break;
		if (end >= l->next_edge || l->count >= l->next_count)
			lane_edge(l, end);
	}
	lane_drain_sends(l);
	lane_end(l);
}

static void plain(struct lane *l) { body(l, false, false, false, false); }
static void sampled(struct lane *l) { body(l, true, false, false, false); }

/* Sleeping, calls and waiting for the clock cost more than looking up which of it there is. */
static void otherwise(struct lane *l)
{
	body(l, l->samples != NULL, l->pace.active || l->pace.gap, l->rest != NULL, l->calls);
}

lane_loop roundtrip_loop(const struct lane *l, bool paced)
{
	if (paced || l->rest || l->calls)
		return otherwise;
	return l->samples ? sampled : plain;
}
