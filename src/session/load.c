/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

/* Zeroed, on cache lines of its own: what one thread writes shares none with another's. */
static void *alloc_lines(size_t size)
{
	size_t rounded = (size + LANE_LINE - 1) / LANE_LINE * LANE_LINE;
	void *p = aligned_alloc(LANE_LINE, rounded);

	return p ? memset(p, 0, rounded) : NULL;
}

static uint32_t round_up(uint32_t value, uint32_t to)
{
	return (value + to - 1) / to * to;
}

static uint32_t power_of_two_from(uint64_t value)
{
	uint32_t p = 1;

	while (p < value)
		p *= 2;
	return p;
}

/*
 * A request with its scatter entry beside it. Requests of a ring go through the slots in turn;
 * a ring of lists is long enough that no list meets itself.
 */
static int build_sends(struct row *r, struct lane_qp *q, uint32_t slots)
{
	const struct op *op = point_op(&r->point);
	struct ibv_sge *sge;

	q->wr = calloc(r->lane->wr_count, sizeof(*q->wr) + sizeof(*sge));
	if (!q->wr)
		return -ENOMEM;
	sge = (struct ibv_sge *)(q->wr + r->lane->wr_count);
	for (uint32_t i = 0; i < r->lane->wr_count; i++) {
		size_t at = (i % slots) * r->tx.stride;

		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)r->tx.base + at,
			.length = (uint32_t)r->point.size.value,
			.lkey = r->tx.mr->lkey,
		};
		q->wr[i].sg_list = &sge[i];
		q->wr[i].num_sge = 1;
		q->wr[i].opcode = op->opcode;
		q->wr[i].wr.rdma.remote_addr = r->theirs.address + at;
		q->wr[i].wr.rdma.rkey = r->theirs.rkey;
	}
	return 0;
}

static int build_receives(struct row *r, struct lane_qp *q, uint32_t slots)
{
	struct ibv_sge *sge;

	q->recv = calloc(r->lane->recv_count, sizeof(*q->recv) + sizeof(*sge));
	if (!q->recv)
		return -ENOMEM;
	sge = (struct ibv_sge *)(q->recv + r->lane->recv_count);
	for (uint32_t i = 0; i < r->lane->recv_count; i++) {
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)r->rx.base + (i % slots) * r->rx.stride,
			.length = (uint32_t)r->point.size.value,
			.lkey = r->rx.mr->lkey,
		};
		q->recv[i].wr_id = wrid_make(q->index, 0);
		q->recv[i].sg_list = &sge[i];
		q->recv[i].num_sge = 1;
		q->recv[i].next = &q->recv[i] + 1;
	}
	return 0;
}

static int build_qp(struct row *r, uint32_t i)
{
	struct lane *l = r->lane;
	struct lane_qp *q = &l->qp[i];
	int rc = 0;

	q->qp = r->queues.qp[i];
	q->index = i;
	if (r->tx.mr)
		rc = build_sends(r, q, r->tx.slots);
	if (!rc && r->rx.mr && point_op(&r->point)->receives)
		rc = build_receives(r, q, r->rx.slots);
	if (!rc && l->stamp_mask != LANE_NO_STAMPS) {
		q->stamps = calloc(l->stamp_ring + 1, sizeof(*q->stamps));
		rc = q->stamps ? 0 : -ENOMEM;
	}
	return rc;
}

static void set_limits(struct lane *l, const struct point *p)
{
	l->limit = UINT64_MAX;
	l->counts = point_counts(p);
	if (l->counts) {
		l->limit = p->warmup.value + p->iters.value;
		l->warmup = p->warmup.value * p->qps;
		l->window = p->iters.value * p->qps;
		return;
	}
	l->warmup = clock_ticks(&l->clock, p->warmup.value);
	l->window = p->duration.value ? clock_ticks(&l->clock, p->duration.value) : UINT64_MAX / 2;
}

static enum lane_role role_of(const struct row *r)
{
	if (r->point.test.value == TEST_LAT)
		return r->sender ? LANE_INITIATOR : LANE_RESPONDER;
	return r->sender ? LANE_SENDER : LANE_RECEIVER;
}

static void fill_lane(struct row *r, struct lane *l)
{
	const struct point *p = &r->point;
	bool lat = p->test.value == TEST_LAT;

	l->clock = r->session->clock;
	l->control = &r->control;
	l->report = &r->report;
	l->measure = r->measure;
	l->event_fd = r->event_fd;
	l->send_cq = r->queues.send_cq;
	l->recv_cq = r->queues.recv_cq;
	l->qps = r->queues.count;
	l->depth = (uint32_t)p->depth.value;
	l->batch = (uint32_t)p->batch.value;
	l->signal = (uint32_t)p->signal.value;
	l->wr_count = r->tx.mr ? round_up(l->batch, r->tx.slots) : 0;
	l->recv_count = r->rx.mr ? round_up(LANE_POLL, r->rx.slots) : 0;
	l->stamp_mask = !lat && p->stamp.value ? (uint32_t)p->stamp.value - 1 : LANE_NO_STAMPS;
	l->stamp_ring = power_of_two_from(p->depth.value + 1) - 1;
	l->flags = p->size.value <= r->queues.inline_size ? IBV_SEND_INLINE : 0;
	l->leads = r->sender;
	l->receives = lat || !r->sender;
	if (lat) {
		l->marker_in = r->rx.base + r->rx.size - 1;
		l->marker_out = r->tx.base + r->tx.size - 1;
	}
	set_limits(l, p);
}

int load_build(struct row *r)
{
	struct lane *l = alloc_lines(sizeof(*l));
	int rc = l ? 0 : -ENOMEM;

	r->lane = l;
	if (!rc) {
		fill_lane(r, l);
		l->qp = alloc_lines(l->qps * sizeof(*l->qp));
		l->spare = calloc(1, sizeof(*l->spare));
		rc = l->qp && l->spare ? 0 : -ENOMEM;
	}
	if (!rc)
		histogram_reset(l->spare);
	for (uint32_t i = 0; !rc && i < l->qps; i++)
		rc = build_qp(r, i);
	if (rc)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for the work requests of %u queue "
			    "pairs; lower --tx-depth or --batch", r->queues.count);
	r->loop = lane_choose(l, point_op(&r->point), role_of(r));
	if (!r->loop)
		load_free(r);
	return 0;
}

void load_free(struct row *r)
{
	struct lane *l = r->lane;

	for (uint32_t i = 0; l && l->qp && i < l->qps; i++) {
		free(l->qp[i].wr);
		free(l->qp[i].recv);
		free(l->qp[i].stamps);
	}
	if (l) {
		free(l->qp);
		free(l->spare);
	}
	free(l);
	r->lane = NULL;
}
