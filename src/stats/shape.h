/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a time series and a histogram look like: steady, drifting, with a slow start, two humps. */
#ifndef STATS_SHAPE_H
#define STATS_SHAPE_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/histogram.h"
#include "stats/series.h"

/* Fewer intervals than this have no shape worth the name. */
#define SHAPE_MIN_INTERVALS 5

/*
 * Of the rates of a series' intervals:
 *
 * @mean, @cv:   their mean, in counts per unit of t, and sample standard deviation over mean
 * @drift:       what a straight line through them, by least squares over the middles of the
 *               intervals, gains from the first middle to the last, over the mean
 * @drift_error: the standard error of @drift; 0 when they lie on the line
 * @first:       the first rate over the median of all, less 1
 * @first_mads:  how many median absolute deviations that is, with its sign gone; infinite when
 *               the deviation is 0 and the first differs, 0 when it does not
 */
struct series_shape {
	uint32_t n;
	double mean, cv;
	double drift, drift_error;
	double first, first_mads;
};

/* 0; -ENODATA with fewer than SHAPE_MIN_INTERVALS or a mean of 0; -EINVAL as series_rates(). */
int series_shape(const struct series *s, struct series_shape *out);

/*
 * Two humps of a histogram with a valley between. Its buckets are taken 16 together, so that there
 * are 8 bins an octave (16 ns each below 128). A histogram is bimodal when bins a < v < b exist
 * such that
 *
 *   a and b hold SHAPE_MIN_PEAK samples or more each,
 *   v holds at most half of what the smaller of them does,
 *   each side of v, v left out, has at least a tenth of all samples.
 *
 * A long tail is one hump: behind its peak it only falls. Of several such valleys the one counts
 * whose smaller peak is largest.
 */
#define SHAPE_MIN_PEAK 100

struct histogram_modes {
	uint64_t low, high;     /* the middles of bins a and b */
	double low_share;       /* of all samples, those below the valley */
};

/*
 * Whether h is bimodal. Bins narrower than 4 steps of the clock are left out of it: there the
 * steps themselves would look like humps.
 */
bool histogram_bimodal(const struct histogram *h, uint64_t resolution, struct histogram_modes *out);

#endif
