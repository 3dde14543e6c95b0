/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef STATS_SAMPLES_H
#define STATS_SAMPLES_H

#include <stdint.h>

#define SAMPLES_MOST 1000000

struct sample {
	uint64_t at; /* when it ended, ns since the window opened */
	uint64_t ns; /* what it took */
};

/*
 * The first samples of a window, as they were. Made, and its memory touched, before the clock
 * starts; what finds no room is in the histogram only.
 */
struct samples {
	uint64_t count;
	struct sample sample[SAMPLES_MOST];
};

static inline void samples_add(struct samples *s, uint64_t at, uint64_t ns)
{
	if (s->count < SAMPLES_MOST)
		s->sample[s->count++] = (struct sample){ at, ns };
}

#endif
