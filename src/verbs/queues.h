/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one place where data queue pairs and their completion queues are made. Sends and receives
 * have completion queues of their own, so that waiting for an answer never reaps a send.
 */
#ifndef RDMETER_VERBS_QUEUES_H
#define RDMETER_VERBS_QUEUES_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs/device.h"
#include "verbs/transport.h"

/* What the queue pairs of a thread have in common. */
struct queue_share {
	struct ibv_comp_channel *channel; /* of their completion queues; NULL: they are polled */
	struct ibv_srq *srq; /* of their receives; NULL: each queue pair has its own */
};

/* A pair of completion queues and the queue pairs that share them. */
struct queue_group {
	struct ibv_cq *send_cq, *recv_cq;
	struct ibv_srq *srq; /* that of their share */
	uint32_t first, count; /* of queues.qp */
};

struct queues {
	struct queue_share *share; /* one for each thread */
	struct queue_group *group;
	struct ibv_qp **qp;
	uint32_t shares, groups, count;
	const struct transport *transport;
	struct ibv_ah *address; /* of the peer, on a transport whose messages need one */
	uint32_t inline_size; /* what can be sent inline: granted, at most what was asked */
};

struct queues_shape {
	const struct transport *transport;
	uint32_t count;
	uint32_t threads; /* that they are spread over; none shares a completion queue */
	uint32_t depth, rx_depth; /* work requests; rx_depth may be 0 */
	bool srq;                 /* rx_depth is that of a thread's together */
	uint32_t sges;            /* of a request */
	uint64_t calls;           /* IBV_QP_EX_WITH_*: posted by these; 0: by lists */
	bool events;              /* completion queues can wake who waits for them */
	uint32_t inline_size;     /* wanted */
	bool inline_exact;        /* less than wanted is an error, not a fallback */
};

/* The first queue pair of a thread; each has the next ones, as many as the others or one less. */
static inline uint32_t queues_first(uint32_t count, uint32_t threads, uint32_t thread)
{
	return (uint32_t)((uint64_t)count * thread / threads);
}

/*
 * Makes the queues, in state RESET. q is to be given to queues_destroy() on success. Returns 0 or
 * -errno after having told why with FAIL_SETUP.
 */
int queues_create(struct queues *q, const struct device *d, const struct queues_shape *shape);
void queues_destroy(struct queues *q);

/* Moves every queue pair to ERR, so that whatever is outstanding completes with a flush error. */
void queues_abort(const struct queues *q);

#endif
