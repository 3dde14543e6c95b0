/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latency by ping-pong: one message in flight on one queue pair. A sample runs from just before
 * the post to the moment that the answer is seen; giving back the receive and reaping one's own
 * send lie outside. The marker of a write is its last byte: 1 to 255 in turn, so never the one
 * before, and never the 0 of a reset buffer.
 *
 * Where messages may be lost, the last byte of each is its number modulo 256, from 1 on, whatever
 * the operation. No answer of that number within the lane's patience: the message or its answer is
 * lost, and the next one is sent. A responder answers whatever has another number than the last.
 */
#include "engine/pingpong.h"

#include <arpa/inet.h>

#include "engine/calls.h"

/* What an instance does; constant in each of them but the one that looks them up. */
struct how {
	bool memory;  /* answers are seen in memory, not by receives */
	bool sampled; /* samples are kept one by one */
	bool paced;   /* messages leave by schedule, or after a gap */
	bool sleeps;  /* until an answer tells of itself */
	bool calls;   /* messages are posted by calls */
	bool shared;  /* receives are of the shared queue */
	bool lossy;   /* messages may be lost on their way */
	bool responder;
};

static unsigned char marker_of(uint64_t message)
{
	return (unsigned char)(message % 255 + 1);
}

/* Takes completions of own sends; with wait, until another can be posted. -1: leave. */
static int reap_sends(struct lane *l, struct lane_qp *q, bool wait)
{
	struct ibv_wc wc[LANE_POLL];

	do {
		int n = ibv_poll_cq(l->group->send_cq, (int)l->poll_sends, wc);

		if (n < 0) {
			lane_failed_call(l, LANE_POLL_FAILED, n);
			return -1;
		}
		for (int i = 0; i < n; i++) {
			if (wc[i].status != IBV_WC_SUCCESS) {
				lane_failed(l, &wc[i], false);
				return -1;
			}
			q->completed += lane_done(l, q, wc[i].wr_id);
		}
		if (lane_stop(l) == LANE_ABORT || l->error.kind != LANE_FINE)
			return -1;
	} while (wait && q->posted - q->completed >= l->depth);
	return 0;
}

/* Cold: nothing has come for LANE_SPINS polls. True when the wait is to end without an answer. */
static bool __attribute__((noinline)) give_up(struct lane *l, struct lane_qp *q, bool responder)
{
	unsigned int stop = lane_stop(l);

	lane_publish(l);
	return stop == LANE_ABORT || (responder && stop == LANE_DRAIN) || reap_sends(l, q, false);
}

always_inline int post_one(struct lane *l, struct lane_qp *q, const struct how h)
{
	struct ibv_send_wr *wr = q->wr, *bad;
	bool signal = ++q->unsignalled == l->signal || q->posted + 1 == l->limit ||
		      q->posted - q->completed + 1 >= l->depth;
	int rc;

	if (h.lossy)
		*l->marker_out = h.responder ? l->heard : (unsigned char)(q->posted + 1);
	else if (h.memory)
		*l->marker_out = marker_of(q->posted);
	if (!h.memory)
		wr->imm_data = htonl((uint32_t)q->posted);
	q->posted++;
	wr->wr_id = wrid_make(q->index, q->posted);
	wr->send_flags = l->flags | (signal ? IBV_SEND_SIGNALED : 0);
	if (signal)
		q->unsignalled = 0;
	rc = h.calls ? calls_post(q->ex, wr) : ibv_post_send(q->qp, wr, &bad);
	if (__builtin_expect(rc, 0))
		lane_failed_call(l, LANE_POST, rc);
	return rc;
}

/* Nothing has come: sleeps, or now and then looks at what else there is. -1: leave. */
always_inline int pass(struct lane *l, struct lane_qp *q, uint32_t spins, const struct how h)
{
	enum rest rest;

	if (!h.sleeps)
		return __builtin_expect(spins % LANE_SPINS == 0, 0) &&
		       give_up(l, q, h.responder) ? -1 : 0;
	rest = lane_rest(l);
	return rest == REST_FAILED || (rest == REST_LEFT && give_up(l, q, h.responder)) ? -1 : 0;
}

