/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The simulated device posted to by calls: they make a list, which it takes as any other. */
#include <string.h>

#include "sim.h"

static struct ibv_send_wr list[SIM_RING];
static struct ibv_sge pieces[SIM_RING];
static uint32_t count;
static bool started;

static void sim_start(struct ibv_qp_ex *ex)
{
	(void)ex;
	started = true;
	count = 0;
}

static struct ibv_send_wr *add(struct ibv_qp_ex *ex, enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr *wr = &list[count++ % SIM_RING];

	*wr = (struct ibv_send_wr){
		.wr_id = ex->wr_id, .opcode = opcode, .send_flags = ex->wr_flags,
		.sg_list = &pieces[wr - list], .num_sge = 1,
	};
	return wr;
}

static void send_plain(struct ibv_qp_ex *ex)
{
	add(ex, IBV_WR_SEND);
}

static void send_number(struct ibv_qp_ex *ex, __be32 imm)
{
	add(ex, IBV_WR_SEND_WITH_IMM)->imm_data = imm;
}

static void swap(struct ibv_qp_ex *ex, uint32_t rkey, uint64_t address, uint64_t compare,
		 uint64_t with)
{
	struct ibv_send_wr *wr = add(ex, IBV_WR_ATOMIC_CMP_AND_SWP);

	(void)rkey;
	wr->wr.atomic.remote_addr = address;
	wr->wr.atomic.compare_add = compare;
	wr->wr.atomic.swap = with;
}

static void set_sge(struct ibv_qp_ex *ex, uint32_t lkey, uint64_t address, uint32_t length)
{
	(void)ex;
	pieces[(count - 1) % SIM_RING] = (struct ibv_sge){
		.addr = address, .length = length, .lkey = lkey,
	};
}

static int sim_complete(struct ibv_qp_ex *ex)
{
	struct ibv_send_wr *bad;

	if (!started || !count || count > SIM_RING)
		return -1;
	started = false;
	for (uint32_t i = 0; i + 1 < count; i++)
		list[i].next = &list[i + 1];
	return ex->qp_base.context->ops.post_send(&ex->qp_base, list, &bad);
}

void sim_set_calls(struct ibv_qp_ex *ex)
{
	ex->wr_start = sim_start;
	ex->wr_complete = sim_complete;
	ex->wr_send = send_plain;
	ex->wr_send_imm = send_number;
	ex->wr_atomic_cmp_swp = swap;
	ex->wr_set_sge = set_sge;
}
