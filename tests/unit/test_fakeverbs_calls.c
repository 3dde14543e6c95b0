/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fake device posted to by calls. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "fake_rig.h"

#define COUNT_OF(a) (int)(sizeof(a) / sizeof((a)[0]))
#define OPS                                                                                     \
	(IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_SEND_WITH_IMM |   \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)

static struct ibv_qp_ex *open_all(struct rig *r)
{
	shape.calls = OPS;
	rig_open(r);
	pair_open(r);
	return ibv_qp_to_qp_ex(r->a.qp);
}

static uint64_t at(const struct rig *r, uint32_t offset)
{
	return (uintptr_t)r->memory + offset;
}

static void next_is(struct ibv_qp_ex *x, uint64_t id, unsigned int flags)
{
	x->wr_id = id;
	x->wr_flags = flags;
}

/* Nothing moves before they are complete; then they do what lists do. */
static void as_lists_do(void)
{
	struct rig r;
	struct ibv_qp_ex *x = open_all(&r);
	struct ibv_wc wc;

	memcpy(r.memory, "abcdefgh", 8);
	CHECK(receive(&r, &r.b, 9, 8192, 8), 0);
	ibv_wr_start(x);
	next_is(x, 1, 0);
	ibv_wr_rdma_write(x, r.mr->rkey, at(&r, 4096));
	ibv_wr_set_sge(x, r.mr->lkey, at(&r, 0), 8);
	next_is(x, 2, IBV_SEND_SIGNALED | IBV_SEND_INLINE);
	ibv_wr_send_imm(x, 77);
	ibv_wr_set_inline_data(x, r.memory + 4, 4);
	memset(r.memory + 4, 'x', 4); /* what is inline has been taken */
	next_is(x, 3, IBV_SEND_SIGNALED);
	ibv_wr_atomic_fetch_add(x, r.mr->rkey, at(&r, 16384), 5);
	ibv_wr_set_sge(x, r.mr->lkey, at(&r, 24), 8);
	expect_none(r.a.scq);
	CHECK(memcmp(r.memory + 4096, "\0\0\0\0", 4), 0);
	CHECK(ibv_wr_complete(x), 0);
	expect(r.a.scq, 2, IBV_WC_SUCCESS);
	expect(r.a.scq, 3, IBV_WC_SUCCESS);
	wc = next(r.b.rcq);
	CHECK(wc.wr_id, 9);
	CHECK(wc.imm_data, 77);
	CHECK(memcmp(r.memory + 4096, "abcdxxxx", 8), 0);
	CHECK(memcmp(r.memory + 8192, "efgh", 4), 0);
	CHECK(*(uint64_t *)(void *)(r.memory + 16384), 5);
	rig_close(&r);
}

static int write_some(struct rig *r, struct ibv_qp_ex *x, int count)
{
	ibv_wr_start(x);
	for (int i = 0; i < count; i++) {
		next_is(x, (uint64_t)i, IBV_SEND_SIGNALED);
		ibv_wr_rdma_write(x, r->mr->rkey, at(r, 4096));
		ibv_wr_set_sge(x, r->mr->lkey, at(r, 0), 8);
	}
	return ibv_wr_complete(x);
}

/* What does not fit, or is refused, takes all the others with it. */
static void all_or_none(void)
{
	struct rig r;
	struct ibv_qp_ex *x = open_all(&r);

	CHECK(write_some(&r, x, (int)shape.depth + 1), ENOMEM);
	expect_none(r.a.scq);
	CHECK(write_some(&r, x, 3), ENOMEM); /* the second is refused */
	expect_none(r.a.scq);
	CHECK(write_some(&r, x, 1), 0);
	expect(r.a.scq, 0, IBV_WC_SUCCESS);
	ibv_wr_start(x);
	ibv_wr_rdma_write(x, r.mr->rkey, at(&r, 4096));
	ibv_wr_abort(x);
	CHECK(write_some(&r, x, 1), 0);
	expect(r.a.scq, 0, IBV_WC_SUCCESS);
	rig_close(&r);
}

static bool reported(const char *what)
{
	FILE *f = fopen("report", "r");
	char line[400];
	bool found = false;

	while (f && fgets(line, sizeof(line), f))
		found |= strstr(line, what) != NULL;
	if (f)
		fclose(f);
	return found;
}

static void out_of_order(void)
{
	struct rig r;
	struct ibv_qp_ex *x = open_all(&r);

	CHECK(x->wr_send == NULL, true); /* it was not made for that */
	CHECK(x->wr_rdma_read != NULL, true);
	ibv_wr_start(x);
	next_is(x, 1, IBV_SEND_SIGNALED);
	ibv_wr_rdma_write(x, r.mr->rkey, at(&r, 4096));
	CHECK(ibv_wr_complete(x), 0);
	CHECK(reported("violation a request without data"), true);
	ibv_wr_complete(x);
	CHECK(reported("violation requests were completed that were not started"), true);
	rig_close(&r);
}

static void none(void)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .send_ops_flags = OPS,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct rig r;

	rig_open(&r);
	attr.pd = r.pd;
	CHECK(ibv_create_qp_ex(r.context, &attr) == NULL, true);
	CHECK(errno, EOPNOTSUPP);
	pair_open(&r);
	CHECK(ibv_qp_to_qp_ex(r.a.qp) == NULL, true);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "as_lists_do", "", as_lists_do },
		{ "all_or_none", "refuse=2", all_or_none },
		{ "out_of_order", "report=report", out_of_order },
		{ "none", "wr_api=0", none },
	};

	return scenes_main(argc, argv, scenes, COUNT_OF(scenes));
}
