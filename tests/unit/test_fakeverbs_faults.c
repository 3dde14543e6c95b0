/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The fake device on its wire and under its script: each setting of tests/fakeverbs/README once.
 * With the virtual clock the moments are exact: nothing else takes time.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "fake_rig.h"

#define SIGNALED IBV_SEND_SIGNALED
#define COUNT_OF(a) (int)(sizeof(a) / sizeof((a)[0]))
#define US UINT64_C(1000)

static struct request request_of(enum ibv_wr_opcode op, uint64_t id)
{
	return (struct request){
		.id = id, .op = op, .remote = 4096, .length = 8, .flags = SIGNALED,
	};
}

/* The next completion comes so long after `since`. */
#define EXPECT_AFTER(cq, id, since, ns)                \
	do {                                           \
		expect(cq, id, IBV_WC_SUCCESS);        \
		CHECK(now_ns() - (since), ns);         \
	} while (0)

/* min_rnr_timer 12 is 640 us. */
static void not_ready(void)
{
	static const uint8_t retries[] = { 0, 1, 3 };
	struct rig r;
	uint64_t t0;

	rig_open(&r);
	for (int i = 0; i < COUNT_OF(retries); i++) {
		shape.rnr_retry = retries[i];
		pair_open(&r);
		CHECK(post(&r, &r.a, request_of(IBV_WR_SEND, 1)), 0);
		t0 = now_ns();
		expect(r.a.scq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
		CHECK(now_ns() - t0, retries[i] * 640 * US);
		pair_close(&r);
	}
	shape.rnr_retry = 1;
	shape.min_rnr = 1; /* 10 us */
	pair_open(&r);
	CHECK(post(&r, &r.a, request_of(IBV_WR_SEND, 1)), 0);
	CHECK(receive(&r, &r.b, 2, 8192, 8), 0);
	t0 = now_ns();
	EXPECT_AFTER(r.a.scq, 1, t0, 10 * US);
	expect(r.b.rcq, 2, IBV_WC_SUCCESS);
	rig_close(&r);
}

/* 7 is for ever; with the real clock, as only time that passes shows it. */
static void not_ready_for_ever(void)
{
	struct rig r;
	uint64_t t0;

	shape.min_rnr = 1;
	rig_open(&r);
	pair_open(&r);
	CHECK(post(&r, &r.a, request_of(IBV_WR_SEND, 1)), 0);
	for (t0 = now_ns(); now_ns() - t0 < MS;) /* 100 times the timer */
		expect_none(r.a.scq);
	CHECK(receive(&r, &r.b, 2, 8192, 8), 0);
	expect(r.a.scq, 1, IBV_WC_SUCCESS);
	rig_close(&r);
}

/* timeout 8 is 4.096 us x 256; the first try and each retry last as long. */
static void unanswered(void)
{
	static const struct {
		uint32_t psn, qpn;
		uint8_t retries;
	} wrong[] = { { 1, 0, 2 }, { 0, 7, 2 }, { 1, 0, 0 }, { 1, 0, 7 } };
	struct rig r;
	uint64_t t0;

	rig_open(&r);
	for (int i = 0; i < COUNT_OF(wrong); i++) {
		shape.wrong_psn = wrong[i].psn;
		shape.wrong_qpn = wrong[i].qpn;
		shape.retry_cnt = wrong[i].retries;
		pair_open(&r);
		CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, 1)), 0);
		t0 = now_ns();
		expect(r.a.scq, 1, IBV_WC_RETRY_EXC_ERR);
		CHECK(now_ns() - t0, (wrong[i].retries + 1) * 256 * UINT64_C(4096));
		pair_close(&r);
	}
	rig_close(&r);
}

/* Two reads over a wire of 1 ms: side by side, or one after the other. */
static void read_limit(void)
{
	for (uint8_t limit = 1; limit <= 2; limit++) {
		struct rig r;
		uint64_t t0;

		shape.rd_atomic = limit;
		rig_open(&r);
		pair_open(&r);
		CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_READ, 1)), 0);
		CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_READ, 2)), 0);
		t0 = now_ns();
		EXPECT_AFTER(r.a.scq, 1, t0, 2 * MS);
		EXPECT_AFTER(r.a.scq, 2, t0, (limit == 1 ? 4 : 2) * MS);
		rig_close(&r);
	}
}

static void no_reads(void)
{
	struct rig r;

	shape.rd_atomic = 0;
	rig_open(&r);
	pair_open(&r);
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_READ, 1)), 0);
	expect(r.a.scq, 1, IBV_WC_LOC_QP_OP_ERR);
	rig_close(&r);
}

