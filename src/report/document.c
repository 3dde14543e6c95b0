/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/document.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "config.h"
#include "report/sides.h"

/* A word that is not UTF-8 cannot be told; that there was one can. */
static json_t *text(const char *word)
{
	json_t *json = json_string(word);

	return json ? json : json_string("?");
}

static json_t *now(void)
{
	char iso[32] = "";
	time_t t = time(NULL);
	struct tm utc;

	if (gmtime_r(&t, &utc))
		strftime(iso, sizeof(iso), "%Y-%m-%dT%H:%M:%SZ", &utc);
	return json_string(iso);
}

int document_new(struct document *d, int argc, char **argv)
{
	json_t *command = json_array();

	*d = (struct document){ 0 };
	for (int i = 0; i < argc; i++)
		json_array_append_new(command, text(argv[i]));
	d->root = json_pack("{s:s, s:{s:s, s:s}, s:o, s:o, s:n, s:n, s:s, s:{}, s:n, s:n, s:n,"
			    " s:[], s:n, s:n}", "schema", DOCUMENT_SCHEMA,
			    "tool", "name", "rdmeter", "version", PACKAGE_VERSION,
			    "command", command, "start_time", now(), "end_time", "host",
			    "mode", "rows", "options", "ends", "sweep", "rows_planned", "rows",
			    "error", "exit_code");
	return d->root ? 0 : -ENOMEM;
}

void document_free(struct document *d)
{
	json_decref(d->root);
	d->root = NULL;
	sweep_free(&d->sweep);
}

/* Of an option that may be given several times, each. */
static json_t *given_value(const struct option_row *row, const struct option_value *v)
{
	json_t *array;

	if (row->kind != OPTION_TEXTS)
		return v->text ? text(v->text) : json_true();
	array = json_array();
	for (size_t i = 0; i < v->count; i++)
		json_array_append_new(array, text(v->texts[i]));
	return array;
}

void document_ask(struct document *d, const struct options *opt)
{
	json_t *asked = json_object_get(d->root, "options");
	struct options copy = *opt;

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_value *v = option_value(&copy, &option_rows[i]);

		if (v->given)
			json_object_set_new(asked, option_rows[i].name,
					    given_value(&option_rows[i], v));
	}
	json_object_set_new(d->root, "host", opt->host ? text(opt->host) : json_null());
}

bool document_is_measured(const json_t *row)
{
	const char *status = json_string_value(json_object_get(row, "status"));

	return status && !strcmp(status, record_status_name(RECORD_MEASURED));
}

/* The same row in the document before, if it was measured to its end; else NULL. */
static json_t *find_before(const struct document *d, const json_t *row)
{
	const json_t *rows = d->before ? json_object_get(d->before->root, "rows") : NULL;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		json_t *other = json_array_get(rows, i);

		if (document_is_measured(other) &&
		    json_equal(json_object_get(other, "config_id"),
			       json_object_get(row, "config_id")))
			return other;
	}
	return NULL;
}

/* Of a sweep all rows are known: one that ends early shows what is left of it. */
static void plan_rows(struct document *d, const struct result *r)
{
	json_t *rows = json_object_get(d->root, "rows");

	for (size_t i = 0; i < r->sweep->rows; i++) {
		struct result planned = {
			.point = r->sweep->points[i], .row = (unsigned int)i,
		};
		json_t *row = record_encode(&planned), *before = find_before(d, row);

		if (before) {
			json_decref(row);
			row = json_copy(before);
			json_object_set_new(row, "index", json_integer((json_int_t)i));
			json_object_set_new(row, "resumed", json_true());
		}
		json_array_append_new(rows, row);
	}
}

/* The ends are the same for all rows of a session. */
static void set_ends(struct document *d, const struct result *r)
{
	json_t *ends = json_object();

	for (int i = 0; i < SIDES; i++)
		json_object_set_new(ends, record_sides[i], i && result_is_alone(r) ? json_null() :
				    end_encode(&r->side[i]));
	json_object_set_new(d->root, "ends", ends);
	json_object_set_new(d->root, "rows_planned", json_integer(r->rows));
	json_object_set_new(d->root, "mode", json_string(r->sweep ? "sweep" :
							 r->overview ? "overview" : "rows"));
	json_object_set_new(d->root, "sweep", sweep_encode(r->sweep));
	if (r->sweep)
		plan_rows(d, r);
}

