/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/local.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/fail.h"
#include "cli/units.h"
#include "session/common.h"
#include "session/live.h"
#include "session/load.h"
#include "session/usage.h"
#include "verbs/diagnose.h"
#include "verbs/window.h"

int local_open(struct session *s, const struct options *opt, struct watch *watch)
{
	struct device_request request = {
		.name = opt->device.given ? opt->device.text : NULL,
		.port = (uint32_t)opt->ib_port.num,
		.gid_index = opt->gid_index.given ? (int32_t)opt->gid_index.num : -1,
	};
	int rc;

	*s = (struct session){
		.opt = opt, .watch = watch, .client = true, .channel = { .fd = -1 },
		.stall_ns = opt->stall_timeout.num,
	};
	clock_begin(&s->clock);
	facts_get(&s->host);
	rc = device_open(&s->device, &request);
	if (rc)
		return rc;
	counters_open(&s->counters, s->device.facts.name, s->device.facts.port);
	/* What is compared with the other side's is compared with itself. */
	s->peer_host = s->host;
	s->peer_device = s->device.facts;
	return 0;
}

/* A data thread that is stuck in here must not need the session, which is gone by then. */
static struct ibv_mr *register_slot(void *buffer, uint32_t slot)
{
	return buffer_register(buffer, slot);
}

