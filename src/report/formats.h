/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The forms in which rows are printed one after another, by FORMAT_...: live, and of a stored
 * document. A new one is a file with these functions and a row of the table.
 */
#ifndef RDMETER_REPORT_FORMATS_H
#define RDMETER_REPORT_FORMATS_H

#include <stdio.h>

#include "report/columns.h"
#include "report/result.h"

struct format {
	/* Each may be NULL. */
	void (*start)(FILE *out);                          /* before there is a row */
	void (*begin)(FILE *out, const struct result *r);  /* it is about to be measured */
	void (*row)(FILE *out, const struct result *r);    /* what came of it... */
	void (*failed)(FILE *out, const struct result *r); /* ...or that it has no numbers */
	void (*end)(FILE *out);
};

/* All but FORMAT_JSON, which is a document and not a row at a time. */
extern const struct format formats[];

void csv_start(FILE *out);
void csv_row(FILE *out, const struct result *r);

void markdown_begin(FILE *out, const struct result *r);
void markdown_row(FILE *out, const struct result *r);
void markdown_failed(FILE *out, const struct result *r);
void markdown_end(FILE *out);

void hgrm_row(FILE *out, const struct result *r);

/* A column by one of its names, and whether it was named in SI units; NULL: there is none. */
const struct column *print_find(const char *name, bool *si);

/* A line for each direction: the number, or "-". */
void print_row(FILE *out, const struct result *r, const struct column *c, bool si);

/* As short as it can be without losing anything that was measured. */
void print_number(FILE *out, double value);

#endif
