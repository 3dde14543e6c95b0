/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of the bandwidth loop that takes what a poll has found: of sends, and of receives. */
#ifndef RDMETER_ENGINE_TAKE_H
#define RDMETER_ENGINE_TAKE_H

#include <arpa/inet.h>

#include "engine/lane.h"
#include "engine/traits.h"

/* A completion that is stamped: its latency, `now` being one reading for all of a poll. */
always_inline uint64_t take_stamp(struct lane *l, const struct lane_qp *q, uint64_t id,
				  uint64_t now, const struct traits t)
{
	uint64_t ns;

	now = now ? now : clock_stop(&l->clock);
	ns = clock_ns(&l->clock, now - q->stamps[id & l->stamp_ring]);
	histogram_record(l->histogram, ns);
	if (t.sampled)
		lane_keep(l, now, ns);
	if (t.paced)
		histogram_record(l->pace.response,
				 clock_ns(&l->clock, now - q->intended[id & l->stamp_ring]));
	return now;
}

/*
 * Completions of one queue pair in a row. What is known to be done of it is written back once for
 * all of them.
 */
struct reaped {
	struct lane_qp *q;
	uint64_t at;  /* the wr_id of the last one that is done */
	uint64_t out; /* so many are posted and not done */
};

always_inline void settle(struct lane *l, const struct reaped *r, const struct traits t)
{
	struct lane_qp *q = r->q;
	uint64_t done;

	if (!q)
		return;
	done = q->posted - r->out - q->completed;
	if (t.made && l->content && l->content->reads)
		lane_inspect_reads(l, q, done);
	q->completed += done;
	if (!t.receives)
		l->count += done;
	if (t.predicts)
		lane_check_results(l, q);
}

always_inline struct reaped reap_of(struct lane_qp *q)
{
	return (struct reaped){
		.q = q, .at = wrid_make(q->index, q->completed), .out = q->posted - q->completed,
	};
}

/*
 * Takes n completions of sends; 0, or -1 after the lane has failed. Most are of the queue pair that
 * the one before was of, and retire no more of it than is outstanding: as many as the difference
 * of both numbers. All others differ by more than that: those of another queue pair, stamped ones
 * unless all are, and whatever is none of ours.
 */
always_inline int take_sends(struct lane *l, const struct ibv_wc *wc, int n, const struct traits t)
{
	const struct ibv_wc *const end = wc + n;
	struct reaped r = { 0 };
	uint64_t now = 0;

	for (; wc < end; wc++) {
		const uint64_t id = t.timed ? wc->wr_id & ~WRID_STAMPED : wc->wr_id;
		uint64_t done = id - r.at;

		if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0)) {
			settle(l, &r, t);
			lane_failed(l, wc, false);
			return -1;
		}
		if (done - 1 < r.out) {
			r.at = id;
			r.out -= done;
			if (t.timed)
				now = take_stamp(l, r.q, id, now, t);
			continue;
		}
		if (!r.q || wrid_qp(id) != r.q->index) {
			struct lane_qp *q = lane_owner(l, id);

			settle(l, &r, t);
			if (!q) {
				lane_stray(l, l->qp);
				return -1;
			}
			r = reap_of(q);
		}
		done = (id - r.at) & WRID_SEQ;
		if (__builtin_expect(done - 1 >= r.out, 0)) {
			settle(l, &r, t);
			lane_stray(l, r.q);
			return -1;
		}
		r.at = wrid_make(r.q->index, id);
		r.out -= done;
		if (t.timed || (t.stamped && id & WRID_STAMPED))
			now = take_stamp(l, r.q, id, now, t);
	}
	settle(l, &r, t);
	return l->error.kind == LANE_FINE ? 0 : -1;
}

/* Messages are numbered: none is missing, or with losses at least none comes late or twice. */
always_inline void check_immediate(struct lane *l, struct lane_qp *q, const struct ibv_wc *wc,
				   const struct traits t)
{
	uint32_t number = ntohl(wc->imm_data);

	if (t.lossy)
		lane_check_number(l, q, number);
	else
		l->measure->data_errors += number != (uint32_t)q->received;
}

