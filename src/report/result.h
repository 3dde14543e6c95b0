/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a run was and what came of it: all that a report is made of. Reports only read it. */
#ifndef RDMETER_REPORT_RESULT_H
#define RDMETER_REPORT_RESULT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "host/facts.h"
#include "plan/point.h"
#include "stats/measure.h"
#include "stats/samples.h"
#include "verbs/caps.h"

struct requirements; /* of report/require.h */

enum { SIDE_CLIENT, SIDE_SERVER, SIDES };

struct result {
	struct point point;
	struct side {
		struct host_facts host;
		struct device_facts device;
		uint32_t inline_size;          /* granted */
		uint32_t outstanding; /* reads and atomics that a queue pair here may have */
		const struct measure *measure; /* NULL: nothing was heard of it */
	} side[SIDES];
	double clock_drift_ppm; /* of the client's clock over the session */
	int64_t clock_offset_ns; /* what the server's clock is ahead of the client's */
	const char *version;    /* of the rdmeter that measured it; NULL: this one */
	const struct samples *samples; /* of the client; NULL: none were kept */
	const char *failed;     /* the sentence that ended the row; NULL: none did */
	unsigned int row, rows; /* how many of this session came before, and how many there are */
	bool overview;          /* it is part of one */
	bool ends_line;         /* of an overview: the operation's last row */
	bool interrupted;
	bool resumed;           /* measured by the run that this one goes on with */
	const struct requirements *required; /* NULL: none */
	const struct result_sweep *sweep; /* it is part of one; else NULL */
};

/* A whole sweep, as far as it is known before its first row. */
struct result_sweep {
	const struct point *points; /* in the order in which they are run; rows of them */
	size_t rows;
	const struct option_row *const *varied; /* the options that have several values */
	size_t varied_count;
	const uint64_t *seed; /* of the order; NULL: as they were given */
	bool pivot;           /* asked for */
	bool plan_only;       /* nothing is measured */
};

/* A part of a row's window, told while it lasts; the parts add up to it. */
struct result_interval {
	uint64_t from_ns, to_ns; /* since the window opened */
	uint64_t count;          /* messages in it */
	uint64_t in_flight;      /* at its end; only where this side keeps a queue full */
	uint64_t retransmits, rnr; /* of the port here; only where its counters are known */
	bool posts, counters;
	bool of_server; /* nothing is counted here: it is what the server told, once a second */
};

/* Where results go while a session runs; main chooses the functions. */
struct reporter {
	void *out; /* theirs */
	void (*begin)(void *out, const struct result *r); /* what is about to be measured */
	void (*row)(void *out, const struct result *r);   /* what came of it */
	void (*end)(void *out); /* all rows are over, or the run is; what it was told still is */
	/*
	 * Before a row of a sweep is measured: 1 when an earlier run has done that, and it has been
	 * reported as it was left. 0, or -errno told.
	 */
	int (*resume)(void *out, const struct result *r);
	const struct requirements *required; /* goes into every result */
	/* Before the first row, each row to come; refused: it fails, not measured. */
	void (*expect)(const struct point *p, bool refused, uint64_t max_time);
	/* While a row runs. Returns the nanoseconds until it wants to be called again. */
	uint64_t (*tick)(void);
	void (*interval)(const struct result *r, const struct result_interval *i);
};

/* Whether this host was measured alone, without a peer. */
static inline bool result_is_alone(const struct result *r)
{
	return op_is_local(point_op(&r->point));
}

/* Whether that side sends, or begins; in both directions both do. */
bool result_sends(const struct result *r, int side);

/*
 * The measure whose count is the truth for what `sender` sent (design section 5): the other
 * side's where messages are received, else its own. May be NULL.
 */
const struct measure *result_truth(const struct result *r, int sender);

/*
 * What became of the messages of `sender` over the whole run, on a transport that may lose some:
 * how many were sent, and how many are known to have arrived, or of a latency test were answered.
 * False: what is reliable; or nothing was heard of those counts. delivered is RESULT_UNKNOWN where
 * nobody can know, as of writes.
 */
#define RESULT_UNKNOWN UINT64_MAX
bool result_delivery(const struct result *r, int sender, uint64_t *sent, uint64_t *delivered);

/* The measure that holds the latencies of what `sender` sent: its own. May be NULL. */
const struct measure *result_timed(const struct result *r, int sender);

/*
 * What `sender` sent by schedule fell behind it: less than 99 % of the rate was achieved, or with
 * random arrivals, whose number is random too, of the schedule was kept.
 */
bool result_behind(const struct result *r, int sender);

/* Messages a second that left by schedule; NAN without one. */
double result_achieved(const struct result *r, int sender);

/* The share of the schedule that was kept, as that looks at it; NAN without one. */
double result_kept(const struct result *r, int sender);

/* Messages a second over the measure's window; NAN when there is no window. */
double measure_rate(const struct measure *m);

/*
 * Messages a second in both directions together, over the time in which both windows were open;
 * NAN when that is less than nine tenths of the shorter one.
 */
double result_sum_rate(const struct result *r);

#endif
