/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The cold side of the loops: edges, errors, draining. */
#include "engine/lane.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#define WINDOW_COMPLETIONS 100 /* fewer extend a timed window... */
#define WINDOW_STRETCH 10      /* ...up to so many times its length */
#define OPEN_CHECK_NS 20000    /* how often a warm lane looks whether it may open; see lane_clock */
#define INTERVAL_NS 100000000
#define NEAR_CACHE (256 << 10) /* bytes: a quarter of what second-level caches have today */
#define QUIET_NS 100000000 /* without an arrival: what has not come is lost... */
#define QUIET_MOST_NS 1000000000 /* ...and at the latest then */
#define CAUSE_WAIT_NS 20000000
#define CAUSE_SEARCH 4096 /* flushed completions looked through for the failure behind them */

void lane_publish(struct lane *l)
{
	uint64_t posted = 0, completed = 0;

	for (uint32_t i = 0; i < l->qps; i++) {
		posted += l->qp[i].posted;
		completed += l->qp[i].completed;
	}
	atomic_store_explicit(&l->report->posted, posted, memory_order_relaxed);
	atomic_store_explicit(&l->report->completed, completed, memory_order_relaxed);
	atomic_store_explicit(&l->report->received, l->received, memory_order_relaxed);
	l->measure->posted = posted;
	l->measure->completed = completed;
	l->measure->received = l->received;
	l->measure->missed = l->missed;
}

/* The only system call of a data thread while the load is on: twice a row. */
static void reach(struct lane *l, unsigned int what)
{
	uint64_t one = 1;

	lane_publish(l);
	atomic_fetch_or_explicit(&l->report->reached, what, memory_order_release);
	if (write(l->event_fd, &one, sizeof(one)) < 0)
		return; /* the counter is full: the reader is to be woken already */
}

static uint64_t since_start(const struct lane *l, uint64_t now)
{
	return clock_ns(&l->clock, now - l->started);
}

/* What counts as a message of a queue pair here. */
static uint64_t messages_of(const struct lane *l, const struct lane_qp *q)
{
	return l->receives ? q->received : q->completed;
}

/* How unevenly the window's messages were spread. */
static void compare_qps(const struct lane *l, struct measure *m)
{
	m->qp_least = UINT64_MAX;
	m->qp_most = 0;
	for (uint32_t i = 0; i < l->qps; i++) {
		uint64_t n = messages_of(l, &l->qp[i]) - l->qp[i].at_open;

		m->qp_least = n < m->qp_least ? n : m->qp_least;
		m->qp_most = n > m->qp_most ? n : m->qp_most;
	}
}

/* A reader takes the mark for whole if `marks` is even, and the same before and after. */
static void mark(struct lane *l, uint64_t now, uint64_t count)
{
	struct lane_report *r = l->report;
	uint64_t posted = atomic_load_explicit(&r->posted, memory_order_relaxed);
	uint64_t completed = atomic_load_explicit(&r->completed, memory_order_relaxed);

	atomic_fetch_add(&r->marks, 1);
	atomic_store(&r->mark_ns, clock_ns(&l->clock, now - l->opened));
	atomic_store(&r->mark_count, count - l->measure->warmup);
	atomic_store(&r->mark_in_flight, posted - completed);
	atomic_fetch_add(&r->marks, 1);
}

bool lane_read_mark(const struct lane_report *r, struct lane_mark *m)
{
	unsigned int marks;

	do {
		marks = atomic_load(&r->marks);
		m->ns = atomic_load(&r->mark_ns);
		m->count = atomic_load(&r->mark_count);
		m->in_flight = atomic_load(&r->mark_in_flight);
	} while (marks & 1 || marks != atomic_load(&r->marks));
	m->last_ns = m->ns;
	return marks;
}

static uint64_t after(const struct lane *l, uint64_t now, uint64_t step)
{
	return l->opened + ((now - l->opened) / step + 1) * step;
}

/*
 * Edges lie on a grid from the window's opening; the window's own end comes first. Those of the
 * series become fewer with time, the others keep what is published fresh.
 */
