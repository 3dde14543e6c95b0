/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which loop a side of a row runs. */
#include "engine/cycle.h"
#include "engine/lane.h"
#include "engine/pingpong.h"
#include "engine/roundtrip.h"
#include "engine/stream.h"

bool lane_is_only_reached(const struct op *op, enum lane_role role)
{
	if (op_is_local(op))
		return false;
	return (role == LANE_RECEIVER && !op->receives) ||
	       (role == LANE_RESPONDER && op->reply == COMPLETION);
}

lane_loop lane_choose(const struct lane *l, const struct op *op, enum lane_role role)
{
	bool paced = l->pace.active || l->pace.gap;

	if (op_is_local(op))
		return cycle_choose(l);
	if (lane_is_only_reached(op, role))
		return NULL;
	switch (role) {
	case LANE_SENDER:
		return l->pace.active ? stream_paced : stream_sender(l);
	case LANE_RECEIVER:
		return stream_receiver(l);
	case LANE_DUPLEX:
		if (l->pace.active)
			return stream_paced;
		return op->receives ? stream_duplex : stream_sender(l);
	case LANE_INITIATOR:
		if (op->reply == COMPLETION)
			return roundtrip_loop(l, paced);
		return pingpong_initiator(l, op->reply, paced);
	case LANE_RESPONDER:
		return pingpong_responder(l, op->reply);
	}
	return NULL;
}
