/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the device does with one request: its own checks, the wire, the other side's checks. */
#include "fake.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define UC (1U << IBV_QPT_UC)
#define UD (1U << IBV_QPT_UD)
#define GRH 40 /* bytes before a datagram */
#define CHOSEN_QKEY (1U << 31) /* a Q_Key like this stands for the sender's own */

/* What an opcode needs of the memory at both ends. */
static const struct kind {
	bool known, receives, immediate, reads, atomic, window;
	uint32_t types; /* bits of enum ibv_qp_type that have it, beside RC */
	uint32_t remote; /* access flag; of the region and of the queue pair */
} kinds[] = {
	[IBV_WR_SEND] = { .known = true, .receives = true, .types = UC | UD },
	[IBV_WR_SEND_WITH_IMM] = {
		.known = true, .receives = true, .immediate = true, .types = UC | UD,
	},
	[IBV_WR_RDMA_WRITE] = { .known = true, .remote = IBV_ACCESS_REMOTE_WRITE, .types = UC },
	[IBV_WR_RDMA_WRITE_WITH_IMM] = {
		.known = true, .receives = true, .immediate = true, .types = UC,
		.remote = IBV_ACCESS_REMOTE_WRITE,
	},
	[IBV_WR_RDMA_READ] = { .known = true, .reads = true, .remote = IBV_ACCESS_REMOTE_READ },
	[IBV_WR_ATOMIC_CMP_AND_SWP] = {
		.known = true, .reads = true, .atomic = true, .remote = IBV_ACCESS_REMOTE_ATOMIC,
	},
	[IBV_WR_ATOMIC_FETCH_AND_ADD] = {
		.known = true, .reads = true, .atomic = true, .remote = IBV_ACCESS_REMOTE_ATOMIC,
	},
	[IBV_WR_LOCAL_INV] = { .known = true, .window = true },
	[IBV_WR_BIND_MW] = { .known = true, .window = true },
};

/* min_rnr_timer, in microseconds (InfiniBand specification, table 45). */
static const uint32_t rnr_us[32] = {
	655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320, 480, 640, 960, 1280, 1920, 2560, 3840,
	5120, 7680, 10240, 15360, 20480, 30720, 40960, 61440, 81920, 122880, 163840, 245760,
	327680, 491520,
};

static struct fake_access local(const struct fake_qp *q, const struct ibv_sge *sge, uint32_t access)
{
	return (struct fake_access){
		.node = own, .key = sge->lkey, .pd = q->shared->pd, .access = access,
		.address = sge->addr, .length = sge->length,
	};
}

/* The requester's own memory. */
static enum ibv_wc_status check_local(const struct fake_qp *q, const struct fake_wqe *w,
				      const struct kind *k)
{
	bool datagram = q->verbs.qp_type == IBV_QPT_UD;

	if (!k->known || (k->reads && !q->max_rd_atomic))
		return IBV_WC_LOC_QP_OP_ERR;
	if (q->verbs.qp_type != IBV_QPT_RC && !(k->types >> q->verbs.qp_type & 1))
		return IBV_WC_LOC_QP_OP_ERR;
	if (datagram && (!w->ah || w->ah->verbs.pd != q->verbs.pd))
		return IBV_WC_LOC_QP_OP_ERR;
	if (w->length > (datagram ? script.mtu : script.max_msg_sz) || (k->atomic && w->length != 8))
		return IBV_WC_LOC_LEN_ERR;
	if (w->flags & IBV_SEND_INLINE)
		return k->reads ? IBV_WC_LOC_QP_OP_ERR : IBV_WC_SUCCESS;
	for (uint32_t i = 0; i < w->num_sge; i++) {
		struct fake_access a =
			local(q, &w->sge[i], k->reads ? IBV_ACCESS_LOCAL_WRITE : 0);

		if (!(w->sge[i].lkey & FAKE_LKEY) || !memory_allowed(&a))
			return IBV_WC_LOC_PROT_ERR;
	}
	return IBV_WC_SUCCESS;
}

/* Two keys are of one partition; two limited members of it hear nothing of each other. */
static bool pkeys_match(uint32_t a, uint32_t b)
{
	return (a & 0x7fff) == (b & 0x7fff) && (a | b) & 0x8000;
}

