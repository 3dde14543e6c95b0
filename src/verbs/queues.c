/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/queues.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* Beside the depth: the request that retires an unsignalled tail (engine/lane.c). */
#define EXTRA_SENDS 1

/* Entries that one queue pair can fill. In error the unsignalled requests complete too. */
static uint32_t sends_of(const struct queues_shape *shape)
{
	return shape->depth + EXTRA_SENDS;
}

static uint32_t receives_of(const struct queues_shape *shape)
{
	return shape->rx_depth ? shape->rx_depth : 1;
}

/* Of a group of queue pairs: what is shared may all be used by one of them. */
static uint32_t receives_in(const struct queues_shape *shape, uint32_t qps)
{
	return receives_of(shape) * (shape->srq ? 1 : qps);
}

/* As many share completion queues as these can hold, whatever the signaling interval. */
static uint32_t qps_per_group(const struct device *d, const struct queues_shape *shape)
{
	uint32_t most = d->facts.caps.max_cqe;
	uint32_t sends = most / sends_of(shape);
	uint32_t receives = shape->srq ? UINT32_MAX : most / receives_of(shape);
	uint32_t n = sends < receives ? sends : receives;

	if (!n)
		return 1; /* the extra request alone does not fit; it goes when the others have */
	return n < shape->count ? n : shape->count;
}

static int create_channel(struct queue_share *share, const struct device *d)
{
	struct ibv_comp_channel *channel = ibv_create_comp_channel(d->context);
	int flags;

	share->channel = channel;
	if (!channel)
		return fail(FAIL_SETUP, errno, "creating a completion channel on %s: %s; "
			    "drop --events", d->facts.name, strerror(errno));
	flags = fcntl(channel->fd, F_GETFL);
	fcntl(channel->fd, F_SETFL, flags | O_NONBLOCK);
	return 0;
}

static int create_srq(struct queue_share *share, const struct device *d,
		      const struct queues_shape *shape)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = shape->rx_depth, .max_sge = shape->sges },
	};

	share->srq = ibv_create_srq(d->pd, &attr);
	if (share->srq)
		return 0;
	return fail(FAIL_SETUP, errno, "creating a shared receive queue of %u on %s: %s; lower "
		    "--rx-depth, or drop --srq", shape->rx_depth, d->facts.name, strerror(errno));
}

static int create_shares(struct queues *q, const struct device *d,
			 const struct queues_shape *shape)
{
	int rc = 0;

	q->share = calloc(shape->threads, sizeof(*q->share));
	if (!q->share)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for %u threads", shape->threads);
	while (!rc && q->shares < shape->threads) {
		struct queue_share *share = &q->share[q->shares++];

		rc = shape->events ? create_channel(share, d) : 0;
		if (!rc && shape->srq)
			rc = create_srq(share, d, shape);
	}
	return rc;
}

static int create_group(struct queue_group *g, struct ibv_comp_channel *channel,
			const struct device *d, const struct queues_shape *shape)
{
	uint32_t sends = g->count * sends_of(shape), receives = receives_in(shape, g->count);
	uint32_t most = d->facts.caps.max_cqe;

	sends = sends < most ? sends : most;
	g->send_cq = ibv_create_cq(d->context, (int)sends, NULL, channel, 0);
	if (g->send_cq)
		g->recv_cq = ibv_create_cq(d->context, (int)receives, NULL, channel, 0);
	if (g->recv_cq)
		return 0;
	return fail(FAIL_SETUP, errno,
		    "creating a completion queue of %u entries on %s: %s; the device has up to %u: "
		    "lower --tx-depth, --rx-depth or --qp", g->send_cq ? receives : sends,
		    d->facts.name, strerror(errno), most);
}

