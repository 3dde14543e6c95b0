/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fake device keeps the rules of a NIC: each of them from its good and from its bad side.
 * What it does at the script's command is in test_fakeverbs_faults.c.
 */
#include <errno.h>
#include <string.h>

#include "fake_rig.h"

#define SIGNALED IBV_SEND_SIGNALED
#define COUNT_OF(a) (int)(sizeof(a) / sizeof((a)[0]))

static struct request write_of(uint64_t id, uint32_t length)
{
	return (struct request){
		.id = id, .op = IBV_WR_RDMA_WRITE, .remote = 4096, .length = length,
		.flags = SIGNALED,
	};
}

/* From each state to each other that is no next step, and to the next without an attribute. */
static void states(void)
{
	static const enum ibv_qp_state order[] = {
		IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_ERR,
	};
	struct rig r;

	rig_open(&r);
	end_open(&r, &r.a);
	for (int at = 0; at < COUNT_OF(order); at++) {
		struct step good = step_to(&r, order[at < 4 ? at + 1 : 4], 1);

		for (int to = 1; to < COUNT_OF(order) - 1; to++) {
			struct step s = step_to(&r, order[to], 1);

			if (to != at && (to != at + 1 || at == 4))
				CHECK(take(&r.a, &s), EINVAL);
		}
		for (int bit = 0; bit < 26 && at < 3; bit++) {
			struct step s = good;

			s.mask &= ~(1 << bit);
			if (s.mask != good.mask)
				CHECK(take(&r.a, &s), EINVAL);
		}
		CHECK(r.a.qp->state, order[at]);
		CHECK(take(&r.a, &good), 0);
	}
	rig_close(&r);
}

