/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Null mode: a device that costs as little as possible, to measure programs with. The first
 * messages of a queue pair go the checked way, so that all its slots hold what they should; from
 * then on requests complete at once, unchecked. Sends and immediate data still arrive one for one,
 * and complete when the receiver has taken them, or at once where a sender may run ahead of its
 * receiver: then neither loop's cost depends on when the other one is on a CPU. Atomics count.
 */
#include "fake.h"

#include <stdatomic.h>
#include <stdlib.h>

#define IMM_RING 16384
#define IMM_RING_AHEAD (1U << 20) /* a time slice's worth of messages */

struct null_entry {
	uint64_t wr_id, need; /* complete once the peer has taken so many; 0: at once */
	struct fake_qp *qp;
	uint32_t opcode;
};

struct null_ring {
	uint64_t head, tail, mask;
	struct fake_qp **receiver;
	uint32_t receivers, turn;
	struct null_entry entry[];
};

/* Immediate data on their way to a queue pair; both sides are to have the same settings. */
static uint32_t imm_ring(void)
{
	return script.null_ahead ? IMM_RING_AHEAD : IMM_RING;
}

bool null_create_cq(struct fake_cq *cq)
{
	uint64_t entries = 64;

	while (entries < ((struct shared_cq *)node_at(own, cq->offset))->cqe || entries < 65536)
		entries *= 2;
	cq->null = calloc(1, sizeof(*cq->null) + entries * sizeof(struct null_entry));
	if (cq->null)
		cq->null->mask = entries - 1;
	return cq->null;
}

void null_destroy_cq(struct fake_cq *cq)
{
	if (cq->null)
		free(cq->null->receiver);
	free(cq->null);
}

bool null_create_qp(struct fake_qp *q)
{
	struct null_ring *r = ((struct fake_cq *)q->verbs.recv_cq)->null;
	struct fake_qp **grown = realloc(r->receiver, (r->receivers + 1) * sizeof(*grown));

	if (!grown)
		return false;
	r->receiver = grown;
	r->receiver[r->receivers++] = q;
	q->null.ring = ((struct fake_cq *)q->verbs.send_cq)->null;
	q->null.all_signalled = q->sq_sig_all;
	q->null.imm_mask = imm_ring() - 1;
	fabric_lock();
	q->shared->imm_ring = heap_alloc(imm_ring() * sizeof(uint32_t));
	fabric_unlock();
	return q->shared->imm_ring != 0;
}

void null_destroy_qp(struct fake_qp *q)
{
	struct null_ring *r;

	if (!q->null.ring)
		return;
	r = ((struct fake_cq *)q->verbs.recv_cq)->null;
	for (uint32_t i = 0; i < r->receivers; i++)
		if (r->receiver[i] == q)
			r->receiver[i--] = r->receiver[--r->receivers];
	fabric_lock();
	heap_free(q->shared->imm_ring, imm_ring() * sizeof(uint32_t));
	fabric_unlock();
}

void null_leave(struct fake_qp *q)
{
	q->null.fast = false;
}

/* Cold: whether it has done enough the checked way, and has nothing on its way there. */
static bool __attribute__((noinline)) goes_fast(struct fake_qp *q)
{
	struct null_state *s = &q->null;

	if (q->verbs.qp_type != IBV_QPT_RC || q->messages < script.checked || q->retired != q->posted ||
	    atomic_load(&q->shared->state) != IBV_QPS_RTS)
		return false;
	fabric_lock();
	s->node = fabric_node(q->shared->dest_qpn >> FAKE_QP_BITS);
	if (s->node) {
		s->peer = &s->node->shared->qp[q->shared->dest_qpn & FAKE_QPS];
		s->imm_out = node_at(s->node, s->peer->imm_ring);
		s->fast = s->peer->imm_ring && s->peer->used;
		s->sent = atomic_load(&s->peer->sent);
		s->taken = atomic_load(&s->peer->taken);
	}
	fabric_unlock();
	return s->fast;
}

/* Where a remote address is here; a region is looked up once. */
static void *remote_at(struct fake_qp *q, uint32_t rkey, uint64_t address)
{
	struct null_state *s = &q->null;

	if (__builtin_expect(rkey != s->rkey, 0)) {
		struct fake_access a = {
			.node = s->node, .key = rkey, .pd = s->peer->pd, .address = address,
			.length = 1,
		};

		fabric_lock();
		s->base = memory_allowed(&a) ?
				  (unsigned char *)memory_at(&a) - (uintptr_t)address : NULL;
		fabric_unlock();
		s->rkey = rkey;
	}
	return s->base ? s->base + address : NULL;
}

static void do_atomic(struct fake_qp *q, const struct ibv_send_wr *wr)
{
	uint64_t *counter = remote_at(q, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr);
	uint64_t *result = (uint64_t *)(uintptr_t)wr->sg_list[0].addr;

	if (!counter)
		return;
	*result = *counter;
	if (wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD)
		*counter += wr->wr.atomic.compare_add;
	else if (*counter == wr->wr.atomic.compare_add)
		*counter = wr->wr.atomic.swap;
}

static void move_marker(struct fake_qp *q, const struct ibv_send_wr *wr)
{
	uint32_t length = wr->num_sge ? wr->sg_list[0].length : 0;
	unsigned char *at;

	if (!length)
		return;
	at = remote_at(q, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr + length - 1);
	if (at)
		__atomic_store_n(at, ((unsigned char *)(uintptr_t)wr->sg_list[0].addr)[length - 1],
				 __ATOMIC_RELEASE);
}

