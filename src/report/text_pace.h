/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How a run by schedule (--rate) is shown. */
#ifndef RDMETER_REPORT_TEXT_PACE_H
#define RDMETER_REPORT_TEXT_PACE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/result.h"

/* What a latency is then, for the header. */
extern const char text_pace_is[];

/* Settings of a schedule that there is none for. */
bool text_pace_hides(const struct point *p, const struct setting *s);

/* Before the latencies of a latency test, which are those of the service then. */
void text_pace_title(FILE *out, const struct measure *m);

/* Response times, and how the schedule was kept; nothing without one. */
void text_pace(FILE *out, const struct result *r, int sender);

/* Before the histogram of a latency test, which is that of the responses then. */
void text_pace_bars(FILE *out, const struct measure *m);

#endif