/* The queue pair at the other end, if it is there and answers to this one. */
static struct shared_qp *find_peer(const struct fake_qp *q, struct node **node)
{
	const struct shared_qp *s = q->shared;
	struct shared_qp *peer;
	uint32_t state;

	*node = own->shared->link_up ? fabric_node(s->dest_qpn >> FAKE_QP_BITS) : NULL;
	if (!*node || !(*node)->shared->link_up)
		return NULL;
	peer = &(*node)->shared->qp[s->dest_qpn & FAKE_QPS];
	state = atomic_load(&peer->state);
	if (!peer->used || peer->type != s->type || peer->qpn != s->dest_qpn ||
	    peer->dest_qpn != s->qpn || !pkeys_match(peer->pkey, s->pkey) ||
	    (peer->lid ^ s->dlid) >> script.lmc || (peer->dlid ^ s->lid) >> script.lmc ||
	    (state != IBV_QPS_RTR && state != IBV_QPS_RTS) || peer->rq_psn != s->sq_psn ||
	    peer->path_mtu != s->path_mtu || memcmp(&peer->sgid, &s->dgid, sizeof(s->dgid)) ||
	    memcmp(&peer->dgid, &s->sgid, sizeof(s->sgid)))
		return NULL;
	return peer;
}

/* Of a port of its GID, or its LID. */
static bool goes_to(const struct fake_ah *ah, const struct node *n, const struct shared_qp *peer)
{
	if (!ah->attr.is_global)
		return !((ah->attr.dlid ^ peer->lid) >> script.lmc);
	for (uint32_t i = 0; i < FAKE_GIDS; i++)
		if (!memcmp(&n->shared->gid[peer->device][i], &ah->attr.grh.dgid,
			    sizeof(ah->attr.grh.dgid)))
			return true;
	return false;
}

/* Whom a datagram reaches, if anybody takes it. */
static struct shared_qp *find_taker(const struct fake_qp *q, const struct fake_wqe *w,
				    struct node **node)
{
	uint32_t qkey = w->remote_qkey & CHOSEN_QKEY ? q->shared->qkey : w->remote_qkey, state;
	struct shared_qp *peer;

	*node = own->shared->link_up ? fabric_node(w->remote_qpn >> FAKE_QP_BITS) : NULL;
	if (!*node || !(*node)->shared->link_up)
		return NULL;
	peer = &(*node)->shared->qp[w->remote_qpn & FAKE_QPS];
	state = atomic_load(&peer->state);
	if (!peer->used || peer->qpn != w->remote_qpn || peer->type != IBV_QPT_UD ||
	    peer->qkey != qkey || !pkeys_match(peer->pkey, q->shared->pkey) ||
	    (state != IBV_QPS_RTR && state != IBV_QPS_RTS) ||
	    !goes_to(w->ah, *node, peer))
		return NULL;
	return peer;
}

static struct fake_access remote(const struct fake_wqe *w, struct node *node,
				 const struct shared_qp *peer, const struct kind *k)
{
	return (struct fake_access){
		.node = node, .key = w->rkey, .pd = peer->pd, .access = k->remote,
		.address = w->remote, .length = w->length, .qpn = peer->qpn,
	};
}

/* What the responder refuses, and what its receive queue says. */
static enum ibv_wc_status check_remote(const struct fake_wqe *w, struct node *node,
				       const struct shared_qp *peer, const struct kind *k)
{
	struct fake_access a = remote(w, node, peer, k);

	if (k->remote && !(peer->access & k->remote))
		return IBV_WC_REM_INV_REQ_ERR;
	if (k->atomic && w->remote % 8)
		return IBV_WC_REM_INV_REQ_ERR;
	/* A request without data asks for no memory. */
	if (k->remote && w->length && (w->rkey & FAKE_LKEY || !memory_allowed(&a)))
		return IBV_WC_REM_ACCESS_ERR;
	return IBV_WC_SUCCESS;
}