/* Until the message after the ones received has come; -1: leave. */
always_inline int wait_one(struct lane *l, struct lane_qp *q, const struct how h)
{
	unsigned char marker = marker_of(l->received);
	uint32_t spins = 0;
	struct ibv_wc wc;

	for (;;) {
		if (h.memory) {
			if (__atomic_load_n(l->marker_in, __ATOMIC_ACQUIRE) == marker)
				break;
		} else {
			int n = ibv_poll_cq(l->group->recv_cq, 1, &wc);

			if (n > 0)
				break;
			if (__builtin_expect(n < 0, 0)) {
				lane_failed_call(l, LANE_POLL_FAILED, n);
				return -1;
			}
		}
		if (pass(l, q, ++spins, h))
			return -1;
	}
	if (!h.memory && __builtin_expect(wc.status != IBV_WC_SUCCESS, 0)) {
		lane_failed(l, &wc, true);
		return -1;
	}
	if (!h.memory && l->immediate && ntohl(wc.imm_data) != (uint32_t)l->received)
		l->measure->data_errors++;
	if (h.shared)
		lane_return(l->shared, (uint32_t)wc.wr_id);
	l->received++;
	q->received++;
	return 0;
}

always_inline int give_back(struct lane *l, struct lane_qp *q, const struct how h)
{
	int rc = h.shared ? lane_post_shared(l->shared) : lane_post_receives(l, q, 1);

	if (__builtin_expect(rc, 0))
		lane_failed_call(l, LANE_POST, rc);
	return rc ? -1 : 0;
}

/* One look for a lossy lane: 1 something came, 0 nothing did, -1 leave. */
static int look(struct lane *l, struct lane_qp *q, const struct how h)
{
	struct ibv_wc wc;
	int n;

	if (h.memory)
		return __atomic_load_n(l->marker_in, __ATOMIC_ACQUIRE) != l->heard;
	n = ibv_poll_cq(l->group->recv_cq, 1, &wc);
	if (n == 0)
		return 0;
	if (__builtin_expect(n < 0, 0)) {
		lane_failed_call(l, LANE_POLL_FAILED, n);
		return -1;
	}
	if (__builtin_expect(wc.status != IBV_WC_SUCCESS, 0)) {
		lane_failed(l, &wc, true);
		return -1;
	}
	if (h.shared)
		lane_return(l->shared, (uint32_t)wc.wr_id);
	if (l->immediate)
		lane_check_number(l, q, ntohl(wc.imm_data));
	return 1;
}

/*
 * Until what is waited for has come; 1: it has, 0: it is lost, -1: leave. All receives lie in one
 * place, so that an old message may be seen with the number of the one behind it, which is then
 * found old itself.
 */
static int wait_lossy(struct lane *l, struct lane_qp *q, uint64_t begin, const struct how h)
{
	unsigned char asked = (unsigned char)q->posted;

	for (uint32_t spins = 1;; spins++) {
		int n = look(l, q, h);
		unsigned char number = *l->marker_in;

		if (__builtin_expect(n < 0, 0))
			return -1;
		if (n > 0 && (h.responder ? number != l->heard : number == asked)) {
			l->heard = number;
			break;
		}
		if (n > 0 && !h.memory && give_back(l, q, h))
			return -1;
		if (h.sleeps || __builtin_expect(spins % LANE_CLOCK == 0, 0)) {
			if (!h.responder && clock_start(&l->clock) - begin >= l->patience)
				return 0;
			if (h.responder)
				lane_lull(l);
		}
		if (n == 0 && pass(l, q, spins, h))
			return -1;
	}
	if (h.responder)
		l->arrived = clock_start(&l->clock);
	l->received++;
	q->received++;
	return 1;
}

/* What a side owes after each message, outside of the samples; -1: leave. */
always_inline int tidy(struct lane *l, struct lane_qp *q, bool came, const struct how h)
{
	if (came && !h.memory && give_back(l, q, h))
		return -1;
	if (q->unsignalled == 0 || q->posted - q->completed >= l->depth)
		return reap_sends(l, q, q->posted - q->completed >= l->depth);
	return 0;
}

/* 1: answered, 0: lost, -1: leave. */
always_inline int ask_one(struct lane *l, struct lane_qp *q, uint64_t begin, const struct how h)
{
	if (post_one(l, q, h))
		return -1;
	if (h.lossy)
		return wait_lossy(l, q, begin, h);
	return wait_one(l, q, h) ? -1 : 1;
}

