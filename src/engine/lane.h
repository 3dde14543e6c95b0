/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A lane: all that a measured loop sees. It is built before the clock starts; from then on one
 * data thread owns it, and the session's control thread touches only `control` and `report`.
 */
#ifndef RDMETER_ENGINE_LANE_H
#define RDMETER_ENGINE_LANE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "engine/clock.h"
#include "engine/ops.h"
#include "engine/pace.h"
#include "engine/rest.h"
#include "stats/measure.h"
#include "stats/samples.h"

#define always_inline static inline __attribute__((always_inline))

#define LANE_POLL 64 /* completions a poll, at most */
#define LANE_SPINS 1024 /* empty polls between looks at what is not the answer */
#define LANE_BURST 16  /* messages a visit, when there are several queue pairs */
#define LANE_LINE 64
#define LANE_NO_STAMPS UINT32_MAX /* as a stamp_mask */

/* The stop word. */
enum {
	LANE_RUN,
	LANE_DRAIN, /* leave at the next sample or list boundary, with nothing outstanding */
	LANE_ABORT, /* leave now */
};

/* What the lane has reached; bits of report.reached, set once and in this order. */
enum {
	LANE_WARM = 1,
	LANE_CLOSED = 2,
	LANE_SENT = 4, /* stopped posting, and everything posted has completed */
	LANE_LEFT = 8, /* the loop has returned */
};

#define LANE_UNKNOWN UINT64_MAX

/* Written by the control thread, read by the data thread. */
struct lane_control {
	_Alignas(LANE_LINE) atomic_uint stop;
	atomic_bool open;               /* the window may open */
	atomic_bool finished;           /* the peer has sent all that it will */
	_Atomic uint64_t expected;      /* messages that the peer sent; LANE_UNKNOWN until told */
};

/* Written by the data thread at edges, read by the control thread. */
struct lane_report {
	_Alignas(LANE_LINE) atomic_uint reached;
	_Atomic uint64_t posted, completed, received;
	atomic_uint marks; /* twice how many there were, and one while the next is written */
	_Atomic uint64_t mark_ns, mark_count, mark_in_flight;
};

/* How far the window had come at one of its edges, its opening and its end included. */
struct lane_mark {
	uint64_t ns;        /* since it opened */
	uint64_t last_ns;   /* the same; of several lanes the last's, where ns is the first's */
	uint64_t count;     /* messages in it */
	uint64_t in_flight; /* posted and not yet known to be done */
};

/* wr_id: which queue pair, how many of its requests are done once this one is, and two marks. */
#define WRID_SEQ ((1ULL << 48) - 1) /* 16 days of 200 million messages a second */
#define WRID_QP_SHIFT 48
#define WRID_QP_MASK 0x3fffULL
#define WRID_STAMPED (1ULL << 63)
#define WRID_FLUSH (1ULL << 62) /* retires an unsignalled tail; not a message */

static inline uint64_t wrid_make(uint32_t qp, uint64_t seq)
{
	return (uint64_t)qp << WRID_QP_SHIFT | (seq & WRID_SEQ);
}

static inline uint32_t wrid_qp(uint64_t id)
{
	return (uint32_t)(id >> WRID_QP_SHIFT & WRID_QP_MASK);
}

/*
 * What messages are made of and held against when each one is verified; slots are numbered over
 * all queue pairs. A message's number is that of its slot, and `all` more with each time round.
 */
struct lane_content {
	void *out, *in;      /* buffers; NULL: nothing is made here, nothing comes here */
	uint32_t slots, all; /* of a queue pair, of all */
	uint32_t first;      /* queue pairs of other lanes before this one's */
	bool placed;         /* messages name their place; else that is their receive's */
	bool reads;          /* what comes home is always that of its slot, and wiped once seen */
	bool lossy;          /* which message has come is told by its content alone */
	void (*put)(void *out, uint32_t slot, uint64_t number);
	void (*wipe)(void *in, uint32_t slot);
	/*
	 * number: LANE_UNKNOWN for any message's. last: the last byte, or -1 for the number's own.
	 * Describes what is wrong.
	 */
	bool (*holds)(void *in, uint32_t slot, uint64_t number, int last, char *text, size_t size);
};