/*
 * Which message's place a message has come to: its own, or where messages may be lost the receive's
 * that it took, unless it names its address, as those with immediate data may.
 */
always_inline uint64_t place_of(const struct lane_qp *q, const struct ibv_wc *wc,
				const struct traits t)
{
	if (!t.lossy)
		return q->received;
	return wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM ? q->next_immediate - 1 : q->taken - 1;
}

/* An empty datagram only retires its sender's queue. */
always_inline bool is_message(const struct lane *l, const struct ibv_wc *wc, const struct traits t)
{
	return !t.lossy || !l->header || wc->byte_len > l->header;
}

/* One receive of q that has come. */
always_inline void take_receive(struct lane *l, struct lane_qp *q, const struct ibv_wc *wc,
				const struct traits t)
{
	q->taken += t.lossy;
	if (!is_message(l, wc, t))
		return;
	if (t.looked && l->immediate)
		check_immediate(l, q, wc, t);
	if (t.looked && l->content)
		lane_inspect(l, q, place_of(q, wc, t));
	q->received++;
}

/* Takes n receives and gives them back, those of one queue pair in a row in one call. */
always_inline int take_receives(struct lane *l, const struct ibv_wc *wc, int n,
				const struct traits t)
{
	for (const struct ibv_wc *const end = wc + n; wc < end;) {
		const struct ibv_wc *const first = wc;
		struct lane_qp *q = lane_owner(l, first->wr_id);
		uint64_t before;
		int rc;

		if (!q) {
			lane_stray(l, l->qp);
			return -1;
		}
		before = q->received;
		for (; wc < end && wc->wr_id == first->wr_id && wc->status == IBV_WC_SUCCESS; wc++)
			if (t.looked | t.lossy)
				take_receive(l, q, wc, t);
		if (!(t.looked | t.lossy))
			q->received += (uint64_t)(wc - first);
		l->received += q->received - before;
		l->count += q->received - before;
		if (__builtin_expect(wc < end && wc->status != IBV_WC_SUCCESS, 0)) {
			lane_failed(l, wc, true);
			return -1;
		}
		q->owed += (uint32_t)(wc - first);
		if (q->owed < l->recv_batch)
			continue;
		rc = lane_post_receives(l, q, q->owed);
		if (__builtin_expect(rc, 0)) {
			lane_failed_call(l, LANE_POST, rc);
			return -1;
		}
		q->owed = 0;
	}
	return 0;
}

/* Takes one receive of the shared queue; 0, or -1 after the lane has failed. */
static int take_one_shared(struct lane *l, const struct ibv_wc *wc, const struct traits t)
{
	struct lane_shared *s = l->shared;
	uint32_t number = (uint32_t)wc->wr_id, place = number % s->slots;
	struct lane_qp *q;

	if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0)) {
		lane_failed(l, wc, true);
		return -1;
	}
	q = lane_qp_of(l, wc->qp_num);
	if (__builtin_expect(!q || number >= s->count, 0)) {
		lane_stray(l, q ? q : l->qp);
		return -1;
	}
	lane_return(s, number);
	if (!is_message(l, wc, t))
		return 0;
	if (l->immediate)
		check_immediate(l, q, wc, t);
	if (l->content && l->content->placed)
		lane_inspect(l, q, q->received);
	else if (l->content)
		lane_inspect_at(l, q, q->received, s->from + place);
	s->used[place] = true;
	q->received++;
	l->received++;
	l->count++;
	return 0;
}

static int take_shared(struct lane *l, const struct ibv_wc *wc, int n, const struct traits t)
{
	int rc;

	for (int i = 0; i < n; i++)
		if (take_one_shared(l, &wc[i], t))
			return -1;
	if (l->shared->owed < l->recv_batch)
		return 0;
	rc = lane_post_shared(l->shared);
	if (__builtin_expect(rc, 0))
		lane_failed_call(l, LANE_POST, rc);
	return rc ? -1 : 0;
}

#endif
