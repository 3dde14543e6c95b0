/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A lane with everything around it that it needs, and no device. Include it after cmocka.h. */
#ifndef TESTS_LANE_FIXTURE_H
#define TESTS_LANE_FIXTURE_H

#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "engine/lane.h"

#define US UINT64_C(1000)
#define MS UINT64_C(1000000)
#define QPS 4
#define GROUPS 2

struct fixture {
	struct lane lane;
	struct lane_control control;
	struct lane_report report;
	struct lane_group group[GROUPS];
	struct lane_qp qp[QPS];
	struct measure measure;
	struct histogram spare;
	struct ibv_context context;
	struct ibv_qp verbs_qp[QPS];
	struct ibv_cq send_cq[GROUPS], recv_cq[GROUPS]; /* numbered by their cqe, sends first */
};

/* Shares the queue pairs out to the groups: per of them each. */
static inline void use_qps(struct fixture *f, uint32_t qps, uint32_t per)
{
	f->lane.qps = qps;
	f->lane.groups = (qps + per - 1) / per;
	assert_true(qps <= QPS && f->lane.groups <= GROUPS);
	for (uint32_t i = 0; i < f->lane.groups; i++) {
		uint32_t rest = qps - i * per;

		f->send_cq[i].cqe = (int)(2 * i);
		f->recv_cq[i].cqe = (int)(2 * i + 1);
		f->group[i] = (struct lane_group){
			.send_cq = &f->send_cq[i], .recv_cq = &f->recv_cq[i],
			.qp = &f->qp[i * per], .qps = rest < per ? rest : per,
		};
		for (uint32_t j = 0; j < f->group[i].qps; j++) {
			f->verbs_qp[i * per + j].send_cq = &f->send_cq[i];
			f->verbs_qp[i * per + j].recv_cq = &f->recv_cq[i];
		}
	}
}

static inline int open_lane(void **state)
{
	struct fixture *f = aligned_alloc(LANE_LINE, sizeof(*f));

	if (!f)
		return -1;
	memset(f, 0, sizeof(*f));
	for (uint32_t i = 0; i < GROUPS; i++)
		f->send_cq[i].context = f->recv_cq[i].context = &f->context;
	for (uint32_t i = 0; i < QPS; i++) {
		f->verbs_qp[i].context = &f->context;
		f->verbs_qp[i].qp_num = 100 + i;
		f->qp[i].qp = &f->verbs_qp[i];
		f->qp[i].index = i;
	}
	histogram_reset(&f->spare);
	histogram_reset(&f->measure.latency);
	f->lane = (struct lane){
		.control = &f->control, .report = &f->report, .qp = f->qp, .group = f->group,
		.measure = &f->measure, .spare = &f->spare,
		.clock = { .mult = UINT64_C(1) << 32 }, .leads = true,
		.warmup = 500 * MS, .window = 250 * MS, .poll_sends = 16, .poll_receives = 16,
		.event_fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC),
	};
	use_qps(f, 1, 1);
	*state = f;
	return f->lane.event_fd < 0;
}

static inline int close_lane(void **state)
{
	struct fixture *f = *state;

	close(f->lane.event_fd);
	free(f);
	return 0;
}

/* How often the control thread has been woken since this was asked last. */
static inline uint64_t woken(struct fixture *f)
{
	uint64_t n = 0;

	return read(f->lane.event_fd, &n, sizeof(n)) == sizeof(n) ? n : 0;
}

static inline unsigned int reached(struct fixture *f)
{
	return atomic_load(&f->report.reached);
}

/* n messages in all so far, and an edge at `at` after the start. */
static inline void edge(struct fixture *f, uint64_t at, uint64_t n)
{
	f->lane.count = n;
	if (f->lane.receives)
		f->lane.received = f->qp[0].received = n;
	else
		f->qp[0].completed = n;
	f->qp[0].posted = n + 3;
	lane_edge(&f->lane, f->lane.started + at);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, open_lane, close_lane)

#endif