/* What is made and undone by an operation that needs no peer; slots are taken in turn. */
struct lane_cycle {
	uint32_t slots;
	/* Registration: NULL for a window. */
	struct ibv_mr *(*reg)(void *buffer, uint32_t slot);
	void *buffer;
	/* A window onto one slot of a region after the other. */
	struct ibv_mw *window;
	struct ibv_mw_bind_info bind; /* of the first one */
	uint64_t stride;
};

struct lane_qp {
	_Alignas(LANE_LINE) struct ibv_qp *qp;
	struct ibv_qp_ex *ex; /* the same, posted to by calls; NULL: by lists */
	uint64_t posted, completed; /* messages; completed counts those known to be */
	uint64_t received;
	struct ibv_send_wr *wr;     /* ring of wr_count requests, each for one slot */
	uint32_t at;                /* the next of the ring */
	uint32_t index; /* of the lane's */
	uint32_t unsignalled; /* posted since the last one that asked for a completion */
	uint32_t signalled;   /* how many asked; one in K of them is stamped */
	uint64_t *stamps; /* ring, ticks; a message's is found by its number */
	struct ibv_recv_wr *recv; /* ring of recv_count */
	uint32_t recv_at, results_at;
	uint32_t owed; /* receives that were used and are not given back yet */
	volatile uint64_t *results; /* atomics: the old values, one for each request of the ring */
	uint64_t checked;           /* ...of which so many have been looked at */
	uint64_t *intended; /* with a schedule: when a stamped message was to leave; as stamps */
	uint64_t at_open;           /* of `completed` or `received`, when the window opened */
	uint64_t taken;          /* lossy: receives, those of empty datagrams among them */
	uint64_t next_immediate; /* lossy: at least that number comes next */
};

/*
 * One receive queue of all queue pairs. Each of its requests has a place of its own, and goes back
 * there once it has been used; which queue pair it was of is told by that one's number.
 */
struct lane_shared {
	struct ibv_srq *srq;
	struct ibv_recv_wr *recv; /* by number, which is their wr_id */
	struct ibv_recv_wr *first, *last; /* to be given back, in a chain */
	uint32_t count, owed;
	uint32_t from, slots; /* of the buffer's slots, those that they go through in turn */
	bool *used;           /* by slot, from the first of them on: something has come there */
	struct {
		uint32_t qpn, index;
	} *qp; /* by qpn, from its place on; index UINT32_MAX: none */
	uint32_t mask;
};

/* Queue pairs that share a pair of completion queues, which hold all that they can have. */
struct lane_group {
	struct ibv_cq *send_cq, *recv_cq;
	struct lane_qp *qp;
	uint32_t qps;
};

/* Why a loop left early. */
struct lane_error {
	enum {
		LANE_FINE, LANE_WC, LANE_POST, LANE_POLL_FAILED, LANE_NOTIFY, LANE_MISSED,
		LANE_STRAY,
		LANE_MAKE, LANE_UNDO, /* the calls of a cycle */
	} kind;
	int errnum; /* of a failed post, poll or call */
	enum ibv_wc_status status;
	uint32_t vendor, qpn;
	bool receive; /* it was a receive */
	uint64_t message; /* how many of that queue pair were done before */
};

enum lane_state {
	STATE_WARMING, /* its own warm-up has not passed */
	STATE_READY,   /* it has; waiting for the other side's */
	STATE_OPEN,
	STATE_OVER,
};

