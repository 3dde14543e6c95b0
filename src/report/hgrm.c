/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Latencies in the percentile text of HdrHistogram, so that its plotters can be used. Values are
 * microseconds, divided as they are shown elsewhere. The percentiles are where HdrHistogram's
 * iterator stops: 5 to each halving of the distance to 100 %, then 100 % itself. Mean,
 * deviation and maximum are exact.
 */
#include <inttypes.h>
#include <math.h>

#include "cli/units.h"
#include "report/formats.h"
#include "report/record.h"

#define TICKS 5 /* of a half distance */

/* HdrHistogram counts half of a bucket's sub-buckets, those that the one below has not. */
#define SUB_BUCKETS (2 * HISTOGRAM_SUB)
#define BUCKETS (HISTOGRAM_BUCKETS / HISTOGRAM_SUB - 1)

struct scale {
	const struct histogram *h;
	double divisor;
};

static void print_value(FILE *out, const struct scale *s, uint64_t ns, double percentile,
			uint64_t total)
{
	double shown = (double)(ns < s->h->m.max ? ns : s->h->m.max) / s->divisor / 1e3;

	fprintf(out, "%12.3f %12f %12" PRIu64 " %12.2f\n", shown, percentile / 100, total,
		1 / (1 - percentile / 100));
}

static double next_tick(double percentile)
{
	double halvings = floor(log2(100 / (100 - percentile))) + 1;

	return percentile + 100 / (TICKS * exp2(halvings));
}

static void print_percentiles(FILE *out, const struct scale *s)
{
	double tick = 0;
	uint64_t total = 0;

	for (uint32_t i = 0; histogram_next(s->h, &i); i++) {
		total += s->h->count[i];
		while (tick <= 100.0 * (double)total / (double)s->h->m.n) {
			print_value(out, s, histogram_high(i), tick, total);
			tick = next_tick(tick);
			if (total == s->h->m.n)
				break;
		}
	}
	print_value(out, s, s->h->m.max, 100, total);
}

static void print_histogram(FILE *out, const struct scale *s)
{
	double stdev = moments_stdev(&s->h->m);

	fprintf(out, "%12s %12s %12s %12s\n\n", "Value", "Percentile", "TotalCount",
		"1/(1-Percentile)");
	print_percentiles(out, s);
	fprintf(out, "#[Mean    = %12.3f, StdDeviation   = %12.3f]\n",
		moments_mean(&s->h->m) / s->divisor / 1e3,
		isfinite(stdev) ? stdev / s->divisor / 1e3 : 0);
	fprintf(out, "#[Max     = %12.3f, Total count    = %12" PRIu64 "]\n",
		(double)s->h->m.max / s->divisor / 1e3, s->h->m.n);
	fprintf(out, "#[Buckets = %12d, SubBuckets     = %12d]\n", BUCKETS, SUB_BUCKETS);
}

/* Several histograms in one file are told apart by a comment; one alone needs none. */
static void print_title(FILE *out, const struct result *r, int sender, const char *what)
{
	char size[UNITS_TEXT_SIZE];

	if (r->rows <= 1 && r->point.direction.value != DIRECTION_BOTH && !*what)
		return;
	fprintf(out, "#[Row     = %12u, %s %s, %s, from the %s%s]\n", r->row,
		point_op(&r->point)->name,
		r->point.test.value == TEST_LAT ? "latency" : "bandwidth",
		units_size(size, sizeof(size), r->point.size.value),
		sender == SIDE_CLIENT ? "client" : "server", what);
}

static void print_one(FILE *out, const struct result *r, int sender, const struct scale *s,
		      const char *what)
{
	if (!s->h->m.n)
		return;
	print_title(out, r, sender, what);
	print_histogram(out, s);
}

void hgrm_row(FILE *out, const struct result *r)
{
	const struct op *op = point_op(&r->point);

	for (int side = 0; side < SIDES; side++) {
		const struct measure *m = record_flow(r, side) ? result_timed(r, side) : NULL;
		bool paced = m && m->pace.active;

		if (!m)
			continue;
		print_one(out, r, side, &(struct scale){ &m->latency, m->divisor ? m->divisor : 1 },
			  paced ? ", service" : op->make ? ", first half" : "");
		if (paced)
			print_one(out, r, side, &(struct scale){ &m->pace.response, 1 },
				  ", response");
		if (op->undo)
			print_one(out, r, side, &(struct scale){ &m->undo, 1 },
				  ", second half");
	}
}
