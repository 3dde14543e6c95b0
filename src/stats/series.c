/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stats/series.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

void series_start(struct series *s, uint64_t t0, uint64_t count0)
{
	s->n = 1;
	s->merge = 1;
	s->point[0] = (struct series_point){ .t = t0, .count = count0 };
}

static bool goes_back(const struct series_point *last, uint64_t t, uint64_t count)
{
	return t < last->t || count < last->count;
}

/* The array is full and its number of intervals even, so that first and last point stay. */
static void merge_pairs(struct series *s)
{
	for (uint32_t i = 1; i <= SERIES_INTERVALS / 2; i++)
		s->point[i] = s->point[2 * i];
	s->n = SERIES_INTERVALS / 2 + 1;
	s->merge *= 2;
}

int series_add(struct series *s, uint64_t t, uint64_t count)
{
	const struct series_point *last = &s->point[s->n - 1];

	if (goes_back(last, t, count))
		return -EINVAL;
	if (t == last->t || count - last->count < SERIES_MIN_COUNT)
		return 0;

	s->point[s->n++] = (struct series_point){ .t = t, .count = count };
	if (s->n == SERIES_MAX)
		merge_pairs(s);

	return 0;
}

double series_count_at(const struct series *s, uint64_t t)
{
	const struct series_point *p = s->point;
	uint32_t i = 1;

	if (!s->n || t <= p[0].t)
		return s->n ? (double)p[0].count : 0;
	while (i < s->n && p[i].t < t)
		i++;
	if (i == s->n)
		return (double)p[s->n - 1].count;
	return (double)p[i - 1].count + (double)(p[i].count - p[i - 1].count) *
	       (double)(t - p[i - 1].t) / (double)(p[i].t - p[i - 1].t);
}

uint32_t series_stride(const struct series *s)
{
	return s->merge;
}

int series_close(struct series *s, uint64_t t, uint64_t count)
{
	struct series_point *last = &s->point[s->n - 1];
	const struct series_point end = { .t = t, .count = count };

	if (goes_back(last, t, count))
		return -EINVAL;

	if (s->n == 1) {
		if (t > last->t)
			s->point[s->n++] = end;
		return 0;
	}

	/* A full array merged at once, so that there is always room for this one. */
	if (count - last->count < SERIES_MIN_COUNT || t - last->t < (last->t - last[-1].t + 1) / 2)
		*last = end;
	else
		s->point[s->n++] = end;

	return 0;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int series_rates(const struct series *s, struct series_summary *out)
{
	double rate[SERIES_INTERVALS];
	uint32_t n;

	if (s->n < 2)
		return -ENODATA;
	if (s->n > SERIES_MAX)
		return -EINVAL;

	n = s->n - 1;
	for (uint32_t i = 0; i < n; i++) {
		const struct series_point *a = &s->point[i], *b = a + 1;

		if (b->t <= a->t || b->count < a->count)
			return -EINVAL;
		rate[i] = (double)(b->count - a->count) / (double)(b->t - a->t);
	}

	qsort(rate, n, sizeof(rate[0]), by_value);
	out->n = n;
	out->min = rate[0];
	out->median = (rate[(n - 1) / 2] + rate[n / 2]) / 2;
	out->max = rate[n - 1];

	return 0;
}
