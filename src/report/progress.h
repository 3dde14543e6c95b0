/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What goes on while a run lasts, on stderr: on a terminal one line that is rewritten in place,
 * and the lines of --interval anywhere. State is kept from progress_expect() to progress_end():
 * there is one run a process.
 */
#ifndef RDMETER_REPORT_PROGRESS_H
#define RDMETER_REPORT_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/point.h"
#include "report/result.h"

#define PROGRESS_NEVER UINT64_MAX

/* There is to be nothing of it. */
void progress_none(void);

/* One more row of the plan; refused: it will not be measured. most: no row begins later, or 0. */
void progress_expect(const struct point *p, bool refused, uint64_t most);

/* A row begins. */
void progress_begin(const struct result *r);

/* Time has passed: the nanoseconds until it is to be called again, or PROGRESS_NEVER. */
uint64_t progress_tick(void);

/* Takes the line back, so that something else can be printed. */
void progress_hide(void);

/* A row is over, perhaps before it began. */
void progress_row(void);

/* The run is over. */
void progress_end(void);

/* A line of --interval. */
void progress_interval(const struct result *r, const struct result_interval *i);

/* A time as the line has it: "9.9 s", "59 s", "59:59", "1:00:00". Returns text. */
#define PROGRESS_TIME 16
const char *progress_time(char text[PROGRESS_TIME], uint64_t ns);

#endif
