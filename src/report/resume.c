/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/resume.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "config.h"

/* Whether a row is the same measurement whatever the option is. */
static bool may_differ(const struct option_row *row)
{
	return row->group == GROUP_OUTPUT || row->group == GROUP_CONTROL ||
	       row->offset == offsetof(struct options, max_time);
}

/* An option as it was given: "--size 64,128", or "no --size". */
static void describe(const char *name, const json_t *value, char *text, size_t size)
{
	snprintf(text, size, "%s--%s%s%s", value ? "" : "no ", name,
		 json_is_string(value) ? " " : "",
		 json_is_string(value) ? json_string_value(value) : "");
}

static int told_other(const struct resume *s, const char *there, const char *here)
{
	return fail(FAIL_USAGE, EINVAL, "--resume '%s': it is of another command line: %s there, "
		    "%s here; give the same, or begin anew", s->name, there, here);
}

static int check_options(const struct resume *s, const struct document *mine)
{
	const json_t *there = json_object_get(s->document.root, "options");
	const json_t *here = json_object_get(mine->root, "options");
	char text[2][200];

	for (size_t i = 0; i < option_row_count; i++) {
		const char *name = option_rows[i].name;
		const json_t *was = json_object_get(there, name), *is = json_object_get(here, name);

		if (may_differ(&option_rows[i]) || (!was && !is) || json_equal(was, is))
			continue;
		describe(name, was, text[0], sizeof(text[0]));
		describe(name, is, text[1], sizeof(text[1]));
		return told_other(s, text[0], text[1]);
	}
	return 0;
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "?";
}

static int check_document(const struct resume *s, const struct document *mine)
{
	const json_t *root = s->document.root;
	const char *version = text_of(json_object_get(root, "tool"), "version");
	const char *there = text_of(root, "host"), *here = text_of(mine->root, "host");

	if (!s->document.sweep.points || s->document.sweep.sweep.plan_only)
		return fail(FAIL_USAGE, EINVAL, "--resume '%s': it is not the document of a sweep "
			    "that was run; give one that is", s->name);
	if (strcmp(version, PACKAGE_VERSION))
		return fail(FAIL_USAGE, EINVAL, "--resume '%s': rdmeter %s has measured it, and "
			    "this is " PACKAGE_VERSION "; use the same, or begin anew", s->name,
			    version);
	return strcmp(there, here) ? told_other(s, there, here) : check_options(s, mine);
}

int resume_open(struct resume *s, const struct options *opt, const struct document *mine)
{
	FILE *in;
	int rc;

	*s = (struct resume){ 0 };
	if (!opt->resume.given)
		return 0;
	s->name = opt->resume.text;
	in = fopen(s->name, "re");
	if (!in)
		return fail(FAIL_SETUP, errno, "--resume '%s': %s; give the FILE that --json=FILE "
			    "wrote", s->name, strerror(errno));
	rc = document_read(&s->document, in, s->name);
	fclose(in);
	if (!rc)
		rc = check_document(s, mine);
	if (rc)
		return rc;
	s->record = malloc(sizeof(*s->record));
	return s->record ? 0 : fail(FAIL_SETUP, ENOMEM, "out of memory for a row");
}

void resume_close(struct resume *s)
{
	document_free(&s->document);
	free(s->record);
	*s = (struct resume){ 0 };
}

/* Rows of different machines make no sweep. */
static int check_ends(const struct resume *s, const struct result *r)
{
	const struct result *was = &s->record->result;

	for (int i = 0; i < SIDES; i++) {
		const struct side *there = &was->side[i], *here = &r->side[i];

		if (strcmp(there->host.hostname, here->host.hostname) ||
		    strcmp(there->device.name, here->device.name))
			return fail(FAIL_SETUP, EINVAL, "--resume '%s': the %s was %s, %s, and now "
				    "is %s, %s; begin anew", s->name, record_sides[i],
				    there->host.hostname, there->device.name, here->host.hostname,
				    here->device.name);
	}
	return 0;
}

/* The document's row of that config_id that was measured; -1: there is none. */
static long find(const struct resume *s, const struct point *p)
{
	const json_t *rows = json_object_get(s->document.root, "rows");
	char id[24];

	snprintf(id, sizeof(id), "%016" PRIx64, point_config_id(p));
	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *row = json_array_get(rows, i);

		if (document_is_measured(row) && !strcmp(text_of(row, "config_id"), id))
			return (long)i;
	}
	return -1;
}

int resume_take(struct resume *s, struct result *r)
{
	struct result *was;
	long i = s->name ? find(s, &r->point) : -1;
	int rc;

	if (i < 0)
		return 0;
	was = &s->record->result;
	rc = document_take(&s->document, (size_t)i, s->record, s->name);
	if (!rc)
		rc = check_ends(s, r);
	if (rc)
		return rc;
	was->row = r->row;
	was->rows = r->rows;
	was->ends_line = r->ends_line;
	was->sweep = r->sweep;
	was->required = r->required;
	was->resumed = true;
	*r = *was;
	s->taken++;
	return 1;
}