/* What the other side of a write would have its memory registered for. */
static int make_memory(struct row *r, uint32_t regions, unsigned int access)
{
	struct buffer_shape shape = row_shape(r);

	shape.regions = regions;
	shape.access |= (int)(access | IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return buffer_alloc(&r->local, r->session->device.pd, &shape);
}

static int prepare_regions(struct row *r)
{
	const struct device *d = &r->session->device;
	int rc = make_memory(r, 0, 0);
	struct ibv_mr *mr;

	if (rc)
		return rc;
	r->cycle.reg = register_slot;
	r->cycle.buffer = &r->local;
	mr = register_slot(&r->local, 0);
	if (!mr)
		return buffer_told_unregistered(&r->local, errno);
	rc = ibv_dereg_mr(mr);
	return !rc ? 0 : fail(FAIL_SETUP, rc == -1 ? errno : rc, "deregistering memory on %s: %s; "
			      "see the kernel log", d->facts.name,
			      strerror(rc == -1 ? errno : rc));
}

/* The queue pair is its own peer. */
static int connect_self(struct row *r)
{
	struct session *s = r->session;
	struct connection c = {
		.queues = &r->queues, .device = &s->device, .ours = &r->ours, .theirs = &r->ours,
		.asks = true, .fd = -1,
	};
	int rc;

	row_describe_queues(r, false);
	r->path.windows = true;
	rc = row_make_queues(r);
	if (!rc)
		rc = endpoints_alloc(&r->ours, r->queues.count);
	if (rc)
		return rc;
	connect_describe(&r->queues, &s->device, &r->ours);
	c.path = r->path;
	return connect_tcp_begin(&c);
}

static int prepare_window(struct row *r)
{
	int rc = window_alloc(&r->session->device, (unsigned int)r->point.window.value,
			      &r->cycle.window);

	if (!rc)
		rc = make_memory(r, 1, IBV_ACCESS_MW_BIND);
	if (rc)
		return rc;
	r->cycle.stride = r->local.stride;
	r->cycle.bind = (struct ibv_mw_bind_info){
		.mr = r->local.mr[0], .addr = (uintptr_t)r->local.base, .length = r->local.size,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	return connect_self(r);
}

int local_prepare(struct row *r, struct session *s, const struct point *p)
{
	int rc = row_open(r, s, p);

	if (rc)
		return rc;
	r->sends = true;
	r->cycle.slots = point_slots(p);
	rc = op_has(point_op(p), TRAIT_WINDOWS) ? prepare_window(r) : prepare_regions(r);
	clock_calibrate(&s->clock);
	return rc ? rc : load_build_local(r);
}

struct local {
	struct row *r;
	struct session *s;
	struct phases_end *end;
	bool open, closed;
	uint64_t completed, last_progress;
	struct usage usage; /* from the window's opening */
};

static unsigned int reached(const struct local *l)
{
	return threads_reached(&l->r->threads);
}

static void close_window(struct local *l)
{
	if (l->open && !l->closed)
		usage_end(&l->usage, &l->s->counters, l->r->measure);
	l->closed = true;
	threads_stop(&l->r->threads, LANE_DRAIN);
}

static void take_edges(struct local *l)
{
	if (!l->open && reached(l) & LANE_WARM) {
		l->open = true;
		usage_begin(&l->usage, &l->s->counters);
		threads_open(&l->r->threads);
	}
	if (!l->closed && reached(l) & LANE_CLOSED)
		close_window(l);
}

/* The first interrupt ends the window, the next one the run. */
static int take_signal(struct local *l)
{
	if (l->s->watch->signals > 1) {
		note("interrupted twice: the run is given up");
		return -EINTR;
	}
	l->end->interrupted = true;
	close_window(l);
	return 0;
}

static int check_progress(struct local *l)
{
	uint64_t now = watch_now();
	struct threads_counts told = threads_told(&l->r->threads);
	uint64_t completed = told.completed + l->open + l->closed;
	char text[UNITS_TEXT_SIZE];

	if (completed != l->completed)
		l->last_progress = now;
	l->completed = completed;
	if (now - l->last_progress <= l->s->stall_ns)
		return 0;
	units_time(text, sizeof(text), l->s->stall_ns);
	return fail(FAIL_RUN, ETIMEDOUT, "no progress of %s on %s (stall timeout %s): posted %"
		    PRIu64 ", completed %" PRIu64 "; see the kernel log, or raise --stall-timeout",
		    point_op(&l->r->point)->name, l->s->device.facts.name, text,
		    told.posted, told.completed);
}

static int step(struct local *l)
{
	uint64_t stall = l->last_progress + l->s->stall_ns + 1000000;
	uint64_t live = live_deadline(l->r->live);
	unsigned int what = watch_wait(l->s->watch, stall < live ? stall : live);
	int rc = what & WATCH_ASYNC ? session_take_events(l->s, "the run") : 0;

	if (!rc && what & WATCH_SIGNAL)
		rc = take_signal(l);
	live_tick(l->r->live, l->r);
	return rc ? rc : check_progress(l);
}

static int run(struct local *l)
{
	int rc = row_start(l->r);

	while (!rc) {
		take_edges(l);
		if (reached(l) & LANE_LEFT)
			break;
		rc = step(l);
	}
	return rc;
}

static int told_call(const struct row *r)
{
	const struct lane_error *e = &r->lane->error;
	const struct op *op = point_op(&r->point);

	return fail(FAIL_RUN, e->errnum, "%s failed on %s after %" PRIu64 " times: %s; see the "
		    "kernel log%s", e->kind == LANE_MAKE ? op->make : op->undo,
		    r->session->device.facts.name, r->measure->completed, strerror(e->errnum),
		    e->errnum == ENOMEM ? " and ulimit -l" : "");
}

/* A device that has windows, and does not bind them at all, is none for this. */
static int told_lane(const struct row *r)
{
	const struct lane_error *e = &r->lane->error;
	const struct device *d = &r->session->device;

	if (e->kind == LANE_MAKE || e->kind == LANE_UNDO)
		return told_call(r);
	if (e->kind == LANE_POST && !r->measure->completed && window_is_unsupported(e->errnum))
		return window_told_unsupported(d, (unsigned int)r->point.window.value, e->errnum);
	if (e->kind != LANE_WC)
		return row_told_lane(r);
	return fail(FAIL_RUN, EIO, "%s failed after %" PRIu64 " times, queue pair 0x%x of %s: %s "
		    "(status %d, vendor 0x%x): %s", point_op(&r->point)->name, e->message, e->qpn,
		    d->facts.name, ibv_wc_status_str(e->status), e->status, e->vendor,
		    diagnose_status(e->status));
}

int local_run(struct row *r, struct phases_end *end)
{
	struct session *s = r->session;
	struct local l = { .r = r, .s = s, .end = end, .last_progress = watch_now() };
	int rc;

	*end = (struct phases_end){ 0 };
	s->watch->lane_fd = r->event_fd;
	s->watch->async_fd = s->device.context->async_fd;
	rc = run(&l);
	s->watch->lane_fd = -1;
	s->watch->async_fd = -1;
	usage_free(&l.usage);
	if (!rc) {
		row_join(r);
		rc = told_lane(r);
		return rc ? rc : row_check_counts(r);
	}
	if (row_abort(r)) {
		s->stuck = true;
		note("the data thread does not leave %s: the process ends", s->device.facts.name);
	}
	return rc;
}
