/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bandwidth: a side that keeps its window full, one that keeps its receives posted, or both. One
 * body, specialised by constant arguments.
 */
#include "engine/stream.h"

#include "engine/fill.h"
#include "engine/take.h"
#include "engine/traits.h"

#define LET_COME_MOST 200 /* turns, should the clock stand still */

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

/*
 * All that has come to who only receives is taken: lets more come before it looks again. Whoever
 * writes the queue wants the same cache line as each look at it, and on the null device a message
 * takes twice as long while the receiver looks all the time.
 */
static void let_come(const struct lane *l)
{
	const uint64_t begin = clock_start(&l->clock);

	for (int i = 0; i < LET_COME_MOST && clock_start(&l->clock) - begin < l->let_come; i++)
		cpu_relax();
}

/*
 * What the next visit needs of q and the one after it, while this visit goes on: with thousands of
 * queue pairs none of it is in a near cache. What a device keeps of them is its own affair.
 */
always_inline void fetch(const struct lane_qp *q)
{
	const struct ibv_send_wr *wr = q->wr + q->at;

	__builtin_prefetch(q + 1);
	__builtin_prefetch(&q[1].stamps);
	__builtin_prefetch(q->qp);
	for (int i = 0; i < LANE_BURST; i++)
		__builtin_prefetch(wr + i);
}

/* Keeps the load on until the stop word says otherwise, or what was to be sent is. */
always_inline void load(struct lane *l, const struct traits t)
{
	while (__builtin_expect(lane_stop(l) == LANE_RUN, 1)) {
		uint32_t arrivals = 0;
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

				if (l->far)
					fetch(&g->qp[i + 1 < g->qps ? i + 1 : 0]);
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
			arrivals += (uint32_t)came;
			if (came)
				lane_passed(l);
			else if (!sent)
				idle(l, t);
		}
		if (t.sends && !t.receives && l->limit != UINT64_MAX && lane_all_sent(l))
			return;
		if (t.sleeps && quiet) {
			if (lane_rest(l) == REST_FAILED)
				return;
		} else if (t.receives && !t.sends && arrivals < l->poll_receives) {
			let_come(l);
		}
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

static bool is_made(const struct lane *l)
{
	return l->immediate || l->content;
}

#define SENDER(name, ...)                                                                         \
	static void name(struct lane *l)                                                          \
	{                                                                                         \
		body(l, (struct traits){ .sends = true, __VA_ARGS__ });                           \
	}

/* A sender's instances with certain traits, by how requests are posted. */
#define SENDERS(name, ...)                                                                        \
	SENDER(name##_each, .each = true, __VA_ARGS__)                                            \
	SENDER(name##_singly, .each = false, __VA_ARGS__)                                         \
	SENDER(name##_each_list, .each = true, .lists = true, __VA_ARGS__)                        \
	SENDER(name##_lists, .lists = true, __VA_ARGS__)                                          \
	static const lane_loop name##_instances[2][2] = { /* [lists][each] */                     \
		{ name##_singly, name##_each },                                                   \
		{ name##_lists, name##_each_list },                                               \
	};

SENDERS(send, .stamped = false)
SENDERS(send_stamped, .stamped = true)
SENDERS(cas, .predicts = true)
SENDERS(cas_stamped, .predicts = true, .stamped = true)
SENDERS(calls, .calls = true, .predicts = l->predicts, .stamped = is_stamped(l))

SENDER(send_timed, .each = true, .stamped = true, .timed = true)
SENDER(send_timed_list, .each = true, .stamped = true, .timed = true, .lists = true)
SENDER(cas_timed, .predicts = true, .each = true, .stamped = true, .timed = true)

/* What all else takes is more than looking up what there is to do. */
static void send_otherwise(struct lane *l)
{
	body(l, (struct traits){ .sends = true, .stamped = is_stamped(l),
				 .sampled = l->samples != NULL, .lists = l->batch > 1,
				 .each = lane_each_asks(l), .predicts = l->predicts,
				 .made = is_made(l), .calls = l->calls,
				 .sleeps = l->rest != NULL });
}

lane_loop stream_sender(const struct lane *l)
{
	const bool lists = l->batch > 1, each = lane_each_asks(l), stamped = is_stamped(l);

	if (l->rest || l->samples || is_made(l))
		return send_otherwise;
	if (l->calls)
		return calls_instances[lists][each];
	if (each && l->stamp_mask == 0 && !(l->predicts && lists))
		return l->predicts ? cas_timed : lists ? send_timed_list : send_timed;
	if (l->predicts)
		return (stamped ? cas_stamped_instances : cas_instances)[lists][each];
	return (stamped ? send_stamped_instances : send_instances)[lists][each];
}

static void receive(struct lane *l)
{
	body(l, (struct traits){ .receives = true });
}

static void receive_otherwise(struct lane *l)
{
	body(l, (struct traits){ .receives = true, .looked = is_made(l),
				 .shared = l->shared != NULL, .sleeps = l->rest != NULL,
				 .lossy = l->lossy });
}

lane_loop stream_receiver(const struct lane *l)
{
	return l->rest || l->shared || l->lossy || is_made(l) ? receive_otherwise : receive;
}

/* Both at once has one instance: its traits are looked up as it goes. */
void stream_duplex(struct lane *l)
{
	body(l, (struct traits){ .sends = true, .receives = true, .stamped = is_stamped(l),
				 .sampled = l->samples != NULL, .lists = l->batch > 1,
				 .each = lane_each_asks(l), .predicts = l->predicts,
				 .made = is_made(l), .looked = is_made(l), .calls = l->calls,
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
				 .each = lane_each_asks(l), .predicts = l->predicts,
				 .made = is_made(l), .looked = is_made(l), .calls = l->calls,
				 .shared = l->shared != NULL,
				 .lossy = l->lossy && l->receives });
}