static struct ibv_wc write_and_wait(struct rig *r, uint64_t id)
{
	CHECK(post(r, &r->a, request_of(IBV_WR_RDMA_WRITE, id)), 0);
	return next(r->a.scq);
}

static void late(void)
{
	struct rig r;
	uint64_t t0;

	rig_open(&r);
	pair_open(&r);
	r.memory[0] = 3;
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, 1)), 0);
	CHECK(r.memory[4096], 3); /* the data are not late */
	t0 = now_ns();
	EXPECT_AFTER(r.a.scq, 1, t0, 5 * MS);
	rig_close(&r);
}

/* The file says 3, 1, 2 ms, again and again; none overtakes the one before. */
static void late_by_file(void)
{
	static const uint64_t ms[] = { 3, 1, 2, 3 };
	struct rig r;
	uint64_t t0;

	rig_open(&r);
	pair_open(&r);
	for (uint64_t i = 0; i < 4; i++) {
		CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, i)), 0);
		t0 = now_ns();
		EXPECT_AFTER(r.a.scq, i, t0, ms[i] * MS);
	}
	t0 = now_ns();
	for (uint64_t i = 0; i < 3; i++) /* 1, 2, 3: then 3 and 1 together */
		CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, i)), 0);
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, 3)), 0);
	EXPECT_AFTER(r.a.scq, 0, t0, 1 * MS);
	EXPECT_AFTER(r.a.scq, 1, t0, 2 * MS);
	EXPECT_AFTER(r.a.scq, 2, t0, 3 * MS);
	EXPECT_AFTER(r.a.scq, 3, t0, 3 * MS);
	rig_close(&r);
}

/* The second is late by 10 ms, and the third, posted with it, behind it. */
static void stall(void)
{
	struct rig r;
	uint64_t t0;

	rig_open(&r);
	pair_open(&r);
	for (uint64_t i = 1; i <= 3; i++)
		CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, i)), 0);
	t0 = now_ns();
	EXPECT_AFTER(r.a.scq, 1, t0, 0);
	EXPECT_AFTER(r.a.scq, 2, t0, 10 * MS);
	EXPECT_AFTER(r.a.scq, 3, t0, 10 * MS);
	rig_close(&r);
}

static void pace_and_wire(void)
{
	struct rig r;
	uint64_t t0;

	rig_open(&r);
	pair_open(&r);
	for (uint64_t i = 1; i <= 3; i++)
		CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, i)), 0);
	t0 = now_ns();
	for (uint64_t i = 1; i <= 3; i++) /* i ms in the device, 5 ms there, 5 ms back */
		EXPECT_AFTER(r.a.scq, i, t0, (10 + i) * MS);
	rig_close(&r);
}

static void statuses(void)
{
	struct request quiet = request_of(IBV_WR_RDMA_WRITE, 8);
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	quiet.flags = 0;
	CHECK(write_and_wait(&r, 1).status, IBV_WC_SUCCESS);
	CHECK(post(&r, &r.a, quiet), 0); /* has no completion, and is not counted */
	CHECK(write_and_wait(&r, 2).status, IBV_WC_REM_OP_ERR);
	CHECK(write_and_wait(&r, 3).status, IBV_WC_WR_FLUSH_ERR);
	rig_close(&r);
}

static void receive_status(void)
{
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	for (uint64_t i = 1; i <= 2; i++) {
		CHECK(receive(&r, &r.b, i, 8192, 8), 0);
		CHECK(post(&r, &r.a, request_of(IBV_WR_SEND, i)), 0);
	}
	expect(r.b.rcq, 1, IBV_WC_SUCCESS);
	expect(r.b.rcq, 2, IBV_WC_LOC_PROT_ERR);
	rig_close(&r);
}

/* The second of three is lost, and the first comes twice. */
static void lose_and_duplicate(void)
{
	struct rig r;

	shape.depth = 3;
	rig_open(&r);
	pair_open(&r);
	for (uint64_t i = 1; i <= 3; i++)
		CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, i)), 0);
	CHECK(next(r.a.scq).wr_id, 1);
	CHECK(next(r.a.scq).wr_id, 1);
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, 4)), 0);
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, 5)), ENOMEM);
	CHECK(next(r.a.scq).wr_id, 3); /* frees the lost one's slot too */
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, 5)), 0);
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, 6)), 0);
	rig_close(&r);
}

static void drop_all(void)
{
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	CHECK(write_and_wait(&r, 1).status, IBV_WC_RETRY_EXC_ERR);
	CHECK(r.memory[4096], 0);
	rig_close(&r);
}

