/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Messages that are verified one by one: made before they go, looked at when they have come. */
#include <inttypes.h>
#include <stdio.h>

#include "engine/lane.h"

/*
 * A device may put a message's last byte, which is waited for, before the others; and where nobody
 * waits for what is lost, the next one may be on its way to the same place.
 */
#define SETTLE_NS 1000000

static uint32_t slot_of(const struct lane_content *c, const struct lane_qp *q, uint64_t n)
{
	return (c->first + q->index) * c->slots + (uint32_t)(n % c->slots);
}

static uint64_t number_of(const struct lane_content *c, const struct lane_qp *q, uint64_t n)
{
	return slot_of(c, q, n) + (c->reads ? 0 : n / c->slots * c->all);
}

static uint64_t expected_at(const struct lane_content *c, const struct lane_qp *q, uint64_t n)
{
	return c->lossy ? LANE_UNKNOWN : number_of(c, q, n);
}

void lane_make(const struct lane *l, const struct lane_qp *q, uint64_t n)
{
	const struct lane_content *c = l->content;

	if (c->out)
		c->put(c->out, slot_of(c, q, n), number_of(c, q, n));
}

static bool holds(const struct lane *l, const struct lane_qp *q, uint64_t n, uint32_t slot,
		  char *text, size_t size)
{
	const struct lane_content *c = l->content;
	int last = l->marker_in ? *l->marker_in : -1;
	uint64_t began = clock_raw_ns();
	bool good;

	do
		good = c->holds(c->in, slot, expected_at(c, q, n), last, text, size);
	while (!good && (l->marker_in || c->lossy) && clock_raw_ns() - began < SETTLE_NS);
	return good;
}

void lane_inspect(struct lane *l, const struct lane_qp *q, uint64_t n)
{
	lane_inspect_at(l, q, n, slot_of(l->content, q, n));
}

void lane_inspect_at(struct lane *l, const struct lane_qp *q, uint64_t n, uint32_t slot)
{
	char text[40];

	if (!l->content->in || holds(l, q, n, slot, text, sizeof(text)))
		return;
	if (!l->measure->data_errors++)
		snprintf(l->measure->data_fault, sizeof(l->measure->data_fault),
			 "first in message %" PRIu64 " of queue pair %u: %s", n + 1,
			 l->content->first + q->index, text);
}

void lane_inspect_reads(struct lane *l, const struct lane_qp *q, uint64_t done)
{
	for (uint64_t n = q->completed; n < q->completed + done; n++) {
		lane_inspect(l, q, n);
		l->content->wipe(l->content->in, slot_of(l->content, q, n));
	}
}
