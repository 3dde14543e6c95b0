/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What a window is for the host beside its messages: CPU time and the port's counters. */
#ifndef RDMETER_SESSION_USAGE_H
#define RDMETER_SESSION_USAGE_H

#include "host/counters.h"
#include "host/cpu.h"
#include "stats/measure.h"

/* As it was when the window opened. */
struct usage {
	struct cpu_sample cpu;
	struct counters counters; /* none: not known */
};

/* u is to be given to usage_free(). */
void usage_begin(struct usage *u, struct counters_port *port);

/* What there was since, into the measure. */
void usage_end(const struct usage *u, struct counters_port *port, struct measure *m);
void usage_free(struct usage *u);

#endif
