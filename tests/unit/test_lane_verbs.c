/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Draining, failing and posting receives, with verbs that are functions of this file. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "engine/lane.h"
#include "lane_fixture.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* The device: completions to be polled, and what was posted. */
static struct ibv_wc to_poll[2 * GROUPS][32];
static int left_to_poll[2 * GROUPS], taken[2 * GROUPS];
static struct ibv_send_wr posted[8];
static struct ibv_qp *posted_on[8];
static int posts, post_rc;
static int recv_runs[8], recv_posts, recv_rc;
static uint64_t recv_ids[64];
static int recv_count;

static int fake_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	int which = cq->cqe, i;

	for (i = 0; i < n && taken[which] < left_to_poll[which]; i++)
		wc[i] = to_poll[which][taken[which]++];
	return i;
}

/* What is posted completes, as on a device. */
static int fake_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	*bad = wr;
	posted_on[posts] = qp;
	posted[posts++] = *wr;
	if (!post_rc)
		to_poll[qp->send_cq->cqe][left_to_poll[qp->send_cq->cqe]++] =
			(struct ibv_wc){ .wr_id = wr->wr_id, .qp_num = qp->qp_num };
	return post_rc;
}

static int fake_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)qp;
	*bad = wr;
	recv_runs[recv_posts] = 0;
	for (; wr; wr = wr->next, recv_runs[recv_posts]++)
		recv_ids[recv_count++] = wr->wr_id;
	recv_posts++;
	return recv_rc;
}

static int open_device(void **state)
{
	struct fixture *f;

	if (open_lane(state))
		return -1;
	f = *state;
	memset(left_to_poll, 0, sizeof(left_to_poll));
	memset(taken, 0, sizeof(taken));
	posts = post_rc = recv_posts = recv_rc = recv_count = 0;
	f->context.ops.poll_cq = fake_poll;
	f->context.ops.post_send = fake_send;
	f->context.ops.post_recv = fake_recv;
	return 0;
}

