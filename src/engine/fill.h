/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of the bandwidth loop that posts: keeps a window full, or does so when it is due. */
#ifndef RDMETER_ENGINE_FILL_H
#define RDMETER_ENGINE_FILL_H

#include <arpa/inet.h>

#include "engine/calls.h"
#include "engine/lane.h"
#include "engine/traits.h"

/* What differs between one message and the next, n being how many there were before. */
always_inline void touch(const struct lane *l, const struct lane_qp *q, struct ibv_send_wr *wr,
			 uint64_t n, const struct traits t)
{
	if (t.made && l->content)
		lane_make(l, q, n);
	if (t.made && l->immediate)
		wr->imm_data = htonl((uint32_t)n);
	if (t.predicts) {
		wr->wr.atomic.compare_add = n;
		wr->wr.atomic.swap = n + 1;
	}
}

/* The same for the next k of the ring, of which there are as many up to its end. */
always_inline void touch_run(const struct lane *l, const struct lane_qp *q, struct ibv_send_wr *wr,
			     uint32_t k, uint64_t n, const struct traits t)
{
	if (t.made | t.predicts)
		for (struct ibv_send_wr *const end = wr + k; wr < end; wr++)
			touch(l, q, wr, n++, t);
}

/* Has a request, number id of its queue pair, ask for a completion; one in K of those is timed. */
always_inline void ask(const struct lane *l, struct lane_qp *q, struct ibv_send_wr *wr, uint64_t id,
		       const struct traits t)
{
	wr->send_flags = l->flags | IBV_SEND_SIGNALED;
	wr->wr_id = id;
	if (t.stamped && (q->signalled++ & l->stamp_mask) == 0) {
		wr->wr_id = id | WRID_STAMPED;
		q->stamps[id & l->stamp_ring] = t.paced ? l->pace.now : clock_start(&l->clock);
		if (t.paced)
			q->intended[id & l->stamp_ring] = l->pace.due;
	}
}

/* Hands a list over, of which the first is number posted; tells of it when it is refused. */
always_inline int post(struct lane *l, struct lane_qp *q, struct ibv_qp *qp,
		       struct ibv_send_wr *first, uint64_t posted, const struct traits t)
{
	struct ibv_send_wr *bad = first;
	int rc = t.calls ? calls_post(q->ex, first) : ibv_post_send(qp, first, &bad);

	if (__builtin_expect(rc, 0)) {
		q->posted = posted;
		lane_refused(l, q, first, bad, rc);
	}
	return rc;
}

/* The place in the ring that is n further on than `at`; n is at most the ring's length. */
always_inline uint32_t ahead(const struct lane *l, uint32_t at, uint32_t n)
{
	return at + n < l->wr_count ? at + n : at + n - l->wr_count;
}

/*
 * Asks for completions within a list of k, at places from 1 on: the first at `next`, which is less
 * than k. What the list's last one does is not decided here. Returns the place after those.
 */
always_inline uint32_t ask_within(const struct lane *l, struct lane_qp *q, struct ibv_send_wr *wr,
				  uint32_t k, uint32_t next, const struct traits t)
{
	const uint64_t id = wrid_make(q->index, q->posted);

	for (uint32_t place = 1; place < k; place++, wr = wr->next)
		if (place == next) {
			ask(l, q, wr, id + place, t);
			next += l->signal;
		}
	return next;
}

/*
 * One list of k requests, from the ring's next slot on. A request asks for a completion when the
 * signaling interval is reached, and the list's last one also when no further list would fit
 * behind it or nothing comes after it: without that, depth 128 with signal 100 and lists of 64
 * posts 64 + 64, of which none is reaped before the queue is full.
 *
 * The ring is linked and flagged beforehand (lane_begin()). Only what makes this list differ is
 * written, and afterwards taken back: where it ends, and which requests ask. A request that does
 * not ask keeps an old wr_id, which nothing reads. With t.each only the short list that may end a
 * queue pair's messages comes here; the ring is not as before then, and nothing follows.
 */
always_inline int post_list(struct lane *l, struct lane_qp *q, uint32_t k, bool must_signal,
			    const struct traits t)
{
	const uint32_t behind = ahead(l, q->at, k);
	struct ibv_send_wr *const first = q->wr + q->at;
	struct ibv_send_wr *const last = q->wr + (behind ? behind : l->wr_count) - 1;
	struct ibv_send_wr *const follows = last->next;
	const uint64_t posted = q->posted;
	const uint32_t next = l->signal - q->unsignalled; /* the place that asks, from 1 on */
	const uint32_t around = behind < k ? behind : 0; /* so many lie at the ring's beginning */
	const bool within = next < k;
	uint32_t asks = next;
	int rc;

	last->next = NULL;
	touch_run(l, q, first, k - around, posted, t);
	touch_run(l, q, q->wr, around, posted + k - around, t);
	if (within)
		asks = ask_within(l, q, first, k, next, t);
	q->unsignalled = l->signal - (asks - k);
	if (asks == k || must_signal) {
		ask(l, q, last, wrid_make(q->index, posted + k), t);
		q->unsignalled = 0;
	}
	q->at = behind;
	q->posted = posted + k;
	rc = post(l, q, q->qp, first, posted, t);
	if (within)
		for (struct ibv_send_wr *wr = first; wr; wr = wr->next)
			wr->send_flags = l->flags;
	last->send_flags = l->flags;
	last->next = follows;
	return rc;
}

