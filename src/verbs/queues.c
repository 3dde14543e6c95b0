/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/queues.h"

#include <errno.h>
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

/* As many share completion queues as these can hold, whatever the signaling interval. */
static uint32_t qps_per_group(const struct device *d, const struct queues_shape *shape)
{
	uint32_t most = d->facts.caps.max_cqe;
	uint32_t sends = most / sends_of(shape), receives = most / receives_of(shape);
	uint32_t n = sends < receives ? sends : receives;

	if (!n)
		return 1; /* the extra request alone does not fit; it goes when the others have */
	return n < shape->count ? n : shape->count;
}

static int create_group(struct queue_group *g, const struct device *d,
			const struct queues_shape *shape)
{
	uint32_t sends = g->count * sends_of(shape), receives = g->count * receives_of(shape);
	uint32_t most = d->facts.caps.max_cqe;

	sends = sends < most ? sends : most;
	g->send_cq = ibv_create_cq(d->context, (int)sends, NULL, NULL, 0);
	if (g->send_cq)
		g->recv_cq = ibv_create_cq(d->context, (int)receives, NULL, NULL, 0);
	if (g->recv_cq)
		return 0;
	return fail(FAIL_SETUP, errno,
		    "creating a completion queue of %u entries on %s: %s; the device has up to %u: "
		    "lower --tx-depth, --rx-depth or --qp", g->send_cq ? receives : sends,
		    d->facts.name, strerror(errno), most);
}

static int create_groups(struct queues *q, const struct device *d,
			 const struct queues_shape *shape)
{
	uint32_t each = qps_per_group(d, shape);
	uint32_t groups = (shape->count + each - 1) / each;
	int rc = 0;

	q->group = calloc(groups, sizeof(*q->group));
	if (!q->group)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for %u completion queues", groups);
	for (uint32_t first = 0; !rc && first < shape->count; first += each) {
		struct queue_group *g = &q->group[q->groups++];

		g->first = first;
		g->count = shape->count - first < each ? shape->count - first : each;
		rc = create_group(g, d, shape);
	}
	return rc;
}

static struct ibv_qp *create_qp(const struct queue_group *g, const struct device *d,
				const struct queues_shape *shape, uint32_t inline_size,
				uint32_t *granted)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = g->send_cq,
		.recv_cq = g->recv_cq,
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = shape->depth + EXTRA_SENDS,
			.max_recv_wr = shape->rx_depth ? shape->rx_depth : 1,
			.max_send_sge = shape->sges,
			.max_recv_sge = shape->sges,
			.max_inline_data = inline_size,
		},
	};
	struct ibv_qp *qp;

	if (attr.cap.max_send_wr > d->facts.caps.max_qp_wr)
		attr.cap.max_send_wr = d->facts.caps.max_qp_wr;
	qp = ibv_create_qp(d->pd, &attr);
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

static int told_qp(const struct device *d, const struct queues_shape *shape, int error)
{
	return fail(FAIL_SETUP, error,
		    "creating a queue pair on %s (send depth %u, receive depth %u, inline %u, "
		    "entries %u): %s; the device has up to %u work requests and %u queue pairs: "
		    "lower --tx-depth or --sge",
		    d->facts.name, shape->depth, shape->rx_depth, shape->inline_size, shape->sges,
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
		return told_qp(d, shape, error);
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
			return told_qp(d, shape, errno);
		q->count++;
	}
	return 0;
}

int queues_create(struct queues *q, const struct device *d, const struct queues_shape *shape)
{
	int rc;

	*q = (struct queues){ .qp = calloc(shape->count, sizeof(*q->qp)) };
	if (!q->qp)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for %u queue pairs", shape->count);
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
	for (uint32_t i = 0; i < q->count; i++)
		if (ibv_destroy_qp(q->qp[i]))
			note("destroying queue pair %u: %s", i, strerror(errno));
	for (uint32_t i = 0; i < q->groups; i++) {
		if (q->group[i].send_cq && ibv_destroy_cq(q->group[i].send_cq))
			note("destroying a send completion queue: %s", strerror(errno));
		if (q->group[i].recv_cq && ibv_destroy_cq(q->group[i].recv_cq))
			note("destroying a receive completion queue: %s", strerror(errno));
	}
	free(q->group);
	free(q->qp);
	*q = (struct queues){ 0 };
}
