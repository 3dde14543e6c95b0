/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests on their way: posted, executed, retired, freed. Executed when the wire has brought them
 * there; retired, in order, when the answer is back; freed when a completion has been polled that
 * was put in with them or later, and not before.
 */
#include "fake.h"

#include <errno.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#define POLLS_A_YIELD 32
#define TICKS_A_YIELD 1024 /* a poll that lets time pass is not quite in vain */
#define STOPPED_NS 1500000000 /* who has not polled for so long has stopped to */

static struct fake_qp *active;               /* with requests that are not retired */
static uint64_t sends_completed, recvs_completed, device_free_at, posts;

void cq_push(struct node *n, struct shared_cq *cq, const struct shared_cqe *e)
{
	uint64_t tail = atomic_load(&cq->tail), used = tail - atomic_load(&cq->head);

	if (cq->dead)
		return;
	if (used >= cq->cqe) {
		cq->dead = 1;
		cq->overruns++;
		report_violation("a completion queue of %u entries was overrun", cq->cqe);
		fabric_event(n, IBV_EVENT_CQ_ERR, cq->cookie);
		return;
	}
	cq->entry[tail % cq->cqe] = *e;
	cq->most = used + 1 > cq->most ? used + 1 : cq->most;
	n->shared->unpolled++;
	atomic_store_explicit(&cq->tail, tail + 1, memory_order_release);
	events_notify(n, cq);
}

void recv_complete(struct node *n, struct shared_qp *q, const struct ibv_wc *wc)
{
	struct shared_qp *from = receives_of(n, q);
	const struct shared_recv *ring = node_at(n, from->rq);
	struct shared_cqe e = { .wc = *wc, .qp = q->qpn & FAKE_QPS };

	e.wc.wr_id = ring[from->rq_head++ % from->rq_size].wr_id;
	e.wc.qp_num = q->qpn;
	cq_push(n, node_at(n, q->recv_cq), &e);
}

static const enum ibv_wc_opcode wc_opcodes[] = {
	[IBV_WR_SEND] = IBV_WC_SEND, [IBV_WR_SEND_WITH_IMM] = IBV_WC_SEND,
	[IBV_WR_RDMA_WRITE] = IBV_WC_RDMA_WRITE, [IBV_WR_RDMA_WRITE_WITH_IMM] = IBV_WC_RDMA_WRITE,
	[IBV_WR_RDMA_READ] = IBV_WC_RDMA_READ, [IBV_WR_ATOMIC_CMP_AND_SWP] = IBV_WC_COMP_SWAP,
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = IBV_WC_FETCH_ADD,
	[IBV_WR_LOCAL_INV] = IBV_WC_LOCAL_INV, [IBV_WR_BIND_MW] = IBV_WC_BIND_MW,
};

/* A completion, as the script wants it. */
static void complete_send(struct fake_qp *q, const struct fake_wqe *w)
{
	struct shared_cq *cq = ((struct fake_cq *)q->verbs.send_cq)->shared;
	struct shared_cqe e = {
		.wc = {
			.wr_id = w->wr_id, .status = w->status, .opcode = wc_opcodes[w->opcode],
			.byte_len = w->length, .qp_num = q->shared->qpn,
		},
		.qp = q->index, .send = true, .frees = q->retired,
	};

	sends_completed++;
	q->completions++;
	if (sends_completed == script.lose)
		return;
	if (sends_completed == script.overrun) {
		cq->dead = 1;
		fabric_event(own, IBV_EVENT_CQ_ERR, cq->cookie);
	}
	cq_push(own, cq, &e);
	if (sends_completed == script.duplicate)
		cq_push(own, cq, &e);
}

/* The answer to the oldest request is there. */
static void retire(struct fake_qp *q, struct fake_wqe *w)
{
	bool signalled = q->sq_sig_all || w->flags & IBV_SEND_SIGNALED;

	if (script.status_at && signalled && sends_completed + 1 == script.status_at &&
	    w->status == IBV_WC_SUCCESS)
		w->status = (enum ibv_wc_status)script.status;
	q->retired++;
	if (w->status != IBV_WC_SUCCESS)
		qp_fail(own, q->shared);
	if (signalled || w->status != IBV_WC_SUCCESS)
		complete_send(q, w);
}