/* Lists, as many as fit into the window, or into a burst. */
always_inline int fill_by_lists(struct lane *l, struct lane_qp *q, uint64_t left, uint64_t room,
				const struct traits t)
{
	uint32_t burst = l->burst;
	uint32_t k = (uint32_t)(l->batch < left ? l->batch : left);

	while (k && k <= room) {
		uint32_t next;
		int rc;

		left -= k;
		room -= k;
		next = (uint32_t)(l->batch < left ? l->batch : left);
		rc = post_list(l, q, k, !left || next > room, t);
		if (__builtin_expect(rc, 0))
			return rc;
		if (burst <= k)
			break;
		burst -= k;
		k = next;
	}
	return 0;
}

/*
 * n messages, as the ring has them: one by one none of which asks, or with t.each whole posts. What
 * is the same for all of them is kept in variables, up to the end of the ring: for all that the
 * compiler knows, a store to a request changes the lane.
 */
always_inline int post_plain(struct lane *l, struct lane_qp *q, uint32_t n, const struct traits t)
{
	struct ibv_qp *const qp = q->qp;
	const uint32_t step = t.lists ? l->batch : 1;

	while (n) {
		const uint32_t rest = l->wr_count - q->at, run = n < rest ? n : rest;
		struct ibv_send_wr *wr = q->wr + q->at, *const end = wr + run;
		uint64_t posted = q->posted, id = wrid_make(q->index, posted);

		for (; wr < end; wr += step, posted += step) {
			int rc;

			if (t.each)
				wr[step - 1].wr_id = (id += step) | (t.timed ? WRID_STAMPED : 0);
			touch_run(l, q, wr, step, posted, t);
			if (t.timed)
				q->stamps[id & l->stamp_ring] = clock_start(&l->clock);
			rc = post(l, q, qp, wr, posted, t);
			if (__builtin_expect(rc, 0))
				return rc;
		}
		q->at = ahead(l, q->at, run);
		q->posted = posted;
		n -= run;
	}
	return 0;
}

/* The next one, which asks, or with t.each the next post, which is timed. */
always_inline int post_asking(struct lane *l, struct lane_qp *q, const struct traits t)
{
	const uint32_t step = t.lists ? l->batch : 1;
	struct ibv_send_wr *const wr = q->wr + q->at, *const last = wr + step - 1;
	const uint64_t posted = q->posted;
	int rc;

	q->at = ahead(l, q->at, step);
	q->posted = posted + step;
	touch_run(l, q, wr, step, posted, t);
	ask(l, q, last, wrid_make(q->index, posted + step), t);
	rc = post(l, q, q->qp, wr, posted, t);
	if (!t.each)
		last->send_flags = l->flags;
	return rc;
}

/*
 * n posts: with t.each of whole lists, else of one message, and the last asks if it is told to.
 * Runs of those that are alike, and between them what is not.
 */
always_inline int fill_by_runs(struct lane *l, struct lane_qp *q, uint32_t n, bool last_asks,
			       const struct traits t)
{
	const uint32_t step = t.lists ? l->batch : 1;

	while (n) {
		uint32_t plain = n;
		int rc;

		if (!t.each)
			plain = l->signal - q->unsignalled - 1;
		else if (t.stamped && !t.timed)
			plain = (0 - q->signalled) & l->stamp_mask;
		if (plain >= n)
			plain = n - (!t.each && last_asks);
		rc = post_plain(l, q, plain * step, t);
		if (__builtin_expect(rc, 0))
			return rc;
		n -= plain;
		if (!t.each)
			q->unsignalled += plain;
		else if (t.stamped)
			q->signalled += plain;
		if (!n)
			break;
		rc = post_asking(l, q, t);
		if (__builtin_expect(rc, 0))
			return rc;
		n--;
		q->unsignalled = 0;
	}
	return 0;
}

/* Posts what fits into the window, at most a burst when other queue pairs wait for their turn. */
always_inline int fill_window(struct lane *l, struct lane_qp *q, const struct traits t)
{
	uint64_t left = l->limit - q->posted;
	uint64_t room = l->depth - (q->posted - q->completed);
	uint32_t most = (uint32_t)(left < room ? left : room);
	uint32_t n = most < l->burst ? most : l->burst;

	if (!t.lists)
		return fill_by_runs(l, q, n, n == most, t);
	if (t.each) {
		uint32_t lists = n / l->batch, whole = lists * l->batch;

		if (fill_by_runs(l, q, lists, false, t))
			return -1;
		left -= whole;
		room -= whole;
		/* The last list of all may be a shorter one. */
		if (n < most || left >= l->batch)
			return 0;
	}
	return fill_by_lists(l, q, left, room, t);
}

/*
 * Posts what is due, in the order of the schedule: on each queue pair in turn, so that a full one
 * holds up what is behind it. No more than a burst at a time, or nothing would be reaped when all
 * of it is late.
 */
always_inline int post_due(struct lane *l, const struct traits t)
{
	struct pace *p = &l->pace;

	for (uint32_t n = 0; n < LANE_BURST && p->remaining; n++) {
		struct lane_qp *q = &l->qp[p->turn];
		uint64_t room = l->depth - (q->posted - q->completed);
		int rc;

		if (!room)
			break;
		p->now = clock_start(&l->clock);
		if (p->now < p->due)
			break;
		rc = fill_by_runs(l, q, 1, q->posted + 1 == l->limit || room == 1, t);
		if (__builtin_expect(rc, 0))
			return rc;
		pace_leave(p, &l->clock, p->now);
		p->turn = p->turn + 1 == l->qps ? 0 : p->turn + 1;
	}
	return 0;
}

#endif
