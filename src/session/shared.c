/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/shared.h"

#include <errno.h>
#include <stdlib.h>

#include "session/load.h"

/* Which queue pair has which number: at most half of the table is used. */
static int build_numbers(struct row *r)
{
	struct lane_shared *s = &r->shared;
	uint32_t size = 4;

	while (size < 2 * r->queues.count)
		size *= 2;
	s->mask = size - 1;
	s->qp = calloc(size, sizeof(*s->qp));
	if (!s->qp)
		return -ENOMEM;
	for (uint32_t i = 0; i < size; i++)
		s->qp[i].index = UINT32_MAX;
	for (uint32_t i = 0; i < r->queues.count; i++) {
		uint32_t at = r->queues.qp[i]->qp_num & s->mask;

		while (s->qp[at].index != UINT32_MAX)
			at = (at + 1) & s->mask;
		s->qp[at].qpn = r->queues.qp[i]->qp_num;
		s->qp[at].index = i;
	}
	return 0;
}

int shared_build(struct row *r)
{
	const struct buffer *b = &r->target;
	struct lane_shared *s = &r->shared;

	if (!r->queues.srq || !b->base)
		return 0;
	*s = (struct lane_shared){
		.srq = r->queues.srq, .count = (uint32_t)r->point.rx_depth.value,
		.slots = b->slots,
	};
	s->used = calloc(s->slots, sizeof(*s->used));
	s->recv = load_receives(r, s->count, 0, b->slots);
	if (!s->used || !s->recv || build_numbers(r))
		return -ENOMEM;
	for (uint32_t i = 0; i < s->count; i++) {
		s->recv[i].wr_id = i;
		lane_return(s, i);
	}
	r->lane->shared = s;
	return 0;
}

void shared_free(struct row *r)
{
	free(r->shared.used);
	free(r->shared.recv);
	free(r->shared.qp);
	r->shared = (struct lane_shared){ 0 };
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

uint64_t shared_check(const struct row *r, struct buffer_fault *fault)
{
	const struct buffer *b = &r->target;
	uint64_t wrong = 0;

	for (uint32_t slot = 0; slot < b->slots; slot++) {
		const struct buffer_claim untouched = {
			.first = slot, .count = 1, .marker = MARKER_NONE,
		};
		struct buffer_fault here = { 0 };

		if (r->shared.used[slot] ? buffer_holds(b, slot, 0, -1, &here) :
					   !buffer_check(b, &untouched, &here))
			continue;
		if (!wrong++)
			*fault = here;
	}
	fault->slots = wrong;
	return wrong;
}