static bool is_read(const struct fake_wqe *w)
{
	return w->opcode == IBV_WR_RDMA_READ || w->opcode == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/* A queue pair begins no more reads and atomics at a time than it may. */
static bool must_wait_for_reads(const struct fake_qp *q, const struct fake_wqe *w)
{
	uint32_t outstanding = 0;

	if (!is_read(w) || !q->max_rd_atomic)
		return false;
	for (uint64_t i = q->retired; i < q->executed; i++)
		outstanding += is_read(&q->sq[i % q->sq_size]);
	return outstanding >= q->max_rd_atomic;
}

/* Requests that stay on this side: the wire does not see them. */
static bool is_of_window(enum ibv_wr_opcode opcode)
{
	return opcode == IBV_WR_BIND_MW || opcode == IBV_WR_LOCAL_INV;
}

/* When the completion of a request that is executed now is there. */
static uint64_t due_at(struct fake_qp *q, const struct fake_wqe *w, uint64_t now)
{
	static uint64_t executed;
	uint64_t due = now + (is_of_window(w->opcode) ? 0 : script.wire) + script.late;

	if (script.lates)
		due += script.late_list[executed % script.lates];
	if (++executed == script.stall_at)
		due += script.stall;
	if (due < q->last_due)
		due = q->last_due;
	q->last_due = due;
	return due;
}

/* A failure is on its way back: nothing behind it is done. */
static bool is_broken(const struct fake_qp *q)
{
	return q->executed > q->retired &&
	       q->sq[(q->executed - 1) % q->sq_size].status != IBV_WC_SUCCESS;
}

/* A read that had to wait sets out when the answer of the one before it has come. */
static bool has_arrived(const struct fake_qp *q, struct fake_wqe *w, uint64_t now)
{
	if (must_wait_for_reads(q, w)) {
		w->waited = true;
		return false;
	}
	if (w->waited)
		w->execute_at = now + script.wire;
	w->waited = false;
	return now >= w->execute_at;
}

static void execute_some(struct fake_qp *q, uint64_t now)
{
	while (q->executed < q->posted && atomic_load(&q->shared->state) == IBV_QPS_RTS &&
	       !is_broken(q)) {
		struct fake_wqe *w = &q->sq[q->executed % q->sq_size];

		if (!has_arrived(q, w, now) || (q->retry_at != FAKE_NEVER && now < q->retry_at) ||
		    !wqe_execute(q, w, now))
			return;
		q->executed++;
		w->due = due_at(q, w, now);
	}
}

static bool failed(const struct fake_qp *q)
{
	return atomic_load(&q->shared->state) == IBV_QPS_ERR;
}

/* In error, what was never executed is flushed, behind what was. */
static void retire_some(struct fake_qp *q, uint64_t now)
{
	while (q->retired < q->posted) {
		struct fake_wqe *w = &q->sq[q->retired % q->sq_size];

		if (q->retired == q->executed) {
			if (!failed(q))
				return;
			w->status = IBV_WC_WR_FLUSH_ERR;
			q->executed++;
		} else if (now < w->due && !(failed(q) && w->status == IBV_WC_SUCCESS)) {
			return;
		}
		retire(q, w);
	}
}

static uint64_t next_of(const struct fake_qp *q)
{
	uint64_t next = FAKE_NEVER, at;

	if (q->retired < q->executed)
		next = q->sq[q->retired % q->sq_size].due;
	if (q->executed < q->posted && !is_broken(q) &&
	    !must_wait_for_reads(q, &q->sq[q->executed % q->sq_size])) {
		at = q->sq[q->executed % q->sq_size].execute_at;
		if (q->retry_at != FAKE_NEVER && q->retry_at > at)
			at = q->retry_at;
		next = at < next ? at : next;
	}
	return next;
}

void work_progress(void)
{
	struct fake_qp **p = &active;
	uint64_t now = fake_now(), next = FAKE_NEVER;

	while (*p) {
		struct fake_qp *q = *p;
		uint64_t before;

		do { /* a read that retires lets the next one begin */
			before = q->retired;
			execute_some(q, now);
			retire_some(q, now);
		} while (q->retired > before && q->executed < q->posted);
		if (q->retired == q->posted) {
			q->active = false;
			*p = q->next_active;
			continue;
		}
		next = next_of(q) < next ? next_of(q) : next;
		p = &q->next_active;
	}
	atomic_store(&own->shared->next_event, next);
}

void work_forget(struct fake_qp *q)
{
	for (struct fake_qp **p = &active; *p; p = &(*p)->next_active)
		if (*p == q) {
			*p = q->next_active;
			return;
		}
}

/* ahead: requests of the same list that are not in the queue yet. */
static int check_send(const struct fake_qp *q, const struct ibv_send_wr *wr, uint32_t ahead)
{
	uint32_t state = atomic_load(&q->shared->state);
	uint64_t length = 0;

	if (state != IBV_QPS_RTS && state != IBV_QPS_ERR)
		return EINVAL;
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > q->max_sge ||
	    wr->opcode > IBV_WR_BIND_MW)
		return EINVAL;
	if (is_of_window(wr->opcode) && wr->num_sge)
		return EINVAL;
	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	if (length > UINT32_MAX || (wr->send_flags & IBV_SEND_INLINE && length > q->max_inline))
		return EINVAL;
	if (script.refuse && ++posts == script.refuse)
		return ENOMEM;
	if (q->posted + ahead - q->freed < q->sq_size)
		return 0;
	report_violation("queue pair %u: a request beyond its %u slots", q->shared->qpn,
			 q->sq_size);
	return ENOMEM;
}

