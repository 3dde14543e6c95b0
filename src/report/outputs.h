/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Everything that a run prints, in each form that was asked for. Text goes to standard output
 * unless another form does; files are opened before the run and get their names after it.
 */
#ifndef RDMETER_REPORT_OUTPUTS_H
#define RDMETER_REPORT_OUTPUTS_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/options.h"
#include "report/document.h"
#include "report/formats.h"
#include "report/result.h"
#include "report/target.h"

#define OUTPUTS_MOST 8

struct output {
	const struct format *format;
	struct target target;
};

struct outputs {
	FILE *out;
	struct document document;
	struct output list[OUTPUTS_MOST]; /* printed row by row */
	size_t count;
	struct target json, samples; /* file NULL: not asked for */
	const struct column *column; /* of --print */
	bool si;
	bool streams;
	int error;     /* of writing to standard output, as errno; 0: none */
	bool standard; /* something else than text goes to standard output */
	bool begun;    /* a row that nothing came of yet... */
	struct result last; /* ...which is this one */
};

/*
 * By this command line, before options_parse() has touched it. o is to be given to outputs_free().
 * 0, or -errno told.
 */
int outputs_new(struct outputs *o, FILE *out, int argc, char **argv);
void outputs_free(struct outputs *o);

/* Opens what the options ask for. 0, or -errno told as FAIL_USAGE or FAIL_SETUP. */
int outputs_open(struct outputs *o, const struct options *opt);

/* As a reporter's: o is a struct outputs. */
void outputs_begin(void *o, const struct result *r);
void outputs_row(void *o, const struct result *r);

/*
 * No more rows will come: ends what is printed row by row, and the files of it. What cannot be
 * written is told as FAIL_RUN.
 */
void outputs_end(struct outputs *o);

/*
 * The last of all, since the exit code is in them: the end of a stream, and the document if it
 * goes where standard says.
 */
void outputs_finish(struct outputs *o, int exit_code, bool standard);

#endif
