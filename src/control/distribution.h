/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Histograms and series as JSON, the same on the wire and in a stored document (design section 5):
 * histograms of the same sub_bucket_bits are merged by adding counts of equal lows.
 */
#ifndef RDMETER_CONTROL_DISTRIBUTION_H
#define RDMETER_CONTROL_DISTRIBUTION_H

#include <jansson.h>

#include "stats/histogram.h"
#include "stats/measure.h"
#include "stats/series.h"

/* Only the buckets that hold something, by their lowest value. */
json_t *distribution_encode(const struct histogram *h, unsigned int divisor);

/* 0, or -EBADMSG with *key what is missing or wrong. */
int distribution_decode(const json_t *json, struct histogram *h, const char **key);

/*
 * How a schedule was kept; null without one, and an older version has no such key. A histogram that
 * holds nothing is null too.
 */
json_t *pace_encode(const struct pace_measure *p);
int pace_decode(const json_t *json, struct pace_measure *p, const char **key);

json_t *series_encode(const struct series *s);

/* 0, or -EBADMSG; times and counts that go back are that too. */
int series_decode(const json_t *json, struct series *s);

/*
 * Counters that moved, under the key "counters" of an object when decoding. What finds no room is
 * counted, so that a peer which keeps more of them can be talked to.
 */
json_t *counters_encode(const struct counter_moves *c);
int counters_decode(const json_t *json, struct counter_moves *c, const char **key);

/* What each data thread of a side had. */
json_t *threads_encode(const struct measure *m);
int threads_decode(const json_t *list, struct measure *m, const char **key);

/* Refuses values of the right type that nothing can be computed with. */
int measure_check(const struct measure *m, const char **key);

#endif
