/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bare numbers, for scripts. */
#include <math.h>
#include <string.h>

#include "report/formats.h"
#include "report/record.h"

const struct column *print_find(const char *name, bool *si)
{
	char key[RECORD_KEY];

	for (size_t i = 0; i < column_count; i++) {
		*si = !strcmp(record_key(&columns[i], key), name);
		if (*si || !strcmp(columns[i].key, name))
			return &columns[i];
	}
	return NULL;
}

void print_number(FILE *out, double value)
{
	if (!isfinite(value))
		fputc('-', out);
	else if (value == floor(value))
		fprintf(out, "%.0f", value);
	else
		fprintf(out, "%.15g", value);
}

void print_row(FILE *out, const struct result *r, const struct column *c, bool si)
{
	for (int side = 0; side < SIDES; side++) {
		double value = record_value(c, r, side);

		if (!record_flow(r, side))
			continue;
		if (!si && isfinite(value))
			value = c->value(r, side);
		print_number(out, value);
		fputc('\n', out);
	}
}
