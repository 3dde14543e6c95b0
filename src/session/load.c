/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "session/shared.h"
#include "session/verify.h"

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

/* Where the peer's part for this queue pair and slot begins. */
static uint64_t remote_of(const struct row *r, const struct lane_qp *q, uint32_t slot)
{
	uint32_t region = q->index * point_slots(&r->point);

	if (point_op(&r->point)->flow != FLOW_COUNTER)
		return r->theirs.address + (region + slot) * point_stride(&r->point);
	return r->theirs.address + (r->point.atomic_target.value == ATOMIC_SHARED ? 0 :
				    q->index * point_stride(&r->point));
}

static void set_remote(struct ibv_send_wr *wr, const struct row *r, const struct lane_qp *q,
		       uint64_t address)
{
	if (r->queues.transport->datagrams)
		return; /* see load_address() */
	if (point_op(&r->point)->flow == FLOW_COUNTER) {
		wr->wr.atomic.remote_addr = address;
		wr->wr.atomic.rkey = r->theirs.rkey[q->index];
		wr->wr.atomic.compare_add = 1; /* what fadd adds */
	} else {
		wr->wr.rdma.remote_addr = address;
		wr->wr.rdma.rkey = r->theirs.rkey[q->index];
	}
}

/*
 * The slot at `address` as one piece or several, which lie side by side; what a receive has before
 * its message belongs to the first.
 */
static void split(struct ibv_sge *sge, const struct row *r, uint64_t address, uint32_t lkey,
		  uint32_t header)
{
	uint32_t size = (uint32_t)r->point.size.value, n = (uint32_t)r->point.sge.value;

	for (uint32_t i = 0; i < n; i++) {
		sge[i] = (struct ibv_sge){
			.addr = address, .length = size / n + (i < size % n), .lkey = lkey,
		};
		sge[i].length += i ? 0 : header;
		address += sge[i].length;
	}
}

/*
 * A request with its scatter entries beside it. Requests of a ring go through the slots in turn;
 * a ring of lists is long enough that no list meets itself.
 */
static int build_sends(struct row *r, struct lane_qp *q)
{
	const struct buffer *b = &r->local;
	uint32_t slots = b->slots / r->queues.count;
	uint32_t sges = (uint32_t)r->point.sge.value;
	struct ibv_sge *sge;

	q->wr = calloc(r->lane->wr_count, sizeof(*q->wr) + sges * sizeof(*sge));
	if (!q->wr)
		return -ENOMEM;
	sge = (struct ibv_sge *)(q->wr + r->lane->wr_count);
	q->results = (volatile uint64_t *)(b->base + q->index * slots * b->stride);
	for (uint32_t i = 0; i < r->lane->wr_count; i++) {
		uint32_t slot = q->index * slots + i % slots;

		q->wr[i].sg_list = &sge[i * sges];
		q->wr[i].num_sge = (int)sges;
		split(q->wr[i].sg_list, r, (uintptr_t)b->base + slot * b->stride,
		      buffer_mr(b, q->index)->lkey, b->header);
		q->wr[i].opcode = point_op(&r->point)->opcode;
		set_remote(&q->wr[i], r, q, remote_of(r, q, i % slots));
	}
	return 0;
}

/* A message that names its address needs no room in the receive that it consumes. */
struct ibv_recv_wr *load_receives(const struct row *r, uint32_t count, uint32_t first,
				  uint32_t slots)
{
	const struct buffer *b = &r->target;
	uint32_t sges = (uint32_t)r->point.sge.value, each = b->slots / r->queues.count;
	struct ibv_recv_wr *recv = calloc(count, sizeof(*recv) + sges * sizeof(struct ibv_sge));
	struct ibv_sge *sge = (struct ibv_sge *)(recv + count);

	for (uint32_t i = 0; recv && i < count; i++) {
		uint32_t slot = first + i % slots;

		recv[i].sg_list = &sge[i * sges];
		recv[i].num_sge = op_has(point_op(&r->point), TRAIT_REMOTE) ? 0 : (int)sges;
		split(recv[i].sg_list, r, (uintptr_t)b->base + slot * b->stride,
		      buffer_mr(b, slot / each)->lkey, b->header);
		recv[i].next = i + 1 < count ? &recv[i + 1] : recv;
	}
	return recv;
}

static int build_receives(struct row *r, struct lane_qp *q)
{
	uint32_t slots = r->target.slots / r->queues.count, count = r->lane->recv_count;

	q->recv = load_receives(r, count, q->index * slots, slots);
	for (uint32_t i = 0; q->recv && i < count; i++)
		q->recv[i].wr_id = wrid_make(q->index, 0);
	return q->recv ? 0 : -ENOMEM;
}

