/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/outputs.h"

#include <errno.h>
#include <string.h>

#include "base/fail.h"
#include "report/samples.h"

int outputs_new(struct outputs *o, FILE *out, int argc, char **argv)
{
	*o = (struct outputs){ .out = out };
	return document_new(&o->document, argc, argv) ?
	       fail(FAIL_SETUP, ENOMEM, "out of memory for the result") : 0;
}

void outputs_free(struct outputs *o)
{
	for (size_t i = 0; i < o->count; i++)
		target_abandon(&o->list[i].target);
	target_abandon(&o->json);
	target_abandon(&o->samples);
	document_free(&o->document);
	o->count = 0;
}

/* Two forms in one place would be neither. */
static int told_twice(const char *name, const char *where)
{
	return fail(FAIL_USAGE, EINVAL, "--%s: something else goes to %s already; give it a file "
		    "of its own", name, where);
}

static int take_standard(struct outputs *o, const char *name)
{
	if (o->standard)
		return told_twice(name, "standard output");
	o->standard = true;
	return 0;
}

/* A name is compared as it resolves: it is a file that must not be written twice. */
static bool is_taken(const struct outputs *o, const char *path)
{
	for (size_t i = 0; i < o->count; i++)
		if (o->list[i].target.path && !strcmp(o->list[i].target.path, path))
			return true;
	return (o->json.path && !strcmp(o->json.path, path));
}

static int open_target(struct outputs *o, struct target *into, const char *name,
		       const struct option_value *v)
{
	struct target t;
	int rc = target_open(&t, name, v->text, o->out);

	if (!rc && t.standard)
		rc = take_standard(o, name);
	else if (!rc && t.path && is_taken(o, t.path))
		rc = told_twice(name, v->text);
	if (rc)
		target_abandon(&t);
	else
		*into = t;
	return rc;
}

static int open_format(struct outputs *o, const char *name, const struct option_value *v,
		       const struct format *format)
{
	struct output *output = &o->list[o->count];
	int rc = v->given ? open_target(o, &output->target, name, v) : 0;

	if (rc || !v->given)
		return rc;
	output->format = format;
	o->count++;
	return 0;
}

static int open_print(struct outputs *o, const struct option_value *v)
{
	char names[400] = "", key[RECORD_KEY];

	if (!v->given)
		return 0;
	o->column = print_find(v->text, &o->si);
	if (o->column)
		return take_standard(o, "print");
	for (size_t i = 0; i < column_count; i++)
		snprintf(names + strlen(names), sizeof(names) - strlen(names), "%s%s",
			 i ? ", " : "", record_key(&columns[i], key));
	return fail(FAIL_USAGE, EINVAL, "--print '%s': no such column; there are %s", v->text,
		    names);
}

static int open_all(struct outputs *o, const struct options *opt)
{
	int rc = opt->json.given ? open_target(o, &o->json, "json", &opt->json) : 0;

	if (!rc)
		rc = open_format(o, "csv", &opt->csv, &formats[FORMAT_CSV]);
	if (!rc)
		rc = open_format(o, "hgrm", &opt->hgrm, &formats[FORMAT_HGRM]);
	if (!rc)
		rc = open_print(o, &opt->print);
	if (!rc && opt->json_stream.given)
		rc = take_standard(o, "json-stream");
	if (!rc && opt->samples.given)
		rc = open_target(o, &o->samples, "samples", &opt->samples);
	return rc;
}

int outputs_open(struct outputs *o, const struct options *opt)
{
	static const struct option_value standard = { .given = true, .text = "-" };
	int rc;

	rc = open_all(o, opt);
	if (!rc && !o->standard)
		rc = open_format(o, "text", &standard, &formats[FORMAT_TEXT]);
	if (rc)
		return rc;
	o->streams = opt->json_stream.given;
	if (o->streams)
		document_stream_start(&o->document, o->out);
	for (size_t i = 0; i < o->count; i++)
		if (o->list[i].format->start)
			o->list[i].format->start(o->list[i].target.file);
	if (o->samples.file)
		samples_start(o->samples.file);
	return 0;
}

void outputs_begin(void *outputs, const struct result *r)
{
	struct outputs *o = outputs;

	o->last = *r;
	o->begun = true;
	document_begin(&o->document, r);
	if (o->streams)
		document_stream_begin(&o->document, o->out, r);
	for (size_t i = 0; i < o->count; i++) {
		FILE *out = o->list[i].target.file;

		if (o->list[i].format->begin)
			o->list[i].format->begin(out, r);
		target_flush(&o->list[i].target); /* what is being measured can be seen */
	}
}

/* A row with numbers, or the last one that none came of. */
static void report(struct outputs *o, const struct result *r)
{
	o->begun = false;
	document_row(&o->document, r);
	if (o->streams)
		document_stream_row(&o->document, o->out, r);
	if (o->column)
		print_row(o->out, r, o->column, o->si);
	for (size_t i = 0; i < o->count; i++) {
		const struct format *f = o->list[i].format;
		FILE *out = o->list[i].target.file;

		if (record_has_numbers(r) && f->row)
			f->row(out, r);
		else if (!record_has_numbers(r) && f->failed)
			f->failed(out, r);
		target_flush(&o->list[i].target);
	}
	if (o->samples.file)
		samples_row(o->samples.file, r);
}

void outputs_row(void *outputs, const struct result *r)
{
	const struct failure *f = fail_last();
	struct result ended = *r;

	if (f->class != FAIL_NONE && !r->failed)
		ended.failed = f->text;
	report(outputs, &ended);
}

void outputs_end(struct outputs *o)
{
	const struct failure *f = fail_last();

	if (o->begun && f->class != FAIL_NONE) {
		o->last.failed = f->text;
		report(o, &o->last);
	}
	for (size_t i = 0; i < o->count; i++) {
		if (o->list[i].format->end)
			o->list[i].format->end(o->list[i].target.file);
		target_flush(&o->list[i].target);
		if (o->list[i].target.standard)
			o->error = o->list[i].target.error;
		target_commit(&o->list[i].target);
	}
	o->count = 0;
	if (o->samples.file)
		target_commit(&o->samples);
}

void outputs_finish(struct outputs *o, int exit_code, bool standard)
{
	if (standard || !o->json.standard)
		document_end(&o->document, exit_code);
	if (standard && o->streams)
		document_stream_end(&o->document, o->out);
	if (!o->json.file || o->json.standard != standard)
		return;
	document_write(&o->document, o->json.file);
	target_commit(&o->json);
}
