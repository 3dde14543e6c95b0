/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requests that are posted by calls, ibv_wr_start() to ibv_wr_complete(): kept aside until they are
 * complete, and then taken all together or not at all. Inline data are taken when they are set.
 * A queue pair has the calls of the operations that it was made with.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct pending {
	struct ibv_send_wr wr;
	struct ibv_sge sge[FAKE_SGE];
	bool has_data;
};

struct fake_calls {
	bool started;
	int error;
	uint32_t count;
	unsigned char *inline_data; /* max_inline bytes for each */
	struct pending pending[];
};

static struct fake_qp *qp_of(struct ibv_qp_ex *ex)
{
	return (struct fake_qp *)ex;
}

bool calls_create(struct fake_qp *q)
{
	q->calls = calloc(1, sizeof(*q->calls) + q->sq_size * sizeof(struct pending));
	if (q->calls)
		q->calls->inline_data = calloc(q->sq_size ? q->sq_size : 1, q->max_inline + 1);
	return q->calls && q->calls->inline_data;
}

void calls_destroy(struct fake_qp *q)
{
	if (q->calls)
		free(q->calls->inline_data);
	free(q->calls);
}

static void start(struct ibv_qp_ex *ex)
{
	struct fake_calls *c = qp_of(ex)->calls;

	if (c->started)
		report_violation("requests were started twice");
	c->started = true;
	c->error = 0;
	c->count = 0;
}

/* Room for the next request, or NULL: what does not fit is told when they are complete. */
static struct ibv_send_wr *add(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct fake_calls *c = qp_of(ex)->calls;
	struct pending *p;

	if (!c->started)
		report_violation("a request before they were started");
	if (c->count && !c->pending[c->count - 1].has_data)
		report_violation("a request without data");
	if (c->count == qp_of(ex)->sq_size)
		c->error = ENOMEM;
	if (c->error)
		return NULL;
	p = &c->pending[c->count++];
	*p = (struct pending){
		.wr = { .wr_id = ex->wr_id, .opcode = opcode, .send_flags = ex->wr_flags },
	};
	return &p->wr;
}