static int build_qp(struct row *r, uint32_t i)
{
	struct lane *l = r->lane;
	struct lane_qp *q = &l->qp[i];
	int rc = 0;

	q->qp = r->queues.qp[i];
	q->ex = l->calls ? ibv_qp_to_qp_ex(q->qp) : NULL;
	q->index = i;
	if (r->local.base)
		rc = build_sends(r, q);
	if (!rc && r->target.base && point_op(&r->point)->receives && !r->queues.srq)
		rc = build_receives(r, q);
	if (!rc && l->stamp_mask != LANE_NO_STAMPS) {
		q->stamps = calloc(l->stamp_ring + 1, sizeof(*q->stamps));
		rc = q->stamps ? 0 : -ENOMEM;
	}
	if (!rc && l->stamp_mask != LANE_NO_STAMPS && l->pace.active) {
		q->intended = calloc(l->stamp_ring + 1, sizeof(*q->intended));
		rc = q->intended ? 0 : -ENOMEM;
	}
	return rc;
}

static int build_groups(struct row *r)
{
	struct lane *l = r->lane;

	l->groups = r->queues.groups;
	l->group = calloc(l->groups, sizeof(*l->group));
	if (!l->group)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->groups; i++) {
		const struct queue_group *g = &r->queues.group[i];

		l->group[i] = (struct lane_group){
			.send_cq = g->send_cq, .recv_cq = g->recv_cq, .qp = &l->qp[g->first],
			.qps = g->count,
		};
	}
	return 0;
}

#define REST_MS 100 /* a sleep ends after that without a completion... */

/* ...or when an answer is given up. */
static int longest_rest(const struct row *r)
{
	uint64_t ms = r->point.loss_timeout.value / 1000000 + 1;

	return r->point.test.value == TEST_LAT && r->lane->lossy && ms < REST_MS ? (int)ms :
										   REST_MS;
}

/* Which queues a loop waits for: a ping-pong's answers, a stream's sends and what comes to it. */
static int build_rest(struct row *r)
{
	struct lane *l = r->lane;
	bool lat = r->point.test.value == TEST_LAT, comes = l->receives;
	bool sends = lat ? !comes : r->sends;
	struct lane_rest *rest = &r->rest;

	if (!r->queues.channel)
		return 0;
	*rest = (struct lane_rest){
		.channel = r->queues.channel, .wake_fd = r->wake_fd, .most_ms = longest_rest(r),
		.cq = calloc(2 * l->groups, sizeof(*rest->cq)),
	};
	if (!rest->cq)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->groups; i++) {
		if (sends)
			rest->cq[rest->cqs++].cq = l->group[i].send_cq;
		if (comes)
			rest->cq[rest->cqs++].cq = l->group[i].recv_cq;
	}
	l->rest = rest;
	return 0;
}

/* As many completions as the smallest queue can have; that of the last group is. */
static void set_polls(struct row *r, struct lane *l)
{
	uint64_t qps = r->queues.group[r->queues.groups - 1].count;
	uint64_t asked = (l->depth + l->signal - 1) / l->signal;
	uint64_t receives = r->point.rx_depth.value * (r->queues.srq ? 1 : qps);

	l->poll_sends = (uint32_t)(qps * asked < LANE_POLL ? qps * asked : LANE_POLL);
	l->poll_receives = (uint32_t)(receives < LANE_POLL ? receives : LANE_POLL);
}

static void set_limits(struct lane *l, const struct point *p)
{
	l->limit = UINT64_MAX;
	l->counts = point_counts(p);
	if (l->counts) {
		l->limit = p->warmup.value + p->iters.value;
		l->warmup = p->warmup.value * p->qps.value;
		l->window = p->iters.value * p->qps.value;
		return;
	}
	l->warmup = clock_ticks(&l->clock, p->warmup.value);
	l->window = p->duration.value ? clock_ticks(&l->clock, p->duration.value) : UINT64_MAX / 2;
}

/* The sides draw from different seeds, or both directions would go in step. */
static void set_pace(const struct row *r, struct lane *l)
{
	const struct point *p = &r->point;
	const struct pace_plan plan = {
		.rate = p->rate.value, .burst = (uint32_t)p->burst.value,
		.poisson = p->arrival.value == ARRIVAL_POISSON,
		.seed = p->seed.value + !r->session->client,
		.gap_ns = p->gap.value,
	};

	pace_init(&l->pace, &plan, &l->clock);
}

static enum lane_role role_of(const struct row *r)
{
	if (r->point.test.value == TEST_LAT)
		return r->sends ? LANE_INITIATOR : LANE_RESPONDER;
	if (r->sends && r->takes)
		return LANE_DUPLEX;
	return r->sends ? LANE_SENDER : LANE_RECEIVER;
}

