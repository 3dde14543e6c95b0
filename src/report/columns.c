/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/columns.h"

#include <math.h>

#define MIB 1048576.0

static double size(const struct result *r, int sender)
{
	(void)sender;
	return (double)r->point.size.value;
}

unsigned int column_tests_of(const struct point *p)
{
	if (op_is_local(point_op(p)))
		return COLUMN_LAT | COLUMN_LOCAL;
	return p->test.value == TEST_LAT ? COLUMN_LAT : COLUMN_BW;
}

static double pages(const struct result *r, int sender)
{
	(void)sender;
	return (double)point_pages(&r->point);
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

/* The second halves of a test without a peer. */
static const struct measure *undone(const struct result *r, int sender)
{
	const struct measure *m = result_timed(r, sender);

	return m && m->undo.m.n ? m : NULL;
}

static double undo_samples(const struct result *r, int sender)
{
	const struct measure *m = undone(r, sender);

	return m ? (double)m->undo.m.n : NAN;
}

static double undo_percentile(const struct result *r, int sender, double p)
{
	const struct measure *m = undone(r, sender);
	uint64_t ns;

	if (!m || histogram_percentile(&m->undo, p, &ns))
		return NAN;
	return shown_us(m, (double)ns);
}

#define UNDO_PERCENTILE(name, p)                                \
	static double name(const struct result *r, int sender)  \
	{                                                       \
		return undo_percentile(r, sender, p);           \
	}

UNDO_PERCENTILE(undo_p50, 0.5)
UNDO_PERCENTILE(undo_p90, 0.9)
UNDO_PERCENTILE(undo_p99, 0.99)
UNDO_PERCENTILE(undo_p999, 0.999)
UNDO_PERCENTILE(undo_p9999, 0.9999)

static double undo_min(const struct result *r, int sender)
{
	const struct measure *m = undone(r, sender);

	return m ? shown_us(m, (double)m->undo.m.min) : NAN;
}

static double undo_max(const struct result *r, int sender)
{
	const struct measure *m = undone(r, sender);

	return m ? shown_us(m, (double)m->undo.m.max) : NAN;
}

static double undo_mean(const struct result *r, int sender)
{
	const struct measure *m = undone(r, sender);

	return m ? shown_us(m, moments_mean(&m->undo.m)) : NAN;
}

static double undo_stdev(const struct result *r, int sender)
{
	const struct measure *m = undone(r, sender);

	return m ? shown_us(m, moments_stdev(&m->undo.m)) : NAN;
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

/* By schedule: whole times, from when a message was to leave. */

static const struct pace_measure *pace_of(const struct result *r, int sender)
{
	const struct measure *m = result_timed(r, sender);

	return m && m->pace.active ? &m->pace : NULL;
}

static double quantile_us(const struct histogram *h, double p)
{
	uint64_t ns;

	return h && !histogram_percentile(h, p, &ns) ? (double)ns / 1e3 : NAN;
}

static const struct histogram *response_of(const struct result *r, int sender)
{
	const struct pace_measure *p = pace_of(r, sender);

	return p ? &p->response : NULL;
}

#define RESPONSE(name, p)                                             \
	static double name(const struct result *r, int sender)        \
	{                                                             \
		return quantile_us(response_of(r, sender), p);        \
	}

RESPONSE(response_p50, 0.5)
RESPONSE(response_p90, 0.9)
RESPONSE(response_p99, 0.99)
RESPONSE(response_p999, 0.999)
RESPONSE(response_p9999, 0.9999)
RESPONSE(response_max, 1.0)

static double responses(const struct result *r, int sender)
{
	const struct histogram *h = response_of(r, sender);

	return h ? (double)h->m.n : NAN;
}

static double response_min(const struct result *r, int sender)
{
	const struct histogram *h = response_of(r, sender);

	return h && h->m.n ? (double)h->m.min / 1e3 : NAN;
}

static double response_mean(const struct result *r, int sender)
{
	const struct histogram *h = response_of(r, sender);

	return h ? moments_mean(&h->m) / 1e3 : NAN;
}

static double rate_asked(const struct result *r, int sender)
{
	return pace_of(r, sender) ? (double)r->point.rate.value / 1e9 : NAN;
}

static double rate_achieved(const struct result *r, int sender)
{
	return pace_of(r, sender) ? result_achieved(r, sender) : NAN;
}

static double rate_percent(const struct result *r, int sender)
{
	return rate_achieved(r, sender) * 100 / rate_asked(r, sender);
}

static double late_mean(const struct result *r, int sender)
{
	const struct pace_measure *p = pace_of(r, sender);

	return p ? moments_mean(&p->lateness.m) / 1e3 : NAN;
}

static double late_p99(const struct result *r, int sender)
{
	const struct pace_measure *p = pace_of(r, sender);

	return p ? quantile_us(&p->lateness, 0.99) : NAN;
}

static double late_max(const struct result *r, int sender)
{
	const struct pace_measure *p = pace_of(r, sender);

	return p ? quantile_us(&p->lateness, 1.0) : NAN;
}

static double backlog(const struct result *r, int sender)
{
	const struct pace_measure *p = pace_of(r, sender);

	return p ? (double)p->backlog : NAN;
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
