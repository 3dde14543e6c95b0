/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/transport.h"

#define GRH 40 /* bytes; a datagram's receive begins with them, whether or not one came along */

static const struct transport transports[] = {
	[TRANSPORT_RC] = {
		.name = "RC", .type = IBV_QPT_RC, .reliable = true, .create = ibv_create_qp_ex,
		.init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		.rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		       IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
		.rts = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
		       IBV_QP_MAX_QP_RD_ATOMIC,
		.kept = IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
			IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC |
			IBV_QP_PKEY_INDEX | IBV_QP_AV,
	},
	[TRANSPORT_UC] = {
		.name = "UC", .type = IBV_QPT_UC, .create = ibv_create_qp_ex,
		.lacks = "reads and atomics are answered, and nothing is here",
		.init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
		.rtr = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
		.rts = IBV_QP_SQ_PSN,
		.kept = IBV_QP_PATH_MTU | IBV_QP_PKEY_INDEX | IBV_QP_AV,
	},
	[TRANSPORT_UD] = {
		.name = "UD", .type = IBV_QPT_UD,
		.lacks = "a datagram names a queue pair, and no address of its memory",
		.datagrams = true, .header = GRH,
		.create = ibv_create_qp_ex, .address = ibv_create_ah,
		.init = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
		.rts = IBV_QP_SQ_PSN,
		.kept = IBV_QP_QKEY | IBV_QP_PKEY_INDEX,
	},
};

const struct transport *transport_get(uint64_t id)
{
	return &transports[id];
}
