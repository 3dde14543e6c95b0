/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Requirements: what every row of a run has to hold, as "bw>=190Gb/s" or "p99<3us".
 *
 * A column is meant by its key in columns.def; by that without its unit, without "lat_" or
 * "stamped_" before it; or by its header: lat_p99_us is also lat_p99 and p99. Where several columns
 * of a row's test have the name, it is the first whose values the unit fits.
 */
#ifndef RDMETER_REPORT_REQUIRE_H
#define RDMETER_REPORT_REQUIRE_H

#include <stdbool.h>
#include <stddef.h>

#include "cli/options.h"
#include "report/columns.h"
#include "report/result.h"

enum verdict {
	VERDICT_NONE, /* no column of the row has to do with it */
	VERDICT_HOLDS,
	VERDICT_INCONCLUSIVE,
	VERDICT_FAILS,
};

const char *verdict_name(enum verdict v);

struct require_unit;
struct require_operator;

struct requirement {
	const char *text; /* as given */
	char name[40];    /* of the column */
	const struct require_operator *operator;
	double wanted; /* in the unit */
	const struct require_unit *unit;
	size_t rows[VERDICT_FAILS + 1]; /* that came to each verdict so far */
};

struct requirements {
	struct requirement list[OPTION_REPEATS];
	size_t count;
};

/* Of one row. In both directions it is that of the one that does worse. */
struct judgement {
	enum verdict verdict;
	const struct column *column; /* NULL with VERDICT_NONE */
	double got;                  /* in the requirement's unit; NAN: not measured */
	bool few; /* measured, but with too few messages for a verdict */
};

/* From the options; with none the count is 0. 0, or -EINVAL told as FAIL_USAGE. */
int requirements_parse(struct requirements *q, const struct options *opt);

void requirement_judge(const struct requirement *q, const struct result *r, struct judgement *j);

/* Judges a row by all and counts the verdicts; returns the worst. */
enum verdict requirements_count(struct requirements *q, const struct result *r);

/*
 * The worst of all rows counted. A requirement that no row had to do with is inconclusive, unless
 * there was no row.
 */
enum verdict requirements_verdict(const struct requirements *q);

/* "p99<3us: fails: 5.12 us" */
void requirement_text(const struct requirement *q, const struct judgement *j, char *out,
		      size_t size);

#endif
