/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The loop of latency tests whose answer is the operation's own completion. */
#ifndef RDMETER_ENGINE_ROUNDTRIP_H
#define RDMETER_ENGINE_ROUNDTRIP_H

#include "engine/lane.h"

/* The instance that suits how the lane posts and waits, and whether it keeps its samples. */
lane_loop roundtrip_loop(const struct lane *l, bool paced);

#endif
