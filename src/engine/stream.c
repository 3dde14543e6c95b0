/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bandwidth: a side that keeps its window full, one that keeps its receives posted, or both. One
 * body, specialised by constant arguments.
 */
#include "engine/stream.h"

#include "engine/calls.h"

#include <arpa/inet.h>

#define always_inline static inline __attribute__((always_inline))

struct traits {
	bool sends, receives;
	bool stamped; /* completion latencies are taken */
	bool lists;   /* more than one request a post */
	bool sampled; /* and kept one by one */
	bool paced;   /* messages leave by schedule */
	bool touched; /* messages differ: immediate data, comparisons, content */
	bool calls;   /* posted by calls, not by lists */
	bool shared;  /* receives are of one queue for all */
	bool sleeps;  /* until a completion tells of itself, when there is nothing to do */
	bool lossy;   /* messages may be lost on their way */
};

/* What differs between one message and the next, n being how many there were before. */
always_inline void touch(const struct lane *l, const struct lane_qp *q, struct ibv_send_wr *wr,
			 uint64_t n)
{
	if (l->content)
		lane_make(l, q, n);
	if (l->immediate) {
		wr->imm_data = htonl((uint32_t)n);
	} else if (l->predicts) {
		wr->wr.atomic.compare_add = n;
		wr->wr.atomic.swap = n + 1;
	}
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

/* Hands a list over, with which so many will have been posted; tells of it when it is refused. */
always_inline int post(struct lane *l, struct lane_qp *q, struct ibv_send_wr *first,
		       uint64_t posted, const struct traits t)
{
	struct ibv_send_wr *bad = first;
	int rc = t.calls ? calls_post(q->ex, first) : ibv_post_send(q->qp, first, &bad);

	if (__builtin_expect(rc, 0))
		lane_refused(l, q, first, bad, rc);
	else
		q->posted = posted;
	return rc;
}

/* The request that is n further on in the ring of q; n is at most the ring's length. */
always_inline struct ibv_send_wr *ahead(const struct lane *l, const struct lane_qp *q, uint32_t n)
{
	uint32_t at = q->at + n;

	return &q->wr[at < l->wr_count ? at : at - l->wr_count];
}

/*
 * One list of k requests, from the ring's next slot on. A request asks for a completion when the
 * signaling interval is reached, and the list's last one also when no further list would fit
 * behind it or nothing comes after it: without that, depth 128 with signal 100 and lists of 64
 * posts 64 + 64, of which none is reaped before the queue is full.
 *
 * The ring is linked and flagged beforehand (lane_begin()). Only what makes this list differ is
 * written, and afterwards taken back: where it ends, and which requests ask. A request that does
 * not ask keeps an old wr_id, which nothing reads.
 */
always_inline int post_list(struct lane *l, struct lane_qp *q, uint32_t k, bool must_signal,
			    const struct traits t)
{
	struct ibv_send_wr *first = ahead(l, q, 0), *last = ahead(l, q, k - 1);
	struct ibv_send_wr *const follows = ahead(l, q, k);
	const uint64_t posted = q->posted, id = wrid_make(q->index, posted);
	/* Places in the list, from 1 on: which asked last, perhaps before it, and which is next. */
	uint32_t asked = 0 - q->unsignalled, asks = asked + l->signal;
	uint64_t number = posted;
	int rc;

	last->next = NULL;
	if (t.touched)
		for (struct ibv_send_wr *wr = first; wr; wr = wr->next)
			touch(l, q, wr, number++);
	for (; asks < k; asks += l->signal) {
		ask(l, q, ahead(l, q, asks - 1), id + asks, t);
		asked = asks;
	}
	if (asks == k || must_signal) {
		ask(l, q, last, id + k, t);
		asked = k;
	}
	rc = post(l, q, first, posted + k, t);
	last->next = follows;
	last->send_flags = l->flags;
	for (asks = l->signal - q->unsignalled; asks < k; asks += l->signal)
		ahead(l, q, asks - 1)->send_flags = l->flags;
	q->at = (uint32_t)(follows - q->wr);
	q->unsignalled = k - asked;
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
 * The same for n requests posted one by one, of which the last asks if it is told to. What changes
 * from request to request is kept in variables: for all that the compiler knows, a store to a
 * request changes the lane.
 */
always_inline int fill_singly(struct lane *l, struct lane_qp *q, uint64_t n, bool last_asks,
			      const struct traits t)
{
	struct ibv_send_wr *const ring = q->wr, *const end = ring + l->wr_count;
	struct ibv_send_wr *wr = ring + q->at;
	const unsigned int flags = l->flags;
	uint64_t id = wrid_make(q->index, q->posted);
	uint32_t until = l->signal - q->unsignalled; /* requests up to the next that asks */
	int rc = 0;

	for (; n && !rc; n--) {
		id++;
		wr->send_flags = flags;
		if (t.touched)
			touch(l, q, wr, q->posted);
		if (--until == 0 || (n == 1 && last_asks)) {
			ask(l, q, wr, id, t);
			until = l->signal;
		}
		rc = post(l, q, wr, q->posted + 1, t);
		wr = wr + 1 == end ? ring : wr + 1;
	}
	q->at = (uint32_t)(wr - ring);
	q->unsignalled = l->signal - until;
	return rc;
}

/* Posts what fits into the window, at most a burst when other queue pairs wait for their turn. */
always_inline int fill_window(struct lane *l, struct lane_qp *q, const struct traits t)
{
	uint64_t left = l->limit - q->posted;
	uint64_t room = l->depth - (q->posted - q->completed);
	uint64_t most = left < room ? left : room;

	if (t.lists)
		return fill_by_lists(l, q, left, room, t);
	return fill_singly(l, q, most < l->burst ? most : l->burst, most <= l->burst, t);
}

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
		rc = fill_singly(l, q, 1, q->posted + 1 == l->limit || room == 1, t);
		if (__builtin_expect(rc, 0))
			return rc;
		pace_leave(p, &l->clock, p->now);
		p->turn = p->turn + 1 == l->qps ? 0 : p->turn + 1;
	}
	return 0;
}

