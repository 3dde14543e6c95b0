/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The result as text for people: at most 100 columns, plain in a pipe. */
#ifndef RDMETER_REPORT_TEXT_H
#define RDMETER_REPORT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/result.h"

/* UTF-8 where the locale has it, else ASCII. */
bool text_utf8(void);

/* What is run, on what, and why so. */
void text_header(FILE *out, const struct result *r);

/* The two ends alone: host, device, GID, with reasons. */
void text_sides(FILE *out, const struct result *r);

/* The table of the test, and for a latency test its histogram; nothing when there is nothing. */
void text_result(FILE *out, const struct result *r, bool utf8);

#endif
