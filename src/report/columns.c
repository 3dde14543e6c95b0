/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/columns.h"

#include <math.h>

#define MIB 1048576.0

static double size(const struct result *r, int sender)
{
	(void)sender;
	return (double)r->point.size.value;
}

/* Latencies: stored in whole nanoseconds, shown divided, in microseconds. */

static double shown_us(const struct measure *m, double ns)
{
	return ns / (double)(m->divisor ? m->divisor : 1) / 1e3;
}

static double samples(const struct result *r, int sender)
{
	const struct measure *m = result_timed(r, sender);

	return m && m->opened ? (double)m->latency.m.n : NAN;
}

static double percentile(const struct result *r, int sender, double p)
{
	const struct measure *m = result_timed(r, sender);
	uint64_t ns;

	if (!m || histogram_percentile(&m->latency, p, &ns))
		return NAN;
	return shown_us(m, (double)ns);
}

#define PERCENTILE(name, p)                                     \
	static double name(const struct result *r, int sender)  \
	{                                                       \
		return percentile(r, sender, p);                \
	}

PERCENTILE(lat_p50, 0.5)
PERCENTILE(lat_p90, 0.9)
PERCENTILE(lat_p99, 0.99)
PERCENTILE(lat_p999, 0.999)
PERCENTILE(lat_p9999, 0.9999)

static double lat_min(const struct result *r, int sender)
{
	const struct measure *m = result_timed(r, sender);

	return m && m->latency.m.n ? shown_us(m, (double)m->latency.m.min) : NAN;
}

static double lat_max(const struct result *r, int sender)
{
	const struct measure *m = result_timed(r, sender);

	return m && m->latency.m.n ? shown_us(m, (double)m->latency.m.max) : NAN;
}

static double lat_mean(const struct result *r, int sender)
{
	const struct measure *m = result_timed(r, sender);

	return m ? shown_us(m, moments_mean(&m->latency.m)) : NAN;
}

static double lat_stdev(const struct result *r, int sender)
{
	const struct measure *m = result_timed(r, sender);

	return m ? shown_us(m, moments_stdev(&m->latency.m)) : NAN;
}

static double messages(const struct result *r, int sender)
{
	const struct measure *m = result_truth(r, sender);

	return m && m->opened ? (double)m->window.count : NAN;
}

static double window_s(const struct result *r, int sender)
{
	const struct measure *m = result_truth(r, sender);

	return m && m->opened ? (double)(m->window.t1 - m->window.t0) / 1e9 : NAN;
}

static double msg_per_s(const struct result *r, int sender)
{
	return measure_rate(result_truth(r, sender));
}

static double mib_per_s(const struct result *r, int sender)
{
	return msg_per_s(r, sender) * size(r, sender) / MIB;
}

static double gbit_per_s(const struct result *r, int sender)
{
	return msg_per_s(r, sender) * size(r, sender) * 8 / 1e9;
}

static int intervals(const struct result *r, int sender, struct series_summary *s)
{
	const struct measure *m = result_truth(r, sender);

	return m && m->opened ? series_rates(&m->series, s) : -1;
}

static double interval_min(const struct result *r, int sender)
{
	struct series_summary s;

	return intervals(r, sender, &s) ? NAN : s.min * 1e9 * size(r, sender) / MIB;
}

static double interval_median(const struct result *r, int sender)
{
	struct series_summary s;

	return intervals(r, sender, &s) ? NAN : s.median * 1e9 * size(r, sender) / MIB;
}

static double interval_max(const struct result *r, int sender)
{
	struct series_summary s;

	return intervals(r, sender, &s) ? NAN : s.max * 1e9 * size(r, sender) / MIB;
}

const struct column columns[] = {
#define COLUMN(key_, header_, unit_, width_, format_, tests_, table_, function_)           \
	{                                                                                  \
		.key = key_, .header = header_, .unit = unit_, .width = width_,            \
		.format = COLUMN_##format_, .tests = COLUMN_##tests_,                      \
		.table = COLUMN_##table_, .value = function_,                              \
	},
#include "report/columns.def"
#undef COLUMN
};

const size_t column_count = sizeof(columns) / sizeof(columns[0]);