static void next_interval(struct lane *l, uint64_t now)
{
	uint64_t end = l->opened + l->window;

	l->next_point = after(l, now, l->interval * series_stride(&l->measure->series));
	l->next_edge = after(l, now, l->interval);
	if (!l->counts && end > now && end < l->next_edge)
		l->next_edge = end;
}

static void open_window(struct lane *l, uint64_t now)
{
	struct measure *m = l->measure;

	l->state = STATE_OPEN;
	l->opened = now;
	l->last_ticks = now;
	l->last_count = l->count;
	l->histogram = &m->latency;
	l->next_count = l->counts ? l->warmup + l->window : UINT64_MAX;
	m->opened = true;
	m->warmup = l->count;
	m->window.t0 = since_start(l, now);
	for (uint32_t i = 0; i < l->qps; i++)
		l->qp[i].at_open = messages_of(l, &l->qp[i]);
	series_start(&m->series, m->window.t0, l->count);
	pace_open(&l->pace, &m->pace, now);
	next_interval(l, now);
	mark(l, now, l->count);
}

static void close_window(struct lane *l, uint64_t now, uint64_t count)
{
	struct measure *m = l->measure;

	l->state = STATE_OVER;
	l->histogram = l->spare;
	l->next_count = UINT64_MAX;
	l->next_edge = now + l->interval;
	m->closed = true;
	m->window.t1 = since_start(l, now);
	m->window.count = count - m->warmup;
	compare_qps(l, m);
	series_close(&m->series, m->window.t1, count);
	pace_close(&l->pace, &m->pace, now, l->spare);
	mark(l, now, count);
	reach(l, LANE_CLOSED);
}

static bool every_qp_moved(const struct lane *l)
{
	for (uint32_t i = 0; i < l->qps; i++)
		if (!messages_of(l, &l->qp[i]))
			return false;
	return true;
}

static bool warm(const struct lane *l, uint64_t now)
{
	if (l->counts)
		return l->count >= l->warmup;
	/* Where messages may be lost, all of a queue pair's may be. */
	return now - l->started >= l->warmup && (l->lossy || every_qp_moved(l));
}

static bool over(const struct lane *l, uint64_t now)
{
	uint64_t length = now - l->opened;

	if (l->counts)
		return l->count >= l->warmup + l->window;
	if (length < l->window)
		return false;
	return l->count - l->measure->warmup >= WINDOW_COMPLETIONS ||
	       length / WINDOW_STRETCH >= l->window;
}

static void warming(struct lane *l, uint64_t now)
{
	if (!warm(l, now)) {
		l->next_edge = now + (l->counts ? l->interval :
						  clock_ticks(&l->clock, OPEN_CHECK_NS));
		return;
	}
	l->state = STATE_READY;
	reach(l, LANE_WARM);
}

void lane_edge(struct lane *l, uint64_t now)
{
	lane_publish(l);
	if (l->state == STATE_WARMING)
		warming(l, now);
	if (l->state == STATE_READY) {
		if (l->counts ||
		    atomic_load_explicit(&l->control->open, memory_order_acquire))
			open_window(l, now);
		else
			l->next_edge = now + clock_ticks(&l->clock, OPEN_CHECK_NS);
	}
	/* A window of one message opens and closes at the same poll. */
	if (l->state == STATE_OPEN && over(l, now)) {
		close_window(l, now, l->count);
	} else if (l->state == STATE_OPEN && now > l->opened) {
		if (now >= l->next_point)
			series_add(&l->measure->series, since_start(l, now), l->count);
		mark(l, now, l->count);
		l->last_ticks = now;
		l->last_count = l->count;
		next_interval(l, now);
	} else if (l->state == STATE_OVER) {
		l->next_edge = now + l->interval;
	}
}

/*
 * As fill.h wants them: posts of which each asks by its last request, or a list that goes on for
 * ever and in which nothing asks.
 */
