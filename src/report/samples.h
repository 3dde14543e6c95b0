/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Raw samples as CSV: what histograms have forgotten. */
#ifndef RDMETER_REPORT_SAMPLES_H
#define RDMETER_REPORT_SAMPLES_H

#include <stdio.h>

#include "report/result.h"

/* The header: row, time since the window opened, latency. */
void samples_start(FILE *out);

/* The samples of the row that this side took, undivided. */
void samples_row(FILE *out, const struct result *r);

#endif
