/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Memory windows of the fake device: what binds, what does not, and who gets through. */
#define _GNU_SOURCE
#include <errno.h>
#include <string.h>

#include "fake_rig.h"

#define SIGNALED IBV_SEND_SIGNALED
#define COUNT_OF(a) (int)(sizeof(a) / sizeof((a)[0]))
#define US UINT64_C(1000)
#define AT 4096 /* where windows open */
#define WIDE 64

static struct ibv_mr *region(struct rig *r, int access)
{
	struct ibv_mr *mr = ibv_reg_mr(r->pd, r->memory, MEMORY, access);

	CHECK(mr != NULL, true);
	return mr;
}

static struct ibv_mr *open_all(struct rig *r)
{
	shape.access |= IBV_ACCESS_MW_BIND;
	rig_open(r);
	pair_open(r);
	return region(r, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND);
}

static struct ibv_mw_bind_info info_of(const struct rig *r, struct ibv_mr *mr)
{
	return (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)r->memory + AT, .length = WIDE,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
}

static int post_bind(struct end *e, struct ibv_mw *mw, struct ibv_mw_bind_info info, uint32_t rkey,
		     uint64_t id)
{
	struct ibv_send_wr wr = {
		.wr_id = id, .opcode = IBV_WR_BIND_MW, .send_flags = SIGNALED,
		.bind_mw = { .mw = mw, .rkey = rkey, .bind_info = info },
	}, *bad;

	return ibv_post_send(e->qp, &wr, &bad);
}

static int post_invalidate(struct end *e, uint32_t rkey, uint64_t id)
{
	struct ibv_send_wr wr = {
		.wr_id = id, .opcode = IBV_WR_LOCAL_INV, .send_flags = SIGNALED,
		.invalidate_rkey = rkey,
	}, *bad;

	return ibv_post_send(e->qp, &wr, &bad);
}

static int call_bind(struct end *e, struct ibv_mw *mw, struct ibv_mw_bind_info info, uint64_t id)
{
	struct ibv_mw_bind bind = { .wr_id = id, .send_flags = SIGNALED, .bind_info = info };

	return ibv_bind_mw(e->qp, mw, &bind);
}

/* Binds at b; the window's key is then the new one. */
static void bind_at_b(struct rig *r, struct ibv_mw *mw, struct ibv_mr *mr)
{
	uint32_t key = ibv_inc_rkey(mw->rkey);
	struct ibv_wc wc;

	if (mw->type == IBV_MW_TYPE_1)
		CHECK(call_bind(&r->b, mw, info_of(r, mr), 5), 0);
	else
		CHECK(post_bind(&r->b, mw, info_of(r, mr), key, 5), 0);
	wc = next(r->b.scq);
	CHECK(wc.status, IBV_WC_SUCCESS);
	CHECK(wc.opcode, IBV_WC_BIND_MW);
	CHECK(wc.wr_id, 5);
	mw->rkey = key;
}

static void unbind_at_b(struct rig *r, struct ibv_mw *mw, struct ibv_mr *mr)
{
	struct ibv_mw_bind_info info = info_of(r, mr);

	info.length = 0;
	if (mw->type == IBV_MW_TYPE_1)
		CHECK(call_bind(&r->b, mw, info, 6), 0);
	else
		CHECK(post_invalidate(&r->b, mw->rkey, 6), 0);
	expect(r->b.scq, 6, IBV_WC_SUCCESS);
}

/* A write of a through that key; a failed one ends both queue pairs, which are made anew. */
static void through(struct rig *r, uint32_t rkey, uint32_t at, enum ibv_wc_status status)
{
	struct request q = {
		.id = 1, .op = IBV_WR_RDMA_WRITE, .remote = at, .length = 8, .flags = SIGNALED,
		.rkey = rkey,
	};

	memset(r->memory, 7, 8);
	memset(r->memory + at, 0, 8);
	CHECK(post(r, &r->a, q), 0);
	expect(r->a.scq, 1, status);
	CHECK(r->memory[at + 7], status == IBV_WC_SUCCESS ? 7 : 0);
	if (status == IBV_WC_SUCCESS)
		return;
	pair_close(r);
	pair_open(r);
}

