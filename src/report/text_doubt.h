/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of a row's text that says whether to believe it. */
#ifndef RDMETER_REPORT_TEXT_DOUBT_H
#define RDMETER_REPORT_TEXT_DOUBT_H

#include <stdio.h>

#include "report/result.h"

/* Every doubt with its advice. */
void text_warnings(FILE *out, const struct result *r);

/* A line for each side: the counters of its port that changed. */
void text_counters(FILE *out, const struct result *r);

/* A line for each requirement: whether it holds, and what was got. */
void text_requirements(FILE *out, const struct result *r);

#endif
