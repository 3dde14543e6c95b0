/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "session/row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.h"
#include "engine/calls.h"
#include "plan/plan.h"
#include "session/load.h"
#include "session/shared.h"
#include "session/verify.h"
#include "verbs/diagnose.h"
#include "verbs/window.h"

static bool is_lat(const struct row *r)
{
	return r->point.test.value == TEST_LAT;
}

static const struct op *row_op(const struct row *r)
{
	return point_op(&r->point);
}

/* Of --memory file:PATH as this side was given it, perhaps among others; NULL: it was not. */
static char *find_path(const struct options *opt)
{
	const char *path = opt->memory.text ? strstr(opt->memory.text, "file:") : NULL;

	if (!path)
		return NULL;
	path += strlen("file:");
	return strndup(path, strcspn(path, ","));
}

static const struct transport *row_transport(const struct row *r)
{
	return transport_get(r->point.transport.value);
}

struct buffer_shape row_shape(const struct row *r)
{
	const struct point *p = &r->point;

	return (struct buffer_shape){
		.size = p->size.value, .stride = point_stride(p),
		.slots = point_slots(p) * (uint32_t)p->qps.value,
		.regions = p->mr.value == MR_QP ? (uint32_t)p->qps.value : 1,
		.align = p->align.value, .offset = p->offset.value,
		.access = (p->relaxed_ordering.value ? IBV_ACCESS_RELAXED_ORDERING : 0) |
			  (p->odp.value ? IBV_ACCESS_ON_DEMAND : 0),
		.memory = (uint32_t)p->memory.value, .path = r->memory_path,
		.node = r->session->device.place.node,
	};
}

/* An atomic brings a number home for each request in flight; the others have slots. */
static int make_local(struct row *r)
{
	struct buffer_shape shape = row_shape(r);

	shape.access |= IBV_ACCESS_LOCAL_WRITE;
	if (row_op(r)->flow == FLOW_COUNTER) {
		shape.stride = shape.size;
		shape.slots = (uint32_t)(r->point.depth.value * r->point.qps.value);
	}
	return keep_take_buffer(&r->session->kept.local, &r->local, r->session->device.pd, &shape);
}

static int make_target(struct row *r)
{
	static const int access[] = {
		[FLOW_OUT] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE,
		[FLOW_IN] = IBV_ACCESS_REMOTE_READ,
		[FLOW_COUNTER] = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC,
	};
	struct buffer_shape shape = row_shape(r);

	shape.access |= access[row_op(r)->flow];
	shape.header = row_transport(r)->header;
	shape.stride = point_stride_of(shape.header + shape.size);
	if (row_op(r)->flow == FLOW_COUNTER && r->point.atomic_target.value == ATOMIC_SHARED)
		shape.slots = shape.regions = 1;
	return keep_take_buffer(&r->session->kept.target, &r->target, r->session->device.pd,
				&shape);
}

/* Each side of a ping-pong both posts and is reached. */
static int make_buffers(struct row *r)
{
	bool echoes = is_lat(r) && row_op(r)->reply != COMPLETION;
	int rc = 0;

	if (is_lat(r) && (row_op(r)->reply == ECHO_MEMORY || !row_transport(r)->reliable) &&
	    !memory_is_visible((uint32_t)r->point.memory.value))
		return fail(FAIL_SETUP, EOPNOTSUPP, "--memory with --op %s --test lat: the CPU "
			    "cannot see a message arrive there; use --test bw", row_op(r)->name);
	if (r->sends || echoes)
		rc = make_local(r);
	if (!rc && (r->takes || echoes))
		rc = make_target(r);
	return rc;
}

/* Before anything can be reached: whoever the payload comes from has it, the other has not. */
static void fill_buffers(struct row *r)
{
	struct buffer *from = row_op(r)->flow == FLOW_IN ? &r->target : &r->local;
	struct buffer *into = row_op(r)->flow == FLOW_IN ? &r->local : &r->target;

	if (row_op(r)->flow == FLOW_COUNTER)
		return; /* counters begin at 0, as they are mapped */
	if (from->base && shared_anywhere(r))
		shared_fill(from);
	else if (from->base)
		buffer_fill(from);
	if (into->base)
		buffer_reset(into);
}

int row_make_queues(struct row *r)
{
	struct device *d = &r->session->device;
	int rc = queues_create(&r->queues, d, &r->shape);

	return rc ? rc : connect_init(&r->queues, d, &r->path);
}

int row_renew(struct row *r)
{
	int rc;

	queues_destroy(&r->queues);
	r->reused = false;
	rc = row_make_queues(r);
	if (!rc)
		connect_describe(&r->queues, &r->session->device, &r->ours);
	return rc;
}