static void copy_inline(struct fake_qp *q, const struct ibv_send_wr *wr)
{
	unsigned char *at = q->inline_data + q->posted % q->sq_size * q->max_inline;

	for (int i = 0; i < wr->num_sge; i++) {
		memcpy(at, (void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].length);
		at += wr->sg_list[i].length;
	}
}

/* The device takes its time for each message, one after the other. */
static uint64_t paced(uint64_t now)
{
	if (!script.pace)
		return now;
	device_free_at = (device_free_at > now ? device_free_at : now) + script.pace;
	return device_free_at;
}

static void enqueue(struct fake_qp *q, const struct ibv_send_wr *wr, uint64_t now)
{
	struct fake_wqe *w = &q->sq[q->posted % q->sq_size];

	*w = (struct fake_wqe){
		.wr_id = wr->wr_id, .opcode = wr->opcode, .flags = wr->send_flags,
		.num_sge = (uint32_t)wr->num_sge, .imm = wr->imm_data,
		.execute_at = paced(now) + (is_of_window(wr->opcode) ? 0 : script.wire),
	};
	for (int i = 0; i < wr->num_sge; i++) {
		w->sge[i] = wr->sg_list[i];
		w->length += wr->sg_list[i].length;
	}
	if (wr->opcode == IBV_WR_BIND_MW) {
		w->window = wr->bind_mw.mw;
		w->bind = wr->bind_mw.bind_info;
		w->rkey = wr->bind_mw.rkey;
	} else if (wr->opcode == IBV_WR_LOCAL_INV) {
		w->rkey = wr->invalidate_rkey;
	} else if (q->verbs.qp_type == IBV_QPT_UD) {
		w->ah = (const struct fake_ah *)wr->wr.ud.ah;
		if (w->ah)
			q->ah = w->ah->attr; /* for the report */
		w->remote_qpn = wr->wr.ud.remote_qpn;
		w->remote_qkey = wr->wr.ud.remote_qkey;
	} else if (wr->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		w->remote = wr->wr.atomic.remote_addr;
		w->rkey = wr->wr.atomic.rkey;
		w->compare = wr->wr.atomic.compare_add;
		w->swap = wr->wr.atomic.swap;
	} else {
		w->remote = wr->wr.rdma.remote_addr;
		w->rkey = wr->wr.rdma.rkey;
	}
	if (wr->send_flags & IBV_SEND_INLINE)
		copy_inline(q, wr);
	trace_line("post %u %d %llx %u %llx", q->shared->qpn, wr->opcode,
		   wr->num_sge ? (unsigned long long)wr->sg_list[0].addr : 0ULL, w->length,
		   (unsigned long long)w->remote);
	q->sge_most = w->num_sge > q->sge_most ? w->num_sge : q->sge_most;
	q->posted++;
	q->messages += w->length != 0;
	q->signalled += q->sq_sig_all || wr->send_flags & IBV_SEND_SIGNALED;
	if (q->posted - q->freed > q->sq_most)
		q->sq_most = q->posted - q->freed;
}