static void open_and_shut(enum ibv_mw_type type)
{
	struct rig r;
	struct ibv_mr *mr = open_all(&r);
	struct ibv_mw *mw = ibv_alloc_mw(r.pd, type);
	uint32_t fresh = mw->rkey;

	through(&r, fresh, AT, IBV_WC_REM_ACCESS_ERR);
	bind_at_b(&r, mw, mr);
	CHECK(mw->rkey, ibv_inc_rkey(fresh));
	through(&r, mw->rkey, AT, IBV_WC_SUCCESS);
	through(&r, mw->rkey, AT + WIDE - 8, IBV_WC_SUCCESS);
	unbind_at_b(&r, mw, mr);
	/* Unbinding a window of type 1 has given it another key once more. */
	through(&r, mw->rkey, AT, IBV_WC_REM_ACCESS_ERR);
	bind_at_b(&r, mw, mr);
	through(&r, fresh, AT, IBV_WC_REM_ACCESS_ERR);
	CHECK(ibv_dealloc_mw(mw), 0);
	CHECK(ibv_dereg_mr(mr), 0);
	rig_close(&r);
}

static void first(void)
{
	open_and_shut(IBV_MW_TYPE_1);
}

static void second(void)
{
	open_and_shut(IBV_MW_TYPE_2);
}

/* Beyond the window, before it, and with what it does not allow. */
static void bounds(void)
{
	struct rig r;
	struct ibv_mr *mr = open_all(&r);
	struct ibv_mw *mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_1);

	bind_at_b(&r, mw, mr);
	through(&r, mw->rkey, AT + WIDE - 7, IBV_WC_REM_ACCESS_ERR);
	through(&r, mw->rkey, AT - 1, IBV_WC_REM_ACCESS_ERR);
	CHECK(post(&r, &r.a, (struct request){
		.id = 2, .op = IBV_WR_RDMA_READ, .remote = AT, .length = 8, .flags = SIGNALED,
		.rkey = mw->rkey }), 0);
	expect(r.a.scq, 2, IBV_WC_REM_ACCESS_ERR);
	pair_close(&r);
	pair_open(&r);
	/* It is no key of this side's own memory. */
	CHECK(post(&r, &r.a, (struct request){
		.id = 3, .op = IBV_WR_RDMA_WRITE, .local = AT, .remote = 0, .length = 8,
		.flags = SIGNALED, .lkey = mw->rkey | 1U << 31 }), 0);
	expect(r.a.scq, 3, IBV_WC_LOC_PROT_ERR);
	CHECK(ibv_dealloc_mw(mw), 0);
	CHECK(ibv_dereg_mr(mr), 0);
	rig_close(&r);
}

/* A window of type 2 is of the queue pair that bound it. */
static void one_queue_pair(void)
{
	struct rig r;
	struct ibv_mr *mr = open_all(&r);
	struct ibv_mw *mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_2);
	uint32_t key = ibv_inc_rkey(mw->rkey);

	CHECK(post_bind(&r.a, mw, info_of(&r, mr), key, 1), 0);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	through(&r, key, AT, IBV_WC_REM_ACCESS_ERR);
	CHECK(post_invalidate(&r.b, key, 2), 0);
	expect(r.b.scq, 2, IBV_WC_LOC_QP_OP_ERR);
	CHECK(ibv_dealloc_mw(mw), 0);
	CHECK(ibv_dereg_mr(mr), 0);
	rig_close(&r);
}