static void prepare_ring(const struct lane *l, struct lane_qp *q)
{
	bool each;

	if (!q->wr)
		return;
	each = lane_each_asks(l);
	for (uint32_t i = 0; i < l->wr_count; i++) {
		const bool last = (i + 1) % l->batch == 0, ends = l->batch == 1 || (each && last);

		q->wr[i].next = ends ? NULL : &q->wr[i + 1 < l->wr_count ? i + 1 : 0];
		q->wr[i].send_flags = l->flags | (each && last ? IBV_SEND_SIGNALED : 0);
	}
}

void lane_begin(struct lane *l)
{
	l->burst = l->qps == 1 ? UINT32_MAX : l->batch > LANE_BURST ? l->batch : LANE_BURST;
	for (uint32_t i = 0; i < l->qps; i++)
		prepare_ring(l, &l->qp[i]);
	l->far = l->qps > 1 &&
		 (uint64_t)l->qps * l->wr_count * sizeof(struct ibv_send_wr) >= NEAR_CACHE;
	l->state = STATE_WARMING;
	l->histogram = l->spare;
	l->interval = clock_ticks(&l->clock, INTERVAL_NS);
	l->clock_every = 1;
	l->clock_apart = clock_ticks(&l->clock, OPEN_CHECK_NS);
	l->started = clock_start(&l->clock);
	l->clock_at = l->started;
	l->measure->started_ns = clock_raw_ns();
	pace_begin(&l->pace, l->started, l->counts ? l->limit * l->qps : UINT64_MAX, l->spare);
	l->next_edge = l->counts ? l->started + l->interval : l->started;
	l->next_count = l->counts ? (l->warmup ? l->warmup : 1) : UINT64_MAX;
	/* Counted from the first message on, a window that has a sender's clock begins here. */
	if (l->counts && !l->warmup && l->leads) {
		reach(l, LANE_WARM);
		open_window(l, l->started);
	}
}

bool lane_gives_up(struct lane *l, uint64_t now)
{
	uint64_t last;

	if (!l->awaited_since)
		l->awaited_since = now;
	last = l->arrived > l->awaited_since ? l->arrived : l->awaited_since;
	return now - last >= clock_ticks(&l->clock, QUIET_NS) ||
	       now - l->awaited_since >= clock_ticks(&l->clock, QUIET_MOST_NS);
}

/* By count, but the messages that would have made up the count are lost. */
static void end_by_message(struct lane *l, uint64_t now)
{
	if (l->state == STATE_WARMING) {
		reach(l, LANE_WARM);
		open_window(l, now);
	}
	if (l->state == STATE_OPEN)
		close_window(l, l->arrived > l->last_ticks ? l->arrived : l->last_ticks, l->count);
}

void lane_lull(struct lane *l)
{
	uint64_t now = lane_clock(l);

	lane_publish(l);
	if (!l->counts) {
		if (now >= l->next_edge)
			lane_edge(l, now);
		return;
	}
	/* Whoever also sends would otherwise tell of it only when it is asked to drain. */
	if (l->leads && lane_all_sent(l) &&
	    !(atomic_load_explicit(&l->report->reached, memory_order_relaxed) & LANE_SENT))
		lane_tell_sent(l);
	if (l->state != STATE_OVER &&
	    atomic_load_explicit(&l->control->finished, memory_order_acquire) &&
	    lane_gives_up(l, now))
		end_by_message(l, now);
}

/*
 * A queue pair in error flushes all its requests, and a flush may be seen before the failure that
 * caused it, which then lies in one of the two completion queues. Only as many are looked at as
 * can be there.
 */
static bool find_cause(struct ibv_cq *cq, struct ibv_wc *wc)
{
	struct ibv_wc other;

	for (int i = 0; i < CAUSE_SEARCH && ibv_poll_cq(cq, 1, &other) == 1; i++) {
		if (other.status == IBV_WC_SUCCESS || other.status == IBV_WC_WR_FLUSH_ERR)
			continue;
		*wc = other;
		return true;
	}
	return false;
}

/*
 * The failure behind a flush, among all the lane's queues. A device may write the flushes of one
 * queue before the failure into the other, so it is waited for a little.
 */