/* Those of a thread's queue pairs. */
static int create_groups_of(struct queues *q, const struct device *d,
			    const struct queues_shape *shape, uint32_t thread)
{
	uint32_t first = queues_first(shape->count, shape->threads, thread);
	uint32_t end = queues_first(shape->count, shape->threads, thread + 1);
	uint32_t each = qps_per_group(d, shape);
	int rc = 0;

	for (; !rc && first < end; first += each) {
		struct queue_group *g = &q->group[q->groups++];

		g->first = first;
		g->srq = q->share[thread].srq;
		g->count = end - first < each ? end - first : each;
		rc = create_group(g, q->share[thread].channel, d, shape);
	}
	return rc;
}

static int create_groups(struct queues *q, const struct device *d,
			 const struct queues_shape *shape)
{
	uint32_t most = shape->count / qps_per_group(d, shape) + shape->threads;
	int rc = 0;

	q->group = calloc(most, sizeof(*q->group));
	if (!q->group)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for %u completion queues", most);
	for (uint32_t i = 0; !rc && i < shape->threads; i++)
		rc = create_groups_of(q, d, shape, i);
	return rc;
}

static struct ibv_qp *create_qp(const struct queue_group *g, const struct device *d,
				const struct queues_shape *shape, uint32_t inline_size,
				uint32_t *granted)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = g->send_cq,
		.recv_cq = g->recv_cq,
		.srq = g->srq,
		.qp_type = shape->transport->type,
		.cap = {
			.max_send_wr = shape->depth + EXTRA_SENDS,
			.max_recv_wr = g->srq ? 0 : receives_of(shape),
			.max_send_sge = shape->sges,
			.max_recv_sge = g->srq ? 0 : shape->sges,
			.max_inline_data = inline_size,
		},
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = d->pd,
	};
	struct ibv_qp *qp;

	if (attr.cap.max_send_wr > d->facts.caps.max_qp_wr)
		attr.cap.max_send_wr = d->facts.caps.max_qp_wr;
	if (shape->calls) {
		attr.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
		attr.send_ops_flags = shape->calls;
	}
	qp = shape->transport->create(d->context, &attr);
	if (qp)
		*granted = attr.cap.max_inline_data;
	return qp;
}

/*
 * The largest inline size up to the wanted one that the device accepts, found by trying: a table
 * of devices would be wrong for the next one. Returns the size; 0 is the least.
 */
static uint32_t probe_inline(const struct queues *q, const struct device *d,
			     const struct queues_shape *shape)
{
	uint32_t good = 0, bad = shape->inline_size, granted;

	while (bad - good > 1) {
		uint32_t middle = good + (bad - good) / 2;
		struct ibv_qp *qp = create_qp(q->group, d, shape, middle, &granted);

		if (qp) {
			ibv_destroy_qp(qp);
			good = middle;
		} else {
			bad = middle;
		}
	}
	return good;
}

/* Whether the device makes such a queue pair if only it is not to be posted to by calls. */
static bool makes_without_calls(const struct queue_group *g, const struct device *d,
				const struct queues_shape *shape)
{
	struct queues_shape plain = *shape;
	uint32_t granted;
	struct ibv_qp *qp;

	plain.calls = 0;
	qp = create_qp(g, d, &plain, 0, &granted);
	if (qp)
		ibv_destroy_qp(qp);
	return qp != NULL;
}

static int told_qp(const struct queue_group *g, const struct device *d,
		   const struct queues_shape *shape, int error)
{
	if (shape->calls && makes_without_calls(g, d, shape))
		return fail(FAIL_SETUP, error, "--post-api wr: creating a queue pair on %s with "
			    "ibv_wr_* calls: %s; use --post-api legacy", d->facts.name,
			    strerror(error));
	return fail(FAIL_SETUP, error,
		    "creating a queue pair on %s (%s, send depth %u, receive depth %u, inline "
		    "%u, entries %u): %s; the device has up to %u work requests and %u queue "
		    "pairs: lower --tx-depth or --sge, or use another --connection",
		    d->facts.name, shape->transport->name, shape->depth, shape->rx_depth,
		    shape->inline_size, shape->sges,
		    strerror(error), d->facts.caps.max_qp_wr, d->facts.caps.max_qp);
}

