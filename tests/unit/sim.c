/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "sim.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define POLLS_MOST 2000000 /* a loop that has not ended by then never will */

static struct sim *now; /* the verbs of libibverbs know no more than queues */

uint64_t sim_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

uint64_t sim_draw(uint64_t *state, uint64_t low, uint64_t high)
{
	return low + sim_random(state) % (high - low + 1);
}

#define BROKEN(...)                                                             \
	do {                                                                    \
		if (!now->wrong[0])                                             \
			snprintf(now->wrong, sizeof(now->wrong), __VA_ARGS__);  \
		atomic_store(&now->control.stop, LANE_ABORT);                   \
	} while (0)

static struct sim_cq *cq_of(uint32_t qp, bool receive)
{
	struct sim_cq *cqs = receive ? now->recv_cq : now->send_cq;

	for (uint32_t i = 0; i < now->plan.groups; i++)
		if (qp - cqs[i].first < cqs[i].qps)
			return &cqs[i];
	return NULL;
}

static void complete(struct sim_cq *cq, const struct ibv_wc *wc, uint64_t frees)
{
	if (cq->tail - cq->head >= cq->most)
		BROKEN("more than %u entries in a completion queue", cq->most);
	else
		cq->entry[cq->tail++ % SIM_ENTRIES] = (struct sim_cqe){ .wc = *wc, .frees = frees };
	cq->told += cq->asked;
	cq->asked = false;
}

/* A message of the peer's, if the queue pair has a receive for it. */
static bool arrive(uint32_t qp)
{
	struct sim_qp *q = &now->qp[qp];
	struct ibv_wc wc = {
		.wr_id = wrid_make(qp, 0), .qp_num = q->verbs.qp_num, .opcode = IBV_WC_RECV,
		.imm_data = htonl((uint32_t)q->arrived + now->plan.misnumbered),
	};

	if (now->plan.memory) {
		now->marker_in = (unsigned char)(q->arrived % 255 + 1);
	} else if (now->plan.common) {
		if (now->srq_used == now->srq_posted)
			return false;
		wc.wr_id = now->srq_ring[now->srq_used++ % SIM_RING];
		now->srq_there[wc.wr_id] = false;
		complete(cq_of(qp, true), &wc, 0);
	} else {
		if (q->arrived == q->receives)
			return false;
		complete(cq_of(qp, true), &wc, 0);
	}
	q->arrived++;
	return true;
}

static void swap(struct sim_qp *q, const struct sim_request *r)
{
	uint64_t *counter = now->plan.shared ? &now->shared_counter : &q->counter;

	*r->result = *counter;
	if (*counter == r->compare)
		*counter = r->swap;
}

static void execute(uint32_t qp)
{
	struct sim_qp *q = &now->qp[qp];
	const struct sim_request *r = &q->sq[q->executed % SIM_RING];
	struct ibv_wc wc = { .wr_id = r->wr_id, .qp_num = q->verbs.qp_num };

	if (now->plan.predicts && !r->flush)
		swap(q, r);
	q->executed++;
	if (r->signalled)
		complete(cq_of(qp, false), &wc, q->executed);
	if ((now->plan.peer == SIM_ECHO || now->plan.peer == SIM_ASKER) && !r->flush)
		q->to_answer++;
}

/* The peer's turn on one queue pair. */
static void peer(uint32_t qp)
{
	struct sim_qp *q = &now->qp[qp];

	switch (now->plan.peer) {
	case SIM_IDLE:
		return;
	case SIM_SENDER:
		if (q->arrived < now->plan.arrivals)
			arrive(qp);
		return;
	case SIM_ASKER:
		if (q->arrived < now->plan.arrivals && q->arrived == q->to_answer)
			arrive(qp);
		return;
	case SIM_ECHO:
		if (q->to_answer && arrive(qp))
			q->to_answer--;
		return;
	}
}

/* The client's control thread: says when there is nothing more to come. */
static void control(void)
{
	const struct sim_plan *p = &now->plan;
	bool over = p->timed && now->polls >= p->polls;
	bool closed = atomic_load(&now->report.reached) & LANE_CLOSED;
	bool counted = !p->timed && (closed || !p->sends || !p->receives);
	uint64_t sum = 0;

	for (uint32_t i = 0; i < p->qps; i++) {
		const struct sim_qp *q = &now->qp[i];

		counted &= p->peer == SIM_IDLE || p->peer == SIM_ECHO ||
			   q->arrived == p->arrivals;
		counted &= p->peer != SIM_ASKER || q->to_answer == p->arrivals;
		counted &= p->peer == SIM_ASKER || !now->lane.leads ||
			   q->messages == now->lane.limit;
		sum += q->arrived;
	}
	if (p->peer == SIM_SENDER && atomic_load(&now->control.stop) == LANE_RUN &&
	    atomic_load(&now->report.reached) & LANE_SENT)
		BROKEN("it has sent everything before its load was to end");
	if (!over && (!counted || p->peer == SIM_IDLE || p->peer == SIM_ECHO))
		return;
	if (over) /* the peer has stopped as well */
		now->plan.arrivals = 0;
	if (atomic_load(&now->control.stop) != LANE_RUN)
		return;
	if (p->peer == SIM_SENDER)
		atomic_store(&now->control.expected, sum);
	atomic_store(&now->control.stop, LANE_DRAIN);
}

