/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What an instance of the bandwidth loop does; constant in those that matter (engine/stream.c). */
#ifndef RDMETER_ENGINE_TRAITS_H
#define RDMETER_ENGINE_TRAITS_H

#include <stdbool.h>

struct traits {
	bool sends, receives;
	bool stamped; /* completion latencies are taken */
	bool lists;   /* more than one request a post */
	bool each;    /* lane_each_asks() */
	bool timed;   /* ...and all of them are stamped */
	bool sampled; /* and kept one by one */
	bool paced;   /* messages leave by schedule */
	bool predicts; /* compare-and-swap: each expects what the one before it left */
	bool made;    /* messages differ: immediate data, content */
	bool looked;  /* ...and so do those received */
	bool calls;   /* posted by calls, not by lists */
	bool shared;  /* receives are of one queue for all */
	bool sleeps;  /* until a completion tells of itself, when there is nothing to do */
	bool lossy;   /* messages may be lost on their way */
};

#endif
