/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The loops of bandwidth tests. */
#ifndef RDMETER_ENGINE_STREAM_H
#define RDMETER_ENGINE_STREAM_H

#include "engine/lane.h"

/* The instance that suits the lane's batch, stamps and requests. */
lane_loop stream_sender(const struct lane *l);

/* The one that suits how it waits, and whether messages may be lost. */
lane_loop stream_receiver(const struct lane *l);

void stream_duplex(struct lane *l);

/* A sender, or a side that does both, by the lane's schedule. */
void stream_paced(struct lane *l);

#endif
