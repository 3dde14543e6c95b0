/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Two options of a sweep as rows and columns of a table of one number. */
#ifndef RDMETER_REPORT_PIVOT_H
#define RDMETER_REPORT_PIVOT_H

#include <stdio.h>

#include "report/result.h"

/*
 * One table for each combination of the other options that vary. values are by point, NAN for what
 * was not measured: the median of a latency test, the bandwidth of others. Nothing unless pivoting
 * was asked for or exactly two options vary; --test does not count, it has tables of its own.
 */
void pivot_print(FILE *out, const struct result_sweep *sweep, const double *values);

#endif