void row_describe_queues(struct row *r, bool inline_exact)
{
	const struct caps *ours = &r->session->device.facts.caps;
	const struct caps *theirs = &r->session->peer_device.caps;
	const struct point *p = &r->point;

	r->shape = (struct queues_shape){
		.transport = row_transport(r),
		.count = (uint32_t)p->qps.value, .threads = (uint32_t)p->threads.value,
		.depth = (uint32_t)p->depth.value, .sges = (uint32_t)p->sge.value,
		.srq = p->srq.value,
		.rx_depth = row_op(r)->receives ? (uint32_t)p->rx_depth.value : 0,
		.inline_size = (uint32_t)p->inline_size.value, .inline_exact = inline_exact,
		.events = p->events.value,
		.calls = p->post_api.value == POST_WR ? calls_needed(row_op(r)->opcode) : 0,
	};
	r->path = connect_path_of(p);
	r->path.dlid = (uint32_t)r->session->opt->dlid.num;
	r->path.begins = plan_outstanding(p, ours, theirs);
	r->path.accepts = plan_outstanding(p, theirs, ours);
}

int row_open(struct row *r, struct session *s, const struct point *p)
{
	*r = (struct row){ .session = s, .point = *p, .event_fd = -1 };
	r->sends = p->direction.value == DIRECTION_BOTH ||
		   s->client == (p->direction.value == DIRECTION_OUT);
	r->takes = p->direction.value == DIRECTION_BOTH || !r->sends;
	r->measure = calloc(1, sizeof(*r->measure));
	r->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!r->measure || r->event_fd < 0)
		return fail(FAIL_SETUP, errno, "preparing a row: %s", strerror(errno));
	histogram_init(&r->measure->latency);
	histogram_init(&r->measure->undo);
	r->measure->thread_node = -1;
	histogram_init(&r->measure->pace.response);
	histogram_init(&r->measure->pace.lateness);
	r->memory_path = find_path(s->opt);
	return 0;
}

int row_prepare(struct row *r, struct session *s, const struct point *p, struct row_wish wish)
{
	int rc = row_open(r, s, p);

	if (rc)
		return rc;
	row_describe_queues(r, wish.inline_exact);
	rc = connect_check(&s->device, &r->path);
	if (!rc)
		rc = make_buffers(r);
	if (!rc)
		r->reused = keep_take_queues(&s->kept, &r->queues, &r->shape, &r->path,
					     wish.keep && !p->rdma_cm.value);
	if (!rc && !r->reused)
		rc = row_make_queues(r);
	if (!rc)
		rc = endpoints_alloc(&r->ours, r->shape.count);
	if (!rc)
		rc = endpoints_alloc(&r->theirs, r->shape.count);
	if (rc)
		return rc;
	connect_describe(&r->queues, &s->device, &r->ours);
	r->ours.address = (uintptr_t)r->target.base;
	for (uint32_t i = 0; r->target.base && i < r->shape.count; i++)
		r->ours.rkey[i] = buffer_mr(&r->target, i)->rkey;
	return 0;
}

static int prime_lane(const struct row *r, struct lane *l)
{
	for (uint32_t i = 0; i < (l->shared ? 1 : l->qps); i++) {
		int rc = l->shared ? lane_post_shared(l->shared) :
				     lane_post_receives(l, &l->qp[i],
							(uint32_t)r->point.rx_depth.value);

		if (rc)
			return fail(FAIL_SETUP, rc, "posting %" PRIu64 " receives: %s; lower "
				    "--rx-depth", r->point.rx_depth.value, strerror(rc));
	}
	return 0;
}

static int prime_receives(struct row *r)
{
	int rc = 0;

	for (uint32_t i = 0; !rc && i < r->threads.count; i++)
		rc = prime_lane(r, r->threads.worker[i].lane);
	return rc;
}

/* Everything that a message may meet is in place before the queue pairs can be reached. */
int row_connect(struct row *r)
{
	struct session *s = r->session;
	int rc;

	r->connection = (struct connection){
		.how = &connectors[r->point.rdma_cm.value],
		.queues = &r->queues, .device = &s->device, .ours = &r->ours, .theirs = &r->theirs,
		.path = r->path, .asks = s->client, .fd = -1,
		.local = &s->local, .remote = &s->remote,
	};
	fill_buffers(r);
	clock_calibrate(&s->clock);
	rc = load_build(r);
	if (!rc && r->lane && r->target.base && row_op(r)->receives)
		rc = prime_receives(r);
	if (!rc && r->reused)
		r->connection.standing = r->queues.count;
	else if (!rc)
		rc = r->connection.how->begin(&r->connection);
	s->connection = &r->connection;
	s->watch->connection_fd = r->connection.fd;
	if (!rc)
		load_address(r);
	return rc;
}

int row_start(struct row *r)
{
	struct measure *m = r->measure;
	const struct clock *c = &r->session->clock;

	snprintf(m->clock, sizeof(m->clock), "%s", clock_name(c));
	m->clock_read_ns = c->read_ns;
	m->clock_resolution_ns = c->resolution_ns;
	/* A response begins before its post and has no half; what stands beside it is whole too. */
	m->divisor = is_lat(r) && !r->point.rate.value ? row_op(r)->divisor : 1;
	m->active = r->lane != NULL;
	m->receiver = r->lane && r->lane->receives && !is_lat(r);
	return threads_start(&r->threads);
}