static void gather(const struct fake_qp *q, const struct fake_wqe *w, unsigned char *out)
{
	if (w->flags & IBV_SEND_INLINE) {
		size_t slot = (size_t)(w - q->sq);

		memcpy(out, q->inline_data + slot * q->max_inline, w->length);
		return;
	}
	for (uint32_t i = 0; i < w->num_sge; i++) {
		memcpy(out, (void *)(uintptr_t)w->sge[i].addr, w->sge[i].length);
		out += w->sge[i].length;
	}
}

static void scatter_local(const struct fake_wqe *w, const unsigned char *data)
{
	for (uint32_t i = 0; i < w->num_sge; i++) {
		memcpy((void *)(uintptr_t)w->sge[i].addr, data, w->sge[i].length);
		data += w->sge[i].length;
	}
}

/* Into the receive at the head of the peer's queue; its status. */
static enum ibv_wc_status scatter_receive(struct node *node, struct shared_qp *peer,
					  const unsigned char *data, uint32_t length)
{
	const struct shared_qp *from = receives_of(node, peer);
	const struct shared_recv *ring = node_at(node, from->rq);
	const struct shared_recv *r = &ring[from->rq_head % from->rq_size];

	for (uint32_t i = 0; i < r->num_sge && length; i++) {
		uint32_t n = r->sge[i].length < length ? r->sge[i].length : length;
		struct fake_access a = {
			.node = node, .key = r->sge[i].lkey, .pd = peer->pd,
			.access = IBV_ACCESS_LOCAL_WRITE, .address = r->sge[i].addr, .length = n,
		};

		if (!memory_allowed(&a))
			return IBV_WC_LOC_PROT_ERR;
		memory_write(&a, data);
		data += n;
		length -= n;
	}
	return length ? IBV_WC_LOC_LEN_ERR : IBV_WC_SUCCESS;
}

static void do_atomic(const struct fake_wqe *w, struct fake_access *a)
{
	uint64_t *counter = memory_at(a), *result = (uint64_t *)(uintptr_t)w->sge[0].addr, old;

	if (w->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		old = __atomic_fetch_add(counter, w->compare, __ATOMIC_SEQ_CST);
	} else {
		old = w->compare;
		__atomic_compare_exchange_n(counter, &old, w->swap, false, __ATOMIC_SEQ_CST,
					    __ATOMIC_SEQ_CST);
	}
	__atomic_store_n(result, old, __ATOMIC_RELEASE);
}

static uint64_t messages_moved;

/* A global routing header: what is not known of it is not zero, so that nobody counts on that. */
static void put_header(const struct fake_wqe *w, unsigned char *out, uint32_t length)
{
	if (!length)
		return;
	memset(out, 0x6b, length);
	memcpy(out + 8, &w->ah->sgid, sizeof(w->ah->sgid));
	memcpy(out + 24, &w->ah->attr.grh.dgid, sizeof(w->ah->attr.grh.dgid));
}

/* Moves the data; the data of a receive come before its completion. */
static enum ibv_wc_status move(struct fake_qp *q, struct fake_wqe *w, struct node *node,
			       struct shared_qp *peer, const struct kind *k)
{
	struct fake_access a = remote(w, node, peer, k);
	enum ibv_wc_status status = IBV_WC_SUCCESS;
	uint32_t header = q->verbs.qp_type == IBV_QPT_UD ? GRH : 0, size = header + w->length;
	unsigned char small[512], *data = size > sizeof(small) ? malloc(size) : small;

	if (!data)
		return IBV_WC_GENERAL_ERR;
	if (k->atomic) {
		do_atomic(w, &a);
	} else if (k->reads) {
		memory_read(&a, data);
		if (++messages_moved == script.corrupt && w->length)
			data[w->length / 2] ^= 1;
		scatter_local(w, data);
	} else {
		put_header(w, data, header);
		gather(q, w, data + header);
		if (++messages_moved == script.corrupt && w->length)
			data[header + w->length / 2] ^= 1;
		if (k->remote)
			memory_write(&a, data);
		else
			status = scatter_receive(node, peer, data, size);
	}
	if (data != small)
		free(data);
	if (k->receives) {
		struct ibv_wc wc = {
			.status = status, .byte_len = size, .imm_data = w->imm,
			.opcode = k->remote ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV,
			.wc_flags = (k->immediate ? IBV_WC_WITH_IMM : 0) | (header ? IBV_WC_GRH : 0),
			.src_qp = q->shared->qpn,
		};

		peer->received += w->length != 0;
		recv_complete(node, peer, &wc);
	}
	return status == IBV_WC_SUCCESS ? status : IBV_WC_REM_INV_REQ_ERR;
}

