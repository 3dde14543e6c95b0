/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sweep as text: what its rows have in common, then one table whose rows come as they are
 * measured, the options that vary first; then, where two vary or it was asked for, pivot tables.
 * State is kept from sweep_begin() to sweep_end(): there is one sweep a process.
 */
#ifndef RDMETER_REPORT_SWEEP_H
#define RDMETER_REPORT_SWEEP_H

#include <stdio.h>

#include "report/result.h"

/* A row begins; with --plan that is all that is told of it. */
void sweep_begin(FILE *out, const struct result *r);

/* A row is over, or has failed, perhaps before it began. */
void sweep_row(FILE *out, const struct result *r);

/* All rows are over. Nothing when there was no sweep. */
void sweep_end(FILE *out);

#endif
