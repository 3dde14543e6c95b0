/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which loop a side of a row runs. */
#include "engine/cycle.h"
#include "engine/lane.h"
#include "engine/pingpong.h"
#include "engine/roundtrip.h"
#include "engine/stream.h"

lane_loop lane_choose(const struct lane *l, const struct op *op, enum lane_role role)
{
	bool paced = l->pace.active || l->pace.gap;

	if (op_is_local(op))
		return cycle_choose(l);
	switch (role) {
	case LANE_SENDER:
		return l->pace.active ? stream_paced : stream_sender(l);
	case LANE_RECEIVER:
		return op->receives ? stream_receiver(l) : NULL;
	case LANE_DUPLEX:
		if (l->pace.active)
			return stream_paced;
		return op->receives ? stream_duplex : stream_sender(l);
	case LANE_INITIATOR:
		if (op->reply == COMPLETION)
			return roundtrip_loop(l, paced);
		return pingpong_initiator(l, op->reply, paced);
	case LANE_RESPONDER:
		return op->reply == COMPLETION ? NULL : pingpong_responder(l, op->reply);
	}
	return NULL;
}
