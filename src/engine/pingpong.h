/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The loops of latency tests in which the other side answers. */
#ifndef RDMETER_ENGINE_PINGPONG_H
#define RDMETER_ENGINE_PINGPONG_H

#include "engine/lane.h"

lane_loop pingpong_initiator(enum op_reply reply, bool paced, bool sampled);
lane_loop pingpong_responder(enum op_reply reply);

#endif
