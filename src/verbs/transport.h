/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rdmeter knows of each transport: one row of transport.c. Nothing else asks which it is. */
#ifndef RDMETER_VERBS_TRANSPORT_H
#define RDMETER_VERBS_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "base/transports.h"

#define TRANSPORT_QKEY 0x11111111 /* of datagrams; without the high bit, as users may choose it */

struct transport {
	const char *name;
	enum ibv_qp_type type;
	const char *lacks; /* why there are operations that it does not have; NULL: it has all */
	bool reliable;   /* what is lost is sent again; else it counts as lost, and nobody waits */
	bool datagrams;  /* a message is at most an MTU long and has an address handle */
	uint32_t header; /* bytes that a receive holds before the payload */
	struct ibv_qp *(*create)(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr);
	int init, rtr, rts; /* IBV_QP_* that a step takes, beside the state */
	int kept;           /* of those, what a queue pair is asked for afterwards */
	/* Where each message goes, when the queue pair does not say; NULL where it does. */
	struct ibv_ah *(*address)(struct ibv_pd *pd, struct ibv_ah_attr *attr);
};

/* The row of a transport, by its number in base/transports.h. */
const struct transport *transport_get(uint64_t id);

#endif