/* One in ten: all come, some after a timeout or two. */
static void drop_some(void)
{
	uint64_t t0, lost = 0;
	struct rig r;

	shape.retry_cnt = 7;
	rig_open(&r);
	pair_open(&r);
	for (uint64_t i = 0; i < 1000; i++) {
		CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, i)), 0);
		t0 = now_ns();
		expect(r.a.scq, i, IBV_WC_SUCCESS);
		lost += (now_ns() - t0) / (256 * UINT64_C(4096));
	}
	CHECK(lost > 70 && lost < 160, true); /* 111 are to be expected, give or take 11 */
	rig_close(&r);
}

static void port_down(void)
{
	struct ibv_port_attr port;
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	CHECK(write_and_wait(&r, 1).status, IBV_WC_SUCCESS);
	CHECK(ibv_query_port(r.context, 1, &port), 0);
	CHECK(port.state, IBV_PORT_ACTIVE);
	CHECK(write_and_wait(&r, 2).status, IBV_WC_RETRY_EXC_ERR);
	expect_event(&r, IBV_EVENT_PORT_ERR);
	CHECK(ibv_query_port(r.context, 1, &port), 0);
	CHECK(port.state, IBV_PORT_DOWN);
	rig_close(&r);
}

static void corrupt(void)
{
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	for (uint64_t i = 1; i <= 3; i++) {
		CHECK(write_and_wait(&r, i).status, IBV_WC_SUCCESS);
		CHECK(memcmp(r.memory, r.memory + 4096, 8) != 0, i == 2);
	}
	rig_close(&r);
}

/* The second post, the third control call (open, alloc_pd, reg_mr) and the fifth poll. */
static void failing_calls(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = ibv_open_device(list[0]);
	struct ibv_pd *pd;

	errno = 0;
	pd = ibv_alloc_pd(c);
	CHECK(!pd && errno == EMFILE, true);
	pd = ibv_alloc_pd(c);
	CHECK(pd != NULL, true);
	ibv_dealloc_pd(pd);
	ibv_close_device(c);
	ibv_free_device_list(list);
}

static void failing_data(void)
{
	struct ibv_wc wc;
	struct rig r;

	rig_open(&r);
	pair_open(&r);
	CHECK(write_and_wait(&r, 1).status, IBV_WC_SUCCESS);       /* calls 1 and 2 */
	CHECK(post(&r, &r.a, request_of(IBV_WR_RDMA_WRITE, 2)), ENOSPC); /* 3, the second post */
	CHECK(ibv_poll_cq(r.a.scq, 1, &wc), -EIO);                 /* 4 */
	CHECK(write_and_wait(&r, 3).status, IBV_WC_SUCCESS);
	rig_close(&r);
}

static void limits(void)
{
	struct ibv_device_attr attr;
	struct ibv_port_attr port;
	struct rig r;

	rig_open(&r);
	CHECK(ibv_query_device(r.context, &attr), 0);
	CHECK(attr.max_qp, 3);
	CHECK(attr.max_qp_wr, 20);
	CHECK(attr.max_cqe, 40);
	CHECK(attr.max_qp_init_rd_atom, 2);
	CHECK(attr.max_qp_rd_atom, 1);
	CHECK(attr.atomic_cap, IBV_ATOMIC_NONE);
	CHECK(ibv_query_port(r.context, 1, &port), 0);
	CHECK(port.max_msg_sz, 5000);
	CHECK(port.active_mtu, IBV_MTU_1024);
	rig_close(&r);
}

static void try_qp(struct rig *r, struct ibv_cq *cq, struct ibv_qp_cap cap, int error)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq, .cap = cap,
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_create_qp(r->pd, &init);
	CHECK(qp ? 0 : errno, error);
	if (qp)
		CHECK(ibv_destroy_qp(qp), 0);
}

static void limits_hold(void)
{
	struct ibv_cq *cq;
	struct end e[3];
	struct rig r;

	rig_open(&r);
	errno = 0;
	cq = ibv_create_cq(r.context, 41, NULL, NULL, 0);
	CHECK(!cq && errno == EINVAL, true);
	cq = ibv_create_cq(r.context, 40, NULL, NULL, 0);
	CHECK(cq != NULL, true);
	try_qp(&r, cq, (struct ibv_qp_cap){ 20, 20, 1, 1, 96 }, 0);
	try_qp(&r, cq, (struct ibv_qp_cap){ 21, 20, 1, 1, 96 }, EINVAL);
	try_qp(&r, cq, (struct ibv_qp_cap){ 20, 21, 1, 1, 96 }, EINVAL);
	try_qp(&r, cq, (struct ibv_qp_cap){ 20, 20, 1, 1, 97 }, EINVAL);
	shape.send_cqe = 40;
	for (int i = 0; i < 3; i++)
		end_open(&r, &e[i]);
	try_qp(&r, cq, (struct ibv_qp_cap){ 20, 20, 1, 1, 96 }, ENOMEM); /* a fourth */
	for (int i = 0; i < 3; i++)
		end_close(&e[i]);
	CHECK(ibv_destroy_cq(cq), 0);
	rig_close(&r);
}