/* Takes n completions of sends; 0, or -1 after the lane has failed. */
always_inline int take_sends(struct lane *l, const struct ibv_wc *wc, int n, const struct traits t)
{
	const struct ibv_wc *const end = wc + n;
	struct lane_qp *checked = NULL; /* its compare-and-swaps, once the next is another's */
	uint64_t now = 0, all = 0;

	for (; wc < end; wc++) {
		const uint64_t id = wc->wr_id;
		struct lane_qp *q = &l->qp[wrid_qp(id)];
		uint64_t done;

		if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0)) {
			lane_failed(l, wc, false);
			break;
		}
		done = lane_done(l, q, id);
		if (t.touched && checked != q && l->predicts) {
			if (checked)
				lane_check_results(l, checked);
			checked = q;
		}
		if (t.touched && l->content && l->content->reads)
			lane_inspect_reads(l, q, done);
		q->completed += done;
		all += done;
		if (t.stamped && id & WRID_STAMPED)
			now = take_stamp(l, q, id, now, t);
	}
	if (t.touched && checked)
		lane_check_results(l, checked);
	if (!t.receives)
		l->count += all;
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

/* Takes n receives and gives them back, those of one queue pair in a row in one call. */
always_inline int take_receives(struct lane *l, const struct ibv_wc *wc, int n,
				const struct traits t)
{
	for (int i = 0, run; i < n; i += run) {
		struct lane_qp *q = &l->qp[wrid_qp(wc[i].wr_id)];
		uint64_t before = q->received;
		int rc;

		for (run = 0; i + run < n && wc[i + run].wr_id == wc[i].wr_id; run++) {
			if (__builtin_expect(wc[i + run].status != IBV_WC_SUCCESS, 0)) {
				lane_failed(l, &wc[i + run], true);
				return -1;
			}
			q->taken += t.lossy;
			if (!is_message(l, &wc[i + run], t))
				continue;
			if (l->immediate)
				check_immediate(l, q, &wc[i + run], t);
			if (l->content)
				lane_inspect(l, q, place_of(q, &wc[i + run], t));
			q->received++;
		}
		l->received += q->received - before;
		l->count += q->received - before;
		q->owed += (uint32_t)run;
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

/* One poll of either queue of a group. Positive: something came; -1: the lane has failed. */
always_inline int poll_sends(struct lane *l, struct lane_group *g, const struct traits t)
{
	struct ibv_wc wc[LANE_POLL];
	int n = ibv_poll_cq(g->send_cq, (int)l->poll_sends, wc);

	if (n > 0)
		return take_sends(l, wc, n, t) ? -1 : n;
	if (__builtin_expect(n < 0, 0))
		lane_failed_call(l, LANE_POLL_FAILED, n);
	return n;
}

always_inline int poll_receives(struct lane *l, struct lane_group *g, const struct traits t)
{
	struct ibv_wc wc[LANE_POLL];
	int n = ibv_poll_cq(g->recv_cq, (int)l->poll_receives, wc);

	if (n > 0 && t.lossy)
		l->arrived = clock_start(&l->clock);
	if (n > 0)
		return (t.shared ? take_shared(l, wc, n, t) : take_receives(l, wc, n, t)) ? -1 : n;
	if (__builtin_expect(n < 0, 0))
		lane_failed_call(l, LANE_POLL_FAILED, n);
	return n;
}

/* Everything that was sent has arrived, or is lost; only asked once the load is over. */
static bool received_all(struct lane *l, const struct traits t)
{
	uint64_t expected = atomic_load_explicit(&l->control->expected, memory_order_acquire);

	if (t.lossy && expected != LANE_UNKNOWN && lane_gives_up(l, clock_start(&l->clock)))
		return true;
	return l->received >= expected;
}

/* A lull of a lossy lane is looked at as often as its clock is read under load. */
always_inline void idle(struct lane *l, const struct traits t)
{
	if (!t.lossy) {
		lane_idle(l);
	} else if (++l->since_clock >= l->clock_every) {
		l->since_clock = 0;
		lane_lull(l);
	}
}

/* Keeps the load on until the stop word says otherwise, or what was to be sent is. */
always_inline void load(struct lane *l, const struct traits t)
{
	while (__builtin_expect(lane_stop(l) == LANE_RUN, 1)) {
		bool quiet = true;

		if (t.paced && post_due(l, t))
			return;
		for (struct lane_group *g = l->group; g < l->group + l->groups; g++) {
			int sent = 0, came = 0;

			/* Arrivals first: a peer that waits for a receive cannot be hurried. */
			if (t.receives)
				came = poll_receives(l, g, t);
			/* No edge waits until thousands of queue pairs have had their turn. */
			for (uint32_t i = 0; t.sends && i < (t.paced ? 1 : g->qps); i++) {
				const uint64_t posted = g->qp[i].posted;
				int n;

				if (!t.paced && fill_window(l, &g->qp[i], t))
					return;
				quiet &= g->qp[i].posted == posted;
				n = poll_sends(l, g, t);
				if (__builtin_expect(n < 0, 0))
					return;
				if (n)
					lane_passed(l);
				sent |= n;
			}
			if (__builtin_expect(came < 0, 0))
				return;
			quiet &= !(came | sent);
			if (came)
				lane_passed(l);
			else if (!sent)
				idle(l, t);
		}
		if (t.sends && !t.receives && l->limit != UINT64_MAX && lane_all_sent(l))
			return;
		if (t.sleeps && quiet && lane_rest(l) == REST_FAILED)
			return;
	}
}

/* No more posts: until all of them have completed, and all that the peer sent has come. */
static void drain(struct lane *l, const struct traits t)
{
	bool told = !t.sends;

	if (t.sends)
		lane_stop_sending(l);
	while (l->error.kind == LANE_FINE && lane_stop(l) != LANE_ABORT) {
		for (uint32_t i = 0; i < l->groups; i++) {
			if (t.receives && poll_receives(l, &l->group[i], t) > 0)
				lane_passed(l);
			if (t.sends)
				lane_reap(l, &l->group[i]);
		}
		if (!told && lane_all_completed(l)) {
			lane_tell_sent(l);
			told = true;
		}
		if (told && (!t.receives || received_all(l, t)))
			return;
	}
}

always_inline void body(struct lane *l, const struct traits t)
{
	load(l, t);
	drain(l, t);
	lane_end(l);
}

static bool is_stamped(const struct lane *l)
{
	return l->stamp_mask != LANE_NO_STAMPS;
}

static bool is_touched(const struct lane *l)
{
	return l->immediate || l->predicts || l->content;
}

/* A sender's instance: requests singly or in lists, stamped or not. */
#define SENDER(name, lists_, stamped_)                                                            \
	static void name(struct lane *l)                                                          \
	{                                                                                         \
		body(l, (struct traits){ .sends = true, .lists = lists_, .stamped = stamped_ });  \
	}

SENDER(send_singly, false, false)
SENDER(send_singly_stamped, false, true)
SENDER(send_lists, true, false)
SENDER(send_lists_stamped, true, true)

/* What is done for each message then costs more than looking up how they are posted. */
static void send_touched(struct lane *l)
{
	body(l, (struct traits){ .sends = true, .stamped = is_stamped(l), .touched = true,
				 .lists = l->batch > 1 });
}

/* Keeping samples, sleeping and calls cost more than looking up what else there is to do. */
static void send_otherwise(struct lane *l)
{
	body(l, (struct traits){ .sends = true, .stamped = is_stamped(l),
				 .sampled = l->samples != NULL, .lists = l->batch > 1,
				 .touched = is_touched(l), .calls = l->calls,
				 .sleeps = l->rest != NULL });
}

lane_loop stream_sender(const struct lane *l)
{
	static const lane_loop instances[2][2] = { /* [in lists][stamped] */
		{ send_singly, send_singly_stamped },
		{ send_lists, send_lists_stamped },
	};

	if (l->rest || l->samples || l->calls)
		return send_otherwise;
	return is_touched(l) ? send_touched : instances[l->batch > 1][is_stamped(l)];
}

static void receive(struct lane *l)
{
	body(l, (struct traits){ .receives = true });
}

static void receive_otherwise(struct lane *l)
{
	body(l, (struct traits){ .receives = true, .shared = l->shared != NULL,
				 .sleeps = l->rest != NULL, .lossy = l->lossy });
}

lane_loop stream_receiver(const struct lane *l)
{
	return l->rest || l->shared || l->lossy ? receive_otherwise : receive;
}

/* Both at once has one instance: its traits are looked up as it goes. */
void stream_duplex(struct lane *l)
{
	body(l, (struct traits){ .sends = true, .receives = true, .stamped = is_stamped(l),
				 .sampled = l->samples != NULL, .lists = l->batch > 1,
				 .touched = is_touched(l), .calls = l->calls,
				 .shared = l->shared != NULL, .lossy = l->lossy,
				 .sleeps = l->rest != NULL });
}

/*
 * By schedule, whatever the requests are: what is looked up is little beside reading the clock. Who
 * only sends does not end by what the other side has sent.
 */
void stream_paced(struct lane *l)
{
	body(l, (struct traits){ .sends = true, .receives = l->receives, .paced = true,
				 .sampled = l->samples != NULL, .stamped = is_stamped(l),
				 .touched = is_touched(l), .calls = l->calls,
				 .shared = l->shared != NULL,
				 .lossy = l->lossy && l->receives });
}
