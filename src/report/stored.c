/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/stored.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "report/document.h"
#include "report/formats.h"

/* What is left of a sweep that ended early was not printed; its heads were, with its first row. */
static bool was_begun(const struct result *r)
{
	return !r->sweep || r->sweep->plan_only || !r->row || record_status(r) != RECORD_PLANNED;
}

static void print_record(FILE *out, const struct format *f, const struct result *r)
{
	if (!was_begun(r))
		return;
	if (f->begin)
		f->begin(out, r);
	if (record_has_numbers(r) && f->row)
		f->row(out, r);
	else if (r->failed && !record_has_numbers(r) && f->failed)
		f->failed(out, r);
}

static int print_records(FILE *out, const struct format *f, const struct document *d,
			 const char *name)
{
	struct record *record = malloc(sizeof(*record));
	struct requirements required;
	int rc = record ? document_required(d, &required) :
			  fail(FAIL_SETUP, ENOMEM, "out of memory for a row");

	if (!rc && f->start)
		f->start(out);
	for (size_t i = 0; !rc && i < document_rows(d); i++) {
		rc = document_take(d, i, record, name);
		record->result.required = &required;
		if (!rc)
			print_record(out, f, &record->result);
	}
	if (f->end)
		f->end(out);
	free(record);
	return rc;
}

int stored_print(FILE *out, const char *name, int format)
{
	FILE *in = strcmp(name, "-") ? fopen(name, "re") : stdin;
	struct document d = { 0 };
	int rc;

	if (!in)
		return fail(FAIL_SETUP, errno, "opening '%s': %s; give the FILE that --json=FILE "
			    "wrote", name, strerror(errno));
	rc = document_read(&d, in, name);
	if (in != stdin)
		fclose(in);
	if (!rc && format == FORMAT_JSON)
		document_write(&d, out);
	else if (!rc)
		rc = print_records(out, &formats[format], &d, name);
	if (!rc && document_error(&d))
		note("'%s' is of a run that ended early: %s", name, document_error(&d));
	document_free(&d);
	return rc;
}