static void gids(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = ibv_open_device(list[0]);
	struct ibv_gid_entry e[16];
	struct ibv_port_attr port;
	char text[INET6_ADDRSTRLEN];

	CHECK(ibv_query_gid_table(c, e, 16, 0), 2);
	CHECK(e[0].gid_index, 0);
	CHECK(e[0].gid_type, IBV_GID_TYPE_ROCE_V1);
	CHECK(strcmp(inet_ntop(AF_INET6, &e[0].gid, text, sizeof(text)), "::ffff:10.1.2.3"), 0);
	CHECK(e[1].gid_index, 2);
	CHECK(e[1].gid_type, IBV_GID_TYPE_ROCE_V2);
	CHECK(strcmp(inet_ntop(AF_INET6, &e[1].gid, text, sizeof(text)), "fd00::5"), 0);
	CHECK(ibv_query_gid_ex(c, 1, 1, e, 0), ENODATA);
	CHECK(ibv_query_port(c, 1, &port), 0);
	CHECK(port.state, IBV_PORT_DOWN);
	ibv_close_device(c);
	ibv_free_device_list(list);
}

static void talk(void)
{
	char text[200] = "";
	int ends[2], was = dup(1);
	struct rig r;

	CHECK(pipe(ends), 0);
	dup2(ends[1], 1);
	rig_open(&r);
	dup2(was, 1);
	CHECK(read(ends[0], text, sizeof(text) - 1) > 0, true);
	CHECK(strncmp(text, "fakeverbs", 9), 0);
	rig_close(&r);
}

/* Once the device has been used, only what it does takes time. */
static void virtual_clock(void)
{
	struct rig r;
	uint64_t t0;

	rig_open(&r);
	pair_open(&r);
	CHECK(write_and_wait(&r, 1).status, IBV_WC_SUCCESS);
	t0 = now_ns();
	usleep(2000);
	CHECK(now_ns(), t0);
	rig_close(&r);
}

/* A poll in vain takes a tick, or until the next thing that happens. */
static void ticks(void)
{
	struct ibv_wc wc;
	struct rig r;
	uint64_t t0;

	rig_open(&r);
	pair_open(&r);
	t0 = now_ns();
	for (int i = 1; i <= 5; i++) {
		CHECK(ibv_poll_cq(r.a.scq, 1, &wc), 0);
		CHECK(now_ns(), t0 + (uint64_t)i * 1000);
	}
	CHECK(write_and_wait(&r, 1).status, IBV_WC_SUCCESS); /* 2,500 ns: two ticks and a half */
	CHECK(now_ns(), t0 + 7500);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "not_ready", "clock=virtual", not_ready },
		{ "not_ready_for_ever", "", not_ready_for_ever },
		{ "unanswered", "clock=virtual", unanswered },
		{ "read_limit", "clock=virtual wire=1ms", read_limit },
		{ "no_reads", "", no_reads },
		{ "late", "clock=virtual late=5ms", late },
		{ "late_by_file", "clock=virtual late=@lates", late_by_file },
		{ "stall", "clock=virtual stall=2:10ms", stall },
		{ "pace_and_wire", "clock=virtual pace=1ms wire=5ms", pace_and_wire },
		{ "statuses", "status=11:2", statuses },
		{ "receive_status", "recv_status=4:2", receive_status },
		{ "lose_and_duplicate", "lose=2;duplicate=1", lose_and_duplicate },
		{ "drop_all", "clock=virtual drop=1000", drop_all },
		{ "drop_some", "clock=virtual drop=100 seed=1", drop_some },
		{ "port_down", "clock=virtual port_down=2", port_down },
		{ "corrupt", "corrupt=2", corrupt },
		{ "failing_calls", "fail=control:3:24", failing_calls },
		{ "failing_data", "fail=post_send:2:28\nfail=data:4:5", failing_data },
		{ "limits", "max_qp=3 max_qp_wr=20 max_cqe=40 max_rd_atomic=2 max_dest_rd_atomic=1 "
		  "atomics=0 max_msg_sz=5000 mtu=1024", limits },
		{ "limits_hold", "max_qp=3 max_qp_wr=20 max_cqe=40 max_inline=96", limits_hold },
		{ "gids", "gids=10.1.2.3/v1,-,fd00::5 state=down", gids },
		{ "talk", "talk", talk },
		{ "virtual_clock", "clock=virtual", virtual_clock },
		{ "ticks", "clock=virtual tick=1us late=2500", ticks },
	};

	return scenes_main(argc, argv, scenes, COUNT_OF(scenes));
}