static void find_first(const struct lane *l, struct ibv_wc *wc, bool *receive)
{
	uint64_t begin = clock_raw_ns();

	do {
		for (uint32_t i = 0; i < l->groups && wc->status == IBV_WC_WR_FLUSH_ERR; i++) {
			if (find_cause(l->group[i].send_cq, wc))
				*receive = false;
			else if (find_cause(l->group[i].recv_cq, wc))
				*receive = true;
		}
	} while (wc->status == IBV_WC_WR_FLUSH_ERR && clock_raw_ns() - begin < CAUSE_WAIT_NS &&
		 lane_stop(l) != LANE_ABORT);
}

void lane_failed(struct lane *l, const struct ibv_wc *seen, bool receive)
{
	const struct lane_qp *q = &l->qp[0];
	struct ibv_wc wc = *seen;

	find_first(l, &wc, &receive);
	for (uint32_t i = 0; i < l->qps; i++)
		if (l->qp[i].qp->qp_num == wc.qp_num)
			q = &l->qp[i];
	l->error = (struct lane_error){
		.kind = LANE_WC, .status = wc.status, .vendor = wc.vendor_err,
		.qpn = wc.qp_num, .receive = receive,
		.message = receive ? q->received : q->completed,
	};
}

void lane_failed_call(struct lane *l, int kind, int rc)
{
	/* Providers return errno, its negative, or -1 and set it. */
	l->error = (struct lane_error){ .errnum = rc == -1 ? errno : abs(rc) };
	l->error.kind = kind;
}

void lane_stray(struct lane *l, const struct lane_qp *q)
{
	if (l->error.kind == LANE_FINE)
		l->error = (struct lane_error){
			.kind = LANE_STRAY, .qpn = q->qp->qp_num, .message = q->completed,
		};
}

void lane_refused(struct lane *l, struct lane_qp *q, const struct ibv_send_wr *first,
		  const struct ibv_send_wr *bad, int rc)
{
	for (; first && first != bad; first = first->next)
		q->posted++;
	lane_failed_call(l, LANE_POST, rc);
}

int lane_post_receives(struct lane *l, struct lane_qp *q, uint32_t n)
{
	while (n) {
		uint32_t run = n < l->recv_count ? n : l->recv_count;
		uint32_t end = q->recv_at + run - 1;
		struct ibv_recv_wr *first = &q->recv[q->recv_at], *bad;
		struct ibv_recv_wr *last = &q->recv[end < l->recv_count ? end :
							end - l->recv_count];
		struct ibv_recv_wr *next = last->next;
		int rc;

		last->next = NULL;
		rc = ibv_post_recv(q->qp, first, &bad);
		last->next = next;
		if (rc)
			return rc == -1 ? errno : abs(rc);
		q->recv_at = (uint32_t)(next - q->recv);
		n -= run;
	}
	return 0;
}

void lane_return(struct lane_shared *s, uint32_t number)
{
	struct ibv_recv_wr *wr = &s->recv[number];

	wr->next = NULL;
	if (s->first)
		s->last->next = wr;
	else
		s->first = wr;
	s->last = wr;
	s->owed++;
}

int lane_post_shared(struct lane_shared *s)
{
	struct ibv_recv_wr *bad;
	int rc = ibv_post_srq_recv(s->srq, s->first, &bad);

	s->first = NULL;
	s->owed = 0;
	return rc == -1 ? errno : abs(rc);
}

struct lane_qp *lane_qp_of(const struct lane *l, uint32_t qpn)
{
	const struct lane_shared *s = l->shared;
	uint32_t at = qpn & s->mask;

	while (s->qp[at].index != UINT32_MAX && s->qp[at].qpn != qpn)
		at = (at + 1) & s->mask;
	return s->qp[at].index == UINT32_MAX ? NULL : &l->qp[s->qp[at].index];
}

bool lane_all_completed(const struct lane *l)
{
	for (uint32_t i = 0; i < l->qps; i++)
		if (l->qp[i].completed != l->qp[i].posted)
			return false;
	return true;
}

