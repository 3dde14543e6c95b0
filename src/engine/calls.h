/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Posting by calls (ibv_wr_start() to ibv_wr_complete()) what the loops have prepared as a list:
 * an instance of theirs that posts so differs in this alone.
 */
#ifndef RDMETER_ENGINE_CALLS_H
#define RDMETER_ENGINE_CALLS_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* What a queue pair has to be made with to post that operation; 0: there is no such call. */
uint64_t calls_needed(enum ibv_wr_opcode opcode);

static inline void calls_begin_one(struct ibv_qp_ex *x, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(x);
		break;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(x, wr->imm_data);
		break;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(x, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr, wr->imm_data);
		break;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(x, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		break;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(x, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add, wr->wr.atomic.swap);
		break;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(x, wr->wr.atomic.rkey, wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		break;
	default:
		ibv_wr_rdma_write(x, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
	}
}

/* The pieces of a message lie side by side, so that what is copied is one. */
static inline void calls_set_inline(struct ibv_qp_ex *x, const struct ibv_send_wr *wr)
{
	size_t length = 0;

	for (int i = 0; i < wr->num_sge; i++)
		length += wr->sg_list[i].length;
	ibv_wr_set_inline_data(x, (void *)(uintptr_t)wr->sg_list->addr, length);
}

static inline void calls_set_data(struct ibv_qp_ex *x, const struct ibv_send_wr *wr)
{
	if (wr->send_flags & IBV_SEND_INLINE)
		calls_set_inline(x, wr);
	else if (wr->num_sge == 1)
		ibv_wr_set_sge(x, wr->sg_list->lkey, wr->sg_list->addr, wr->sg_list->length);
	else
		ibv_wr_set_sge_list(x, (size_t)wr->num_sge, wr->sg_list);
}

/*
 * All of the list, or none of it. 0, or what ibv_wr_complete() returns. That data are inline is
 * said by the flags too: rxe goes by these, others by the call.
 */
static inline int calls_post(struct ibv_qp_ex *x, const struct ibv_send_wr *wr)
{
	const bool datagrams = x->qp_base.qp_type == IBV_QPT_UD;

	ibv_wr_start(x);
	for (; wr; wr = wr->next) {
		x->wr_id = wr->wr_id;
		x->wr_flags = wr->send_flags;
		calls_begin_one(x, wr);
		if (datagrams)
			ibv_wr_set_ud_addr(x, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
					   wr->wr.ud.remote_qkey);
		calls_set_data(x, wr);
	}
	return ibv_wr_complete(x);
}

#endif
