/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The loops of bandwidth tests. */
#ifndef RDMETER_ENGINE_STREAM_H
#define RDMETER_ENGINE_STREAM_H

#include "engine/lane.h"

/* The instance that suits the lane's batch; stamped: completion latencies are taken. */
lane_loop stream_sender(const struct lane *l, bool stamped);

void stream_receive(struct lane *l);

#endif
