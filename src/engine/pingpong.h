/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The loops of latency tests in which the other side answers. */
#ifndef RDMETER_ENGINE_PINGPONG_H
#define RDMETER_ENGINE_PINGPONG_H

#include "engine/lane.h"

/* The instances that suit the answer and how the lane waits for it. */
lane_loop pingpong_initiator(const struct lane *l, enum op_reply reply, bool paced);
lane_loop pingpong_responder(const struct lane *l, enum op_reply reply);

#endif
