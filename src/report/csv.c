/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Comma-separated values (RFC 4180, but for the line ends): a line for each row and direction,
 * with every setting and every column. What is not measured or does not apply is empty.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <jansson.h>

#include "plan/point.h"
#include "report/formats.h"
#include "report/record.h"
#include "report/settings.h"

/* The warm-up has two keys, of which each row fills one. */
static bool has_two(const struct option_row *row)
{
	char by_time[SETTING_KEY], by_count[SETTING_KEY];

	return strcmp(setting_key(row, false, by_time), setting_key(row, true, by_count)) != 0;
}

/* The size is a setting and a column: once is enough. */
static bool is_setting(const char *name)
{
	char key[SETTING_KEY];
	struct point p;

	for (size_t i = 0; i < option_row_count; i++)
		if (point_setting(&p, &option_rows[i]) &&
		    !strcmp(setting_key(&option_rows[i], false, key), name))
			return true;
	return false;
}

void csv_start(FILE *out)
{
	char key[SETTING_KEY];
	struct point p;

	fputs("row,status,from,to", out);
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!point_setting(&p, row))
			continue;
		fprintf(out, ",%s", setting_key(row, false, key));
		if (has_two(row))
			fprintf(out, ",%s", setting_key(row, true, key));
	}
	fputs(",config_id", out);
	for (size_t i = 0; i < column_count; i++)
		if (!is_setting(record_key(&columns[i], key)))
			fprintf(out, ",%s", key);
	fputs(",error\n", out);
}

static void print_text(FILE *out, const char *text)
{
	if (!text[strcspn(text, ",\"\n\r")]) {
		fputs(text, out);
		return;
	}
	fputc('"', out);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', out);
		fputc(*text, out);
	}
	fputc('"', out);
}

static void print_setting(FILE *out, const struct option_row *row, const struct point *p)
{
	json_t *value = setting_value(row, p);

	if (json_is_string(value))
		print_text(out, json_string_value(value));
	else if (json_is_integer(value))
		fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	else if (json_is_real(value))
		print_number(out, json_real_value(value));
	json_decref(value);
}

static void print_settings(FILE *out, const struct point *p)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!point_setting_const(p, row))
			continue;
		fputc(',', out);
		if (!has_two(row)) {
			print_setting(out, row, p);
			continue;
		}
		if (!point_counts(p))
			print_setting(out, row, p);
		fputc(',', out);
		if (point_counts(p))
			print_setting(out, row, p);
	}
}

static void print_flow(FILE *out, const struct result *r, int sender)
{
	char key[RECORD_KEY];

	fprintf(out, "%u,%s,%s,%s", r->row, record_status_name(record_status(r)),
		record_sides[sender], record_sides[record_target(r, sender)]);
	print_settings(out, &r->point);
	fprintf(out, ",%016" PRIx64, point_config_id(&r->point));
	for (size_t i = 0; i < column_count; i++) {
		double value = record_value(&columns[i], r, sender);

		if (is_setting(record_key(&columns[i], key)))
			continue;
		fputc(',', out);
		if (record_has_numbers(r) && isfinite(value))
			print_number(out, value);
	}
	fputc(',', out);
	print_text(out, r->failed ? r->failed : "");
	fputc('\n', out);
}

void csv_row(FILE *out, const struct result *r)
{
	for (int side = 0; side < SIDES; side++)
		if (record_flow(r, side))
			print_flow(out, r, side);
}
