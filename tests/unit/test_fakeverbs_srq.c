/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared receive queues of the fake device. */
#define _GNU_SOURCE
#include <errno.h>

#include "fake_rig.h"

#define COUNT_OF(a) (int)(sizeof(a) / sizeof((a)[0]))

static struct ibv_srq *open_all(struct rig *r, uint32_t size)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = size, .max_sge = 1 } };

	rig_open(r);
	r->srq = ibv_create_srq(r->pd, &attr);
	CHECK(r->srq != NULL, true);
	pair_open(r);
	return r->srq;
}

static void close_all(struct rig *r)
{
	struct ibv_srq *srq = r->srq;

	CHECK(ibv_destroy_srq(srq), EBUSY);
	pair_close(r);
	CHECK(ibv_destroy_srq(srq), 0);
	rig_close(r);
}

static int share(struct rig *r, uint64_t id)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)r->memory + 8192, .length = 8, .lkey = r->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_srq_recv(r->srq, &wr, &bad);
}

static void send_one(struct rig *r, struct end *from, uint64_t id)
{
	const struct request q = {
		.id = id, .op = IBV_WR_SEND, .length = 8, .flags = IBV_SEND_SIGNALED,
	};

	CHECK(post(r, from, q), 0);
}

/* Whoever is sent to takes the next one, and says which queue pair it was. */
static void next_for_all(void)
{
	struct rig r;
	struct ibv_wc wc;

	open_all(&r, 4);
	for (uint64_t i = 0; i < 4; i++)
		CHECK(share(&r, 10 + i), 0);
	CHECK(share(&r, 14), ENOMEM);
	send_one(&r, &r.a, 1);
	send_one(&r, &r.b, 2);
	send_one(&r, &r.a, 3);
	wc = next(r.b.rcq);
	CHECK(wc.wr_id, 10);
	CHECK(wc.qp_num, r.b.qp->qp_num);
	wc = next(r.b.rcq);
	CHECK(wc.wr_id, 12);
	wc = next(r.a.rcq);
	CHECK(wc.wr_id, 11);
	CHECK(wc.qp_num, r.a.qp->qp_num);
	CHECK(share(&r, 15), 0);
	/* A queue pair of these has no receives of its own. */
	CHECK(receive(&r, &r.b, 9, 8192, 8), EINVAL);
	close_all(&r);
}

/* What nobody has posted is waited for; a queue pair in error leaves the others' receives alone. */
static void waits_and_stays(void)
{
	struct rig r;
	struct step error;

	shape.min_rnr = 1;
	open_all(&r, 2);
	send_one(&r, &r.a, 1);
	expect_none(r.a.scq);
	CHECK(share(&r, 10), 0);
	CHECK(share(&r, 11), 0);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	expect(r.b.rcq, 10, IBV_WC_SUCCESS);
	error = step_to(&r, IBV_QPS_ERR, 0);
	CHECK(take(&r.b, &error), 0);
	expect_none(r.b.rcq);
	close_all(&r);
}

static void none(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_device_attr device;
	struct rig r;

	rig_open(&r);
	CHECK(ibv_query_device(r.context, &device), 0);
	CHECK(device.max_srq, 0);
	CHECK(ibv_create_srq(r.pd, &attr) == NULL, true);
	CHECK(errno, EOPNOTSUPP);
	rig_close(&r);
}

static void limit(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 9, .max_sge = 1 } };
	struct ibv_device_attr device;
	struct rig r;

	rig_open(&r);
	CHECK(ibv_query_device(r.context, &device), 0);
	CHECK(device.max_srq_wr, 8);
	CHECK(ibv_create_srq(r.pd, &attr) == NULL, true);
	CHECK(errno, EINVAL);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "next_for_all", "", next_for_all },
		{ "waits_and_stays", "", waits_and_stays },
		{ "none", "max_srq_wr=0", none },
		{ "limit", "max_srq_wr=8", limit },
	};

	return scenes_main(argc, argv, scenes, COUNT_OF(scenes));
}
