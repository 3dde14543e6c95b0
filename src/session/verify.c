/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/verify.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "session/shared.h"

static void put(void *out, uint32_t slot, uint64_t number)
{
	buffer_put(out, slot, number);
}

static void wipe(void *in, uint32_t slot)
{
	buffer_wipe(in, slot);
}

static bool holds(void *in, uint32_t slot, uint64_t number, int last, char *text, size_t size)
{
	struct buffer_fault fault;

	if (buffer_holds(in, slot, number == LANE_UNKNOWN ? BUFFER_ANY : number, last, &fault))
		return true;
	snprintf(text, size, "byte %zu is 0x%02x, not 0x%02x", fault.byte, fault.got, fault.want);
	return false;
}

/* A read's content does not change: it is the slots' that the other side has filled. */
void verify_prepare(struct row *r, struct worker *w)
{
	bool reads = point_op(&r->point)->flow == FLOW_IN;

	if (!r->point.verify.value || point_op(&r->point)->flow == FLOW_COUNTER)
		return;
	w->content = (struct lane_content){
		.out = r->local.base && !reads ? &r->local : NULL,
		.in = reads && r->local.base ? &r->local :
		      !reads && r->target.base ? &r->target : NULL,
		.slots = point_slots(&r->point),
		.all = point_slots(&r->point) * r->queues.count,
		.placed = op_has(point_op(&r->point), TRAIT_REMOTE), .first = w->first,
		.reads = reads, .lossy = !transport_get(r->point.transport.value)->reliable,
		.put = put, .wipe = wipe, .holds = holds,
	};
	w->lane->content = &w->content;
}

/* What this side's own requests brought home, or the peer's put here; by queue pair. */
static uint64_t written_to(const struct row *r, uint32_t qp, const struct message_sent *sent)
{
	if (point_op(&r->point)->flow == FLOW_IN)
		return r->threads.qp[qp].completed;
	if (r->lane && r->lane->receives)
		return r->threads.qp[qp].received;
	return qp < sent->count ? sent->total[qp] : 0;
}

/* Messages that were looked at as they came are not counted again; reads have been wiped since. */
static bool seen_in_flight(const struct row *r)
{
	return r->point.verify.value && r->lane && r->lane->receives;
}

static bool in_pingpong(const struct row *r)
{
	return r->point.test.value == TEST_LAT;
}

/*
 * Where messages may be lost, those that came fill receives in turn, whichever they were; a
 * target's slots are those of the messages, which may have come. Of a message of several packets
 * some may come and others not.
 */
static void allow_losses(const struct row *r, uint64_t posted, struct buffer_claim *claim)
{
	const struct op *op = point_op(&r->point);
	uint64_t written = claim->written;

	claim->piece = r->point.mtu.value;
	if (in_pingpong(r)) {
		claim->marker = MARKER_ANY;
		claim->perhaps = 1; /* what came too late came */
	} else if (!op_has(op, TRAIT_REMOTE)) {
		claim->shuffled = true;
		claim->perhaps = written + (r->point.size.value > claim->piece);
	} else if (!op->receives || written < posted) {
		claim->written = 0;
		claim->perhaps = posted;
	}
}

/* What is to lie in a queue pair's slots. */
static struct buffer_claim claim_of(const struct row *r, uint32_t qp,
				    const struct message_sent *sent, const struct buffer *b)
{
	const struct op *op = point_op(&r->point);
	bool verified = r->point.verify.value;
	uint32_t slots = point_slots(&r->point);
	uint64_t written = written_to(r, qp, sent);
	struct buffer_claim claim = {
		.first = qp * slots, .count = slots, .written = written, .marker = MARKER_NONE,
		.all = verified ? b->slots : 0,
	};

	if (verified && op->flow == FLOW_IN)
		claim.written = 0;
	/* A ping-pong in memory leaves its last marker behind. */
	if (in_pingpong(r) && op->reply == ECHO_MEMORY && written)
		claim.marker = (int)((written - 1) % 255 + 1);
	if (!transport_get(r->point.transport.value)->reliable)
		allow_losses(r, qp < sent->count ? sent->total[qp] : 0, &claim);
	return claim;
}

static void check_regions(struct row *r, const struct message_sent *sent,
			  struct buffer_fault *fault)
{
	const struct buffer *b = point_op(&r->point)->flow == FLOW_IN ? &r->local : &r->target;

	for (uint32_t qp = 0; b->base && qp < r->queues.count; qp++) {
		struct buffer_claim claim = claim_of(r, qp, sent, b);

		r->measure->data_errors += buffer_check(b, &claim, fault);
	}
}

static void check_slots(struct row *r, const struct message_sent *sent)
{
	bool anywhere = r->lane && r->lane->shared && shared_anywhere(r);
	struct buffer_fault fault = { 0 };
	struct measure *m = r->measure;

	if (seen_in_flight(r))
		return;
	if (anywhere)
		m->data_errors += shared_check(r, &fault);
	else
		check_regions(r, sent, &fault);
	if (fault.slots)
		snprintf(m->data_fault, sizeof(m->data_fault),
			 "first in slot %u: byte %zu is 0x%02x, not 0x%02x", fault.slot, fault.byte,
			 fault.got, fault.want);
}

/* Each operation that succeeded has added one. */
static void check_counters(struct row *r, const struct message_sent *sent)
{
	const struct buffer *b = &r->target;
	struct measure *m = r->measure;
	bool shared = b->slots == 1;
	uint64_t total = 0;

	for (uint32_t qp = 0; b->base && qp < sent->count; qp++) {
		uint64_t want = shared ? (total += sent->total[qp]) : sent->total[qp];
		uint64_t got;

		if (shared && qp + 1 < sent->count)
			continue;
		memcpy(&got, b->base + (shared ? 0 : qp) * b->stride, sizeof(got));
		want -= shared ? sent->missed : 0;
		if (got != want && !m->data_errors++)
			snprintf(m->data_fault, sizeof(m->data_fault),
				 "counter %u is %" PRIu64 ", not %" PRIu64, shared ? 0 : qp, got,
				 want);
	}
}

void verify_end(struct row *r, const struct message_sent *sent)
{
	if (point_op(&r->point)->flow == FLOW_COUNTER)
		check_counters(r, sent);
	else
		check_slots(r, sent);
}