struct lane {
	/* Read in every pass. */
	struct lane_control *control;
	struct lane_group *group;
	struct lane_qp *qp; /* of all groups */
	uint32_t groups, qps, depth, batch, signal;
	uint32_t poll_sends, poll_receives; /* completions that a poll asks for: up to LANE_POLL */
	uint32_t burst; /* messages posted on a queue pair before the next one's turn */
	uint32_t wr_count, recv_count, stamp_mask, stamp_ring; /* rings: sizes; stamps: size - 1 */
	unsigned int flags;       /* of every send: IBV_SEND_INLINE or 0 */
	bool immediate;           /* messages carry their number */
	bool predicts;            /* compare-and-swap: each expects the one before it */
	bool shares_target;       /* ...unless others change the same counter: misses count */
	bool calls;               /* requests are posted by calls (engine/calls.h) */
	const struct lane_content *content; /* NULL: messages are not verified one by one */
	struct lane_cycle *cycle; /* of an operation that needs no peer; else NULL */
	struct lane_shared *shared; /* NULL: each queue pair has its own receives */
	bool far;                 /* its queue pairs' requests are more than near caches hold */
	uint64_t let_come;        /* ticks that a receiver waits where few have come; may be 0 */
	uint32_t recv_batch;      /* receives that are given back at a time, at least */
	struct lane_rest *rest;   /* NULL: it never sleeps. Only the sleeping instances look */
	uint64_t limit;           /* posts for each queue pair */
	bool lossy;               /* what has been sent may never come */
	uint32_t header;          /* of receives: bytes before the payload */
	uint64_t patience;        /* lossy ping-pong: ticks after which an answer is lost */
	volatile unsigned char *marker_in; /* ping-pong in memory: the last byte received... */
	unsigned char *marker_out;         /* ...and the last byte sent */

	/* Changed in every pass. */
	_Alignas(LANE_LINE) uint64_t count; /* messages: arrivals of a receiver, else completions */
	uint64_t received, missed;
	uint64_t next_edge;  /* ticks */
	uint64_t next_count; /* messages */
	uint32_t since_clock; /* polls since the clock was read... */
	uint32_t clock_every; /* ...and at how many it is read again */
	uint64_t clock_at, clock_apart; /* ticks: the last reading; wanted between two */
	uint64_t arrived;     /* lossy: ticks of the last arrival */
	unsigned char heard;  /* lossy ping-pong: the last byte of the last message taken */
	struct histogram *histogram; /* the measure's while the window is open, else spare */
	struct clock clock;

	/* Used at edges only. */
	enum lane_state state;
	bool receives; /* counts arrivals: of messages, or of answers */
	bool leads;    /* begins by itself: a sender, an initiator */
	bool counts;   /* ends by number of messages */
	uint64_t warmup, window; /* ticks, or messages with counts */
	uint64_t interval;       /* ticks */
	uint64_t started, opened; /* ticks */
	uint64_t last_ticks, last_count; /* at the last edge */
	uint64_t next_point; /* ticks: which edge is the series' next */
	uint64_t awaited_since; /* lossy: ticks; nothing more was sent from then on; 0: not yet */
	int event_fd; /* told when `reached` changes */
	struct measure *measure;
	struct histogram *spare;
	struct samples *samples; /* NULL: none are kept. Only the sampled instances look */
	struct lane_report *report;
	struct lane_error error;

	struct pace pace; /* only instances for it look */
};

/*
 * Several lanes of a row run at once, and what one of them writes shares no cache line with what
 * another one touches: each part that is written in a loop begins on a line of its own and fills
 * its last one. All of it, and what it points to, is allocated by lines (session/threads.h).
 */
