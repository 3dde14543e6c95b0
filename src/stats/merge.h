/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef STATS_MERGE_H
#define STATS_MERGE_H

#include "stats/measure.h"

/*
 * What one of several data threads of a side measured.
 *
 * @ahead: ns by which what its times count from is later than what the merged ones count from
 * @cpu:   that it was pinned to; -1: to none
 */
struct merge_part {
	const struct measure *m;
	uint64_t ahead;
	int32_t cpu;
};

/*
 * Makes one measure of those of @n threads, @n from 1 to MEASURE_THREADS. Samples are as if all
 * had been recorded in one histogram, messages are summed. What is not a thread's (CPU time, the
 * clock ...) stays as it is in @into.
 *
 * Each thread has a window by stamps of its own, and counts of unlike windows must not be added:
 *
 * - of windows that end by time the merged one is their intersection, in which all of the load was
 *   on and counted. What a thread had counted at its edges follows from its intervals.
 * - of windows that end by number (@counts) it is what they span, so that it has every message
 *   that was asked for, and none in vain. So it is where windows by time do not overlap at all.
 *
 * Either way thread[] keeps what each had, so that it can be seen how much they overlap.
 *
 * @interval: ns between two points of a series
 */
void measure_merge(struct measure *into, const struct merge_part *part, uint32_t n, bool counts,
		   uint64_t interval);

/* Which part of the time that its threads' windows span they were all open: 0 to 1. */
double measure_overlap(const struct measure *m);

#endif
