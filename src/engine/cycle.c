/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/cycle.h"

#include "engine/wait.h"

/* What a cycle holds between its halves. */
struct held {
	uint32_t slot;
	struct ibv_mr *region;
};

/* 0, or -1: leave. */
typedef int (*cycle_half)(struct lane *l, struct held *h);

static int region_make(struct lane *l, struct held *h)
{
	h->region = l->cycle->reg(l->cycle->buffer, h->slot);
	if (__builtin_expect(h->region != NULL, 1))
		return 0;
	lane_failed_call(l, LANE_MAKE, -1);
	return -1;
}

static int region_undo(struct lane *l, struct held *h)
{
	int rc = ibv_dereg_mr(h->region);

	if (__builtin_expect(!rc, 1))
		return 0;
	lane_failed_call(l, LANE_UNDO, rc);
	return -1;
}

/* Each cycle's requests have numbers of their own: another one's completion is nobody's. */
static uint64_t request_id(const struct lane *l, unsigned int half)
{
	return wrid_make(0, 2 * l->qp->posted + half);
}

static int wait_for(struct lane *l, uint64_t id)
{
	struct ibv_wc wc;

	if (lane_wait_one(l, &wc, false))
		return -1;
	if (__builtin_expect(wc.wr_id == id, 1))
		return 0;
	lane_stray(l, l->qp);
	return -1;
}

static struct ibv_mw_bind_info bind_of(const struct lane_cycle *c, uint32_t slot)
{
	struct ibv_mw_bind_info bind = c->bind;

	bind.addr += slot * c->stride;
	return bind;
}

/* Type 1 is bound by a call of its own, which posts the request. */
static int bind_first(struct lane *l, const struct ibv_mw_bind_info *info, uint64_t id)
{
	struct ibv_mw_bind bind = {
		.wr_id = id, .send_flags = IBV_SEND_SIGNALED, .bind_info = *info,
	};
	int rc = ibv_bind_mw(l->qp->qp, l->cycle->window, &bind);

	if (__builtin_expect(!rc, 1))
		return wait_for(l, id);
	lane_failed_call(l, LANE_POST, rc);
	return -1;
}

static int first_make(struct lane *l, struct held *h)
{
	struct ibv_mw_bind_info info = bind_of(l->cycle, h->slot);

	return bind_first(l, &info, request_id(l, 0));
}

/* Bound to no bytes, a window of type 1 opens onto nothing. */
static int first_undo(struct lane *l, struct held *h)
{
	struct ibv_mw_bind_info info = bind_of(l->cycle, h->slot);

	info.length = 0;
	return bind_first(l, &info, request_id(l, 1));
}

static int post_second(struct lane *l, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int rc = ibv_post_send(l->qp->qp, wr, &bad);

	if (__builtin_expect(!rc, 1))
		return wait_for(l, wr->wr_id);
	lane_failed_call(l, LANE_POST, rc);
	return -1;
}

/* Type 2 gets a key by the request: the last one with another tag. */
static int second_make(struct lane *l, struct held *h)
{
	struct ibv_mw *window = l->cycle->window;
	struct ibv_send_wr wr = {
		.wr_id = request_id(l, 0), .opcode = IBV_WR_BIND_MW,
		.send_flags = IBV_SEND_SIGNALED,
		.bind_mw = {
			.mw = window, .rkey = ibv_inc_rkey(window->rkey),
			.bind_info = bind_of(l->cycle, h->slot),
		},
	};

	if (post_second(l, &wr))
		return -1;
	window->rkey = wr.bind_mw.rkey;
	return 0;
}

static int second_undo(struct lane *l, struct held *h)
{
	struct ibv_send_wr wr = {
		.wr_id = request_id(l, 1), .opcode = IBV_WR_LOCAL_INV,
		.send_flags = IBV_SEND_SIGNALED, .invalidate_rkey = l->cycle->window->rkey,
	};

	(void)h;
	return post_second(l, &wr);
}

always_inline void body(struct lane *l, cycle_half make, cycle_half undo)
{
	struct lane_qp *q = l->qp;
	struct held h = { 0 };

	while (__builtin_expect(lane_stop(l) == LANE_RUN, 1) && q->posted < l->limit) {
		uint64_t begin = clock_start(&l->clock), made, middle, end, ns;

		q->posted++;
		if (make(l, &h))
			break;
		made = clock_stop(&l->clock);
		middle = clock_start(&l->clock);
		if (undo(l, &h))
			break;
		end = clock_stop(&l->clock);
		ns = clock_ns(&l->clock, made - begin);
		histogram_record(l->histogram, ns);
		if (l->state == STATE_OPEN)
			histogram_record(&l->measure->undo, clock_ns(&l->clock, end - middle));
		if (l->samples)
			lane_keep(l, made, ns);
		h.slot = h.slot + 1 == l->cycle->slots ? 0 : h.slot + 1;
		q->completed++;
		l->count++;
		if (end >= l->next_edge || l->count >= l->next_count)
			lane_edge(l, end);
	}
	lane_drain_sends(l);
	lane_end(l);
}

static void regions(struct lane *l)
{
	body(l, region_make, region_undo);
}

static void windows_first(struct lane *l)
{
	body(l, first_make, first_undo);
}

static void windows_second(struct lane *l)
{
	body(l, second_make, second_undo);
}

lane_loop cycle_choose(const struct lane *l)
{
	if (!l->cycle->window)
		return regions;
	return l->cycle->window->type == IBV_MW_TYPE_1 ? windows_first : windows_second;
}