/* What has been put into the queue is the device's. */
static void begin(struct fake_qp *q)
{
	if (!q->active && q->retired < q->posted) {
		q->active = true;
		q->next_active = active;
		active = q;
	}
	work_progress();
}

/* first: of a window of type 1, which is bound by its verb alone. */
static int post_list(struct fake_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad, bool first)
{
	int error = 0;
	uint64_t now;

	fabric_lock();
	time_stands();
	now = fake_now();
	for (; wr; wr = wr->next) {
		error = check_send(q, wr, 0);
		if (!error && wr->opcode == IBV_WR_BIND_MW &&
		    (wr->bind_mw.mw->type == IBV_MW_TYPE_1) != first)
			error = EINVAL;
		*bad = wr;
		if (error)
			break;
		enqueue(q, wr, now);
	}
	begin(q);
	fabric_unlock();
	return error;
}

int work_post_window(struct ibv_qp *verbs, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return post_list((struct fake_qp *)verbs, wr, &bad, true);
}

int work_post_send(struct ibv_qp *verbs, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	int error = fault_call(CALL_post_send);

	*bad = wr;
	return error ? error : post_list((struct fake_qp *)verbs, wr, bad, false);
}

int work_post_all(struct fake_qp *q, struct ibv_send_wr *list)
{
	int error = fault_call(CALL_post_send);
	uint32_t ahead = 0;
	uint64_t now;

	if (error)
		return error;
	fabric_lock();
	time_stands();
	now = fake_now();
	for (const struct ibv_send_wr *wr = list; wr && !error; wr = wr->next)
		error = check_send(q, wr, ahead++);
	for (const struct ibv_send_wr *wr = list; wr && !error; wr = wr->next)
		enqueue(q, wr, now);
	q->by_calls += error ? 0 : ahead;
	begin(q);
	fabric_unlock();
	return error;
}

static int post_one_recv(struct shared_qp *s, uint32_t max_sge, const struct ibv_recv_wr *wr)
{
	struct shared_recv *r;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > max_sge)
		return EINVAL;
	if (s->rq_tail - s->rq_head >= s->rq_size) {
		report_violation("queue pair %u: a receive beyond its %u slots", s->qpn,
				 s->rq_size);
		return ENOMEM;
	}
	r = (struct shared_recv *)node_at(own, s->rq) + s->rq_tail % s->rq_size;
	*r = (struct shared_recv){ .wr_id = wr->wr_id, .num_sge = (uint32_t)wr->num_sge };
	for (int i = 0; i < wr->num_sge; i++)
		r->sge[i] = wr->sg_list[i];
	s->rq_tail++;
	if (s->rq_tail - s->rq_head > s->rq_most)
		s->rq_most = s->rq_tail - s->rq_head;
	return 0;
}

int recv_post_list(struct shared_qp *s, uint32_t max_sge, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad)
{
	/* A program fills a queue before it connects, and a shared one at once. */
	bool first = s->qpn ? atomic_load(&s->state) < IBV_QPS_RTR : !s->rq_tail;
	uint64_t count = 0;
	int error = 0;

	for (; wr; wr = wr->next, count++) {
		*bad = wr;
		error = post_one_recv(s, max_sge, wr);
		if (error)
			break;
	}
	if (!first && (!s->rq_least || count < s->rq_least))
		s->rq_least = count;
	return error;
}