#define BAD(state, member, value)                                 \
	do {                                                      \
		struct step s_ = step_to(&r, IBV_QPS_##state, 1); \
		s_.attr.member = value;                           \
		CHECK(take(&r.a, &s_), EINVAL);                   \
	} while (0)
#define GOOD(state)                                               \
	do {                                                      \
		struct step s_ = step_to(&r, IBV_QPS_##state, 1); \
		CHECK(take(&r.a, &s_), 0);                        \
	} while (0)

static void attributes(void)
{
	struct rig r;

	rig_open(&r);
	end_open(&r, &r.a);
	BAD(INIT, port_num, 2);
	BAD(INIT, pkey_index, 2);
	GOOD(INIT);
	BAD(RTR, ah_attr.port_num, 2);
	BAD(RTR, ah_attr.is_global, 0);
	BAD(RTR, ah_attr.grh.sgid_index, 9);
	BAD(RTR, path_mtu, 0);
	BAD(RTR, path_mtu, IBV_MTU_4096 + 1);
	BAD(RTR, min_rnr_timer, 32);
	BAD(RTR, ah_attr.sl, 16);
	BAD(RTR, ah_attr.grh.flow_label, 1 << 20);
	BAD(RTR, max_dest_rd_atomic, 17);
	GOOD(RTR);
	BAD(RTS, timeout, 32);
	BAD(RTS, retry_cnt, 8);
	BAD(RTS, rnr_retry, 8);
	BAD(RTS, max_rd_atomic, 17);
	GOOD(RTS);
	rig_close(&r);
}

/* What a queue pair was given is what it tells. */
static void read_back(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr got;
	struct step s;
	struct rig r;

	rig_open(&r);
	end_open(&r, &r.a);
	s = step_to(&r, IBV_QPS_INIT, 1);
	s.attr.pkey_index = 1;
	CHECK(take(&r.a, &s), 0);
	s = step_to(&r, IBV_QPS_RTR, 1);
	s.attr.ah_attr.sl = 5;
	s.attr.ah_attr.grh.traffic_class = 104;
	s.attr.ah_attr.grh.flow_label = 0xabcde;
	s.attr.ah_attr.grh.hop_limit = 9;
	CHECK(take(&r.a, &s), 0);
	CHECK(ibv_query_qp(r.a.qp, &got, IBV_QP_AV | IBV_QP_PKEY_INDEX, &init), 0);
	CHECK(got.pkey_index, 1);
	CHECK(got.ah_attr.sl, 5);
	CHECK(got.ah_attr.grh.traffic_class, 104);
	CHECK(got.ah_attr.grh.flow_label, 0xabcde);
	CHECK(got.ah_attr.grh.hop_limit, 9);
	rig_close(&r);
}

static void early_posts(void)
{
	struct rig r;

	rig_open(&r);
	end_open(&r, &r.a);
	CHECK(post(&r, &r.a, write_of(1, 8)), EINVAL);
	CHECK(receive(&r, &r.a, 1, 0, 8), EINVAL);
	GOOD(INIT);
	CHECK(post(&r, &r.a, write_of(1, 8)), EINVAL);
	CHECK(receive(&r, &r.a, 1, 0, 8), 0);
	GOOD(RTR);
	CHECK(post(&r, &r.a, write_of(1, 8)), EINVAL);
	GOOD(RTS);
	CHECK(post(&r, &r.a, write_of(1, 8)), 0);
	rig_close(&r);
}

/* Four slots: executed is not free; a polled completion frees what is before it, and itself. */
static void slots(void)
{
	struct request q = write_of(1, 8);
	struct rig r;

	shape.depth = 4;
	rig_open(&r);
	pair_open(&r);
	q.flags = 0;
	r.memory[0] = 7;
	for (int i = 0; i < 4; i++)
		CHECK(post(&r, &r.a, q), 0);
	CHECK(r.memory[4096], 7);
	CHECK(post(&r, &r.a, q), ENOMEM);
	expect_none(r.a.scq);
	CHECK(post(&r, &r.a, q), ENOMEM);
	pair_close(&r);

	pair_open(&r);
	for (int i = 0; i < 4; i++) {
		q.id = (uint64_t)i;
		q.flags = i == 2 ? SIGNALED : 0;
		CHECK(post(&r, &r.a, q), 0);
	}
	CHECK(post(&r, &r.a, q), ENOMEM); /* completed, but not polled */
	expect(r.a.scq, 2, IBV_WC_SUCCESS);
	for (int i = 0; i < 3; i++)
		CHECK(post(&r, &r.a, q), 0);
	CHECK(post(&r, &r.a, q), ENOMEM);
	rig_close(&r);
}

static void receive_slots(void)
{
	struct request q = { .id = 9, .op = IBV_WR_SEND, .length = 8, .flags = SIGNALED };
	struct rig r;

	shape.rx_depth = 4;
	rig_open(&r);
	pair_open(&r);
	for (int i = 0; i < 4; i++)
		CHECK(receive(&r, &r.b, 1, 8192, 8), 0);
	CHECK(receive(&r, &r.b, 1, 8192, 8), ENOMEM);
	CHECK(post(&r, &r.a, q), 0);
	CHECK(receive(&r, &r.b, 1, 8192, 8), 0);
	CHECK(receive(&r, &r.b, 1, 8192, 8), ENOMEM);
	rig_close(&r);
}

static void overrun(void)
{
	struct rig r;

	shape.send_cqe = 2;
	rig_open(&r);
	pair_open(&r);
	for (uint64_t i = 0; i < 4; i++) { /* two at a time fit for ever */
		CHECK(post(&r, &r.a, write_of(2 * i, 8)), 0);
		CHECK(post(&r, &r.a, write_of(2 * i + 1, 8)), 0);
		expect(r.a.scq, 2 * i, IBV_WC_SUCCESS);
		expect(r.a.scq, 2 * i + 1, IBV_WC_SUCCESS);
	}
	for (uint64_t i = 0; i < 3; i++)
		CHECK(post(&r, &r.a, write_of(i, 8)), 0);
	expect_event(&r, IBV_EVENT_CQ_ERR);
	expect(r.a.scq, 0, IBV_WC_SUCCESS);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	CHECK(post(&r, &r.a, write_of(9, 8)), 0);
	expect_none(r.a.scq); /* dead */
	rig_close(&r);
}

/* On a pair of its own: one request and how it ends. */
static void one_request_at(int line, struct rig *r, struct request q, enum ibv_wc_status status)
{
	pair_open(r);
	CHECK(post(r, &r->a, q), 0);
	expect_at(__FILE__, line, r->a.scq, q.id, status);
	pair_close(r);
}

#define one_request(r, q, status) one_request_at(__LINE__, r, q, status)

static void local_keys(void)
{
	struct ibv_mr *part, *foreign, *constant;
	struct request q = write_of(5, 100), in = q;
	struct ibv_pd *other;
	struct rig r;

	rig_open(&r);
	other = ibv_alloc_pd(r.context);
	part = ibv_reg_mr(r.pd, r.memory + 100, 100, IBV_ACCESS_LOCAL_WRITE);
	constant = ibv_reg_mr(r.pd, r.memory, 4096, 0);
	foreign = ibv_reg_mr(other, r.memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	q.lkey = part->lkey;
	q.local = 100;
	one_request(&r, q, IBV_WC_SUCCESS);
	q.local = 99;
	one_request(&r, q, IBV_WC_LOC_PROT_ERR);
	q.local = 101;
	one_request(&r, q, IBV_WC_LOC_PROT_ERR);
	q.local = 0;
	q.lkey = part->lkey ^ 1;
	one_request(&r, q, IBV_WC_LOC_PROT_ERR);
	q.lkey = part->rkey;
	one_request(&r, q, IBV_WC_LOC_PROT_ERR);
	q.lkey = foreign->lkey;
	one_request(&r, q, IBV_WC_LOC_PROT_ERR);
	q.lkey = constant->lkey;
	one_request(&r, q, IBV_WC_SUCCESS);
	in.op = IBV_WR_RDMA_READ; /* it writes here */
	one_request(&r, in, IBV_WC_SUCCESS);
	in.lkey = constant->lkey;
	one_request(&r, in, IBV_WC_LOC_PROT_ERR);
	q.lkey = part->lkey;
	q.local = 100;
	ibv_dereg_mr(part);
	one_request(&r, q, IBV_WC_LOC_PROT_ERR);
	ibv_dereg_mr(foreign);
	ibv_dereg_mr(constant);
	ibv_dealloc_pd(other);
	rig_close(&r);
}

static void remote_keys(void)
{
	const int all = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	struct ibv_mr *part, *foreign, *silent;
	struct request q = write_of(5, 100);
	struct ibv_pd *other;
	struct rig r;

	rig_open(&r);
	other = ibv_alloc_pd(r.context);
	part = ibv_reg_mr(r.pd, r.memory + 4096, 100, all);
	foreign = ibv_reg_mr(other, r.memory + 4096, 4096, all);
	silent = ibv_reg_mr(r.pd, r.memory + 4096, 4096, all & ~IBV_ACCESS_REMOTE_WRITE);
	q.rkey = part->rkey;
	one_request(&r, q, IBV_WC_SUCCESS);
	q.remote = 4097;
	one_request(&r, q, IBV_WC_REM_ACCESS_ERR);
	q.remote = 4095;
	one_request(&r, q, IBV_WC_REM_ACCESS_ERR);
	q.remote = 4096;
	q.length = 101;
	one_request(&r, q, IBV_WC_REM_ACCESS_ERR);
	q.length = 100;
	q.rkey = part->rkey ^ 1;
	one_request(&r, q, IBV_WC_REM_ACCESS_ERR);
	q.length = 0; /* asks for no memory */
	one_request(&r, q, IBV_WC_SUCCESS);
	q.length = 100;
	q.rkey = foreign->rkey;
	one_request(&r, q, IBV_WC_REM_ACCESS_ERR);
	q.rkey = silent->rkey;
	one_request(&r, q, IBV_WC_REM_ACCESS_ERR);
	q.op = IBV_WR_RDMA_READ;
	one_request(&r, q, IBV_WC_SUCCESS);
	q.op = IBV_WR_RDMA_WRITE;
	q.rkey = 0;
	shape.access = IBV_ACCESS_REMOTE_READ;
	one_request(&r, q, IBV_WC_REM_INV_REQ_ERR);
	q.op = IBV_WR_RDMA_READ;
	one_request(&r, q, IBV_WC_SUCCESS);
	ibv_dereg_mr(part);
	ibv_dereg_mr(foreign);
	ibv_dereg_mr(silent);
	ibv_dealloc_pd(other);
	errno = 0;
	CHECK(ibv_reg_mr(r.pd, r.memory, 8, IBV_ACCESS_REMOTE_WRITE) == NULL && errno == EINVAL,
	      true);
	rig_close(&r);
}

static void atomics(void)
{
	struct request q = {
		.id = 3, .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .remote = 4096, .length = 8,
		.flags = SIGNALED, .add = 5,
	};
	uint64_t *result, *counter;
	struct rig r;

	rig_open(&r);
	result = (uint64_t *)r.memory;
	counter = (uint64_t *)(r.memory + 4096);
	*counter = UINT64_C(0xffffffff);
	one_request(&r, q, IBV_WC_SUCCESS);
	CHECK(*result, UINT64_C(0xffffffff));
	CHECK(*counter, UINT64_C(0x100000004));
	q.op = IBV_WR_ATOMIC_CMP_AND_SWP;
	q.swap = 77;
	one_request(&r, q, IBV_WC_SUCCESS); /* expects 5: nothing happens */
	CHECK(*result, UINT64_C(0x100000004));
	CHECK(*counter, UINT64_C(0x100000004));
	q.add = UINT64_C(0x100000004);
	one_request(&r, q, IBV_WC_SUCCESS);
	CHECK(*result, UINT64_C(0x100000004));
	CHECK(*counter, 77);
	q.remote = 4100;
	one_request(&r, q, IBV_WC_REM_INV_REQ_ERR);
	q.remote = 4096;
	q.length = 4;
	one_request(&r, q, IBV_WC_LOC_LEN_ERR);
	CHECK(*counter, 77);
	q.length = 8;
	shape.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
	one_request(&r, q, IBV_WC_REM_INV_REQ_ERR);
	rig_close(&r);
}

/* With a wire of 1 ms: what is inline is copied by the post, what is not later. */
static void inlines(void)
{
	struct request q = write_of(1, 64);
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	q.flags |= IBV_SEND_INLINE;
	q.lkey = 1; /* nobody looks at it */
	memset(r.memory, 'a', 64);
	CHECK(post(&r, &r.a, q), 0);
	memset(r.memory, 'b', 64);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	CHECK(r.memory[4096], 'a');
	CHECK(r.memory[4096 + 63], 'a');
	q.length = 65;
	CHECK(post(&r, &r.a, q), EINVAL);
	q = write_of(2, 65);
	CHECK(post(&r, &r.a, q), 0);
	memset(r.memory, 'c', 65);
	expect(r.a.scq, 2, IBV_WC_SUCCESS);
	CHECK(r.memory[4096 + 64], 'c');
	rig_close(&r);
}

static void lengths(void)
{
	struct request q = { .id = 1, .op = IBV_WR_SEND, .length = 100, .flags = SIGNALED };
	struct ibv_wc wc;
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	CHECK(receive(&r, &r.b, 2, 8192, 100), 0);
	CHECK(post(&r, &r.a, q), 0);
	wc = next(r.b.rcq);
	CHECK(wc.wr_id == 2 && wc.status == IBV_WC_SUCCESS, true);
	CHECK(wc.byte_len, 100);
	CHECK(wc.opcode, IBV_WC_RECV);
	CHECK(wc.wc_flags & IBV_WC_WITH_IMM, 0);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	CHECK(receive(&r, &r.b, 3, 8192, 99), 0);
	CHECK(receive(&r, &r.b, 4, 8192, 100), 0);
	CHECK(post(&r, &r.a, q), 0);
	expect(r.b.rcq, 3, IBV_WC_LOC_LEN_ERR);
	expect(r.b.rcq, 4, IBV_WC_WR_FLUSH_ERR);
	expect(r.a.scq, 1, IBV_WC_REM_INV_REQ_ERR);
	pair_close(&r);
	one_request(&r, write_of(7, 1000), IBV_WC_SUCCESS); /* the device's limit */
	one_request(&r, write_of(7, 1001), IBV_WC_LOC_LEN_ERR);
	rig_close(&r);
}

static void immediates(void)
{
	struct request q = {
		.id = 1, .op = IBV_WR_SEND_WITH_IMM, .length = 8, .flags = SIGNALED,
		.remote = 4096, .imm = 0x01020304,
	};
	struct ibv_wc wc;
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	r.memory[0] = 9;
	CHECK(receive(&r, &r.b, 2, 8192, 8), 0);
	CHECK(receive(&r, &r.b, 3, 0, 0), 0);
	CHECK(post(&r, &r.a, q), 0);
	q.op = IBV_WR_RDMA_WRITE_WITH_IMM;
	q.imm++;
	CHECK(post(&r, &r.a, q), 0);
	wc = next(r.b.rcq);
	CHECK(wc.wr_id == 2 && wc.wc_flags == IBV_WC_WITH_IMM && wc.opcode == IBV_WC_RECV, true);
	CHECK(wc.imm_data, 0x01020304);
	CHECK(r.memory[8192], 9);
	wc = next(r.b.rcq);
	CHECK(wc.wr_id == 3 && wc.wc_flags == IBV_WC_WITH_IMM, true);
	CHECK(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	CHECK(wc.imm_data, 0x01020305);
	CHECK(r.memory[4096], 9);
	rig_close(&r);
}

/* Nothing overtakes a failure; all behind it is flushed, what asked for no completion too. */
static void flushes(void)
{
	struct request good = write_of(1, 8), bad = write_of(2, 8), quiet = write_of(3, 8);
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	for (uint64_t i = 0; i < 2; i++) {
		CHECK(receive(&r, &r.a, 20 + i, 8192, 8), 0);
		CHECK(receive(&r, &r.b, 30 + i, 8192, 8), 0);
	}
	bad.rkey = 1;
	quiet.flags = 0;
	quiet.remote = 12288;
	r.memory[0] = 5;
	CHECK(post(&r, &r.a, good), 0); /* the wire of 1 ms keeps them all on their way */
	CHECK(post(&r, &r.a, bad), 0);
	CHECK(post(&r, &r.a, quiet), 0);
	CHECK(post(&r, &r.a, write_of(4, 8)), 0);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	expect(r.a.scq, 2, IBV_WC_REM_ACCESS_ERR);
	expect(r.a.scq, 3, IBV_WC_WR_FLUSH_ERR);
	expect(r.a.scq, 4, IBV_WC_WR_FLUSH_ERR);
	CHECK(r.memory[12288], 0);
	for (uint64_t i = 0; i < 2; i++) {
		expect(r.a.rcq, 20 + i, IBV_WC_WR_FLUSH_ERR);
		expect(r.b.rcq, 30 + i, IBV_WC_WR_FLUSH_ERR);
	}
	expect_event(&r, IBV_EVENT_QP_ACCESS_ERR);
	CHECK(post(&r, &r.a, quiet), 0);
	expect(r.a.scq, 3, IBV_WC_WR_FLUSH_ERR);
	CHECK(receive(&r, &r.a, 22, 8192, 8), 0);
	expect(r.a.rcq, 22, IBV_WC_WR_FLUSH_ERR);
	rig_close(&r);
}

/* A fault of this side's own, which the other does not hear of. */
static void flushes_here(void)
{
	struct request bad = write_of(1, 8), behind = write_of(2, 8);
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	bad.lkey = 1;
	r.memory[0] = 5;
	CHECK(post(&r, &r.a, bad), 0);
	CHECK(post(&r, &r.a, behind), 0);
	expect(r.a.scq, 1, IBV_WC_LOC_PROT_ERR);
	expect(r.a.scq, 2, IBV_WC_WR_FLUSH_ERR);
	CHECK(r.memory[4096], 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "states", "", states },
		{ "attributes", "pkeys=ffff,8001", attributes },
		{ "read_back", "pkeys=ffff,8001", read_back },
		{ "early_posts", "", early_posts },
		{ "slots", "", slots },
		{ "receive_slots", "", receive_slots },
		{ "overrun", "", overrun },
		{ "local_keys", "", local_keys },
		{ "remote_keys", "", remote_keys },
		{ "atomics", "", atomics },
		{ "inlines", "clock=virtual wire=1ms", inlines },
		{ "lengths", "max_msg_sz=1000", lengths },
		{ "immediates", "", immediates },
		{ "flushes", "wire=1ms", flushes },
		{ "flushes_here", "clock=virtual wire=1ms", flushes_here },
	};

	return scenes_main(argc, argv, scenes, COUNT_OF(scenes));
}