/* Each with one thing wrong. */
static void refused_binds(void)
{
	const int full = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_MW_BIND;
	const struct {
		int region, queue;
		uint32_t key;
		uint64_t from, length;
		unsigned int access;
	} wrong[] = {
		{ full & ~IBV_ACCESS_MW_BIND, full, 0, AT, WIDE, IBV_ACCESS_REMOTE_WRITE },
		{ IBV_ACCESS_MW_BIND, full, 0, AT, WIDE, IBV_ACCESS_REMOTE_WRITE },
		{ full, IBV_ACCESS_REMOTE_WRITE, 0, AT, WIDE, IBV_ACCESS_REMOTE_WRITE },
		{ full, full, 256, AT, WIDE, IBV_ACCESS_REMOTE_WRITE }, /* of another window */
		{ full, full, 0, MEMORY - WIDE + 1, WIDE, IBV_ACCESS_REMOTE_WRITE },
		{ full, full, 0, -UINT64_C(1), WIDE, IBV_ACCESS_REMOTE_WRITE },
		{ full, full, 0, AT, 0, IBV_ACCESS_REMOTE_WRITE },
		{ full, full, 0, AT, WIDE, IBV_ACCESS_LOCAL_WRITE },
	};
	struct rig r;

	rig_open(&r);
	for (int i = 0; i < COUNT_OF(wrong); i++) {
		struct ibv_mw *mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_2);
		struct ibv_mr *mr = region(&r, wrong[i].region);
		struct ibv_mw_bind_info info = {
			.mr = mr, .addr = (uintptr_t)r.memory + wrong[i].from,
			.length = wrong[i].length, .mw_access_flags = wrong[i].access,
		};

		shape.access = wrong[i].queue;
		pair_open(&r);
		CHECK(post_bind(&r.b, mw, info, ibv_inc_rkey(mw->rkey) + wrong[i].key, 1), 0);
		expect(r.b.scq, 1, IBV_WC_MW_BIND_ERR);
		pair_close(&r);
		CHECK(ibv_dealloc_mw(mw), 0);
		CHECK(ibv_dereg_mr(mr), 0);
	}
	rig_close(&r);
}

/* Type 2 has to be invalidated before it is bound again, and with another key; type 1 does not. */
static void bound_again(void)
{
	struct rig r;
	struct ibv_mr *mr = open_all(&r);
	struct ibv_mw *one = ibv_alloc_mw(r.pd, IBV_MW_TYPE_1);
	struct ibv_mw *two = ibv_alloc_mw(r.pd, IBV_MW_TYPE_2);

	bind_at_b(&r, one, mr);
	bind_at_b(&r, one, mr);
	CHECK(post_bind(&r.b, two, info_of(&r, mr), two->rkey, 1), 0);
	expect(r.b.scq, 1, IBV_WC_MW_BIND_ERR);
	pair_close(&r);
	pair_open(&r);
	bind_at_b(&r, two, mr);
	CHECK(post_bind(&r.b, two, info_of(&r, mr), ibv_inc_rkey(two->rkey), 2), 0);
	expect(r.b.scq, 2, IBV_WC_MW_BIND_ERR);
	CHECK(ibv_dealloc_mw(one), 0);
	CHECK(ibv_dealloc_mw(two), 0);
	CHECK(ibv_dereg_mr(mr), 0);
	rig_close(&r);
}

/* What is not bound cannot be invalidated, nor can a window of type 1 in this way. */
static void refused_invalidations(void)
{
	struct rig r;
	struct ibv_mr *mr = open_all(&r);
	struct ibv_mw *one = ibv_alloc_mw(r.pd, IBV_MW_TYPE_1);
	struct ibv_mw *two = ibv_alloc_mw(r.pd, IBV_MW_TYPE_2);
	uint32_t keys[3];

	bind_at_b(&r, one, mr);
	keys[0] = one->rkey;
	keys[1] = two->rkey;
	keys[2] = r.mr->rkey;
	for (int i = 0; i < COUNT_OF(keys); i++) {
		CHECK(post_invalidate(&r.b, keys[i], 1), 0);
		expect(r.b.scq, 1, IBV_WC_LOC_QP_OP_ERR);
		pair_close(&r);
		pair_open(&r);
	}
	CHECK(ibv_dealloc_mw(one), 0);
	CHECK(ibv_dealloc_mw(two), 0);
	CHECK(ibv_dereg_mr(mr), 0);
	rig_close(&r);
}

