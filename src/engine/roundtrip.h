/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The loop of latency tests whose answer is the operation's own completion. */
#ifndef RDMETER_ENGINE_ROUNDTRIP_H
#define RDMETER_ENGINE_ROUNDTRIP_H

#include "engine/lane.h"

void roundtrip(struct lane *l);
void roundtrip_sampled(struct lane *l); /* keeps its samples */
void roundtrip_paced(struct lane *l); /* by schedule, or with gaps */

#endif
