/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/rest.h"

#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "engine/lane.h"

#define ACK_BATCH 256U /* acknowledging takes a lock, so it is done for many at once */

/* True when a queue had not been asked yet: what it holds now makes no event. */
static bool ask_all(struct lane *l, struct lane_rest *r)
{
	bool asked = false;

	for (uint32_t i = 0; i < r->cqs; i++) {
		int rc;

		if (r->cq[i].asked)
			continue;
		rc = ibv_req_notify_cq(r->cq[i].cq, 0);
		if (rc) {
			lane_failed_call(l, LANE_NOTIFY, rc);
			return false;
		}
		asked = r->cq[i].asked = true;
	}
	return asked;
}

static void acknowledge(struct rest_cq *c)
{
	ibv_ack_cq_events(c->cq, c->unacked);
	c->unacked = 0;
}

static void took(struct lane_rest *r, struct ibv_cq *cq)
{
	struct rest_cq *c = r->cq, *end = r->cq + r->cqs;

	while (c < end && c->cq != cq)
		c++;
	if (c == end) { /* another row's, which had left before it was told */
		ibv_ack_cq_events(cq, 1);
		return;
	}
	c->asked = false;
	if (++c->unacked == ACK_BATCH)
		acknowledge(c);
}

/* Takes one event: another that is there ends the next sleep, and to look for it costs a call. */
static enum rest take_event(struct lane *l, struct lane_rest *r)
{
	struct ibv_cq *cq;
	void *context;

	if (ibv_get_cq_event(r->channel, &cq, &context)) {
		lane_failed_call(l, LANE_NOTIFY, errno);
		return REST_FAILED;
	}
	took(r, cq);
	return REST_EVENT;
}

static enum rest sleep_once(struct lane *l, struct lane_rest *r)
{
	struct pollfd fds[] = {
		{ .fd = r->channel->fd, .events = POLLIN },
		{ .fd = r->wake_fd, .events = POLLIN },
	};
	uint64_t stops;

	if (poll(fds, sizeof(fds) / sizeof(fds[0]), r->most_ms) < 0 && errno != EINTR) {
		lane_failed_call(l, LANE_NOTIFY, errno);
		return REST_FAILED;
	}
	l->since_clock = l->clock_every; /* time has passed: read the clock at the next look */
	if (fds[0].revents)
		return take_event(l, r);
	if (fds[1].revents && read(r->wake_fd, &stops, sizeof(stops)) < 0) {
		lane_failed_call(l, LANE_NOTIFY, errno);
		return REST_FAILED;
	}
	lane_publish(l);
	return REST_LEFT;
}

enum rest lane_rest(struct lane *l)
{
	if (ask_all(l, l->rest))
		return REST_LOOK;
	if (l->error.kind != LANE_FINE)
		return REST_FAILED;
	return sleep_once(l, l->rest);
}

void lane_rest_wake(const struct lane_rest *r)
{
	uint64_t one = 1;

	if (write(r->wake_fd, &one, sizeof(one)) < 0)
		return; /* the counter is full: it is awake already */
}

void lane_rest_end(struct lane_rest *r)
{
	for (uint32_t i = 0; i < r->cqs; i++)
		if (r->cq[i].unacked)
			acknowledge(&r->cq[i]);
}