/* Some progress: on an eager device all that there is, else mostly a little, now and then none. */
static void progress(void)
{
	uint32_t steps = (uint32_t)sim_draw(&now->random, 0, now->plan.eager);

	if (++now->polls > POLLS_MOST)
		BROKEN("no end after %u polls", POLLS_MOST);
	for (; steps; steps--) {
		uint32_t qp = (uint32_t)sim_draw(&now->random, 0, now->plan.qps - 1);

		if (now->qp[qp].executed < now->qp[qp].posted)
			execute(qp);
		if (sim_draw(&now->random, 0, 1))
			peer(qp);
	}
	control();
}

static int sim_poll(struct ibv_cq *verbs, int n, struct ibv_wc *wc)
{
	struct sim_cq *cq = (struct sim_cq *)verbs;
	int most, i;

	now->since_poll = 0;
	progress();
	/* Who sleeps relies on it that nothing found is nothing there. */
	most = (int)sim_draw(&now->random, now->plan.sleeps, (uint64_t)n);
	for (i = 0; i < most && cq->head != cq->tail; i++) {
		const struct sim_cqe *e = &cq->entry[cq->head++ % SIM_ENTRIES];
		struct sim_qp *q = &now->qp[e->wc.qp_num];

		wc[i] = e->wc;
		if (!cq->receive)
			q->freed = e->frees;
	}
	return i;
}

static void check_request(struct sim_qp *q, const struct ibv_send_wr *wr)
{
	uint32_t qp = q->verbs.qp_num;
	bool flush = wr->wr_id & WRID_FLUSH;

	if (q->posted - q->freed > now->plan.depth)
		BROKEN("more than %u requests outstanding", now->plan.depth);
	if (wr->send_flags & IBV_SEND_SIGNALED && wrid_qp(wr->wr_id) != qp)
		BROKEN("a request of another queue pair");
	if (flush && (wr->num_sge || wr->opcode != IBV_WR_RDMA_WRITE || !q->unsignalled))
		BROKEN("an empty write that is none, or has nothing to retire");
	q->unsignalled = wr->send_flags & IBV_SEND_SIGNALED ? 0 : q->unsignalled + 1;
	if (q->unsignalled >= now->plan.signal)
		BROKEN("%u requests, of which none is signalled", q->unsignalled);
	if (flush)
		return;
	if (++now->since_poll >= LANE_BURST + now->plan.batch && now->plan.qps > 1)
		BROKEN("%llu messages in one visit", (unsigned long long)now->since_poll);
	if (wr->send_flags & IBV_SEND_SIGNALED && (wr->wr_id & WRID_SEQ) != q->messages)
		BROKEN("message %llu is called %llu", (unsigned long long)q->messages,
		       (unsigned long long)(wr->wr_id & WRID_SEQ));
	if (now->lane.wr_count > 1 && !now->plan.calls && wr != &now->wr[qp][(q->messages - 1) % now->lane.wr_count])
		BROKEN("message %llu is not the ring's next", (unsigned long long)q->messages);
	if (now->plan.immediate && ntohl(wr->imm_data) != (uint32_t)(q->messages - 1))
		BROKEN("message %llu has the number %u", (unsigned long long)q->messages,
		       ntohl(wr->imm_data));
	if (now->plan.memory && now->marker_out != (q->messages - 1) % 255 + 1)
		BROKEN("the marker of message %llu is %u", (unsigned long long)q->messages,
		       now->marker_out);
}

