/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every operation on one line each. */
#ifndef RDMETER_REPORT_OVERVIEW_H
#define RDMETER_REPORT_OVERVIEW_H

#include <stdio.h>

#include "report/result.h"

/*
 * The overview: the ends once, then a line an operation when its last row has come. Takes the rows
 * in the order of the plan.
 */
void overview_begin(FILE *out, const struct result *r);
void overview_row(FILE *out, const struct result *r);

/* Ends the line of an operation whose rows did not all come. */
void overview_end(FILE *out);

#endif
