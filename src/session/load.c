/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/load.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.h"
#include "base/round.h"
#include "session/shared.h"
#include "session/verify.h"

/* Where the peer's part for queue pair n, of all, and slot begins. */
static uint64_t remote_of(const struct row *r, uint32_t n, uint32_t slot)
{
	uint32_t region = n * point_slots(&r->point);

	if (point_op(&r->point)->flow != FLOW_COUNTER)
		return r->theirs.address + (region + slot) * point_stride(&r->point);
	return r->theirs.address + (r->point.atomic_target.value == ATOMIC_SHARED ? 0 :
				    n * point_stride(&r->point));
}

static void set_remote(struct ibv_send_wr *wr, const struct row *r, uint32_t n, uint64_t address)
{
	if (r->queues.transport->datagrams)
		return; /* see load_address() */
	if (point_op(&r->point)->flow == FLOW_COUNTER) {
		wr->wr.atomic.remote_addr = address;
		wr->wr.atomic.rkey = r->theirs.rkey[n];
		wr->wr.atomic.compare_add = 1; /* what fadd adds */
	} else {
		wr->wr.rdma.remote_addr = address;
		wr->wr.rdma.rkey = r->theirs.rkey[n];
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
static int build_sends(struct row *r, const struct lane *l, struct lane_qp *q, uint32_t n)
{
	const struct buffer *b = &r->local;
	uint32_t slots = b->slots / r->queues.count;
	uint32_t sges = (uint32_t)r->point.sge.value;
	struct ibv_sge *sge;

	q->wr = alloc_lines(l->wr_count * (sizeof(*q->wr) + sges * sizeof(*sge)));
	if (!q->wr)
		return -ENOMEM;
	sge = (struct ibv_sge *)(q->wr + l->wr_count);
	q->results = (volatile uint64_t *)(b->base + n * slots * b->stride);
	for (uint32_t i = 0; i < l->wr_count; i++) {
		uint32_t slot = n * slots + i % slots;

		q->wr[i].sg_list = &sge[i * sges];
		q->wr[i].num_sge = (int)sges;
		split(q->wr[i].sg_list, r, (uintptr_t)b->base + slot * b->stride,
		      buffer_mr(b, n)->lkey, b->header);
		q->wr[i].opcode = point_op(&r->point)->opcode;
		set_remote(&q->wr[i], r, n, remote_of(r, n, i % slots));
	}
	return 0;
}

/* A message that names its address needs no room in the receive that it consumes. */
struct ibv_recv_wr *load_receives(const struct row *r, uint32_t count, uint32_t first,
				  uint32_t slots)
{
	const struct buffer *b = &r->target;
	uint32_t sges = (uint32_t)r->point.sge.value, each = b->slots / r->queues.count;
	struct ibv_recv_wr *recv =
		alloc_lines(count * (sizeof(*recv) + sges * sizeof(struct ibv_sge)));
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

static int build_receives(struct row *r, const struct lane *l, struct lane_qp *q, uint32_t n)
{
	uint32_t slots = r->target.slots / r->queues.count;

	q->recv = load_receives(r, l->recv_count, n * slots, slots);
	for (uint32_t i = 0; q->recv && i < l->recv_count; i++)
		q->recv[i].wr_id = wrid_make(q->index, 0);
	return q->recv ? 0 : -ENOMEM;
}

/* Number i of the worker's. */
static int build_qp(struct row *r, const struct worker *w, uint32_t i)
{
	const struct lane *l = w->lane;
	struct lane_qp *q = &l->qp[i];
	int rc = 0;

	q->qp = r->queues.qp[w->first + i];
	q->ex = l->calls ? ibv_qp_to_qp_ex(q->qp) : NULL;
	q->index = i;
	if (r->local.base)
		rc = build_sends(r, l, q, w->first + i);
	if (!rc && r->target.base && point_op(&r->point)->receives && !w->lane->shared)
		rc = build_receives(r, l, q, w->first + i);
	if (!rc && l->stamp_mask != LANE_NO_STAMPS) {
		q->stamps = alloc_lines((l->stamp_ring + 1) * sizeof(*q->stamps));
		rc = q->stamps ? 0 : -ENOMEM;
	}
	if (!rc && l->stamp_mask != LANE_NO_STAMPS && l->pace.active) {
		q->intended = alloc_lines((l->stamp_ring + 1) * sizeof(*q->intended));
		rc = q->intended ? 0 : -ENOMEM;
	}
	return rc;
}

/* No group has queue pairs of several workers. */
static int build_groups(const struct row *r, const struct worker *w)
{
	struct lane *l = w->lane;

	l->group = alloc_lines((r->queues.groups + 1) * sizeof(*l->group));
	if (!l->group)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->queues.groups; i++) {
		const struct queue_group *g = &r->queues.group[i];

		if (g->first < w->first || g->first >= w->first + l->qps)
			continue;
		l->group[l->groups++] = (struct lane_group){
			.send_cq = g->send_cq, .recv_cq = g->recv_cq,
			.qp = &l->qp[g->first - w->first], .qps = g->count,
		};
	}
	return 0;
}

#define REST_MS 100 /* a sleep ends after that without a completion... */

/* ...or when an answer is given up. */
static int longest_rest(const struct row *r, const struct lane *l)
{
	uint64_t ms = r->point.loss_timeout.value / 1000000 + 1;

	return r->point.test.value == TEST_LAT && l->lossy && ms < REST_MS ? (int)ms :
										   REST_MS;
}

/* Which queues a loop waits for: a ping-pong's answers, a stream's sends and what comes to it. */
static int build_rest(struct row *r, struct worker *w)
{
	struct lane *l = w->lane;
	struct ibv_comp_channel *channel = r->queues.share[w - r->threads.worker].channel;
	bool lat = r->point.test.value == TEST_LAT, comes = l->receives;
	bool sends = lat ? !comes : r->sends;
	struct lane_rest *rest = &w->rest;

	if (!channel)
		return 0;
	*rest = (struct lane_rest){
		.channel = channel, .most_ms = longest_rest(r, l),
		.wake_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
		.cq = calloc(2 * l->groups, sizeof(*rest->cq)),
	};
	l->rest = rest;
	if (!rest->cq || rest->wake_fd < 0)
		return -ENOMEM;
	for (uint32_t i = 0; i < l->groups; i++) {
		if (sends)
			rest->cq[rest->cqs++].cq = l->group[i].send_cq;
		if (comes)
			rest->cq[rest->cqs++].cq = l->group[i].recv_cq;
	}
	return 0;
}

/* As many completions as the smallest queue of all can have. */
static void set_polls(const struct row *r, struct lane *l)
{
	uint64_t qps = r->queues.count, receives = r->point.rx_depth.value;
	uint64_t asked = (l->depth + l->signal - 1) / l->signal;

	for (uint32_t i = 0; i < r->queues.groups; i++)
		if (r->queues.group[i].count < qps)
			qps = r->queues.group[i].count;
	receives *= r->point.srq.value ? 1 : qps;
	l->poll_sends = (uint32_t)(qps * asked < LANE_POLL ? qps * asked : LANE_POLL);
	l->poll_receives = (uint32_t)(receives < LANE_POLL ? receives : LANE_POLL);
}

static void set_limits(struct lane *l, const struct point *p)
{
	l->limit = UINT64_MAX;
	l->counts = point_counts(p);
	if (l->counts) {
		l->limit = p->warmup.value + p->iters.value;
		l->warmup = p->warmup.value * l->qps;
		l->window = p->iters.value * l->qps;
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

/*
 * How long a receiver may wait for more: not until the receives that it has posted at least are
 * used up by messages that come faster than any device's do, 8 ns after each other on one queue
 * pair and 2 ns on all that share a queue, nor longer than two microseconds.
 */
static uint64_t wait_of(const struct point *p)
{
	uint64_t posted = p->rx_depth.value - p->recv_batch.value + 1;
	uint64_t ns = (p->srq.value ? 2 : 8) * posted;

	return ns < 2000 ? ns : 2000;
}

static void fill_lane(struct row *r, struct worker *w)
{
	const struct point *p = &r->point;
	struct lane *l = w->lane;
	const struct op *op = point_op(p);
	bool lat = p->test.value == TEST_LAT;

	l->clock = r->session->clock;
	l->control = &w->control;
	l->report = &w->report;
	l->measure = w->measure;
	l->event_fd = r->event_fd;
	l->qp = &r->threads.qp[w->first];
	l->depth = (uint32_t)p->depth.value;
	l->batch = (uint32_t)p->batch.value;
	l->signal = (uint32_t)p->signal.value;
	if (r->local.base)
		l->wr_count = (uint32_t)round_up(l->batch, r->local.slots / r->queues.count);
	set_polls(r, l);
	l->let_come = clock_ticks(&l->clock, wait_of(p));
	l->recv_batch = (uint32_t)p->recv_batch.value;
	if (r->target.base)
		l->recv_count = (uint32_t)round_up(l->recv_batch + l->poll_receives,
						   point_slots(p));
	l->stamp_mask = !lat && p->stamp.value ? (uint32_t)p->stamp.value - 1 : LANE_NO_STAMPS;
	l->stamp_ring = (uint32_t)power_of_two_from(p->depth.value + 1) - 1;
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
	verify_prepare(r, w);
}

/* Its memory is touched here, so that it is no page fault while the clock runs. */
static int make_samples(struct row *r, struct lane *l)
{
	if (!r->session->opt->samples.given || !r->sends)
		return 0;
	r->samples = malloc(sizeof(*r->samples));
	if (!r->samples)
		return -ENOMEM;
	memset(r->samples, 0xff, sizeof(*r->samples));
	r->samples->count = 0;
	l->samples = r->samples;
	return 0;
}

static int build_worker(struct row *r, struct worker *w, uint32_t number)
{
	uint32_t qps = r->queues.count, threads = r->threads.count;
	struct lane *l = alloc_lines(sizeof(*l));
	int rc;

	w->lane = l;
	if (!l)
		return -ENOMEM;
	w->first = queues_first(qps, threads, number);
	l->qps = queues_first(qps, threads, number + 1) - w->first;
	fill_lane(r, w);
	l->spare = alloc_lines(sizeof(*l->spare));
	if (!l->spare)
		return -ENOMEM;
	histogram_reset(l->spare);
	rc = build_groups(r, w);
	if (!rc)
		rc = build_rest(r, w);
	if (!rc)
		rc = shared_build(r, w);
	if (!rc)
		rc = make_samples(r, l);
	for (uint32_t i = 0; !rc && i < l->qps; i++)
		rc = build_qp(r, w, i);
	w->loop = lane_choose(l, point_op(&r->point), role_of(r));
	return rc;
}

int load_build(struct row *r)
{
	const struct device *d = &r->session->device;
	struct threads *t = &r->threads;
	int rc;

	if (lane_is_only_reached(point_op(&r->point), role_of(r)))
		return 0;
	rc = threads_alloc(t, r->shape.threads);
	t->node = d->place.node;
	t->qp = alloc_lines(r->queues.count * sizeof(*t->qp));
	if (!t->qp)
		rc = -ENOMEM;
	for (uint32_t i = 0; !rc && i < t->count; i++)
		rc = build_worker(r, &t->worker[i], i);
	if (rc)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for the work requests of %u queue "
			    "pairs; lower --tx-depth or --batch", r->queues.count);
	r->lane = t->worker->lane;
	threads_pin(t, d->facts.numa_node, !r->session->client);
	return 0;
}

/* One cycle at a time: what a queue pair has beside its number is counts. */
static int build_cycle(struct row *r)
{
	struct threads *t = &r->threads;
	struct worker *w = t->worker;
	struct lane *l = w->lane = alloc_lines(sizeof(*l));

	t->node = r->session->device.place.node;
	t->qp = alloc_lines(sizeof(*t->qp));
	if (!l || !t->qp)
		return -ENOMEM;
	l->clock = r->session->clock;
	l->control = &w->control;
	l->report = &w->report;
	l->measure = w->measure;
	l->event_fd = r->event_fd;
	l->poll_sends = l->poll_receives = 1;
	l->cycle = &r->cycle;
	l->leads = true;
	l->qps = 1;
	l->qp = t->qp;
	l->spare = alloc_lines(sizeof(*l->spare));
	if (!l->spare)
		return -ENOMEM;
	if (r->queues.count)
		l->qp->qp = r->queues.qp[0];
	histogram_reset(l->spare);
	set_limits(l, &r->point);
	return build_groups(r, w);
}

int load_build_local(struct row *r)
{
	int rc = threads_alloc(&r->threads, 1);

	if (!rc)
		rc = build_cycle(r);
	if (!rc)
		rc = make_samples(r, r->threads.worker->lane);
	if (rc)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for the loop");
	r->lane = r->threads.worker->lane;
	r->threads.worker->loop = lane_choose(r->lane, point_op(&r->point), LANE_INITIATOR);
	return 0;
}

static void address_worker(const struct row *r, const struct worker *w)
{
	for (uint32_t i = 0; i < w->lane->qps; i++)
		for (uint32_t k = 0; k < w->lane->wr_count; k++) {
			struct ibv_send_wr *wr = &w->lane->qp[i].wr[k];

			wr->wr.ud.ah = r->queues.address;
			wr->wr.ud.remote_qpn = r->theirs.qpn[w->first + i];
			wr->wr.ud.remote_qkey = TRANSPORT_QKEY;
		}
}

void load_address(struct row *r)
{
	for (uint32_t i = 0; r->queues.address && i < r->threads.count; i++)
		address_worker(r, &r->threads.worker[i]);
}

static void free_rest(struct lane_rest *rest)
{
	if (rest->wake_fd >= 0)
		close(rest->wake_fd);
	free(rest->cq);
}

static void free_lane(struct lane *l)
{
	if (l->rest)
		free_rest(l->rest);
	for (uint32_t i = 0; i < l->qps; i++) {
		free(l->qp[i].wr);
		free(l->qp[i].recv);
		free(l->qp[i].stamps);
		free(l->qp[i].intended);
	}
	free(l->group);
	free(l->spare);
	free(l);
}

static void free_worker(struct worker *w)
{
	shared_free(w);
	if (w->lane)
		free_lane(w->lane);
}

void load_free(struct row *r)
{
	struct threads *t = &r->threads;

	for (uint32_t i = 0; t->qp && i < t->count; i++)
		free_worker(&t->worker[i]);
	free(t->qp);
	threads_free(t);
	r->lane = NULL;
}