static int create_first(struct queues *q, const struct device *d, const struct queues_shape *shape)
{
	uint32_t wanted = shape->inline_size, granted = 0;
	int error;

	q->qp[0] = create_qp(q->group, d, shape, wanted, &granted);
	error = errno;
	if (!q->qp[0] && wanted) {
		wanted = probe_inline(q, d, shape);
		q->qp[0] = create_qp(q->group, d, shape, wanted, &granted);
		if (q->qp[0] && shape->inline_exact)
			return fail(FAIL_SETUP, EOPNOTSUPP,
				    "--inline %u: %s grants up to %u; lower --inline",
				    shape->inline_size, d->facts.name, wanted);
	}
	if (!q->qp[0])
		return told_qp(q->group, d, shape, error);
	q->count = 1;
	q->inline_size = granted < wanted ? granted : wanted;
	return 0;
}

static int create_rest(struct queues *q, const struct device *d, const struct queues_shape *shape)
{
	struct queue_group *g = q->group;

	while (q->count < shape->count) {
		uint32_t granted;

		g += q->count == g->first + g->count;
		q->qp[q->count] = create_qp(g, d, shape, q->inline_size, &granted);
		if (!q->qp[q->count])
			return told_qp(g, d, shape, errno);
		q->count++;
	}
	return 0;
}

int queues_create(struct queues *q, const struct device *d, const struct queues_shape *shape)
{
	int rc;

	if (shape->calls && shape->sges > 1 && !strcmp(d->facts.driver, "rdma_rxe"))
		return fail(FAIL_SETUP, EOPNOTSUPP, "--sge %u with --post-api wr: "
			    "ibv_wr_set_sge_list takes wrong lengths on %s (rxe, before rdma-core "
			    "64); use --post-api legacy", shape->sges, d->facts.name);
	*q = (struct queues){
		.qp = calloc(shape->count, sizeof(*q->qp)), .transport = shape->transport,
	};
	if (!q->qp)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for %u queue pairs", shape->count);
	rc = create_shares(q, d, shape);
	if (!rc)
		rc = create_groups(q, d, shape);
	if (!rc)
		rc = create_first(q, d, shape);
	if (!rc)
		rc = create_rest(q, d, shape);
	if (rc) {
		/* create_first may have made one that it then refused. */
		q->count += !q->count && q->qp[0];
		queues_destroy(q);
	}
	return rc;
}

void queues_abort(const struct queues *q)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	for (uint32_t i = 0; i < q->count; i++)
		ibv_modify_qp(q->qp[i], &attr, IBV_QP_STATE);
}

void queues_destroy(struct queues *q)
{
	if (q->address && ibv_destroy_ah(q->address))
		note("destroying an address handle: %s", strerror(errno));
	for (uint32_t i = 0; i < q->count; i++)
		if (ibv_destroy_qp(q->qp[i]))
			note("destroying queue pair %u: %s", i, strerror(errno));
	for (uint32_t i = 0; i < q->shares; i++)
		if (q->share[i].srq && ibv_destroy_srq(q->share[i].srq))
			note("destroying a shared receive queue: %s", strerror(errno));
	for (uint32_t i = 0; i < q->groups; i++) {
		if (q->group[i].send_cq && ibv_destroy_cq(q->group[i].send_cq))
			note("destroying a send completion queue: %s", strerror(errno));
		if (q->group[i].recv_cq && ibv_destroy_cq(q->group[i].recv_cq))
			note("destroying a receive completion queue: %s", strerror(errno));
	}
	for (uint32_t i = 0; i < q->shares; i++)
		if (q->share[i].channel && ibv_destroy_comp_channel(q->share[i].channel))
			note("destroying a completion channel: %s", strerror(errno));
	free(q->share);
	free(q->group);
	free(q->qp);
	*q = (struct queues){ 0 };
}
