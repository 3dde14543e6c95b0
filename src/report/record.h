/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A row of results as JSON and back: one element of a document's rows (rdmeter-results(5)). */
#ifndef RDMETER_REPORT_RECORD_H
#define RDMETER_REPORT_RECORD_H

#include <jansson.h>

#include "report/columns.h"
#include "report/result.h"

extern const char *const record_sides[SIDES]; /* "client" and "server" */

/* How far a row has come; the words of "status". */
enum record_status {
	RECORD_PLANNED, /* nothing was measured, as with --plan, or not yet */
	RECORD_MEASURED,
	RECORD_INTERRUPTED, /* the window was closed early */
	RECORD_FAILED,      /* r->failed says why; there may be partial numbers */
};

const char *record_status_name(enum record_status status);
enum record_status record_status(const struct result *r);

/* A row with the numbers of at least one side. */
bool record_has_numbers(const struct result *r);

/* The flows of a row: who sends, one or both, and for a latency who asks. */
bool record_flow(const struct result *r, int sender);

/* Where it goes: to the other side, or nowhere. */
int record_target(const struct result *r, int sender);

/*
 * A column in SI units: its key, and its value, NAN when it does not belong to the row's test.
 * Latencies are in nanoseconds, as they are stored.
 */
#define RECORD_KEY 48
const char *record_key(const struct column *c, char key[RECORD_KEY]);
double record_value(const struct column *c, const struct result *r, int sender);

/* An integer where it is one. */
json_t *record_number(double value);

json_t *record_encode(const struct result *r);

/* A row that has been read: the result points to the rest. */
struct record {
	struct result result;
	struct measure measure[SIDES];
	char failed[512];
};

/*
 * Fills what a row holds; the ends and the version belong to its document. 0, or -EBADMSG with
 * *key what is missing or wrong.
 */
int record_decode(const json_t *json, struct record *record, const char **key);

#endif
