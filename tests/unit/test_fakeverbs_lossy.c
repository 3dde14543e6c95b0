/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fake device's UC and UD queue pairs: what they refuse, and what is lost without a word. */
#include <errno.h>
#include <string.h>

#include "fake_rig.h"

#define SIGNALED IBV_SEND_SIGNALED
#define COUNT_OF(a) (int)(sizeof(a) / sizeof((a)[0]))
#define GRH 40

/* Nothing of what another transport's steps take is taken. */
static void steps(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD };
	static const int foreign[] = { IBV_QP_TIMEOUT, IBV_QP_MIN_RNR_TIMER };
	struct rig r;

	rig_open(&r);
	for (int i = 0; i < COUNT_OF(types); i++) {
		shape.type = types[i];
		end_open(&r, &r.a);
		for (enum ibv_qp_state s = IBV_QPS_INIT; s <= IBV_QPS_RTS; s++) {
			struct step good = step_to(&r, s, 1), bad = good;

			for (int k = 0; k < COUNT_OF(foreign); k++) {
				bad.mask = good.mask | foreign[k];
				CHECK(take(&r.a, &bad), EINVAL);
			}
			for (int bit = 1; bit < 26; bit++) {
				bad.mask = good.mask & ~(1 << bit);
				if (bad.mask != good.mask)
					CHECK(take(&r.a, &bad), EINVAL);
			}
			CHECK(take(&r.a, &good), 0);
		}
		end_close(&r.a);
	}
	rig_close(&r);
}

static struct request request_of(enum ibv_wr_opcode op, uint64_t id, uint32_t length)
{
	return (struct request){
		.id = id, .op = op, .remote = 4096, .length = length, .flags = SIGNALED,
	};
}

/* A write arrives; a send without a receive is gone; one with a receive fills it. */
static void uc_delivers(void)
{
	struct ibv_wc wc;
	struct rig r;

	shape.type = IBV_QPT_UC;
	rig_open(&r);
	pair_open(&r);
	memset(r.memory, 7, 5000);
	memset(r.memory + 4096, 0, 5000);
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, 1, 8)), 0);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	CHECK(r.memory[4103], 7);
	CHECK(r.memory[4104], 0);
	CHECK(post(&r, &r.a, request_of(IBV_WR_SEND, 2, 8)), 0);
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE_WITH_IMM, 3, 16)), 0);
	expect(r.a.scq, 2, IBV_WC_SUCCESS);
	expect(r.a.scq, 3, IBV_WC_SUCCESS);
	CHECK(r.memory[4111], 0); /* for want of a receive not even written */
	CHECK(receive(&r, &r.b, 20, 12288, 100), 0);
	expect_none(r.b.rcq);
	CHECK(post(&r, &r.a, request_of(IBV_WR_SEND, 4, 100)), 0);
	expect(r.a.scq, 4, IBV_WC_SUCCESS);
	wc = next(r.b.rcq);
	CHECK(wc.wr_id, 20);
	CHECK(wc.byte_len, 100);
	CHECK(r.memory[12288 + 99], 7);
	rig_close(&r);
}

/* What the other side would refuse is gone too; what no UC has fails here. */
static void uc_refusals(void)
{
	struct request q = request_of(IBV_WR_RDMA_WRITE, 1, 8);
	struct rig r;

	shape.type = IBV_QPT_UC;
	rig_open(&r);
	pair_open(&r);
	r.memory[0] = 9;
	q.rkey = 12345;
	CHECK(post(&r, &r.a, q), 0);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	CHECK(r.memory[4096], 0);
	q.rkey = 0;
	q.id = 2;
	CHECK(post(&r, &r.a, q), 0);
	expect(r.a.scq, 2, IBV_WC_SUCCESS); /* neither side is in error */
	CHECK(r.memory[4096], 9);
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_READ, 3, 8)), 0);
	expect(r.a.scq, 3, IBV_WC_LOC_QP_OP_ERR);
	rig_close(&r);
}

/* With everything lost on the wire the sender still sees only successes. */
static void uc_wire(void)
{
	struct rig r;

	shape.type = IBV_QPT_UC;
	rig_open(&r);
	pair_open(&r);
	r.memory[0] = 9;
	for (uint64_t i = 1; i <= 10; i++) {
		CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, i, 8)), 0);
		expect(r.a.scq, i, IBV_WC_SUCCESS);
	}
	CHECK(r.memory[4096], 0);
	rig_close(&r);
}

static struct ibv_ah *address(const struct rig *r, uint8_t index)
{
	struct ibv_ah_attr attr = {
		.is_global = 1, .port_num = 1,
		.grh = { .dgid = r->gid, .sgid_index = index, .hop_limit = 64 },
	};

	return ibv_create_ah(r->pd, &attr);
}

static struct request datagram(const struct rig *r, struct ibv_ah *ah, uint64_t id, uint32_t length)
{
	struct request q = request_of(IBV_WR_SEND, id, length);

	q.ah = ah;
	q.to_qpn = r->b.qp->qp_num;
	q.to_qkey = RIG_QKEY;
	return q;
}

static void ud_open(struct rig *r, struct ibv_ah **ah)
{
	shape.type = IBV_QPT_UD;
	rig_open(r);
	pair_open(r);
	*ah = address(r, 1);
	CHECK(*ah != NULL, true);
	memset(r->memory, 7, 4096);
}

