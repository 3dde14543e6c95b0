/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion channels of the fake device: when an event comes, and what it tells of who sleeps. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "fake_rig.h"

#define COUNT_OF(a) (int)(sizeof(a) / sizeof((a)[0]))

static void open_all(struct rig *r)
{
	rig_open(r);
	r->channel = ibv_create_comp_channel(r->context);
	CHECK(r->channel != NULL, true);
	pair_open(r);
}

static void close_all(struct rig *r)
{
	pair_close(r);
	CHECK(ibv_destroy_comp_channel(r->channel), 0);
	rig_close(r);
}

static int asleep(struct rig *r, int timeout)
{
	struct pollfd fd = { .fd = r->channel->fd, .events = POLLIN };

	return poll(&fd, 1, timeout);
}

static void write_one(struct rig *r, uint64_t id)
{
	const struct request q = {
		.id = id, .op = IBV_WR_RDMA_WRITE, .remote = 4096, .length = 8,
		.flags = IBV_SEND_SIGNALED,
	};

	CHECK(post(r, &r->a, q), 0);
}

/* The next event is this queue's. */
static void take_event(struct rig *r, struct ibv_cq *want)
{
	struct ibv_cq *cq;
	void *context;

	CHECK(ibv_get_cq_event(r->channel, &cq, &context), 0);
	CHECK(cq == want, true);
}

/* How often the device has written that to its report. */
static uint32_t told(const char *what)
{
	FILE *f = fopen("report", "r");
	char line[400];
	uint32_t n = 0;

	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, what) != NULL;
	if (f)
		fclose(f);
	return n;
}

/* One for each time that a queue is asked, of what comes after that. */
static void one_event(void)
{
	struct rig r;

	open_all(&r);
	write_one(&r, 1); /* nobody has asked */
	CHECK(asleep(&r, 1), 0);
	CHECK(ibv_req_notify_cq(r.a.scq, 0), 0); /* it is there already */
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	CHECK(asleep(&r, 1), 0);
	write_one(&r, 2);
	write_one(&r, 3);
	CHECK(asleep(&r, 1000), 1);
	take_event(&r, r.a.scq);
	expect(r.a.scq, 2, IBV_WC_SUCCESS);
	expect(r.a.scq, 3, IBV_WC_SUCCESS);
	CHECK(asleep(&r, 1), 0);
	ibv_ack_cq_events(r.a.scq, 1);
	close_all(&r);
	CHECK(told("violation"), 0);
}

/* What is late, and what waits for a receive, happens while the program sleeps. */
static void works_asleep(void)
{
	struct rig r;

	open_all(&r);
	CHECK(ibv_req_notify_cq(r.a.scq, 0), 0);
	CHECK(ibv_req_notify_cq(r.b.rcq, 0), 0);
	CHECK(receive(&r, &r.b, 7, 8192, 8), 0);
	CHECK(post(&r, &r.a, (struct request){ .id = 1, .op = IBV_WR_SEND, .length = 8,
					       .flags = IBV_SEND_SIGNALED }), 0);
	expect_none(r.a.scq);
	CHECK(asleep(&r, 10000), 1);
	take_event(&r, r.b.rcq);
	expect(r.b.rcq, 7, IBV_WC_SUCCESS);
	CHECK(asleep(&r, 10000), 1);
	take_event(&r, r.a.scq);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	ibv_ack_cq_events(r.a.scq, 1);
	ibv_ack_cq_events(r.b.rcq, 1);
	close_all(&r);
	CHECK(told("violation"), 0);
}

static void asleep_with_completions(void)
{
	struct rig r;

	open_all(&r);
	write_one(&r, 1);
	CHECK(ibv_req_notify_cq(r.a.scq, 0), 0);
	CHECK(asleep(&r, 1), 0);
	CHECK(told("violation asleep with 1 completions queued"), 1);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	close_all(&r);
}

static void not_acknowledged(void)
{
	struct rig r;

	open_all(&r);
	CHECK(ibv_req_notify_cq(r.a.scq, 0), 0);
	write_one(&r, 1);
	take_event(&r, r.a.scq);
	ibv_ack_cq_events(r.b.scq, 1);
	CHECK(told("violation 1 events acknowledged, of 0"), 1);
	close_all(&r);
	CHECK(told("1 events not acknowledged"), 1);
}

static void channel_in_use(void)
{
	struct rig r;

	open_all(&r);
	CHECK(ibv_destroy_comp_channel(r.channel), EBUSY);
	close_all(&r);
	CHECK(told("violation"), 0);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "one_event", "report=report", one_event },
		{ "works_asleep", "report=report wire=1ms late=5ms", works_asleep },
		{ "asleep_with_completions", "report=report", asleep_with_completions },
		{ "not_acknowledged", "report=report", not_acknowledged },
		{ "channel_in_use", "report=report", channel_in_use },
	};

	return scenes_main(argc, argv, scenes, COUNT_OF(scenes));
}