always_inline void initiator_body(struct lane *l, const struct how h)
{
	struct lane_qp *q = l->qp;

	while (__builtin_expect(lane_stop(l) == LANE_RUN, 1) && q->posted < l->limit) {
		uint64_t begin, end, ns;
		int came;

		if (l->content)
			lane_make(l, q, q->posted);
		if (h.paced && lane_wait(l))
			break;
		begin = clock_start(&l->clock);
		came = ask_one(l, q, begin, h);
		if (came < 0)
			break;
		end = clock_stop(&l->clock);
		ns = clock_ns(&l->clock, end - begin);
		if (!h.lossy || came)
			histogram_record(l->histogram, ns);
		if (h.sampled && (!h.lossy || came))
			lane_keep(l, end, ns);
		if (h.paced)
			lane_answered(l, begin, end, came);
		l->count++;
		if (l->content && came)
			lane_inspect(l, q, l->received - 1);
		if (tidy(l, q, came, h))
			break;
		if (end >= l->next_edge || l->count >= l->next_count)
			lane_edge(l, end);
	}
	lane_drain_sends(l);
	lane_end(l);
}

always_inline void responder_body(struct lane *l, const struct how h)
{
	struct lane_qp *q = l->qp;

	for (;;) {
		if (h.lossy ? wait_lossy(l, q, 0, h) < 0 : wait_one(l, q, h) < 0)
			break;
		if (l->content) { /* before the answer lets the next one come */
			lane_inspect(l, q, l->received - 1);
			lane_make(l, q, q->posted);
		}
		if (post_one(l, q, h))
			break;
		l->count++;
		if (tidy(l, q, true, h))
			break;
		lane_passed(l);
	}
	lane_drain_sends(l);
	lane_end(l);
}

#define INITIATOR(name, ...) \
	static void name(struct lane *l) { initiator_body(l, (struct how){ __VA_ARGS__ }); }
#define RESPONDER(name, ...)                                                           \
	static void name(struct lane *l)                                               \
	{                                                                              \
		responder_body(l, (struct how){ .responder = true, __VA_ARGS__ });     \
	}

INITIATOR(initiator_recv, .sampled = false)
INITIATOR(initiator_recv_sampled, .sampled = true)
INITIATOR(initiator_memory, .memory = true)
INITIATOR(initiator_memory_sampled, .memory = true, .sampled = true)
RESPONDER(responder_recv, .memory = false)
RESPONDER(responder_memory, .memory = true)

/* Sleeping, calls, losses and waiting for the clock cost more than looking up which there are. */
static struct how looked_up(const struct lane *l, bool memory)
{
	return (struct how){
		.memory = memory, .sampled = l->samples != NULL, .sleeps = l->rest != NULL,
		.calls = l->calls, .shared = !memory && l->shared, .lossy = l->lossy,
		.responder = !l->leads, .paced = l->leads && (l->pace.active || l->pace.gap),
	};
}

static void initiator_recv_otherwise(struct lane *l)
{
	initiator_body(l, looked_up(l, false));
}

static void initiator_memory_otherwise(struct lane *l)
{
	initiator_body(l, looked_up(l, true));
}

static void responder_recv_otherwise(struct lane *l)
{
	responder_body(l, looked_up(l, false));
}

static void responder_memory_otherwise(struct lane *l)
{
	responder_body(l, looked_up(l, true));
}

static bool is_otherwise(const struct lane *l)
{
	return l->rest || l->calls || l->shared || l->lossy;
}

lane_loop pingpong_initiator(const struct lane *l, enum op_reply reply, bool paced)
{
	static const lane_loop instances[][3] = { /* [reply][sampled, or otherwise] */
		[ECHO_RECV] = { initiator_recv, initiator_recv_sampled, initiator_recv_otherwise },
		[ECHO_MEMORY] = { initiator_memory, initiator_memory_sampled,
				  initiator_memory_otherwise },
	};

	return instances[reply][paced || is_otherwise(l) ? 2 : l->samples != NULL];
}

lane_loop pingpong_responder(const struct lane *l, enum op_reply reply)
{
	static const lane_loop instances[][2] = { /* [reply][otherwise] */
		[ECHO_RECV] = { responder_recv, responder_recv_otherwise },
		[ECHO_MEMORY] = { responder_memory, responder_memory_otherwise },
	};

	return instances[reply][is_otherwise(l)];
}
