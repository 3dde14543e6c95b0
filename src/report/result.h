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
#include "verbs/caps.h"

enum { SIDE_CLIENT, SIDE_SERVER, SIDES };

struct result {
	struct point point;
	struct side {
		struct host_facts host;
		struct device_facts device;
		uint32_t inline_size;          /* granted */
		const struct measure *measure; /* NULL: nothing was heard of it */
	} side[SIDES];
	double clock_drift_ppm; /* of the client's clock over the session */
	bool interrupted;
};

/* Where results go while a session runs; main chooses the functions. */
struct reporter {
	FILE *out;
	void (*begin)(FILE *out, const struct result *r); /* what is about to be measured */
	void (*row)(FILE *out, const struct result *r);   /* what came of it */
};

/*
 * The side whose count is the truth (design section 5): the receiver's where messages are
 * received, else the sender's. Its measure may be NULL.
 */
const struct measure *result_truth(const struct result *r);

/* The measure that holds the latencies: the sender's, or the initiator's. May be NULL. */
const struct measure *result_timed(const struct result *r);

/* Messages a second over the measure's window; NAN when there is no window. */
double measure_rate(const struct measure *m);

#endif