static void fill_lane(struct row *r, struct lane *l)
{
	const struct point *p = &r->point;
	const struct op *op = point_op(p);
	bool lat = p->test.value == TEST_LAT;

	l->clock = r->session->clock;
	l->control = &r->control;
	l->report = &r->report;
	l->measure = r->measure;
	l->event_fd = r->event_fd;
	l->qps = r->queues.count;
	l->burst = l->qps > 1 ? LANE_BURST : UINT32_MAX;
	l->depth = (uint32_t)p->depth.value;
	l->batch = (uint32_t)p->batch.value;
	l->signal = (uint32_t)p->signal.value;
	l->wr_count = r->local.base ? round_up(l->batch, r->local.slots / l->qps) : 0;
	set_polls(r, l);
	l->recv_batch = (uint32_t)p->recv_batch.value;
	l->recv_count = r->target.base ? round_up(l->recv_batch + l->poll_receives,
						  point_slots(p)) : 0;
	l->stamp_mask = !lat && p->stamp.value ? (uint32_t)p->stamp.value - 1 : LANE_NO_STAMPS;
	l->stamp_ring = power_of_two_from(p->depth.value + 1) - 1;
	l->flags = op_has(op, TRAIT_INLINES) && p->size.value <= r->queues.inline_size ?
			   IBV_SEND_INLINE : 0;
	l->calls = r->shape.calls != 0;
	l->immediate = op_has(op, TRAIT_IMMEDIATE);
	l->predicts = op_has(op, TRAIT_PREDICTS);
	l->shares_target = p->atomic_target.value == ATOMIC_SHARED;
	l->leads = r->sends;
	l->receives = lat ? op->reply != COMPLETION : r->takes && op->receives;
	l->lossy = !r->queues.transport->reliable;
	l->patience = clock_ticks(&l->clock, p->loss_timeout.value);
	if (lat && (op->reply == ECHO_MEMORY || l->lossy)) {
		l->marker_in = buffer_payload(&r->target, 0) + r->target.size - 1;
		l->marker_out = r->local.base + r->local.size - 1;
	}
	l->header = r->queues.transport->header;
	set_limits(l, p);
	set_pace(r, l);
	verify_prepare(r, l);
}

/* Its memory is touched here, so that it is no page fault while the clock runs. */
static int make_samples(struct row *r)
{
	if (!r->session->opt->samples.given || !r->sends)
		return 0;
	r->samples = malloc(sizeof(*r->samples));
	if (!r->samples)
		return -ENOMEM;
	memset(r->samples, 0xff, sizeof(*r->samples));
	r->samples->count = 0;
	r->lane->samples = r->samples;
	return 0;
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
		rc = l->qp && l->spare ? build_groups(r) : -ENOMEM;
	}
	if (!rc)
		rc = build_rest(r);
	if (!rc)
		rc = shared_build(r);
	if (!rc)
		rc = make_samples(r);
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

/* One cycle at a time: what a queue pair has beside its number is counts. */
static int build_cycle(struct row *r)
{
	struct lane *l = r->lane;

	l->clock = r->session->clock;
	l->control = &r->control;
	l->report = &r->report;
	l->measure = r->measure;
	l->event_fd = r->event_fd;
	l->poll_sends = l->poll_receives = 1;
	l->cycle = &r->cycle;
	l->leads = true;
	l->qps = 1;
	l->qp = alloc_lines(sizeof(*l->qp));
	l->spare = calloc(1, sizeof(*l->spare));
	if (!l->qp || !l->spare)
		return -ENOMEM;
	if (r->queues.count)
		l->qp->qp = r->queues.qp[0];
	histogram_reset(l->spare);
	set_limits(l, &r->point);
	return build_groups(r);
}

int load_build_local(struct row *r)
{
	int rc;

	r->lane = alloc_lines(sizeof(*r->lane));
	rc = r->lane ? build_cycle(r) : -ENOMEM;
	if (!rc)
		rc = make_samples(r);
	if (rc)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for the loop");
	r->loop = lane_choose(r->lane, point_op(&r->point), LANE_INITIATOR);
	return 0;
}

void load_address(struct row *r)
{
	for (uint32_t i = 0; r->lane && r->queues.address && i < r->lane->qps; i++)
		for (uint32_t k = 0; k < r->lane->wr_count; k++) {
			struct ibv_send_wr *wr = &r->lane->qp[i].wr[k];

			wr->wr.ud.ah = r->queues.address;
			wr->wr.ud.remote_qpn = r->theirs.qpn[i];
			wr->wr.ud.remote_qkey = TRANSPORT_QKEY;
		}
}

void load_free(struct row *r)
{
	struct lane *l = r->lane;

	for (uint32_t i = 0; l && l->qp && i < l->qps; i++) {
		free(l->qp[i].wr);
		free(l->qp[i].recv);
		free(l->qp[i].stamps);
		free(l->qp[i].intended);
	}
	if (l) {
		free(l->group);
		free(l->qp);
		free(l->spare);
	}
	shared_free(r);
	free(r->rest.cq);
	r->rest.cq = NULL;
	free(l);
	r->lane = NULL;
}
