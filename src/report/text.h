/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The result as text for people: at most 100 columns, plain in a pipe. */
#ifndef RDMETER_REPORT_TEXT_H
#define RDMETER_REPORT_TEXT_H

#include <stdbool.h>
#include <stdio.h>

#include "report/columns.h"
#include "report/result.h"

/* UTF-8 where the locale has it, else ASCII. */
bool text_utf8(void);

/* What is run, on what, and why so. */
void text_header(FILE *out, const struct result *r);

/* The two ends alone: host, device, GID, with reasons. */
void text_sides(FILE *out, const struct result *r);

/* The two ends as a header has them, and whether they are one. */
void text_ends(FILE *out, const struct result *r);

/*
 * The settings that all of count points have in common, with the reasons of the first, two a
 * line; without those that mean nothing for it.
 */
void text_settings(FILE *out, const struct point *points, size_t count);

/* Whether a row's setting is not the same in all points; rows without a setting do not differ. */
bool text_differs(const struct option_row *row, const struct point *points, size_t count);

/* A setting's value as its option would be given. */
void text_value(const struct option_row *row, const struct setting *s, char *out, size_t size);

/* A value in its column's width and format. */
void text_cell(FILE *out, const struct column *c, double value);

/* The columns of a test that stand in a table: their headers, units and values, a line each. */
void text_table(FILE *out, const struct result *r, int sender, unsigned int tests,
		enum column_table table);

/* The table of the test, and for a latency test its histogram; nothing when there is nothing. */
void text_result(FILE *out, const struct result *r, bool utf8);

#endif
