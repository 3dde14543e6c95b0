/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef STATS_SERIES_H
#define STATS_SERIES_H

#include <stdint.h>

#define SERIES_INTERVALS 1024
#define SERIES_MAX (SERIES_INTERVALS + 1)

/* An interval in which fewer were counted has no rate of its own: it merges into a neighbour. */
#define SERIES_MIN_COUNT 10

/* @count messages had been counted at the time @t; both since whenever the caller began. */
struct series_point {
	uint64_t t;
	uint64_t count;
};

/*
 * Time series of a cumulative count, in constant memory. Interval i lies between point[i] and
 * point[i + 1]. As the counts are cumulative, dropping a point merges two intervals and loses
 * nothing: the intervals always add up to the last point minus the first.
 *
 * @n:     points in use
 * @merge: how many of the caller's base intervals one interval now spans, a power of two
 */
struct series {
	uint32_t n;
	uint32_t merge;
	struct series_point point[SERIES_MAX];
};

/* Rates of the @n intervals: counts per unit of t (per ns when t is in ns). */
struct series_summary {
	uint32_t n;
	double min;
	double median;
	double max;
};

/* Begin a series (again): the first point, no interval yet. */
void series_start(struct series *s, uint64_t t0, uint64_t count0);

/*
 * End an interval at (@t, @count). Nothing is added when no time passed or fewer than
 * SERIES_MIN_COUNT were counted since the last point: what there is counts for the next interval.
 * The add that fills the array merges all pairs of intervals at once and doubles the stride; the
 * caller spaces its next edge by the new one, and the intervals stay of equal length.
 *
 * Returns 0, or -EINVAL (and adds nothing) when @t or @count is below the last point's.
 */
int series_add(struct series *s, uint64_t t, uint64_t count);

/* How much had been counted at t, linearly between the points around it; t is clamped to them. */
double series_count_at(const struct series *s, uint64_t t);

/* How many base intervals the next edge is away. */
uint32_t series_stride(const struct series *s);

/*
 * The final point. A last interval with fewer than SERIES_MIN_COUNT, or shorter than half of the
 * one before, merges into the one before: completions arrive in lumps of the signal interval, so
 * that the rate over the few microseconds between the last edge and the end of the window would
 * be a made-up minimum or maximum. The only interval is kept as it is, unless no time passed.
 *
 * Returns 0, or -EINVAL (and changes nothing) when @t or @count is below the last point's.
 */
int series_close(struct series *s, uint64_t t, uint64_t count);

/*
 * Smallest, median (mean of the middle two when @n is even) and largest rate of the intervals.
 * Returns 0; -ENODATA when there is no complete interval; -EINVAL when a point is not later than
 * the one before or counts less (a series from the wire). *@out is set only on success.
 */
int series_rates(const struct series *s, struct series_summary *out);

#endif