/* Behind 40 bytes, of which the last 16 are the receiver's GID. */
static void ud_delivers(void)
{
	struct ibv_ah *ah;
	struct ibv_wc wc;
	struct rig r;

	ud_open(&r, &ah);
	CHECK(receive(&r, &r.b, 20, 8192, GRH + 100), 0);
	CHECK(post(&r, &r.a, datagram(&r, ah, 1, 100)), 0);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	wc = next(r.b.rcq);
	CHECK(wc.status, IBV_WC_SUCCESS);
	CHECK(wc.byte_len, GRH + 100);
	CHECK(wc.wc_flags & IBV_WC_GRH, IBV_WC_GRH);
	CHECK(wc.src_qp, r.a.qp->qp_num);
	CHECK(memcmp(r.memory + 8192 + 24, &r.gid, sizeof(r.gid)), 0);
	CHECK(r.memory[8192 + GRH], 7);
	CHECK(r.memory[8192 + GRH + 99], 7);
	CHECK(r.memory[8192 + GRH + 100], 0);
	CHECK(receive(&r, &r.b, 21, 8192, GRH + 99), 0);
	CHECK(post(&r, &r.a, datagram(&r, ah, 2, 100)), 0);
	expect(r.a.scq, 2, IBV_WC_SUCCESS);
	expect(r.b.rcq, 21, IBV_WC_LOC_LEN_ERR);
	CHECK(ibv_destroy_ah(ah), 0);
	rig_close(&r);
}

/* Another Q_Key, another number, no receive: gone. The sender's own key when the high bit is set. */
static void ud_loses(void)
{
	struct request q;
	struct ibv_ah *ah;
	struct rig r;

	ud_open(&r, &ah);
	CHECK(post(&r, &r.a, datagram(&r, ah, 1, 8)), 0);
	CHECK(receive(&r, &r.b, 20, 8192, GRH + 8), 0);
	q = datagram(&r, ah, 2, 8);
	q.to_qkey++;
	CHECK(post(&r, &r.a, q), 0);
	q = datagram(&r, ah, 3, 8);
	q.to_qpn++;
	CHECK(post(&r, &r.a, q), 0);
	for (uint64_t i = 1; i <= 3; i++)
		expect(r.a.scq, i, IBV_WC_SUCCESS);
	expect_none(r.b.rcq);
	q = datagram(&r, ah, 4, 8);
	q.to_qkey = 1U << 31;
	CHECK(post(&r, &r.a, q), 0);
	expect(r.a.scq, 4, IBV_WC_SUCCESS);
	expect(r.b.rcq, 20, IBV_WC_SUCCESS);
	CHECK(ibv_destroy_ah(ah), 0);
	rig_close(&r);
}

/* Two that share receives take datagrams as any do; when all are used up the next one is gone. */
static void ud_shares(void)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 1, .max_sge = 1 } };
	struct ibv_recv_wr wr = { .wr_id = 20, .num_sge = 1 }, *bad;
	struct ibv_ah *ah;
	struct rig r;

	shape.type = IBV_QPT_UD;
	rig_open(&r);
	r.srq = ibv_create_srq(r.pd, &attr);
	CHECK(r.srq != NULL, true);
	pair_open(&r);
	ah = address(&r, 1);
	wr.sg_list = &(struct ibv_sge){
		.addr = (uintptr_t)r.memory + 8192, .length = GRH + 8, .lkey = r.mr->lkey,
	};
	memset(r.memory, 7, 8);
	CHECK(ibv_post_srq_recv(r.srq, &wr, &bad), 0);
	CHECK(post(&r, &r.a, datagram(&r, ah, 1, 8)), 0);
	CHECK(post(&r, &r.a, datagram(&r, ah, 2, 8)), 0);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	expect(r.a.scq, 2, IBV_WC_SUCCESS);
	expect(r.b.rcq, 20, IBV_WC_SUCCESS);
	expect_none(r.b.rcq);
	CHECK(r.memory[8192 + GRH + 7], 7);
	CHECK(ibv_destroy_ah(ah), 0);
	pair_close(&r);
	CHECK(ibv_destroy_srq(r.srq), 0);
	rig_close(&r);
}

/* The device's MTU is 1024. */
static void ud_refusals(void)
{
	struct ibv_ah *ah;
	struct rig r;

	ud_open(&r, &ah);
	CHECK(address(&r, 9) == NULL, true);
	CHECK(errno, EINVAL);
	CHECK(receive(&r, &r.b, 20, 8192, GRH + 2048), 0);
	CHECK(post(&r, &r.a, datagram(&r, ah, 1, 1024)), 0);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	expect(r.b.rcq, 20, IBV_WC_SUCCESS);
	CHECK(post(&r, &r.a, datagram(&r, ah, 2, 1025)), 0);
	expect(r.a.scq, 2, IBV_WC_LOC_LEN_ERR);
	CHECK(ibv_destroy_ah(ah), 0);
	rig_close(&r);
}

static void ud_writes_nothing(void)
{
	struct request q;
	struct ibv_ah *ah;
	struct rig r;

	ud_open(&r, &ah);
	q = datagram(&r, ah, 1, 8);
	q.op = IBV_WR_RDMA_WRITE;
	CHECK(post(&r, &r.a, q), 0);
	expect(r.a.scq, 1, IBV_WC_LOC_QP_OP_ERR);
	CHECK(ibv_destroy_ah(ah), 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "steps", "", steps },
		{ "uc_delivers", "", uc_delivers },
		{ "uc_refusals", "", uc_refusals },
		{ "uc_wire", "drop=1000", uc_wire },
		{ "ud_delivers", "", ud_delivers },
		{ "ud_loses", "", ud_loses },
		{ "ud_shares", "", ud_shares },
		{ "ud_refusals", "mtu=1024", ud_refusals },
		{ "ud_writes_nothing", "", ud_writes_nothing },
	};

	return scenes_main(argc, argv, scenes, COUNT_OF(scenes));
}
