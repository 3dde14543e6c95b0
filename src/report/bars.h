/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A histogram drawn with characters. */
#ifndef RDMETER_REPORT_BARS_H
#define RDMETER_REPORT_BARS_H

#include <stdbool.h>
#include <stdio.h>

#include "stats/histogram.h"

/* One line a range of latencies, in microseconds after division; nothing for an empty one. */
void bars_print(FILE *out, const struct histogram *h, unsigned int divisor, bool utf8);

#endif
