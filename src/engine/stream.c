/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bandwidth: a sender that keeps its window full, and a receiver that keeps its receives posted.
 * One body each, specialised by constant arguments.
 */
#include "engine/stream.h"

#define always_inline static inline __attribute__((always_inline))

/*
 * One list of k requests, from the ring's next slot on. A request asks for a completion when the
 * signaling interval is reached, and the list's last one also when no further list would fit
 * behind it or nothing comes after it: without that, depth 128 with signal 100 and lists of 64
 * posts 64 + 64, of which none is reaped before the queue is full.
 */
always_inline int post_list(struct lane *l, struct lane_qp *q, uint32_t k, bool must_signal,
			    const bool stamped)
{
	struct ibv_send_wr *first = &q->wr[q->at], *wr = first, *bad;
	uint32_t ring = l->wr_count, at = q->at;
	int rc;

	for (uint32_t i = 0;; i++) {
		bool signal = ++q->unsignalled == l->signal || (must_signal && i == k - 1);

		wr = &q->wr[at];
		at = at + 1 == ring ? 0 : at + 1;
		wr->wr_id = wrid_make(q->index, q->posted + i + 1);
		wr->send_flags = l->flags;
		if (signal) {
			wr->send_flags |= IBV_SEND_SIGNALED;
			q->unsignalled = 0;
			if (stamped && (q->signalled++ & l->stamp_mask) == 0) {
				wr->wr_id |= WRID_STAMPED;
				q->stamps[q->stamp_tail++ & l->stamp_ring] =
					clock_start(&l->clock);
			}
		}
		if (i == k - 1)
			break;
		wr->next = &q->wr[at];
	}
	wr->next = NULL;
	rc = ibv_post_send(q->qp, first, &bad);
	q->at = at;
	q->posted += k;
	return rc;
}

always_inline int fill_window(struct lane *l, struct lane_qp *q, const bool stamped,
			      const bool lists)
{
	uint64_t left = l->limit - q->posted;
	uint64_t room = l->depth - (q->posted - q->completed);

	while (left) {
		uint32_t k = lists ? (uint32_t)(l->batch < left ? l->batch : left) : 1;
		uint64_t next;
		int rc;

		if (k > room)
			break;
		left -= k;
		room -= k;
		next = lists ? (l->batch < left ? l->batch : left) : 1;
		rc = post_list(l, q, k, !left || next > room, stamped);
		if (__builtin_expect(rc, 0)) {
			lane_failed_call(l, LANE_POST, rc);
			return rc;
		}
	}
	return 0;
}

/* Takes n completions of sends; 0, or -1 after the lane has failed. */
always_inline int take_sends(struct lane *l, const struct ibv_wc *wc, int n, const bool stamped)
{
	uint64_t now = 0;

	for (int i = 0; i < n; i++) {
		uint64_t id = wc[i].wr_id, done;
		struct lane_qp *q = &l->qp[wrid_qp(id)];

		if (__builtin_expect(wc[i].status != IBV_WC_SUCCESS, 0)) {
			lane_failed(l, &wc[i], false);
			return -1;
		}
		done = (id - q->completed) & WRID_SEQ;
		q->completed += done;
		l->count += done;
		if (stamped && id & WRID_STAMPED) {
			uint64_t begin = q->stamps[q->stamp_head++ & l->stamp_ring];

			now = now ? now : clock_stop(&l->clock);
			histogram_record(l->histogram, clock_ns(&l->clock, now - begin));
		}
	}
	return 0;
}

static bool all_posted_and_done(const struct lane *l)
{
	for (uint32_t i = 0; i < l->qps; i++)
		if (l->qp[i].completed < l->limit)
			return false;
	return true;
}

always_inline void send_body(struct lane *l, const bool stamped, const bool lists)
{
	struct ibv_wc wc[LANE_POLL];

	while (__builtin_expect(lane_stop(l) == LANE_RUN, 1)) {
		int n;

		for (uint32_t i = 0; i < l->qps; i++)
			if (fill_window(l, &l->qp[i], stamped, lists))
				goto out;
		n = ibv_poll_cq(l->send_cq, LANE_POLL, wc);
		if (n > 0) {
			if (take_sends(l, wc, n, stamped))
				break;
			lane_passed(l);
			if (l->limit != UINT64_MAX && all_posted_and_done(l))
				break;
		} else if (n == 0) {
			lane_idle(l);
		} else {
			lane_failed_call(l, LANE_POLL_FAILED, n);
			break;
		}
	}
out:
	lane_drain_sends(l);
	lane_end(l);
}

static void send_single(struct lane *l) { send_body(l, false, false); }
static void send_single_stamped(struct lane *l) { send_body(l, true, false); }
static void send_lists(struct lane *l) { send_body(l, false, true); }
static void send_lists_stamped(struct lane *l) { send_body(l, true, true); }

lane_loop stream_sender(const struct lane *l, bool stamped)
{
	static const lane_loop instances[2][2] = { /* [lists][stamped] */
		{ send_single, send_single_stamped },
		{ send_lists, send_lists_stamped },
	};

	return instances[l->batch > 1][stamped];
}

/* Everything that was sent has arrived; only asked once the load is over. */
static bool received_all(const struct lane *l)
{
	return l->received >= atomic_load_explicit(&l->control->expected, memory_order_acquire);
}

static int take_receives(struct lane *l, const struct ibv_wc *wc, int n)
{
	int rc;

	for (int i = 0; i < n; i++) {
		if (__builtin_expect(wc[i].status != IBV_WC_SUCCESS, 0)) {
			lane_failed(l, &wc[i], true);
			return -1;
		}
		l->received++;
		l->count++;
	}
	/* Runs of one queue pair are given back in one call. */
	for (int i = 0, run; i < n; i += run) {
		for (run = 1; i + run < n && wc[i + run].wr_id == wc[i].wr_id; run++)
			;
		rc = lane_post_receives(l, &l->qp[wrid_qp(wc[i].wr_id)], (uint32_t)run);
		if (__builtin_expect(rc, 0)) {
			lane_failed_call(l, LANE_POST, rc);
			return -1;
		}
	}
	return 0;
}

void stream_receive(struct lane *l)
{
	struct ibv_wc wc[LANE_POLL];

	for (;;) {
		unsigned int stop = lane_stop(l);
		int n;

		if (__builtin_expect(stop != LANE_RUN, 0) &&
		    (stop == LANE_ABORT || received_all(l)))
			break;
		n = ibv_poll_cq(l->recv_cq, LANE_POLL, wc);
		if (n > 0) {
			if (take_receives(l, wc, n))
				break;
			lane_passed(l);
		} else if (n == 0) {
			lane_idle(l);
		} else {
			lane_failed_call(l, LANE_POLL_FAILED, n);
			break;
		}
	}
	lane_end(l);
}
