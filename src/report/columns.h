/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The columns of results as a table: what text and every other format print from. */
#ifndef RDMETER_REPORT_COLUMNS_H
#define RDMETER_REPORT_COLUMNS_H

#include <stddef.h>
#include <stdint.h>

#include "report/result.h"

enum column_format {
	COLUMN_SIZE,
	COLUMN_COUNT,
	COLUMN_REAL,
	COLUMN_REAL3,
	COLUMN_SECONDS,
};

enum column_tests {
	COLUMN_LAT = 1,
	COLUMN_BW = 2,
	COLUMN_BOTH = 3,
	COLUMN_LOCAL = 4,
	COLUMN_ANY = 7,
};

enum column_table {
	COLUMN_MAIN,
	COLUMN_STAMPED,
	COLUMN_RESPONSE, /* with --rate */
	COLUMN_PACE,     /* with --rate */
	COLUMN_UNDO,
};

struct column {
	const char *key;
	const char *header, *unit;
	int width;
	enum column_format format;
	enum column_tests tests;
	enum column_table table;
	double (*value)(const struct result *r, int sender); /* NAN: not measured */
};

/* The tests whose columns a point's results have: bits. */
unsigned int column_tests_of(const struct point *p);

extern const struct column columns[];
extern const size_t column_count;

#endif