/*
 * An empty write needs no memory and no key, is seen by nobody, and completes in order. There are
 * no writes of datagrams: an empty one is sent, whose receiver knows it by its length.
 */
static int retire_tail(struct lane *l, struct lane_qp *q)
{
	struct ibv_send_wr wr = {
		.wr_id = wrid_make(q->index, q->posted) | WRID_FLUSH,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;
	int rc;

	if (!q->unsignalled)
		return 0;
	if (l->header) {
		wr.opcode = IBV_WR_SEND;
		wr.wr = q->wr->wr; /* whom to */
	}
	rc = ibv_post_send(q->qp, &wr, &bad);
	if (rc)
		lane_failed_call(l, LANE_POST, rc);
	else
		q->unsignalled = 0;
	return rc;
}

void lane_reap(struct lane *l, struct lane_group *g)
{
	struct ibv_wc wc[LANE_POLL];
	int n = ibv_poll_cq(g->send_cq, (int)l->poll_sends, wc);

	if (n < 0)
		lane_failed_call(l, LANE_POLL_FAILED, n);
	for (int i = 0; i < n; i++) {
		struct lane_qp *q = lane_owner(l, wc[i].wr_id);
		uint64_t done;

		if (wc[i].status != IBV_WC_SUCCESS) {
			lane_failed(l, &wc[i], false);
			return;
		}
		if (!q) {
			lane_stray(l, l->qp);
			return;
		}
		done = lane_done(l, q, wc[i].wr_id);
		if (l->content && l->content->reads)
			lane_inspect_reads(l, q, done);
		q->completed += done;
		if (l->predicts)
			lane_check_results(l, q);
		if (!l->receives)
			l->count += done;
	}
	if (n > 0)
		lane_publish(l); /* progress, or a long drain would look like a stall */
}

static void __attribute__((noinline, cold)) missed(struct lane *l, const struct lane_qp *q,
						   uint64_t n)
{
	l->missed++;
	if (!l->shares_target && l->error.kind == LANE_FINE)
		l->error = (struct lane_error){
			.kind = LANE_MISSED, .qpn = q->qp->qp_num, .message = n,
		};
}

void lane_check_results(struct lane *l, struct lane_qp *q)
{
	const uint64_t completed = q->completed;
	uint64_t n = q->checked;

	while (n < completed) {
		const uint64_t rest = l->wr_count - q->results_at;
		const uint64_t stop = completed - n < rest ? completed : n + rest;
		const volatile uint64_t *at = q->results + q->results_at;

		q->results_at = stop - n < rest ? q->results_at + (uint32_t)(stop - n) : 0;
		for (; n < stop; n++, at++)
			if (__builtin_expect(*at != n, 0))
				missed(l, q, n);
	}
	q->checked = completed;
}

void lane_stop_sending(struct lane *l)
{
	if (l->state == STATE_OPEN && l->error.kind == LANE_FINE && lane_stop(l) == LANE_DRAIN)
		close_window(l, clock_start(&l->clock), l->count);
	for (uint32_t i = 0; i < l->qps && l->error.kind == LANE_FINE; i++)
		retire_tail(l, &l->qp[i]);
}

void lane_tell_sent(struct lane *l)
{
	reach(l, LANE_SENT);
}

void lane_drain_sends(struct lane *l)
{
	lane_stop_sending(l);
	while (l->error.kind == LANE_FINE && !lane_all_completed(l) &&
	       lane_stop(l) != LANE_ABORT)
		for (uint32_t i = 0; i < l->groups; i++)
			lane_reap(l, &l->group[i]);
	if (lane_all_completed(l))
		lane_tell_sent(l);
}

void lane_end(struct lane *l)
{
	if (l->state == STATE_OPEN && lane_stop(l) == LANE_DRAIN &&
	    l->error.kind == LANE_FINE)
		close_window(l, clock_start(&l->clock), l->count);
	else if (l->state == STATE_OPEN)
		close_window(l, l->last_ticks, l->last_count);
	if (l->rest)
		lane_rest_end(l->rest);
	reach(l, LANE_LEFT);
}