int work_post_recv(struct ibv_qp *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *q = (struct fake_qp *)verbs;
	const struct ibv_wc flushed = { .status = IBV_WC_WR_FLUSH_ERR };
	int error = fault_call(CALL_post_recv);

	*bad = wr;
	if (!error && (verbs->srq || atomic_load(&q->shared->state) == IBV_QPS_RESET))
		error = EINVAL;
	if (error)
		return error;
	fabric_lock();
	error = recv_post_list(q->shared, q->max_recv_sge, wr, bad);
	while (failed(q) && q->shared->rq_head < q->shared->rq_tail)
		recv_complete(own, q->shared, &flushed);
	fabric_unlock();
	return error;
}

static bool is_empty(const struct shared_cq *cq)
{
	return atomic_load_explicit(&cq->head, memory_order_relaxed) ==
	       atomic_load_explicit(&cq->tail, memory_order_acquire);
}

/* What a polled completion means for its queue pair. */
static void polled(const struct shared_cqe *e, struct ibv_wc *wc)
{
	struct fake_qp *q = qp_by_index(e->qp);

	if (e->send && q && e->frees > q->freed)
		q->freed = e->frees;
	if (!e->send && ++recvs_completed == script.recv_status_at)
		wc->status = (enum ibv_wc_status)script.recv_status;
}

/* To what happens next, or to the end of a tick; whether something then happens. */
static bool move_clock(uint64_t next)
{
	uint64_t now = atomic_load(&fabric->virtual_now);
	bool sooner = script.tick && next > now + script.tick;

	if (next <= now || (next == FAKE_NEVER && !script.tick))
		return false;
	atomic_store(&fabric->virtual_now, sooner ? now + script.tick : next);
	return !sooner;
}

/*
 * Moves the virtual clock to the next thing that happens to anybody, or with tick= no further than
 * one tick; false when somebody still has something to do at this moment, or nothing happens yet.
 */
bool work_pass_time(void)
{
	uint64_t next = FAKE_NEVER, now = fake_real_now();

	own->shared->busy = false;
	for (uint32_t i = 1; i <= FAKE_NODES; i++) {
		const struct node *n = fabric->node[i].pid ? fabric_node(i) : NULL;
		uint64_t at;

		if (!n || !n->shared->virtual_clock)
			continue;
		if ((n->shared->busy || n->shared->unpolled) &&
		    now < atomic_load(&n->shared->polled_at) + STOPPED_NS)
			return false;
		at = atomic_load(&n->shared->next_event);
		next = at < next ? at : next;
	}
	return move_clock(next);
}

static int take_completions(struct shared_cq *cq, int n, struct ibv_wc *wc)
{
	int i;

	for (i = 0; i < n && !is_empty(cq); i++) {
		uint64_t head = atomic_load(&cq->head);
		const struct shared_cqe *e = &cq->entry[head % cq->cqe];

		wc[i] = e->wc;
		polled(e, &wc[i]);
		own->shared->unpolled--;
		own->shared->busy = true;
		atomic_store(&cq->head, head + 1);
	}
	return i;
}

int work_take(struct ibv_cq *verbs, int n, struct ibv_wc *wc)
{
	struct shared_cq *cq = ((struct fake_cq *)verbs)->shared;
	uint64_t next = atomic_load_explicit(&own->shared->next_event, memory_order_relaxed);
	int i;

	if (!script.virtual_clock && is_empty(cq) && (next == FAKE_NEVER || fake_now() < next))
		return 0;
	time_stands();
	if (script.virtual_clock)
		atomic_store(&own->shared->polled_at, fake_real_now());
	fabric_lock();
	work_progress();
	while (script.virtual_clock && is_empty(cq) && work_pass_time())
		work_progress();
	i = take_completions(cq, n, wc);
	fabric_unlock();
	return i;
}

/* Who polls in vain gives way now and then: there may be more processes that spin than CPUs. */
int work_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	static _Thread_local uint32_t in_vain;
	int error = fault_call(CALL_poll_cq), found;

	if (n > ((struct fake_cq *)cq)->asked_most)
		((struct fake_cq *)cq)->asked_most = n;
	if (error)
		return -error;
	found = work_take(cq, n, wc);
	if (!found && ++in_vain % (script.tick ? TICKS_A_YIELD : POLLS_A_YIELD) == 0)
		sched_yield();
	return found;
}