static int sim_send(struct ibv_qp *verbs, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct sim_qp *q = (struct sim_qp *)verbs;
	uint32_t list = 0;

	*bad = wr;
	for (; wr; wr = wr->next) {
		struct sim_request *r = &q->sq[q->posted++ % SIM_RING];

		*r = (struct sim_request){
			.wr_id = wr->wr_id, .signalled = wr->send_flags & IBV_SEND_SIGNALED,
			.flush = wr->wr_id & WRID_FLUSH,
		};
		q->messages += !r->flush;
		q->flushes += r->flush;
		q->signalled += r->signalled && !r->flush;
		check_request(q, wr);
		if (now->plan.predicts && !r->flush) {
			r->compare = wr->wr.atomic.compare_add;
			r->swap = wr->wr.atomic.swap;
			r->result = (volatile uint64_t *)(uintptr_t)wr->sg_list->addr;
		}
		if (++list > now->plan.batch || q->posted - q->freed > SIM_DEPTH) {
			BROKEN("a list of more than %u", now->plan.batch);
			break;
		}
	}
	/* A device may do its work at once, the peer's included. */
	while (q->executed < q->posted && sim_draw(&now->random, 0, 3) == 0)
		execute(q->verbs.qp_num);
	if (sim_draw(&now->random, 0, 1))
		peer(q->verbs.qp_num);
	return 0;
}

static int sim_recv(struct ibv_qp *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct sim_qp *q = (struct sim_qp *)verbs;
	uint32_t count = 0;

	*bad = wr;
	for (; wr; wr = wr->next, count++) {
		q->receives++;
		if (wrid_qp(wr->wr_id) != q->verbs.qp_num)
			BROKEN("a receive of another queue pair");
		if (q->receives - q->arrived > now->plan.rx_depth) {
			BROKEN("more than %u receives posted", now->plan.rx_depth);
			break;
		}
	}
	if (q->arrived && count < now->plan.recv_batch)
		BROKEN("%u receives in a list of at least %u", count, now->plan.recv_batch);
	return 0;
}

static int sim_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	uint32_t count = 0;

	*bad = wr;
	if (srq != &now->srq)
		BROKEN("receives for another queue");
	for (; wr; wr = wr->next, count++) {
		if (wr->wr_id >= now->plan.rx_depth || now->srq_there[wr->wr_id]) {
			BROKEN("receive %u is posted twice", (uint32_t)wr->wr_id);
			break;
		}
		now->srq_there[wr->wr_id] = true;
		now->srq_ring[now->srq_posted++ % SIM_RING] = (uint32_t)wr->wr_id;
	}
	if (count < now->plan.recv_batch)
		BROKEN("%u receives in a list of at least %u", count, now->plan.recv_batch);
	return 0;
}

static int sim_notify(struct ibv_cq *verbs, int solicited_only)
{
	struct sim_cq *cq = (struct sim_cq *)verbs;

	if (solicited_only || cq->told)
		BROKEN("asked again, with %u events not taken", cq->told);
	cq->asked = true;
	/* Something may complete between that and the next look. */
	progress();
	return 0;
}

/* Those that the lane waits for: one that has an event. */
static struct sim_cq *telling(void)
{
	for (uint32_t i = 0; i < now->rest.cqs; i++) {
		struct sim_cq *cq = (struct sim_cq *)now->rest.cq[i].cq;

		if (cq->told)
			return cq;
	}
	return NULL;
}

/* The lane sleeps. */
static int sim_sleep(struct pollfd *fds, nfds_t count, int timeout)
{
	uint64_t one = 1;

	if (count != 2 || timeout < 1 || fds[0].fd != now->rest.channel->fd)
		BROKEN("a sleep for ever, or for something else");
	for (uint32_t i = 0; i < now->rest.cqs && !telling(); i++) {
		const struct sim_cq *cq = (const struct sim_cq *)now->rest.cq[i].cq;

		if (cq->head != cq->tail || !cq->asked)
			BROKEN("asleep with %u completions queued", cq->tail - cq->head);
	}
	now->slept += !telling();
	while (!telling() && atomic_load(&now->control.stop) == LANE_RUN)
		progress();
	fds[0].revents = telling() ? POLLIN : 0;
	fds[1].revents = atomic_load(&now->control.stop) == LANE_RUN ? 0 : POLLIN;
	if (fds[1].revents && write(fds[1].fd, &one, sizeof(one)) < 0)
		BROKEN("the stop word's descriptor is full");
	return 1;
}

/* In place of the C library's, which says that it does not read what is in fds. */
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	struct pollfd *volatile at = fds;

	return sim_sleep(at, count, timeout);
}

/* In place of libibverbs'. */
int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **verbs, void **context)
{
	struct sim_cq *cq = telling();

	(void)channel;
	errno = EAGAIN;
	if (!cq)
		return -1;
	cq->told--;
	cq->unacked++;
	*verbs = &cq->verbs;
	*context = NULL;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *verbs, unsigned int count)
{
	struct sim_cq *cq = (struct sim_cq *)verbs;

	if (!count || count > cq->unacked)
		BROKEN("%u events acknowledged, of %u", count, cq->unacked);
	cq->unacked -= count;
}