static void wr_send(struct ibv_qp_ex *ex)
{
	add(ex, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *ex, __be32 imm)
{
	struct ibv_send_wr *wr = add(ex, IBV_WR_SEND_WITH_IMM);

	if (wr)
		wr->imm_data = imm;
}

static void add_rdma(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		     uint64_t address, __be32 imm)
{
	struct ibv_send_wr *wr = add(ex, opcode);

	if (!wr)
		return;
	wr->wr.rdma.rkey = rkey;
	wr->wr.rdma.remote_addr = address;
	wr->imm_data = imm;
}

static void wr_write(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address)
{
	add_rdma(ex, IBV_WR_RDMA_WRITE, rkey, address, 0);
}

static void wr_write_imm(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address, __be32 imm)
{
	add_rdma(ex, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, address, imm);
}

static void wr_read(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address)
{
	add_rdma(ex, IBV_WR_RDMA_READ, rkey, address, 0);
}

static void add_atomic(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode, uint32_t rkey,
		       uint64_t address, uint64_t compare_add, uint64_t swap)
{
	struct ibv_send_wr *wr = add(ex, opcode);

	if (!wr)
		return;
	wr->wr.atomic.rkey = rkey;
	wr->wr.atomic.remote_addr = address;
	wr->wr.atomic.compare_add = compare_add;
	wr->wr.atomic.swap = swap;
}

static void wr_cas(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address, uint64_t compare,
		   uint64_t swap)
{
	add_atomic(ex, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, address, compare, swap);
}

static void wr_fadd(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address, uint64_t number)
{
	add_atomic(ex, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, address, number, 0);
}

/* The request that data are set for; NULL when there is none, or none that fits. */
static struct pending *last(struct ibv_qp_ex *ex)
{
	struct fake_calls *c = qp_of(ex)->calls;
	struct pending *p = c->count ? &c->pending[c->count - 1] : NULL;

	if (c->error)
		return NULL;
	if (!p || p->has_data) {
		report_violation("data without a request");
		return NULL;
	}
	p->has_data = true;
	return p;
}

/* Where a datagram goes, which is said before its data are. */
static void set_ud_addr(struct ibv_qp_ex *ex, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
	struct fake_calls *c = qp_of(ex)->calls;
	struct pending *p = c->count ? &c->pending[c->count - 1] : NULL;

	if (c->error)
		return;
	if (!p || p->has_data || ex->qp_base.qp_type != IBV_QPT_UD) {
		report_violation("an address of no datagram");
		return;
	}
	p->wr.wr.ud.ah = ah;
	p->wr.wr.ud.remote_qpn = qpn;
	p->wr.wr.ud.remote_qkey = qkey;
}

static void set_sge_list(struct ibv_qp_ex *ex, size_t count, const struct ibv_sge *list)
{
	struct pending *p = last(ex);

	if (p && count > FAKE_SGE)
		qp_of(ex)->calls->error = EINVAL;
	if (p && p->wr.send_flags & IBV_SEND_INLINE)
		report_violation("a flag that says inline, of data that are not");
	for (size_t i = 0; p && i < count && i < FAKE_SGE; i++) {
		p->sge[i] = list[i];
		p->wr.num_sge++;
	}
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t address, uint32_t length)
{
	const struct ibv_sge sge = { .lkey = lkey, .addr = address, .length = length };

	set_sge_list(ex, length != 0, &sge);
}

static void set_inline_data_list(struct ibv_qp_ex *ex, size_t count,
				 const struct ibv_data_buf *list)
{
	struct fake_qp *q = qp_of(ex);
	struct pending *p = last(ex);
	unsigned char *room;
	size_t used = 0;

	if (!p)
		return;
	room = q->calls->inline_data + (size_t)(p - q->calls->pending) * q->max_inline;
	for (size_t i = 0; i < count; i++) {
		if (used + list[i].length > q->max_inline) {
			q->calls->error = EINVAL;
			return;
		}
		memcpy(room + used, list[i].addr, list[i].length);
		used += list[i].length;
	}
	p->sge[0] = (struct ibv_sge){ .addr = (uintptr_t)room, .length = (uint32_t)used };
	p->wr.num_sge = 1;
	if (!(p->wr.send_flags & IBV_SEND_INLINE))
		report_violation("inline data that rxe would not take for such: no flag says so");
}

static void set_inline_data(struct ibv_qp_ex *ex, void *address, size_t length)
{
	const struct ibv_data_buf data = { .addr = address, .length = length };

	set_inline_data_list(ex, 1, &data);
}

static int complete(struct ibv_qp_ex *ex)
{
	struct fake_qp *q = qp_of(ex);
	struct fake_calls *c = q->calls;
	struct ibv_send_wr *bad;

	if (!c->started)
		report_violation("requests were completed that were not started");
	c->started = false;
	if (c->error || !c->count)
		return c->error;
	if (!c->pending[c->count - 1].has_data)
		report_violation("a request without data");
	for (uint32_t i = 0; i < c->count; i++) {
		c->pending[i].wr.sg_list = c->pending[i].sge;
		c->pending[i].wr.next = i + 1 < c->count ? &c->pending[i + 1].wr : NULL;
	}
	return script.null ? null_post_send(&q->verbs, &c->pending[0].wr, &bad) :
			     work_post_all(q, &c->pending[0].wr);
}

static void drop(struct ibv_qp_ex *ex)
{
	qp_of(ex)->calls->started = false;
}

/* Only what was asked for when the queue pair was made. */
static void set_calls(struct fake_qp *q, uint64_t ops)
{
	struct ibv_qp_ex *ex = &q->ex;

	ex->wr_start = start;
	ex->wr_complete = complete;
	ex->wr_abort = drop;
	ex->wr_set_ud_addr = set_ud_addr;
	ex->wr_set_sge = set_sge;
	ex->wr_set_sge_list = set_sge_list;
	ex->wr_set_inline_data = set_inline_data;
	ex->wr_set_inline_data_list = set_inline_data_list;
	ex->wr_send = ops & IBV_QP_EX_WITH_SEND ? wr_send : NULL;
	ex->wr_send_imm = ops & IBV_QP_EX_WITH_SEND_WITH_IMM ? wr_send_imm : NULL;
	ex->wr_rdma_write = ops & IBV_QP_EX_WITH_RDMA_WRITE ? wr_write : NULL;
	ex->wr_rdma_write_imm = ops & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM ? wr_write_imm : NULL;
	ex->wr_rdma_read = ops & IBV_QP_EX_WITH_RDMA_READ ? wr_read : NULL;
	ex->wr_atomic_cmp_swp = ops & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP ? wr_cas : NULL;
	ex->wr_atomic_fetch_add = ops & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD ? wr_fadd : NULL;
}

struct ibv_qp *calls_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr)
{
	const uint32_t known = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	struct ibv_qp *qp;

	(void)context;
	if (attr->comp_mask != known || !script.wr_api) {
		fault_call(CALL_create_qp);
		errno = EOPNOTSUPP;
		return NULL;
	}
	/* Both structures begin alike. */
	qp = ibv_create_qp(attr->pd, (struct ibv_qp_init_attr *)attr);
	if (qp && !calls_create((struct fake_qp *)qp)) {
		ibv_destroy_qp(qp);
		errno = ENOMEM;
		return NULL;
	}
	if (qp)
		set_calls((struct fake_qp *)qp, attr->send_ops_flags);
	return qp;
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
	struct fake_qp *q = (struct fake_qp *)qp;

	return q->calls ? &q->ex : NULL;
}
