/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of a row's text that is of the data threads of a side that has several. */
#ifndef RDMETER_REPORT_TEXT_THREADS_H
#define RDMETER_REPORT_TEXT_THREADS_H

#include <stdio.h>

#include "report/result.h"

/* A line for each side with several. */
void text_threads(FILE *out, const struct result *r);

#endif
