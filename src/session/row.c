/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "session/row.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "session/load.h"
#include "verbs/diagnose.h"

#define ABORT_SECONDS 2 /* for a data thread to leave, flushes included */

static bool is_lat(const struct row *r)
{
	return r->point.test.value == TEST_LAT;
}

/* Payload goes out of tx, and arrives in rx; a ping-pong has both. */
static int make_buffers(struct row *r)
{
	const struct point *p = &r->point;
	struct buffer_shape shape = {
		.size = p->size.value, .stride = point_stride(p), .slots = point_slots(p),
		.align = p->align.value, .offset = p->offset.value,
	};
	int rc = 0;

	if (r->sender || is_lat(r))
		rc = buffer_alloc(&r->tx, r->session->device.pd, &shape);
	if (rc || (r->sender && !is_lat(r)))
		return rc;
	shape.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	return buffer_alloc(&r->rx, r->session->device.pd, &shape);
}

int row_prepare(struct row *r, struct session *s, const struct point *p, bool sender,
		bool inline_exact)
{
	struct queues_shape shape = {
		.count = p->qps, .depth = (uint32_t)p->depth.value,
		.rx_depth = point_op(p)->receives ? (uint32_t)p->rx_depth.value : 0,
		.inline_size = (uint32_t)p->inline_size.value, .inline_exact = inline_exact,
	};
	int rc;

	*r = (struct row){ .session = s, .point = *p, .sender = sender, .event_fd = -1 };
	r->measure = calloc(1, sizeof(*r->measure));
	r->event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
	if (!r->measure || r->event_fd < 0)
		return fail(FAIL_SETUP, errno, "preparing a row: %s", strerror(errno));
	histogram_reset(&r->measure->latency);
	atomic_store(&r->control.expected, LANE_UNKNOWN);
	rc = make_buffers(r);
	if (!rc)
		rc = queues_create(&r->queues, &s->device, &shape);
	if (!rc)
		rc = connect_init(&r->queues, &s->device);
	if (!rc)
		rc = endpoints_alloc(&r->ours, p->qps);
	if (!rc)
		rc = endpoints_alloc(&r->theirs, p->qps);
	if (rc)
		return rc;
	connect_describe(&r->queues, &s->device, &r->ours);
	if (r->rx.mr) {
		r->ours.address = (uintptr_t)r->rx.base;
		r->ours.rkey = r->rx.mr->rkey;
	}
	return 0;
}

static int prime_receives(struct row *r)
{
	for (uint32_t i = 0; i < r->lane->qps; i++) {
		int rc = lane_post_receives(r->lane, &r->lane->qp[i],
					    (uint32_t)r->point.rx_depth.value);

		if (rc)
			return fail(FAIL_SETUP, rc, "posting %" PRIu64 " receives: %s; lower "
				    "--rx-depth", r->point.rx_depth.value, strerror(rc));
	}
	return 0;
}

/* Everything that a message may meet is in place before the queue pairs can be reached. */
int row_connect(struct row *r)
{
	int rc;

	if (r->tx.mr)
		buffer_fill(&r->tx);
	if (r->rx.mr)
		buffer_reset(&r->rx);
	clock_refine(&r->session->clock);
	rc = load_build(r);
	if (!rc && r->lane && r->rx.mr && point_op(&r->point)->receives)
		rc = prime_receives(r);
	if (!rc)
		rc = connect_tcp(&r->queues, &r->session->device, &r->ours, &r->theirs,
				 (uint32_t)r->point.mtu.value);
	return rc;
}

static void *data_thread(void *arg)
{
	struct row *r = arg;

	lane_begin(r->lane);
	r->loop(r->lane);
	return NULL;
}

int row_start(struct row *r)
{
	struct measure *m = r->measure;
	const struct clock *c = &r->session->clock;
	int rc;

	snprintf(m->clock, sizeof(m->clock), "%s", clock_name(c));
	m->clock_read_ns = c->read_ns;
	m->clock_resolution_ns = c->resolution_ns;
	m->divisor = is_lat(r) ? point_op(&r->point)->divisor : 1;
	m->active = r->lane != NULL;
	m->receiver = !r->sender;
	if (!r->lane)
		return 0;
	rc = pthread_create(&r->thread, NULL, data_thread, r);
	if (rc)
		return fail(FAIL_SETUP, rc, "starting the data thread: %s", strerror(rc));
	r->running = true;
	return 0;
}

int row_abort(struct row *r)
{
	struct timespec deadline;

	atomic_store(&r->control.stop, LANE_ABORT);
	queues_abort(&r->queues);
	if (!r->running)
		return 0;
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += ABORT_SECONDS;
	if (pthread_timedjoin_np(r->thread, NULL, &deadline))
		return -ETIMEDOUT;
	r->running = false;
	return 0;
}

void row_join(struct row *r)
{
	if (r->running)
		pthread_join(r->thread, NULL);
	r->running = false;
}

void row_check_data(struct row *r, uint64_t sent)
{
	struct measure *m = r->measure;
	struct buffer_fault fault;
	int marker = -1;

	if (!r->rx.mr)
		return;
	/* A ping-pong in memory leaves its last marker behind. */
	if (is_lat(r) && point_op(&r->point)->reply == ECHO_MEMORY && sent)
		marker = (int)((sent - 1) % 255 + 1);
	m->data_errors = buffer_check(&r->rx, sent, marker, &fault);
	if (m->data_errors)
		snprintf(m->data_fault, sizeof(m->data_fault),
			 "first in slot %u: byte %zu is 0x%02x, not 0x%02x", fault.slot, fault.byte,
			 fault.got, fault.want);
}

int row_told_lane(const struct row *r)
{
	const struct lane_error *e = r->lane ? &r->lane->error : NULL;
	const struct session *s = r->session;
	const char *op = point_op(&r->point)->name;

	if (!e || e->kind == LANE_FINE)
		return 0;
	if (e->kind == LANE_WC)
		return fail(FAIL_RUN, EIO,
			    "%s failed after %" PRIu64 " messages, queue pair 0x%x of %s (%s) to "
			    "the %s %s (%s): %s (status %d, vendor 0x%x): %s",
			    e->receive ? "a receive" : op, e->message, e->qpn,
			    s->device.facts.name, s->device.facts.gid, s->peer_is,
			    s->peer_device.name, s->peer_device.gid, ibv_wc_status_str(e->status),
			    e->status, e->vendor, diagnose_status(e->status));
	return fail(FAIL_RUN, e->errnum, "%s on %s: %s; see the kernel log%s",
		    e->kind == LANE_POST ? "posting a work request" :
					   "polling the completion queue",
		    s->device.facts.name, strerror(e->errnum),
		    e->errnum == ENOMEM ? ", or report it: the queue should not be full" : "");
}

void row_free(struct row *r)
{
	/* A thread that is stuck inside the provider still uses it; the process ends soon. */
	if (r->running)
		return;
	load_free(r);
	queues_destroy(&r->queues);
	buffer_free(&r->tx);
	buffer_free(&r->rx);
	endpoints_free(&r->ours);
	endpoints_free(&r->theirs);
	if (r->event_fd >= 0)
		close(r->event_fd);
	free(r->measure);
	*r = (struct row){ .event_fd = -1 };
}