static void put_row(struct document *d, const struct result *r)
{
	json_t *rows = json_object_get(d->root, "rows");

	if (!json_is_object(json_object_get(d->root, "ends")))
		set_ends(d, r);
	if (r->row < json_array_size(rows))
		json_array_set_new(rows, r->row, record_encode(r));
	else
		json_array_append_new(rows, record_encode(r));
}

void document_begin(struct document *d, const struct result *r)
{
	put_row(d, r);
}

void document_row(struct document *d, const struct result *r)
{
	put_row(d, r);
}

static json_t *encode_error(const char *class, const char *message)
{
	return json_pack("{s:s, s:o}", "class", class, "message", text(message));
}

/* Of what nobody told: exit codes beyond 128 are those of signals. */
static json_t *encode_end(int exit_code)
{
	if (exit_code == 128 + SIGPIPE)
		return encode_error("output", "standard output was closed by its reader");
	if (exit_code == 128 + SIGINT || exit_code == 128 + SIGTERM)
		return encode_error("interrupted", exit_code == 128 + SIGINT ?
				    "interrupted by SIGINT" : "interrupted by SIGTERM");
	return json_null();
}

/* Failures that ended rows and not the run. */
static json_t *encode_failures(const struct document *d, const char *class)
{
	const json_t *rows = json_object_get(d->root, "rows"), *first = NULL;
	char message[700];
	size_t failed = 0;

	for (size_t i = 0; i < json_array_size(rows); i++) {
		const json_t *error = json_object_get(json_array_get(rows, i), "error");

		first = first || !json_is_string(error) ? first : error;
		failed += json_is_string(error);
	}
	snprintf(message, sizeof(message), "%zu of %zu rows failed; the first: %s", failed,
		 json_array_size(rows), first ? json_string_value(first) : "");
	return encode_error(class, message);
}

/* A run that never got as far as its rows has lost none of those before it. */
static void keep_before(struct document *d)
{
	static const char *const keys[] = { "mode", "ends", "sweep", "rows_planned", "rows" };

	if (!d->before || json_is_object(json_object_get(d->root, "ends")))
		return;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		json_object_set(d->root, keys[i], json_object_get(d->before->root, keys[i]));
}

void document_end(struct document *d, int exit_code)
{
	static const char *const classes[] = {
		[FAIL_USAGE] = "usage", [FAIL_SETUP] = "setup", [FAIL_RUN] = "run",
	};
	const struct failure *f = fail_last();
	json_t *error;

	if (f->class != FAIL_NONE)
		error = encode_error(classes[f->class], f->text);
	else if (fail_worst() != FAIL_NONE)
		error = encode_failures(d, classes[fail_worst()]);
	else
		error = encode_end(exit_code);
	keep_before(d);
	json_object_set_new(d->root, "end_time", now());
	json_object_set_new(d->root, "error", error);
	json_object_set_new(d->root, "exit_code", json_integer(exit_code));
}

/* Rows go on lines of their own: documents are looked at, and compared by lines. */
static void write_rows(const json_t *rows, FILE *out)
{
	size_t count = json_array_size(rows);

	fputc('[', out);
	for (size_t i = 0; i < count; i++) {
		fputs(i ? ",\n  " : "\n  ", out);
		json_dumpf(json_array_get(rows, i), out, JSON_COMPACT);
	}
	fputs(count ? "\n ]" : "]", out);
}

void document_write(const struct document *d, FILE *out)
{
	const char *key, *before = "{\n";
	json_t *value;

	json_object_foreach(d->root, key, value) {
		fprintf(out, "%s \"%s\": ", before, key);
		if (!strcmp(key, "rows"))
			write_rows(value, out);
		else
			json_dumpf(value, out, JSON_COMPACT | JSON_ENCODE_ANY);
		before = ",\n";
	}
	fputs("\n}\n", out);
}

/* An event of the keys of the document that are named. */
static json_t *event(const struct document *d, const char *type, const char *const *keys)
{
	json_t *json = json_pack("{s:s}", "event", type);

	for (; *keys; keys++)
		json_object_set(json, *keys, json_object_get(d->root, *keys));
	return json;
}

static void emit(json_t *event, FILE *out)
{
	json_dumpf(event, out, JSON_COMPACT);
	fputc('\n', out);
	fflush(out);
	json_decref(event);
}

