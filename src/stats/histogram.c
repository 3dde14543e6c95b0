/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stats/histogram.h"

#include <errno.h>
#include <string.h>

/* Percentiles are decimal fractions in the user's mind; this many parts make a whole. */
#define PARTS 1000000000000u

void histogram_init(struct histogram *h)
{
	moments_init(&h->m);
}

void histogram_reset(struct histogram *h)
{
	histogram_init(h);
	memset(h->count, 0, sizeof(h->count));
}

void histogram_merge(struct histogram *into, const struct histogram *from)
{
	moments_merge(&into->m, &from->m);
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++)
		into->count[i] += from->count[i];
}

/* log2 of the width of a bucket. */
static uint32_t width_bits(uint32_t idx)
{
	return idx < HISTOGRAM_SUB ? 0 : (idx >> HISTOGRAM_SUB_BITS) - 1;
}

uint64_t histogram_low(uint32_t idx)
{
	if (idx < HISTOGRAM_SUB)
		return idx;

	return (uint64_t)(HISTOGRAM_SUB | (idx & (HISTOGRAM_SUB - 1))) << width_bits(idx);
}

uint64_t histogram_high(uint32_t idx)
{
	return histogram_low(idx) + ((UINT64_C(1) << width_bits(idx)) - 1);
}

/* ceil(p n), at least 1. */
static uint64_t rank_of(double p, uint64_t n)
{
	uint64_t parts = (uint64_t)(p * PARTS + 0.5);
	uint64_t rank = (uint64_t)(((unsigned __int128)parts * n + PARTS - 1) / PARTS);

	return rank ? rank : 1;
}

int histogram_percentile(const struct histogram *h, double p, uint64_t *value)
{
	uint64_t rank, seen = 0;

	if (!(p > 0.0 && p <= 1.0))
		return -EINVAL;
	if (h->m.n == 0)
		return -ENODATA;
	if (p == 1.0) {
		*value = h->m.max;
		return 0;
	}

	rank = rank_of(p, h->m.n);
	if (h->m.n - rank < HISTOGRAM_MIN_BEYOND)
		return -ENODATA;

	for (uint32_t i = 0; histogram_next(h, &i); i++) {
		seen += h->count[i];
		if (seen >= rank) {
			uint64_t high = histogram_high(i);

			*value = high < h->m.max ? high : h->m.max;
			return 0;
		}
	}

	return -EINVAL;
}

bool histogram_next(const struct histogram *h, uint32_t *idx)
{
	while (*idx < HISTOGRAM_BUCKETS && h->count[*idx] == 0)
		(*idx)++;

	return *idx < HISTOGRAM_BUCKETS;
}