#define LANE_FILLS_LINES(type) \
	_Static_assert(sizeof(type) % LANE_LINE == 0 && _Alignof(type) % LANE_LINE == 0, \
		       #type " shares a cache line")
LANE_FILLS_LINES(struct lane_control);
LANE_FILLS_LINES(struct lane_report);
LANE_FILLS_LINES(struct lane_qp);
LANE_FILLS_LINES(struct lane);
_Static_assert(offsetof(struct lane, count) % LANE_LINE == 0,
	       "what is only read in a loop shares a cache line with what is written");

/*
 * Every post is a whole list, at the same places of the ring each time round, and its last request
 * is the one that asks for a completion: then the ring can be made ready for them beforehand.
 */
static inline bool lane_each_asks(const struct lane *l)
{
	return l->batch == l->signal && l->wr_count % l->batch == 0;
}

/* How a side takes part in a row. */
enum lane_role {
	LANE_SENDER,    /* bw: posts */
	LANE_RECEIVER,  /* bw: receives */
	LANE_INITIATOR, /* lat: asks and measures */
	LANE_RESPONDER, /* lat: answers */
	LANE_DUPLEX,    /* bw: posts and is sent to */
};

/* Whether that side has nothing to do, as a write's target: no lane is needed. */
bool lane_is_only_reached(const struct op *op, enum lane_role role);

typedef void (*lane_loop)(struct lane *l);

/*
 * The loop for a role; NULL when that side has nothing to do. The choice among the instances is
 * made here, once.
 */
lane_loop lane_choose(const struct lane *l, const struct op *op, enum lane_role role);

/* Everything of a lane that is not resources: call just before the loop starts. */
void lane_begin(struct lane *l);

/*
 * Cold: at `now` ticks an edge of time or count has been passed. Opens and closes the window,
 * ends intervals, publishes progress, sets the next edge.
 */
void lane_edge(struct lane *l, uint64_t now) __attribute__((noinline, cold));

/* Cold: what has been counted so far, for the control thread. */
void lane_publish(struct lane *l) __attribute__((noinline, cold));

/* For the control thread: the last mark. False while the window has not opened. */
bool lane_read_mark(const struct lane_report *r, struct lane_mark *m);

/* Cold: a completion failed. Keeps what is valid of it. */
void lane_failed(struct lane *l, const struct ibv_wc *wc, bool receive)
	__attribute__((noinline, cold));
void lane_failed_call(struct lane *l, int kind, int rc) __attribute__((noinline, cold));

/* Cold: a completion of q is none of a request that is outstanding. */
void lane_stray(struct lane *l, const struct lane_qp *q) __attribute__((noinline, cold));

/*
 * Cold: the list from first on was posted up to bad, which the provider refused with rc. What it
 * took counts as posted.
 */
void lane_refused(struct lane *l, struct lane_qp *q, const struct ibv_send_wr *first,
		  const struct ibv_send_wr *bad, int rc) __attribute__((noinline, cold));

/* Posts n further receives. 0, or a positive errno. */
int lane_post_receives(struct lane *l, struct lane_qp *q, uint32_t n);

/* Puts a receive of the shared queue, which has been used, with those to be given back. */
void lane_return(struct lane_shared *s, uint32_t number);

/* Gives all of them back. 0, or a positive errno. */
int lane_post_shared(struct lane_shared *s);

/* The queue pair of that number, or NULL. */
struct lane_qp *lane_qp_of(const struct lane *l, uint32_t qpn);

/*
 * Nothing more is to be posted: closes the window if it is still open, and has unsignalled tails
 * retired by an empty write, which the peer does not see.
 */
void lane_stop_sending(struct lane *l);

/* Everything posted has completed. */
bool lane_all_completed(const struct lane *l);

/*
 * Compares the old values of the compare-and-swaps of q that have completed since the last time
 * with what each had to find: on a counter of its own, its own number. A miss is an error there,
 * and counted on a shared one.
 */
void lane_check_results(struct lane *l, struct lane_qp *q) __attribute__((noinline));

/* With content: makes message n of q, before it is posted. */
void lane_make(const struct lane *l, const struct lane_qp *q, uint64_t n)
	__attribute__((noinline));

/*
 * With content: looks at message n of q, which has come; on a lossy lane at whichever has come to
 * the place of message n. Wrong ones are counted.
 */
void lane_inspect(struct lane *l, const struct lane_qp *q, uint64_t n)
	__attribute__((noinline));

/* The same where it has come to a slot of the shared queue's. */
void lane_inspect_at(struct lane *l, const struct lane_qp *q, uint64_t n, uint32_t slot)
	__attribute__((noinline));

/* With content: the same for the next `done` reads of q. */
void lane_inspect_reads(struct lane *l, const struct lane_qp *q, uint64_t done)
	__attribute__((noinline));

/*
 * One operation in flight, by schedule or with gaps. Waits until the next one is to begin, reaping
 * meanwhile; -1: leave.
 */
int lane_wait(struct lane *l);

/* ...and it has been answered, or its answer is lost: begin is just before its post. */
void lane_answered(struct lane *l, uint64_t begin, uint64_t end, bool came);

/* Takes completions of sends outside of the load. */
void lane_reap(struct lane *l, struct lane_group *g);

/* Publishes that everything sent has completed (LANE_SENT). */
void lane_tell_sent(struct lane *l);

/* All of that for a lane that has nothing else to do. Leaves at once on ABORT or error. */
void lane_drain_sends(struct lane *l);

/*
 * Cold, lossy lanes only: nothing has come for some polls. An edge of time passes nevertheless, and
 * a window that is to end by a count does so by the last arrival once what is missing is lost.
 */
void lane_lull(struct lane *l) __attribute__((noinline, cold));

/*
 * Of a lossy lane to which everything has been sent: whether what has not come by now is lost, as
 * for 100 ms nothing has come, or a second is over.
 */
bool lane_gives_up(struct lane *l, uint64_t now);

/* The loop is over: closes an open window at the last edge, tells LANE_LEFT. */
void lane_end(struct lane *l);

static inline unsigned int lane_stop(const struct lane *l)
{
	return atomic_load_explicit(&l->control->stop, memory_order_relaxed);
}

/*
 * The clock is read every clock_every polls, at most LANE_CLOCK: often enough that an edge is seen
 * within about 20 us of passing, seldom enough that reading it costs nothing. On a device that
 * does its work inside the post, a poll can take milliseconds.
 */
#define LANE_CLOCK 64

static inline uint64_t lane_clock(struct lane *l)
{
	uint64_t now = clock_start(&l->clock), since = now - l->clock_at;

	l->clock_at = now;
	if (since > l->clock_apart && l->clock_every > 1)
		l->clock_every /= 2;
	else if (since < l->clock_apart / 4 && l->clock_every < LANE_CLOCK)
		l->clock_every *= 2;
	return now;
}

/* Whose request it was; NULL: none of the lane's. */
static inline struct lane_qp *lane_owner(const struct lane *l, uint64_t wr_id)
{
	return __builtin_expect(wrid_qp(wr_id) < l->qps, 1) ? &l->qp[wrid_qp(wr_id)] : NULL;
}

/*
 * How many messages of q a completion retires: those up to its own. A device that reports one twice
 * would have the next message answered before it is sent, so that fails the lane, and is 0 here.
 */
static inline uint64_t lane_done(struct lane *l, struct lane_qp *q, uint64_t wr_id)
{
	uint64_t done = (wr_id - q->completed) & WRID_SEQ;

	if (__builtin_expect(done - 1 < q->posted - q->completed, 1))
		return done;
	lane_stray(l, q);
	return 0;
}

/* Keeps a sample that ended at `end` ticks, in the instances for it; of the window only. */
static inline void lane_keep(struct lane *l, uint64_t end, uint64_t ns)
{
	if (l->state == STATE_OPEN)
		samples_add(l->samples, clock_ns(&l->clock, end - l->opened), ns);
}

/*
 * The number that a message of a lossy lane carries, widened to the 64 bits of next_immediate.
 * Only datagrams may overtake each other.
 */
static inline void lane_check_number(struct lane *l, struct lane_qp *q, uint32_t number)
{
	int32_t ahead = (int32_t)(number - (uint32_t)q->next_immediate);

	l->measure->data_errors += !l->header && ahead < 0;
	q->next_immediate += (uint64_t)(int64_t)ahead + 1;
}

/* All that there is to post by count is posted, and has completed. */
static inline bool lane_all_sent(const struct lane *l)
{
	for (uint32_t i = 0; i < l->qps; i++)
		if (l->qp[i].completed < l->limit)
			return false;
	return true;
}

/* Call after a poll that found something. */
static inline void lane_passed(struct lane *l)
{
	if (++l->since_clock >= l->clock_every ||
	    __builtin_expect(l->count >= l->next_count, 0)) {
		uint64_t now = lane_clock(l);

		l->since_clock = 0;
		if (now >= l->next_edge || l->count >= l->next_count)
			lane_edge(l, now);
	}
}

/*
 * Call after an empty poll: an edge that passes now is taken at the next one that is not. When
 * that does not come, a stall is told with the counts of now.
 */
static inline void lane_idle(struct lane *l)
{
	if (++l->since_clock >= l->clock_every && lane_clock(l) < l->next_edge)
		l->since_clock = 0;
	else if (__builtin_expect(l->since_clock % LANE_SPINS == 0, 0))
		lane_publish(l);
}

#endif
