/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef STATS_MOMENTS_H
#define STATS_MOMENTS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Exact moments of a set of integer samples (nanoseconds, or whatever unit the caller has).
 *
 * Everything is an integer and every operation is commutative and associative, so that the
 * result does not depend on the order of the samples nor on how they were spread over lanes.
 *
 * @n:     number of samples
 * @sum:   their sum; sticks at UINT64_MAX instead of wrapping. 2^64 ns is 584 years for one
 *         operation in flight, but 39 hours for 131,072 of them (1,024 queue pairs of depth 128):
 *         a saturated sum has no mean and no deviation, never a wrong one
 * @min:   smallest sample, UINT64_MAX when there is none
 * @max:   largest sample, 0 when there is none
 * @sumsq: sum of the squares; exact as long as @sum is, because it is at most @sum squared
 */
struct moments {
	uint64_t n;
	uint64_t sum;
	uint64_t min;
	uint64_t max;
	unsigned __int128 sumsq;
};

/* Make @m the moments of no sample. A zeroed struct is not: its min would be 0. */
void moments_init(struct moments *m);

/* Add the sample @v. Hot: no call, no division. */
static inline void moments_add(struct moments *m, uint64_t v)
{
	m->n++;
	m->sum += v;
	if (__builtin_expect(m->sum < v, 0))
		m->sum = UINT64_MAX;
	m->sumsq += (unsigned __int128)v * v;
	if (__builtin_expect(v < m->min, 0))
		m->min = v;
	if (__builtin_expect(v > m->max, 0))
		m->max = v;
}

/* Add every sample of @from to @into, as if they had been recorded there. */
void moments_merge(struct moments *into, const struct moments *from);

/*
 * Whether there are samples that have these moments (of a file, or from another host). Only then
 * the mean lies between min and max, and the deviation is a number.
 */
bool moments_possible(const struct moments *m);

/* Arithmetic mean in the unit of the samples; NAN without samples or with a saturated sum. */
double moments_mean(const struct moments *m);

/*
 * Sample standard deviation (n - 1) in the unit of the samples; NAN with fewer than two samples
 * or with a saturated sum. Computed once from the exact integers, see moments.c.
 */
double moments_stdev(const struct moments *m);

#endif
