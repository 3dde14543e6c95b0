/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef STATS_HISTOGRAM_H
#define STATS_HISTOGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/moments.h"

/*
 * Log-linear histogram over the whole range of uint64_t, in constant memory.
 *
 * Values below 128 have a bucket each. From there on every octave [2^e, 2^(e+1)) is cut into 128
 * equal buckets of width 2^(e-7). A bucket starts at 2^e or above, so that its width is less than
 * 2^-7 = 0.78 % of any value in it: that is the largest error of a percentile. Count, sum, min,
 * max, mean and deviation are exact, they come from the moments.
 */
#define HISTOGRAM_SUB_BITS 7
#define HISTOGRAM_SUB (1u << HISTOGRAM_SUB_BITS)
#define HISTOGRAM_BUCKETS ((64 - HISTOGRAM_SUB_BITS + 1) * HISTOGRAM_SUB)

/* A percentile with fewer samples than this beyond it is not given. */
#define HISTOGRAM_MIN_BEYOND 10

/*
 * @m:     exact moments of the samples
 * @count: samples in each bucket; their sum is m.n
 *
 * 59 KiB: allocate it, or let it be part of something allocated.
 */
struct histogram {
	struct moments m;
	uint64_t count[HISTOGRAM_BUCKETS];
};

/* Bucket of the value @v, below HISTOGRAM_BUCKETS. Does not decrease when @v grows. */
static inline uint32_t histogram_index(uint64_t v)
{
	uint32_t shift;

	if (v < HISTOGRAM_SUB)
		return (uint32_t)v;

	/* What is left of v has its highest bit at HISTOGRAM_SUB, and so counts as an octave. */
	shift = 63 - HISTOGRAM_SUB_BITS - (uint32_t)__builtin_clzll(v);
	return (shift << HISTOGRAM_SUB_BITS) + (uint32_t)(v >> shift);
}

/* Record the sample @v. Hot: no call, no division, no range to leave. */
static inline void histogram_record(struct histogram *h, uint64_t v)
{
	moments_add(&h->m, v);
	h->count[histogram_index(v)]++;
}

/* Make @h empty. Needed before the first use: a zeroed struct is not an empty histogram. */
void histogram_reset(struct histogram *h);

/* The same for a zeroed struct, most of whose memory need not be there before it is used. */
void histogram_init(struct histogram *h);

/* Add every sample of @from to @into; the result equals having recorded all of them in one. */
void histogram_merge(struct histogram *into, const struct histogram *from);

/* Lowest value of the bucket @idx (< HISTOGRAM_BUCKETS). */
uint64_t histogram_low(uint32_t idx);

/* Highest value of the bucket @idx (< HISTOGRAM_BUCKETS): the "highest equivalent" value. */
uint64_t histogram_high(uint32_t idx);

/*
 * Value at the fraction @p (0.5 is the median) of the samples: nearest-rank definition, rank
 * ceil(p n), the value being the smaller of the maximum and the highest value of the bucket that
 * holds this rank. So it is never below the exact one, and less than 0.8 % above.
 *
 * @p is taken to the nearest 10^-12 and the product is then exact: 0.9 of 10 samples is rank 9
 * although the double nearest to 0.9 is above it, and 0.999 of 1,000 is rank 999.
 *
 * Returns 0 and sets *@value, in the unit of the samples; or, leaving *@value alone,
 * -ENODATA when fewer than HISTOGRAM_MIN_BEYOND samples lie beyond the rank (n - rank; whatever
 *         @p, so that a median wants 20 samples). @p == 1.0 is the exact maximum and needs only
 *         one sample.
 * -EINVAL when @p is not in (0, 1], or the counts do not add up to m.n (a histogram from a file).
 */
int histogram_percentile(const struct histogram *h, double p, uint64_t *value);

/*
 * Walk the non-empty buckets in ascending order: moves *@idx to the first one at or after it,
 * false when there is none.
 *
 *	for (uint32_t i = 0; histogram_next(h, &i); i++)
 *		use(histogram_low(i), h->count[i]);
 */
bool histogram_next(const struct histogram *h, uint32_t *idx);

#endif
