/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Operations that need no peer: something is made and undone again, one at a time. Each half has
 * latencies of its own: the first the measure's, the second those of measure.undo.
 */
#ifndef RDMETER_ENGINE_CYCLE_H
#define RDMETER_ENGINE_CYCLE_H

#include "engine/lane.h"

/* The loop for what l->cycle says. */
lane_loop cycle_choose(const struct lane *l);

#endif