/* An unsignalled tail is retired by one empty write, and reaped with it. */
static void drain_retires_the_tail(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	use_qps(f, 2, 2);
	lane_begin(l);
	f->qp[0].posted = 107;
	f->qp[0].completed = 100;
	f->qp[0].unsignalled = 7;
	f->qp[1].posted = f->qp[1].completed = 50;
	l->count = 150;
	lane_drain_sends(l);
	assert_int_equal(posts, 1);
	assert_ptr_equal(posted_on[0], &f->verbs_qp[0]);
	assert_int_equal(posted[0].opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(posted[0].num_sge, 0);
	assert_int_equal(posted[0].send_flags, IBV_SEND_SIGNALED);
	assert_true(posted[0].wr_id & WRID_FLUSH);
	assert_int_equal(f->qp[0].completed, 107);
	assert_int_equal(l->count, 157); /* seven messages, and not the empty write */
	assert_int_equal(f->measure.completed, 157);
	assert_int_equal(l->error.kind, LANE_FINE);
	assert_true(reached(f) & LANE_SENT);
}

/* The lane has queue pairs 0 and 1, and for 0 that would be the last completion. */
static void of_no_queue_pair(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	use_qps(f, 2, 2);
	lane_begin(l);
	f->qp[0].posted = 5;
	f->qp[0].completed = f->qp[1].posted = f->qp[1].completed = 4;
	to_poll[0][0] = (struct ibv_wc){ .wr_id = wrid_make(2, 5), .qp_num = 100 };
	left_to_poll[0] = 1;
	lane_drain_sends(l);
	assert_int_equal(l->error.kind, LANE_STRAY);
	assert_int_equal(f->qp[0].completed, 4);
	assert_int_equal(f->qp[1].completed, 4);
}

static void drain_sees_a_failure(void **state)
{
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	lane_begin(l);
	f->qp[0].posted = 10;
	f->qp[0].completed = 4;
	to_poll[0][0] = (struct ibv_wc){ .wr_id = wrid_make(0, 5), .qp_num = 100,
					 .status = IBV_WC_WR_FLUSH_ERR };
	to_poll[0][1] = (struct ibv_wc){ .wr_id = wrid_make(0, 7), .qp_num = 100,
					 .status = IBV_WC_RETRY_EXC_ERR, .vendor_err = 0x81 };
	left_to_poll[0] = 2;
	lane_drain_sends(l);
	assert_int_equal(l->error.kind, LANE_WC);
	assert_false(reached(f) & LANE_SENT);
}

static void post_failure_is_kept(void **state)
{
	static const struct {
		int rc, error;
	} known[] = { { ENOMEM, ENOMEM }, { -EINVAL, EINVAL }, { -1, EIO } };
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	for (size_t i = 0; i < COUNT_OF(known); i++) {
		l->error = (struct lane_error){ 0 };
		f->qp[0].posted = 10;
		f->qp[0].completed = 4;
		f->qp[0].unsignalled = 6;
		post_rc = known[i].rc;
		errno = EIO;
		lane_drain_sends(l);
		assert_int_equal(l->error.kind, LANE_POST);
		assert_int_equal(l->error.errnum, known[i].error);
	}
}

/* The failure behind a flush may lie further back, or in the other queue. */
static void cause_of_a_flush(void **state)
{
	struct ibv_wc flush = { .status = IBV_WC_WR_FLUSH_ERR, .qp_num = 101 };
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	use_qps(f, 2, 2);
	f->qp[1].completed = 55;
	f->qp[0].received = 66;
	f->qp[1].received = 77;
	l->received = 143;
	for (int i = 0; i < 20; i++)
		to_poll[0][i] = flush;
	to_poll[0][20] = (struct ibv_wc){ .status = IBV_WC_SUCCESS };
	to_poll[0][21] = (struct ibv_wc){ .status = IBV_WC_REM_ACCESS_ERR, .qp_num = 101,
					  .vendor_err = 0x88 };
	left_to_poll[0] = 22;
	lane_failed(l, &flush, true);
	assert_int_equal(l->error.kind, LANE_WC);
	assert_int_equal(l->error.status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(l->error.vendor, 0x88);
	assert_int_equal(l->error.qpn, 101);
	assert_false(l->error.receive);
	assert_int_equal(l->error.message, 55);

	to_poll[1][0] = (struct ibv_wc){ .status = IBV_WC_LOC_LEN_ERR, .qp_num = 100 };
	left_to_poll[1] = 1;
	lane_failed(l, &flush, false);
	assert_int_equal(l->error.status, IBV_WC_LOC_LEN_ERR);
	assert_true(l->error.receive);
	assert_int_equal(l->error.message, 66);

	lane_failed(l, &flush, false); /* nothing behind it: the flush itself */
	assert_int_equal(l->error.status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(l->error.qpn, 101);
}

/* Also when the flush came from one group's queues and the failure lies in another's. */
static void cause_in_another_group(void **state)
{
	struct ibv_wc flush = { .status = IBV_WC_WR_FLUSH_ERR, .qp_num = 100 };
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	use_qps(f, 4, 2);
	f->qp[3].completed = 12;
	f->qp[3].received = 34;
	for (int which = 0; which < 3; which++)
		for (int i = 0; i < 5; i++)
			to_poll[which][left_to_poll[which]++] = flush;
	to_poll[3][0] = (struct ibv_wc){ .status = IBV_WC_SUCCESS, .qp_num = 102 };
	to_poll[3][1] = (struct ibv_wc){ .status = IBV_WC_LOC_PROT_ERR, .qp_num = 103 };
	left_to_poll[3] = 2;
	lane_failed(l, &flush, false);
	assert_int_equal(l->error.status, IBV_WC_LOC_PROT_ERR);
	assert_int_equal(l->error.qpn, 103);
	assert_true(l->error.receive);
	assert_int_equal(l->error.message, 34);

	to_poll[2][left_to_poll[2]++] =
		(struct ibv_wc){ .status = IBV_WC_RETRY_EXC_ERR, .qp_num = 103 };
	lane_failed(l, &flush, true);
	assert_int_equal(l->error.status, IBV_WC_RETRY_EXC_ERR);
	assert_false(l->error.receive);
	assert_int_equal(l->error.message, 12);
}

/* A failure that is one already is the cause: nothing further is taken from the queues. */
static void a_cause_is_not_searched_for(void **state)
{
	struct ibv_wc failed = { .status = IBV_WC_REM_OP_ERR, .qp_num = 100 };
	struct fixture *f = *state;

	to_poll[0][0] = (struct ibv_wc){ .status = IBV_WC_RETRY_EXC_ERR, .qp_num = 100 };
	left_to_poll[0] = 1;
	lane_failed(&f->lane, &failed, true);
	assert_int_equal(f->lane.error.status, IBV_WC_REM_OP_ERR);
	assert_true(f->lane.error.receive);
	assert_int_equal(taken[0], 0);
}

/* Each queue pair's tail is its own: three have one, in two groups, and one has none. */
static void tails_of_several_qps(void **state)
{
	static const uint32_t tails[QPS] = { 7, 0, 1, 5 };
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	use_qps(f, 4, 2);
	lane_begin(l);
	for (uint32_t i = 0; i < QPS; i++) {
		f->qp[i].posted = 100 * i + 50;
		f->qp[i].unsignalled = tails[i];
		f->qp[i].completed = f->qp[i].posted - tails[i];
	}
	l->count = 787;
	lane_drain_sends(l);
	assert_int_equal(posts, 3);
	assert_ptr_equal(posted_on[0], &f->verbs_qp[0]);
	assert_ptr_equal(posted_on[1], &f->verbs_qp[2]);
	assert_ptr_equal(posted_on[2], &f->verbs_qp[3]);
	assert_true(posted[2].wr_id == (wrid_make(3, 350) | WRID_FLUSH));
	assert_true(lane_all_completed(l));
	assert_int_equal(l->count, 800);
	assert_int_equal(f->measure.posted, 800);
	assert_int_equal(f->measure.completed, 800);
	assert_true(reached(f) & LANE_SENT);
}

/* Old values of swaps 6, 7 and 8 in a ring of four: 8 lies where 4 was. */
static void swaps_that_hit(void **state)
{
	volatile uint64_t results[4] = { 8, 99, 6, 7 };
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	l->predicts = true;
	l->wr_count = 4;
	f->qp[0].results = results;
	f->qp[0].checked = 6;
	f->qp[0].completed = 9;
	f->qp[0].results_at = 2;
	lane_check_results(l, &f->qp[0]);
	assert_int_equal(l->missed, 0);
	assert_int_equal(l->error.kind, LANE_FINE);
	assert_int_equal(f->qp[0].checked, 9);
	lane_check_results(l, &f->qp[0]);
	assert_int_equal(l->error.kind, LANE_FINE);
}

/* The first one that did not find its predecessor is the cause; all that follow miss as well. */
static void a_miss_is_an_error(void **state)
{
	volatile uint64_t results[4] = { 7, 7, 6, 7 };
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	l->wr_count = 4;
	f->qp[1].results = results;
	f->qp[1].checked = 6;
	f->qp[1].completed = 8;
	f->qp[1].results_at = 2;
	lane_check_results(l, &f->qp[1]);
	assert_int_equal(l->error.kind, LANE_FINE);
	f->qp[1].completed = 10;
	lane_check_results(l, &f->qp[1]);
	assert_int_equal(l->missed, 2);
	assert_int_equal(l->error.kind, LANE_MISSED);
	assert_int_equal(l->error.qpn, 101);
	assert_int_equal(l->error.message, 8);
}

static void a_shared_miss_is_counted(void **state)
{
	volatile uint64_t results[4] = { 12, 1, 2, 11 };
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	l->wr_count = 4;
	l->shares_target = true;
	f->qp[0].results = results;
	f->qp[0].completed = 4;
	lane_check_results(l, &f->qp[0]);
	assert_int_equal(l->missed, 2);
	assert_int_equal(l->error.kind, LANE_FINE);
	lane_begin(l);
	edge(f, 1 * MS, 4);
	assert_int_equal(f->measure.missed, 2);
}

/* The empty write that retires a tail of swaps is none, and has no old value. */
static void a_flush_is_no_swap(void **state)
{
	volatile uint64_t results[4] = { 4, 777, 2, 3 };
	struct fixture *f = *state;
	struct lane *l = &f->lane;

	lane_begin(l);
	l->predicts = true;
	l->wr_count = 4;
	f->qp[0].results = results;
	f->qp[0].posted = 5;
	f->qp[0].completed = f->qp[0].checked = 2;
	f->qp[0].results_at = 2;
	f->qp[0].unsignalled = 3;
	lane_drain_sends(l);
	assert_int_equal(l->error.kind, LANE_FINE);
	assert_int_equal(l->missed, 0);
	assert_int_equal(f->qp[0].completed, 5);
	/* One of the tail's that missed is found all the same. */
	results[3] = 4;
	f->qp[0].completed = f->qp[0].checked = 2;
	f->qp[0].results_at = 2;
	f->qp[0].unsignalled = 3;
	lane_drain_sends(l);
	assert_int_equal(l->error.kind, LANE_MISSED);
	assert_int_equal(l->error.message, 3);
}

/* A ring of 8 from its slot 5 on: all 8, across its end, and 2 more; then on from where that ended. */
static void receives_go_round(void **state)
{
	struct ibv_recv_wr ring[8] = { 0 };
	struct fixture *f = *state;
	struct lane_qp *q = &f->qp[0];

	for (uint64_t i = 0; i < 8; i++) {
		ring[i].wr_id = i;
		ring[i].next = &ring[(i + 1) % 8];
	}
	f->lane.recv_count = 8;
	q->recv = ring;
	q->recv_at = 5;
	assert_int_equal(lane_post_receives(&f->lane, q, 10), 0);
	assert_int_equal(recv_posts, 2);
	assert_int_equal(recv_runs[0], 8);
	assert_int_equal(recv_runs[1], 2);
	assert_int_equal(q->recv_at, 7);
	for (uint64_t i = 0; i < 10; i++)
		assert_int_equal(recv_ids[i], (5 + i) % 8);
	assert_int_equal(lane_post_receives(&f->lane, q, 1), 0);
	assert_int_equal(recv_ids[10], 7);
	assert_int_equal(q->recv_at, 0);
	assert_int_equal(lane_post_receives(&f->lane, q, 0), 0);
	assert_int_equal(recv_posts, 3);
	for (int i = 0; i < 8; i++) /* the ring is whole again */
		assert_ptr_equal(ring[i].next, &ring[(i + 1) % 8]);
	recv_rc = -ENOMEM;
	assert_int_equal(lane_post_receives(&f->lane, q, 1), ENOMEM);
}

#define VERBS_TEST(name) cmocka_unit_test_setup_teardown(name, open_device, close_lane)

int main(void)
{
	const struct CMUnitTest tests[] = {
		VERBS_TEST(drain_retires_the_tail),
		VERBS_TEST(of_no_queue_pair),
		VERBS_TEST(drain_sees_a_failure),
		VERBS_TEST(post_failure_is_kept),
		VERBS_TEST(cause_of_a_flush),
		VERBS_TEST(cause_in_another_group),
		VERBS_TEST(a_cause_is_not_searched_for),
		VERBS_TEST(tails_of_several_qps),
		VERBS_TEST(swaps_that_hit),
		VERBS_TEST(a_miss_is_an_error),
		VERBS_TEST(a_shared_miss_is_counted),
		VERBS_TEST(a_flush_is_no_swap),
		VERBS_TEST(receives_go_round),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