void document_stream_start(const struct document *d, FILE *out)
{
	static const char *const keys[] = {
		"schema", "tool", "command", "start_time", "host", "options", NULL,
	};

	emit(event(d, "start", keys), out);
}

static void stream_row(struct document *d, FILE *out, const char *type, const struct result *r)
{
	static const char *const first[] = { "mode", "rows_planned", "ends", "sweep", NULL };

	if (!d->streamed)
		emit(event(d, "ends", first), out);
	d->streamed = true;
	emit(json_pack("{s:s, s:o}", "event", type, "row", record_encode(r)), out);
}

void document_stream_begin(struct document *d, FILE *out, const struct result *r)
{
	stream_row(d, out, "begin", r);
}

void document_stream_row(struct document *d, FILE *out, const struct result *r)
{
	stream_row(d, out, "row", r);
}

void document_stream_end(const struct document *d, FILE *out)
{
	static const char *const keys[] = { "end_time", "error", "exit_code", NULL };

	emit(event(d, "end", keys), out);
}

static int told_bad(const char *name, const char *what, const char *which)
{
	return fail(FAIL_SETUP, EBADMSG, "'%s' is no document of rdmeter's: %s%s; give what "
		    "--json=FILE wrote", name, what, which);
}

int document_read(struct document *d, FILE *in, const char *name)
{
	const char *schema, *key = "";
	json_error_t error;
	json_t *rows;
	int rc;

	*d = (struct document){ 0 };
	d->root = json_loadf(in, JSON_REJECT_DUPLICATES, &error);
	if (!d->root && ferror(in))
		return fail(FAIL_SETUP, EIO, "reading '%s': %s", name, strerror(EIO));
	if (!d->root)
		return told_bad(name, "", error.text);
	schema = json_string_value(json_object_get(d->root, "schema"));
	if (!schema)
		return told_bad(name, "schema is missing", "");
	if (strcmp(schema, DOCUMENT_SCHEMA))
		return fail(FAIL_SETUP, EBADMSG, "'%s' is of schema '%s', this version reads "
			    DOCUMENT_SCHEMA "; use the rdmeter that wrote it", name, schema);
	rows = json_object_get(d->root, "rows");
	if (!json_is_array(rows))
		return told_bad(name, "rows are missing", "");
	rc = sweep_decode(json_object_get(d->root, "sweep"), rows, &d->sweep, &key);
	if (rc == -ENOMEM)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for the sweep of '%s'", name);
	return rc ? told_bad(name, "missing or wrong: ", key) : 0;
}

size_t document_rows(const struct document *d)
{
	return json_array_size(json_object_get(d->root, "rows"));
}

int document_take(const struct document *d, size_t i, struct record *record, const char *name)
{
	const json_t *ends = json_object_get(d->root, "ends");
	const json_t *mode = json_object_get(d->root, "mode");
	struct result *r = &record->result;
	const char *key;
	int rc = record_decode(json_array_get(json_object_get(d->root, "rows"), i), record, &key);

	/* Who was alone was its own peer. */
	for (int side = 0; side < SIDES && !rc; side++)
		rc = end_decode(json_object_get(ends, record_sides[result_is_alone(r) ? 0 : side]),
				&r->side[side], &key);
	if (rc)
		return told_bad(name, "missing or wrong: ", key);
	r->version = json_string_value(json_object_get(json_object_get(d->root, "tool"),
						       "version"));
	r->overview = json_is_string(mode) && !strcmp(json_string_value(mode), "overview");
	r->rows = (unsigned int)json_integer_value(json_object_get(d->root, "rows_planned"));
	r->sweep = d->sweep.points ? &d->sweep.sweep : NULL;
	/* What is kept of a sweep is by row. */
	if (r->sweep && r->row != i)
		return told_bad(name, "missing or wrong: ", "index");
	return 0;
}

int document_required(const struct document *d, struct requirements *q)
{
	const json_t *asked = json_object_get(json_object_get(d->root, "options"), "require");
	struct options opt = { 0 };

	for (size_t i = 0; i < json_array_size(asked) && i < OPTION_REPEATS; i++) {
		const char *word = json_string_value(json_array_get(asked, i));

		opt.require.texts[opt.require.count++] = word ? word : "";
	}
	return requirements_parse(q, &opt);
}

const char *document_error(const struct document *d)
{
	return json_string_value(json_object_get(json_object_get(d->root, "error"), "message"));
}