static void open_qp(struct sim *s, uint32_t i)
{
	struct lane_qp *q = &s->lane_qp[i];

	s->qp[i].verbs.context = &s->context;
	s->qp[i].verbs.qp_num = i;
	if (s->plan.calls)
		sim_set_calls(&s->qp[i].ex);
	*q = (struct lane_qp){
		.qp = &s->qp[i].verbs, .ex = s->plan.calls ? &s->qp[i].ex : NULL, .index = i,
		.wr = s->wr[i], .recv = s->recv[i],
		.stamps = s->stamps[i], .intended = s->intended[i],
		.results = s->results[i],
	};
	for (uint32_t k = 0; k < s->lane.wr_count; k++) {
		s->sge[i][k] = (struct ibv_sge){ .addr = (uintptr_t)&s->results[i][k] };
		s->wr[i][k] = (struct ibv_send_wr){
			.sg_list = &s->sge[i][k], .num_sge = 1,
			.opcode = s->plan.predicts  ? IBV_WR_ATOMIC_CMP_AND_SWP :
				  s->plan.immediate ? IBV_WR_SEND_WITH_IMM :
						      IBV_WR_SEND,
		};
	}
	for (uint32_t k = 0; k < s->lane.recv_count; k++)
		s->recv[i][k] = (struct ibv_recv_wr){
			.wr_id = wrid_make(i, 0),
			.next = &s->recv[i][(k + 1) % s->lane.recv_count],
		};
}

/* Not as a whole: what has not been put in is not read. */
static void open_cq(struct sim *s, struct sim_cq *cq, uint32_t first, uint32_t qps, bool receive)
{
	cq->verbs = (struct ibv_cq){ .context = &s->context };
	cq->head = cq->tail = 0;
	cq->first = first;
	cq->qps = qps;
	cq->most = receive && s->plan.common ? s->plan.rx_depth :
		   qps * (receive ? s->plan.rx_depth : s->plan.depth);
	cq->receive = receive;
	cq->asked = false;
	cq->told = cq->unacked = 0;
}

/* As shared_build() of session/shared.c; queue pairs are numbered from 0. */
static void open_common(struct sim *s)
{
	static bool used[SIM_RING];
	static typeof(*s->common.qp) numbers[2 * SIM_QPS];

	s->srq = (struct ibv_srq){ .context = &s->context };
	s->common = (struct lane_shared){
		.srq = &s->srq, .recv = s->recv[0], .count = s->plan.rx_depth, .slots = 7,
		.used = used, .qp = numbers, .mask = 2 * SIM_QPS - 1,
	};
	for (uint32_t i = 0; i < 2 * SIM_QPS; i++)
		numbers[i].index = UINT32_MAX;
	for (uint32_t i = 0; i < s->plan.qps; i++)
		numbers[i] = (typeof(*numbers)){ .qpn = i, .index = i };
	for (uint32_t i = 0; i < s->plan.rx_depth; i++) {
		s->recv[0][i].wr_id = i;
		lane_return(&s->common, i);
	}
	s->lane.shared = &s->common;
	lane_post_shared(&s->common);
}

/* What each loop waits for: see build_rest() of session/load.c. */
static void open_rest(struct sim *s)
{
	static struct ibv_comp_channel channel = { .fd = 1000 };
	static int wake_fd = -1;
	bool pingpong = s->plan.peer == SIM_ECHO || s->plan.peer == SIM_ASKER;

	if (wake_fd < 0)
		wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	s->rest = (struct lane_rest){
		.channel = &channel, .wake_fd = wake_fd, .most_ms = 100, .cq = s->rest_cq,
	};
	memset(s->rest_cq, 0, sizeof(s->rest_cq));
	for (uint32_t i = 0; i < s->plan.groups; i++) {
		if (s->plan.sends && !pingpong)
			s->rest_cq[s->rest.cqs++].cq = &s->send_cq[i].verbs;
		if (s->plan.receives)
			s->rest_cq[s->rest.cqs++].cq = &s->recv_cq[i].verbs;
	}
	s->lane.rest = &s->rest;
}

/* Groups of unlike sizes: the first one has what is left over. */
static void open_groups(struct sim *s)
{
	uint32_t each = s->plan.qps / s->plan.groups, first = 0;

	for (uint32_t i = 0; i < s->plan.groups; i++) {
		uint32_t qps = i ? each : s->plan.qps - each * (s->plan.groups - 1);

		open_cq(s, &s->send_cq[i], first, qps, false);
		open_cq(s, &s->recv_cq[i], first, qps, true);
		s->group[i] = (struct lane_group){
			.send_cq = &s->send_cq[i].verbs, .recv_cq = &s->recv_cq[i].verbs,
			.qp = &s->lane_qp[first], .qps = qps,
		};
		first += qps;
	}
}

