/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which loop a side of a row runs. */
#include "engine/lane.h"
#include "engine/pingpong.h"
#include "engine/stream.h"

lane_loop lane_choose(const struct lane *l, const struct op *op, enum lane_role role)
{
	switch (role) {
	case LANE_SENDER:
		return stream_sender(l, l->stamp_mask != LANE_NO_STAMPS);
	case LANE_RECEIVER:
		return op->receives ? stream_receive : NULL;
	case LANE_INITIATOR:
		return pingpong_initiator(op->reply);
	case LANE_RESPONDER:
		return pingpong_responder(op->reply);
	}
	return NULL;
}
