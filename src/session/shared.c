/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/shared.h"

#include <errno.h>
#include <stdlib.h>

#include "session/load.h"

/* Which queue pair has which number: at most half of the table is used. */
static int build_numbers(struct row *r, struct worker *w)
{
	struct lane_shared *s = &w->shared;
	uint32_t size = 4;

	while (size < 2 * w->lane->qps)
		size *= 2;
	s->mask = size - 1;
	s->qp = calloc(size, sizeof(*s->qp));
	if (!s->qp)
		return -ENOMEM;
	for (uint32_t i = 0; i < size; i++)
		s->qp[i].index = UINT32_MAX;
	for (uint32_t i = 0; i < w->lane->qps; i++) {
		const struct ibv_qp *qp = r->queues.qp[w->first + i];
		uint32_t at = qp->qp_num & s->mask;

		while (s->qp[at].index != UINT32_MAX)
			at = (at + 1) & s->mask;
		s->qp[at].qpn = qp->qp_num;
		s->qp[at].index = i;
	}
	return 0;
}

int shared_build(struct row *r, struct worker *w)
{
	const struct buffer *b = &r->target;
	struct ibv_srq *srq = r->queues.share[w - r->threads.worker].srq;
	struct lane_shared *s = &w->shared;
	uint32_t each = b->slots / r->queues.count;

	if (!srq || !b->base)
		return 0;
	*s = (struct lane_shared){
		.srq = srq, .count = (uint32_t)r->point.rx_depth.value,
		.from = w->first * each, .slots = w->lane->qps * each,
	};
	s->used = calloc(s->slots, sizeof(*s->used));
	s->recv = load_receives(r, s->count, s->from, s->slots);
	if (!s->used || !s->recv || build_numbers(r, w))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		s->recv[i].wr_id = i;
		lane_return(s, i);
	}
	w->lane->shared = s;
	return 0;
}

void shared_free(struct worker *w)
{
	free(w->shared.used);
	free(w->shared.recv);
	free(w->shared.qp);
	w->shared = (struct lane_shared){ 0 };
}

bool shared_anywhere(const struct row *r)
{
	const struct op *op = point_op(&r->point);

	return r->point.srq.value && r->point.test.value == TEST_BW && op->receives &&
	       !op_has(op, TRAIT_REMOTE) && !r->point.verify.value;
}

void shared_fill(struct buffer *b)
{
	for (uint32_t slot = 0; slot < b->slots; slot++)
		buffer_put(b, slot, 0);
}

static uint64_t check(const struct buffer *b, const struct lane_shared *s,
		      struct buffer_fault *fault)
{
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < s->slots; i++) {
		const struct buffer_claim untouched = {
			.first = s->from + i, .count = 1, .marker = MARKER_NONE,
		};
		struct buffer_fault here = { 0 };

		if (s->used[i] ? buffer_holds(b, s->from + i, 0, MARKER_NONE, &here) :
				 !buffer_check(b, &untouched, &here))
			continue;
		if (!wrong++ && !fault->slots)
			*fault = here;
	}
	return wrong;
}

uint64_t shared_check(const struct row *r, struct buffer_fault *fault)
{
	uint64_t wrong = 0;

	for (uint32_t i = 0; i < r->threads.count; i++) {
		wrong += check(&r->target, &r->threads.worker[i].shared, fault);
		fault->slots = wrong;
	}
	return wrong;
}