/* Half of them hold a list at the same places each time round. */
static uint32_t ring_of(struct sim *s)
{
	uint32_t batch = s->plan.batch, ring = (uint32_t)sim_draw(&s->random, batch, SIM_RING);

	return sim_draw(&s->random, 0, 1) ? ring - ring % batch : ring;
}

static void open_lane(struct sim *s)
{
	const struct sim_plan *p = &s->plan;
	bool pingpong = p->peer == SIM_ECHO || p->peer == SIM_ASKER;
	uint32_t ring = 1;

	while (ring < p->depth + 1)
		ring *= 2;
	s->lane = (struct lane){
		.control = &s->control, .report = &s->report, .group = s->group,
		.qp = s->lane_qp, .measure = &s->measure, .spare = &s->spare,
		.clock = { .mult = UINT64_C(1) << 32 }, .event_fd = -1,
		.groups = p->groups, .qps = p->qps, .depth = p->depth, .batch = p->batch,
		.signal = p->signal,
		.wr_count = pingpong ? 1 : p->predicts ? p->depth : ring_of(s),
		.poll_sends = (uint32_t)sim_draw(&s->random, 1, LANE_POLL),
		.poll_receives = (uint32_t)sim_draw(&s->random, 1, LANE_POLL),
		.recv_batch = p->recv_batch, .let_come = sim_draw(&s->random, 0, 40),
		.recv_count = (uint32_t)sim_draw(&s->random, LANE_POLL + p->recv_batch, SIM_RING),
		.stamp_mask = p->stamp ? p->stamp - 1 : LANE_NO_STAMPS, .stamp_ring = ring - 1,
		.immediate = p->immediate, .predicts = p->predicts, .shares_target = p->shared,
		.limit = p->timed ? UINT64_MAX : p->warmup + p->iters,
		.receives = p->receives,
		.leads = p->peer != SIM_ASKER && p->sends,
		.counts = !p->timed, .calls = p->calls,
		.samples = p->sampled ? &s->samples : NULL,
		.marker_in = &s->marker_in, .marker_out = &s->marker_out,
	};
	pace_init(&s->lane.pace, &(struct pace_plan){
			.rate = p->rate, .burst = p->burst_size, .poisson = p->polls & 1,
			.seed = p->polls, .gap_ns = p->rate ? 0 : p->burst_size,
		}, &s->lane.clock);
	if (p->timed) {
		s->lane.window = UINT64_MAX / 2;
	} else {
		s->lane.warmup = p->warmup * p->qps;
		s->lane.window = p->iters * p->qps;
	}
}

void sim_open(struct sim *s, const struct sim_plan *plan, uint64_t seed)
{
	now = s;
	memset(s, 0, offsetof(struct sim, send_cq));
	s->plan = *plan;
	s->random = seed;
	s->context.ops.poll_cq = sim_poll;
	s->context.ops.post_send = sim_send;
	s->context.ops.post_recv = sim_recv;
	s->context.ops.post_srq_recv = sim_srq_recv;
	s->context.ops.req_notify_cq = sim_notify;
	s->shared_counter = 0;
	s->wrong[0] = '\0';
	s->marker_in = s->marker_out = 0;
	s->report = (struct lane_report){ 0 };
	atomic_store(&s->control.stop, LANE_RUN);
	atomic_store(&s->control.open, true);
	atomic_store(&s->control.expected, LANE_UNKNOWN);
	memset(&s->measure, 0, sizeof(s->measure));
	histogram_reset(&s->measure.latency);
	histogram_reset(&s->measure.pace.response);
	histogram_reset(&s->measure.pace.lateness);
	histogram_reset(&s->spare);
	s->samples.count = 0;
	open_groups(s);
	open_lane(s);
	s->slept = 0;
	if (plan->sleeps)
		open_rest(s);
	for (uint32_t i = 0; i < plan->qps; i++)
		open_qp(s, i);
	s->srq_posted = s->srq_used = 0;
	memset(s->srq_there, 0, sizeof(s->srq_there));
	if (plan->common && plan->receives && !plan->memory)
		open_common(s);
	for (uint32_t i = 0; !s->lane.shared && s->plan.receives && !plan->memory && i < plan->qps;
	     i++)
		lane_post_receives(&s->lane, &s->lane_qp[i], plan->rx_depth);
}