int row_abort(struct row *r)
{
	int rc;

	threads_stop(&r->threads, LANE_ABORT);
	queues_abort(&r->queues);
	rc = threads_abort(&r->threads);
	if (!rc) /* one that is stuck may still write what it measures */
		threads_measure(&r->threads, r->measure);
	return rc;
}

void row_join(struct row *r)
{
	threads_join(&r->threads);
	threads_measure(&r->threads, r->measure);
}

int row_check_data(struct row *r, const struct message_sent *sent)
{
	if (r->takes && sent->count != r->queues.count)
		return fail(FAIL_RUN, EPROTO, "the %s %s told of %u queue pairs, not of %u; use "
			    "the same version on both sides", r->session->peer_is,
			    r->session->peer, sent->count, r->queues.count);
	verify_end(r, sent);
	if (r->measure->data_errors && !r->measure->data_fault[0])
		snprintf(r->measure->data_fault, sizeof(r->measure->data_fault),
			 "immediate data are out of order");
	return 0;
}

int row_told_lane(const struct row *r)
{
	const struct lane_error *e = threads_error(&r->threads);
	const struct session *s = r->session;
	const char *op = row_op(r)->name;

	if (!e)
		return 0;
	if (e->kind == LANE_WC)
		return fail(FAIL_RUN, EIO,
			    "%s failed after %" PRIu64 " messages, queue pair 0x%x of %s (%s) to "
			    "the %s %s (%s): %s (status %d, vendor 0x%x): %s",
			    e->receive ? "a receive" : op, e->message, e->qpn,
			    s->device.facts.name, s->device.facts.gid, s->peer_is,
			    s->peer_device.name, s->peer_device.gid, ibv_wc_status_str(e->status),
			    e->status, e->vendor, diagnose_status(e->status));
	if (e->kind == LANE_MISSED)
		return fail(FAIL_RUN, EIO, "%s number %" PRIu64 " on queue pair 0x%x of %s found "
			    "another value than the one before it left; do not trust this device",
			    op, e->message + 1, e->qpn, s->device.facts.name);
	if (e->kind == LANE_STRAY)
		return fail(FAIL_RUN, EIO, "a completion after %" PRIu64 " messages on queue pair "
			    "0x%x of %s: none was outstanding that it could be of, so it has come "
			    "twice; do not trust this device", e->message, e->qpn,
			    s->device.facts.name);
	return fail(FAIL_RUN, e->errnum, "%s on %s: %s; see the kernel log%s",
		    e->kind == LANE_POST   ? "posting a work request" :
		    e->kind == LANE_NOTIFY ? "waiting for a completion event" :
					     "polling the completion queue",
		    s->device.facts.name, strerror(e->errnum),
		    e->errnum == ENOMEM ? ", or report it: the queue should not be full" : "");
}

int row_check_counts(const struct row *r)
{
	const struct measure *m = r->measure;

	if (m->posted == m->completed)
		return 0;
	return fail(FAIL_RUN, EPROTO, "internal accounting: posted %" PRIu64 " but completed %"
		    PRIu64 "; this is a bug of rdmeter's", m->posted, m->completed);
}

static bool all_completed(const struct row *r)
{
	for (uint32_t i = 0; i < r->threads.count; i++)
		if (!lane_all_completed(r->threads.worker[i].lane))
			return false;
	return true;
}

static void keep_for_next(struct row *r)
{
	struct kept *k;

	/* Nothing is connected to a peer where there is none, and that costs little. */
	if (!r->clean || !all_completed(r) || op_is_local(row_op(r)))
		return;
	k = &r->session->kept;
	keep_buffer(&k->local, &r->local);
	keep_buffer(&k->target, &r->target);
	if (row_op(r)->receives || r->point.rdma_cm.value || !row_transport(r)->reliable)
		return;
	k->queues = r->queues;
	k->shape = r->shape;
	k->path = r->path;
	r->queues = (struct queues){ 0 };
}

static void end_connection(struct row *r)
{
	if (!r->connection.how)
		return;
	r->session->connection = NULL;
	r->session->watch->connection_fd = -1;
	connection_end(&r->connection);
}

void row_free(struct row *r)
{
	/* A thread that is stuck inside the provider still uses it; the process ends soon. */
	if (!r || threads_running(&r->threads))
		return;
	keep_for_next(r);
	load_free(r);
	end_connection(r);
	window_free(r->cycle.window);
	queues_destroy(&r->queues);
	buffer_free(&r->local);
	buffer_free(&r->target);
	endpoints_free(&r->ours);
	endpoints_free(&r->theirs);
	if (r->event_fd >= 0)
		close(r->event_fd);
	free(r->memory_path);
	free(r->measure);
	free(r->samples);
	free(r);
}
