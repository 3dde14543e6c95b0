/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/calls.h"

#include <stddef.h>

static const struct {
	enum ibv_wr_opcode opcode;
	uint64_t flag;
} calls[] = {
	{ IBV_WR_SEND, IBV_QP_EX_WITH_SEND },
	{ IBV_WR_SEND_WITH_IMM, IBV_QP_EX_WITH_SEND_WITH_IMM },
	{ IBV_WR_RDMA_WRITE, IBV_QP_EX_WITH_RDMA_WRITE },
	{ IBV_WR_RDMA_WRITE_WITH_IMM, IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM },
	{ IBV_WR_RDMA_READ, IBV_QP_EX_WITH_RDMA_READ },
	{ IBV_WR_ATOMIC_CMP_AND_SWP, IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP },
	{ IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD },
};

uint64_t calls_needed(enum ibv_wr_opcode opcode)
{
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].opcode == opcode)
			return calls[i].flag;
	return 0;
}