/* Each type is bound in its own way. */
static void wrong_ways(void)
{
	struct rig r;
	struct ibv_mr *mr = open_all(&r);
	struct ibv_mw *one = ibv_alloc_mw(r.pd, IBV_MW_TYPE_1);

	CHECK(post_bind(&r.b, one, info_of(&r, mr), ibv_inc_rkey(one->rkey), 1), EINVAL);
	CHECK(ibv_alloc_mw(r.pd, IBV_MW_TYPE_2) == NULL, true);
	CHECK(errno, EOPNOTSUPP);
	one->type = IBV_MW_TYPE_2;
	CHECK(call_bind(&r.b, one, info_of(&r, mr), 2), EINVAL);
	CHECK(ibv_dealloc_mw(one), 0);
	CHECK(ibv_dereg_mr(mr), 0);
	rig_close(&r);
}

/* A region stays as long as a window is bound to it. */
static void region_is_busy(void)
{
	struct rig r;
	struct ibv_mr *mr = open_all(&r);
	struct ibv_mw *mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_2);

	bind_at_b(&r, mw, mr);
	CHECK(ibv_dereg_mr(mr), EBUSY);
	unbind_at_b(&r, mw, mr);
	CHECK(ibv_dereg_mr(mr), 0);
	CHECK(ibv_dealloc_mw(mw), 0);
	rig_close(&r);
}

static void caps_of_windows(void)
{
	struct ibv_device_attr attr;
	struct rig r;

	rig_open(&r);
	CHECK(ibv_query_device(r.context, &attr), 0);
	CHECK(!!(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW), 0);
	CHECK(!!(attr.device_cap_flags & IBV_DEVICE_MEM_WINDOW_TYPE_2B), 1);
	CHECK(ibv_alloc_mw(r.pd, IBV_MW_TYPE_1) == NULL, true);
	CHECK(errno, EOPNOTSUPP);
	rig_close(&r);
}

/* 10 us, and 1 us for each page that is touched; 5 us to undo it. */
static void registration_takes_time(void)
{
	static const struct {
		uint32_t from, length, us;
	} known[] = { { 0, 1, 11 }, { 0, 4096, 11 }, { 0, 4097, 12 }, { 4095, 2, 12 },
		      { 0, MEMORY, 26 } };
	struct rig r;

	rig_open(&r);
	for (int i = 0; i < COUNT_OF(known); i++) {
		uint64_t t0 = now_ns();
		struct ibv_mr *mr = ibv_reg_mr(r.pd, r.memory + known[i].from, known[i].length,
					       IBV_ACCESS_LOCAL_WRITE);

		CHECK(now_ns() - t0, known[i].us * US);
		t0 = now_ns();
		CHECK(ibv_dereg_mr(mr), 0);
		CHECK(now_ns() - t0, 5 * US);
	}
	rig_close(&r);
}

/* The device takes its time for a bind; the wire has no part in it. */
static void binds_take_time(void)
{
	struct rig r;
	struct ibv_mr *mr = open_all(&r);
	struct ibv_mw *mw = ibv_alloc_mw(r.pd, IBV_MW_TYPE_2);
	uint64_t t0 = now_ns();

	bind_at_b(&r, mw, mr);
	CHECK(now_ns() - t0, 3 * US);
	unbind_at_b(&r, mw, mr);
	CHECK(now_ns() - t0, 6 * US);
	CHECK(ibv_dealloc_mw(mw), 0);
	CHECK(ibv_dereg_mr(mr), 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "first", "", first },
		{ "second", "", second },
		{ "bounds", "", bounds },
		{ "one_queue_pair", "", one_queue_pair },
		{ "refused_binds", "", refused_binds },
		{ "bound_again", "", bound_again },
		{ "refused_invalidations", "", refused_invalidations },
		{ "wrong_ways", "windows=1", wrong_ways },
		{ "region_is_busy", "", region_is_busy },
		{ "caps_of_windows", "windows=2", caps_of_windows },
		{ "registration_takes_time", "clock=virtual reg=10us reg_page=1us dereg=5us",
		  registration_takes_time },
		{ "binds_take_time", "clock=virtual pace=3us wire=1ms", binds_take_time },
	};

	return scenes_main(argc, argv, scenes, COUNT_OF(scenes));
}
