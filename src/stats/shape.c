/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stats/shape.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define TOGETHER 16 /* buckets of a histogram in a bin */
#define BINS (HISTOGRAM_BUCKETS / TOGETHER)
#define LEAST_SHARE 10 /* a hump has one in so many samples */
#define LEAST_STEPS 4

struct rates {
	uint32_t n;
	double rate[SERIES_INTERVALS], middle[SERIES_INTERVALS];
};

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Sorts values. */
static double median(double *values, uint32_t n)
{
	qsort(values, n, sizeof(*values), by_value);
	return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

static double mean(const double *values, uint32_t n)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++)
		sum += values[i];
	return sum / n;
}

/* Times from the first point on: a clock's own are too large for their squares. */
static void take_rates(const struct series *s, struct rates *r)
{
	r->n = s->n - 1;
	for (uint32_t i = 0; i < r->n; i++) {
		const struct series_point *a = &s->point[i], *b = a + 1;

		r->rate[i] = (double)(b->count - a->count) / (double)(b->t - a->t);
		r->middle[i] = (double)(a->t - s->point[0].t) + (double)(b->t - a->t) / 2;
	}
}

static void fit_line(const struct rates *r, struct series_shape *out)
{
	double x0 = mean(r->middle, r->n), sxx = 0, sxy = 0, syy = 0, rest, span;

	for (uint32_t i = 0; i < r->n; i++) {
		double dx = r->middle[i] - x0, dy = r->rate[i] - out->mean;

		sxx += dx * dx;
		sxy += dx * dy;
		syy += dy * dy;
	}
	rest = fmax(syy - sxy * sxy / sxx, 0);
	span = r->middle[r->n - 1] - r->middle[0];
	out->cv = sqrt(syy / (r->n - 1)) / out->mean;
	out->drift = sxy / sxx * span / out->mean;
	out->drift_error = sqrt(rest / (r->n - 2) / sxx) * span / out->mean;
}

static void judge_first(struct rates *r, struct series_shape *out)
{
	double first = r->rate[0], middle = median(r->rate, r->n), mad, off = fabs(first - middle);

	for (uint32_t i = 0; i < r->n; i++)
		r->rate[i] = fabs(r->rate[i] - middle);
	mad = median(r->rate, r->n);
	out->first = middle > 0 ? first / middle - 1 : 0;
	out->first_mads = off > 0 ? off / mad : 0;
}

int series_shape(const struct series *s, struct series_shape *out)
{
	struct series_summary summary;
	struct rates r;
	int rc = series_rates(s, &summary);

	if (rc)
		return rc;
	take_rates(s, &r);
	*out = (struct series_shape){ .n = r.n, .mean = mean(r.rate, r.n) };
	if (r.n < SHAPE_MIN_INTERVALS || !(out->mean > 0))
		return -ENODATA;
	fit_line(&r, out);
	judge_first(&r, out); /* last: it sorts the rates */
	return 0;
}

static uint64_t width_of(uint32_t bin)
{
	return histogram_high(bin * TOGETHER + TOGETHER - 1) - histogram_low(bin * TOGETHER) + 1;
}

static uint64_t middle_of(uint32_t bin)
{
	return histogram_low(bin * TOGETHER) + width_of(bin) / 2;
}

static uint32_t highest(const uint64_t *bin, uint32_t from, uint32_t to)
{
	uint32_t best = from;

	for (uint32_t i = from; i < to; i++)
		if (bin[i] > bin[best])
			best = i;
	return best;
}

/* The height of the smaller peak if v is a valley, with the modes it parts; else 0. */
static uint64_t try_valley(const uint64_t *bin, uint32_t first, uint32_t end, uint32_t v,
			   uint64_t below, uint64_t n, struct histogram_modes *modes)
{
	uint32_t a = highest(bin, first, v), b = highest(bin, v + 1, end);
	uint64_t smaller = bin[a] < bin[b] ? bin[a] : bin[b], above = n - below - bin[v];

	if (smaller < SHAPE_MIN_PEAK || bin[v] > smaller / 2 || below * LEAST_SHARE < n ||
	    above * LEAST_SHARE < n)
		return 0;
	*modes = (struct histogram_modes){
		.low = middle_of(a), .high = middle_of(b),
		.low_share = (double)below / (double)n,
	};
	return smaller;
}

bool histogram_bimodal(const struct histogram *h, uint64_t resolution, struct histogram_modes *out)
{
	uint32_t first = 0, end = BINS;
	uint64_t bin[BINS] = { 0 }, below = 0, best = 0, n = 0;

	for (uint32_t i = 0; histogram_next(h, &i); i++)
		bin[i / TOGETHER] += h->count[i];
	while (first < BINS && (!bin[first] || width_of(first) < LEAST_STEPS * resolution))
		first++;
	while (end > first && !bin[end - 1])
		end--;
	for (uint32_t i = first; i < end; i++)
		n += bin[i];
	for (uint32_t v = first; v + 1 < end; below += bin[v++]) {
		struct histogram_modes modes;
		uint64_t smaller = v > first ?
			try_valley(bin, first, end, v, below, n, &modes) : 0;

		if (smaller > best) {
			best = smaller;
			*out = modes;
		}
	}
	return best > 0;
}
