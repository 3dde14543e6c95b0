/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One document of a whole run, made while it goes on or read from a file: rdmeter-results(5). */
#ifndef RDMETER_REPORT_DOCUMENT_H
#define RDMETER_REPORT_DOCUMENT_H

#include <stdio.h>

#include <jansson.h>

#include "cli/options.h"
#include "report/record.h"
#include "report/require.h"
#include "report/result.h"
#include "report/sweep_document.h"

#define DOCUMENT_SCHEMA "rdmeter-results/1" /* another number is another format */

struct document {
	json_t *root;
	bool streamed;             /* what begins with the first row */
	struct stored_sweep sweep; /* of a document that was read */
	const struct document *before; /* what the run goes on with; NULL: it begins anew */
};

/* The run begins now, by this command line. -ENOMEM when out of memory. */
int document_new(struct document *d, int argc, char **argv);
void document_free(struct document *d);

/* What the command line asked for. */
void document_ask(struct document *d, const struct options *opt);

/*
 * A row is about to be measured: it is there from now on, as planned, and so are all the others of
 * its sweep; those that the document before has measured are taken over from it.
 */
void document_begin(struct document *d, const struct result *r);

/* What came of a row, whether it was begun or not. */
void document_row(struct document *d, const struct result *r);

/* The run is over: with what was told, if something was. */
void document_end(struct document *d, int exit_code);

/* Each key and each row on a line of its own. */
void document_write(const struct document *d, FILE *out);

/* One line, for each event of a run. */
void document_stream_start(const struct document *d, FILE *out);
void document_stream_begin(struct document *d, FILE *out, const struct result *r);
void document_stream_row(struct document *d, FILE *out, const struct result *r);
void document_stream_end(const struct document *d, FILE *out);

/*
 * Reads a document that was written; name is for messages. 0, or -errno told as FAIL_SETUP. To be
 * given to document_free() in either case.
 */
int document_read(struct document *d, FILE *in, const char *name);

/* Whether an element of its rows has been measured to its end. */
bool document_is_measured(const json_t *row);
size_t document_rows(const struct document *d);

/* The i-th row as what it was made of; it refers to d. 0, or -errno told as FAIL_SETUP. */
int document_take(const struct document *d, size_t i, struct record *record, const char *name);

/* What was required of the rows; q refers to d. 0, or -errno told. */
int document_required(const struct document *d, struct requirements *q);

/* The sentence that the run ended with; NULL when there was none. */
const char *document_error(const struct document *d);

#endif