/* No answer: again after the timeout (4.096 us * 2^n; 0: never), as often as retry_cnt says. */
static bool unanswered(struct fake_qp *q, uint64_t now)
{
	q->unanswered++;
	q->retry_at = q->timeout ? now + (4096ULL << q->timeout) : FAKE_NEVER - 1;
	return false;
}

static bool not_ready(struct fake_qp *q, struct fake_wqe *w, const struct shared_qp *peer,
		      uint64_t now)
{
	if (q->rnr_retry != 7 && !q->rnr_retries) {
		w->status = IBV_WC_RNR_RETRY_EXC_ERR;
		return true;
	}
	q->rnr_retries -= q->rnr_retry != 7;
	q->retry_at = now + rnr_us[peer->min_rnr] * 1000ULL;
	return false;
}

static bool lost_on_the_wire(const struct fake_qp *q)
{
	static uint64_t sent;

	sent++;
	if (script.port_down && sent >= script.port_down && own->shared->link_up) {
		own->shared->link_up = false;
		fabric_event(own, IBV_EVENT_PORT_ERR, (uintptr_t)&q->verbs);
	}
	if (sent == script.cm_disconnect)
		cm_disconnect_all();
	return script.drop && script_draw(1000) < script.drop;
}

/*
 * On UC and UD: what does not arrive, finds no receive, or may not write where it wants to is gone,
 * and the sender does not learn of it.
 */
static void execute_unreliable(struct fake_qp *q, struct fake_wqe *w, const struct kind *k)
{
	bool datagram = q->verbs.qp_type == IBV_QPT_UD;
	struct shared_qp *peer, *from;
	struct node *node;

	if (lost_on_the_wire(q))
		return;
	peer = datagram ? find_taker(q, w, &node) : find_peer(q, &node);
	if (!peer || check_remote(w, node, peer, k) != IBV_WC_SUCCESS)
		return;
	from = receives_of(node, peer);
	if (k->receives && from->rq_head == from->rq_tail)
		return;
	if (move(q, w, node, peer, k) != IBV_WC_SUCCESS)
		qp_fail(node, peer);
}

bool wqe_execute(struct fake_qp *q, struct fake_wqe *w, uint64_t now)
{
	const struct kind *k = &kinds[w->opcode];
	struct shared_qp *peer, *from;
	struct node *node;

	q->retry_at = FAKE_NEVER;
	w->status = check_local(q, w, k);
	if (w->status != IBV_WC_SUCCESS)
		return true;
	if (k->window) {
		w->status = window_execute(q, w);
		return true;
	}
	if (q->verbs.qp_type != IBV_QPT_RC) {
		execute_unreliable(q, w, k);
		return true;
	}
	if (q->unanswered > q->retry_cnt) { /* the last one's time is over too */
		w->status = IBV_WC_RETRY_EXC_ERR;
		return true;
	}
	peer = lost_on_the_wire(q) ? NULL : find_peer(q, &node);
	if (!peer)
		return unanswered(q, now);
	q->unanswered = 0;
	w->status = check_remote(w, node, peer, k);
	from = receives_of(node, peer);
	if (w->status == IBV_WC_SUCCESS && k->receives && from->rq_head == from->rq_tail)
		return not_ready(q, w, peer, now);
	q->rnr_retries = q->rnr_retry;
	if (w->status == IBV_WC_SUCCESS)
		w->status = move(q, w, node, peer, k);
	if (w->status != IBV_WC_SUCCESS) {
		fabric_event(node, w->status == IBV_WC_REM_ACCESS_ERR ? IBV_EVENT_QP_ACCESS_ERR :
									IBV_EVENT_QP_REQ_ERR,
			     peer->cookie);
		qp_fail(node, peer);
	}
	return true;
}