/* How many the peer must have taken before this one, number `sent`, completes. */
static uint64_t taken_before(const struct ibv_send_wr *wr, uint64_t sent)
{
	bool immediate = wr->opcode == IBV_WR_SEND_WITH_IMM ||
			 wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;

	if (!script.null_ahead)
		return sent;
	return immediate && sent > IMM_RING_AHEAD / 2 ? sent - IMM_RING_AHEAD / 2 : 0;
}

int null_post_send(struct ibv_qp *verbs, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct fake_qp *q = (struct fake_qp *)verbs;
	struct null_state *s = &q->null;
	struct null_ring *r = s->ring;
	uint64_t sent = s->sent;

	if (__builtin_expect(!s->fast, 0) && !goes_fast(q))
		return work_post_send(verbs, wr, bad);
	sent = s->sent;
	for (; wr; wr = wr->next) {
		uint64_t need = 0;

		if (wr->opcode == IBV_WR_RDMA_WRITE) {
			if (script.null_marker)
				move_marker(q, wr);
		} else if (wr->opcode >= IBV_WR_ATOMIC_CMP_AND_SWP) {
			do_atomic(q, wr);
		} else if (wr->opcode != IBV_WR_RDMA_READ) {
			s->imm_out[sent & s->imm_mask] = wr->imm_data;
			need = taken_before(wr, ++sent);
		}
		if (wr->send_flags & IBV_SEND_SIGNALED || s->all_signalled)
			r->entry[r->tail++ & r->mask] = (struct null_entry){
				.wr_id = wr->wr_id, .need = need, .qp = q, .opcode = wr->opcode,
			};
	}
	if (sent != s->sent) {
		s->sent = sent;
		atomic_store_explicit(&s->peer->sent, sent, memory_order_release);
	}
	return 0;
}

int null_post_recv(struct ibv_qp *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_qp *q = (struct fake_qp *)verbs;
	struct shared_qp *s = q->shared;
	struct shared_recv *ring = node_at(own, s->rq);
	uint64_t at;

	/* The sender leaves the receive queue alone once it counts for itself. */
	if (!atomic_load_explicit(&s->sent, memory_order_acquire))
		return work_post_recv(verbs, wr, bad);
	at = s->rq_tail % s->rq_size;
	for (; wr; wr = wr->next) {
		ring[at].wr_id = wr->wr_id;
		at = at + 1 == s->rq_size ? 0 : at + 1;
		s->rq_tail++;
	}
	return 0;
}

static int take_receives(struct fake_qp *q, int n, struct ibv_wc *wc)
{
	struct shared_qp *s = q->shared;
	struct shared_recv *ring = node_at(own, s->rq);
	const uint32_t *imm = node_at(own, s->imm_ring);
	uint64_t sent = atomic_load_explicit(&s->sent, memory_order_acquire);
	uint64_t taken = q->null.taken_here, at;
	int i;

	if (taken >= sent)
		return 0;
	/* What came the checked way came before, also what did so since the caller looked. */
	if (!taken) {
		i = work_take(q->verbs.recv_cq, n, wc);
		if (i)
			return i;
	}
	at = s->rq_head % s->rq_size;
	for (i = 0; i < n && taken < sent && s->rq_head < s->rq_tail; i++) {
		wc[i].wr_id = ring[at].wr_id;
		at = at + 1 == s->rq_size ? 0 : at + 1;
		s->rq_head++;
		wc[i].status = IBV_WC_SUCCESS;
		wc[i].opcode = IBV_WC_RECV;
		wc[i].qp_num = s->qpn;
		wc[i].wc_flags = IBV_WC_WITH_IMM;
		wc[i].imm_data = imm[taken++ & q->null.imm_mask];
	}
	if (i) {
		q->null.taken_here = taken;
		s->received += (uint64_t)i;
		atomic_store_explicit(&s->taken, taken, memory_order_release);
	}
	return i;
}

static bool is_there(const struct null_entry *e)
{
	struct null_state *s = &e->qp->null;

	if (s->taken < e->need)
		s->taken = atomic_load_explicit(&s->peer->taken, memory_order_acquire);
	return s->taken >= e->need;
}

int null_poll(struct ibv_cq *verbs, int n, struct ibv_wc *wc)
{
	struct fake_cq *cq = (struct fake_cq *)verbs;
	struct null_ring *r = cq->null;
	int i = work_take(verbs, n, wc);

	if (i)
		return i;
	for (; i < n && r->head != r->tail && is_there(&r->entry[r->head & r->mask]); i++) {
		const struct null_entry *e = &r->entry[r->head++ & r->mask];

		wc[i].wr_id = e->wr_id;
		wc[i].status = IBV_WC_SUCCESS;
		wc[i].opcode = (enum ibv_wc_opcode)e->opcode;
		wc[i].qp_num = e->qp->verbs.qp_num;
	}
	for (uint32_t k = 0; k < r->receivers && i < n; k++) {
		r->turn = r->turn + 1 < r->receivers ? r->turn + 1 : 0;
		i += take_receives(r->receiver[r->turn], n - i, wc + i);
	}
	return i;
}
