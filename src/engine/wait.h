/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Waiting for the completion of the one request in flight. */
#ifndef RDMETER_ENGINE_WAIT_H
#define RDMETER_ENGINE_WAIT_H

#include "engine/lane.h"

/* 0 with a success in wc; -1: leave, because of an error or of ABORT. */
always_inline int lane_wait_one(struct lane *l, struct ibv_wc *wc, const bool sleeps)
{
	uint32_t spins = 0;
	int n;

	while ((n = ibv_poll_cq(l->group->send_cq, 1, wc)) == 0) {
		if (sleeps) {
			enum rest rest = lane_rest(l);

			if (rest == REST_FAILED)
				return -1;
			if (rest != REST_LEFT)
				continue;
		} else if (++spins % LANE_SPINS) {
			continue;
		}
		lane_publish(l);
		if (lane_stop(l) == LANE_ABORT)
			return -1;
	}
	if (__builtin_expect(n < 0, 0)) {
		lane_failed_call(l, LANE_POLL_FAILED, n);
		return -1;
	}
	if (__builtin_expect(wc->status != IBV_WC_SUCCESS, 0)) {
		lane_failed(l, wc, false);
		return -1;
	}
	return 0;
}

#endif
