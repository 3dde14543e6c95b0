/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/pivot.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cli/units.h"
#include "report/text.h"

#define CELL 12
#define LABEL 14

struct axis {
	const struct option_row *row;
	uint64_t *value; /* ascending, each once */
	size_t count;
};

/* The two that are pivoted, and the others. */
struct pivot {
	const struct result_sweep *sweep;
	const double *values;
	struct axis down, across;
	bool *shown; /* by point: it is in a table already */
};

static uint64_t value_of(const struct point *p, const struct option_row *row)
{
	return point_setting_const(p, row)->value;
}

static bool is_test(const struct option_row *row)
{
	return row->offset == offsetof(struct options, test);
}

static int compare(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool make_axis(struct axis *a, const struct option_row *row, const struct result_sweep *s)
{
	size_t kept = 0;

	a->row = row;
	a->value = malloc(s->rows * sizeof(*a->value));
	if (!a->value)
		return false;
	for (size_t i = 0; i < s->rows; i++)
		a->value[i] = value_of(&s->points[i], row);
	qsort(a->value, s->rows, sizeof(*a->value), compare);
	for (size_t i = 0; i < s->rows; i++)
		if (!kept || a->value[kept - 1] != a->value[i])
			a->value[kept++] = a->value[i];
	a->count = kept;
	return true;
}

static const char *text_of(const struct option_row *row, uint64_t value, char *text, size_t size)
{
	const struct setting s = { .value = value };

	text_value(row, &s, text, size);
	return text;
}

/* Whether two points are of one table. */
static bool together(const struct pivot *p, const struct point *a, const struct point *b)
{
	for (size_t i = 0; i < p->sweep->varied_count; i++) {
		const struct option_row *row = p->sweep->varied[i];

		if (row != p->down.row && row != p->across.row &&
		    value_of(a, row) != value_of(b, row))
			return false;
	}
	return true;
}

static void print_title(FILE *out, const struct pivot *p, const struct point *first)
{
	char text[UNITS_TEXT_SIZE];

	fprintf(out, "\n%s: %s (down) by %s (across)",
		first->test.value == TEST_LAT ? "p50 in us" : "MiB/s", p->down.row->name,
		p->across.row->name);
	for (size_t i = 0; i < p->sweep->varied_count; i++) {
		const struct option_row *row = p->sweep->varied[i];

		if (row != p->down.row && row != p->across.row)
			fprintf(out, ", %s %s", row->name,
				text_of(row, value_of(first, row), text, sizeof(text)));
	}
	fprintf(out, "\n%*s", LABEL, "");
	for (size_t i = 0; i < p->across.count; i++)
		fprintf(out, "%*s", CELL,
			text_of(p->across.row, p->across.value[i], text, sizeof(text)));
	fputc('\n', out);
}

static size_t place(const struct axis *a, uint64_t value)
{
	const uint64_t *at = bsearch(&value, a->value, a->count, sizeof(value), compare);

	return (size_t)(at - a->value);
}

static void print_lines(FILE *out, const struct pivot *p, const double *cell)
{
	char text[UNITS_TEXT_SIZE];

	for (size_t i = 0; i < p->down.count; i++) {
		fprintf(out, "%*s", LABEL,
			text_of(p->down.row, p->down.value[i], text, sizeof(text)));
		for (size_t k = 0; k < p->across.count; k++) {
			double value = cell[i * p->across.count + k];

			if (isfinite(value))
				fprintf(out, "%*.2f", CELL, value);
			else
				fprintf(out, "%*s", CELL, "-");
		}
		fputc('\n', out);
	}
}

/* The table of a point, and of all that belong to it. */
static void print_table(FILE *out, struct pivot *p, size_t first, double *cell)
{
	const struct result_sweep *s = p->sweep;

	for (size_t i = 0; i < p->down.count * p->across.count; i++)
		cell[i] = NAN;
	for (size_t i = first; i < s->rows; i++) {
		const struct point *at = &s->points[i];

		if (p->shown[i] || !together(p, at, &s->points[first]))
			continue;
		p->shown[i] = true;
		cell[place(&p->down, value_of(at, p->down.row)) * p->across.count +
		     place(&p->across, value_of(at, p->across.row))] = p->values[i];
	}
	print_title(out, p, &s->points[first]);
	print_lines(out, p, cell);
}

/* The last two options that vary; false when there are not two, or more than asked for. */
static bool choose(const struct result_sweep *s, const struct option_row **down,
		   const struct option_row **across)
{
	size_t n = 0;

	for (size_t i = 0; i < s->varied_count; i++) {
		if (is_test(s->varied[i]))
			continue;
		*down = *across;
		*across = s->varied[i];
		n++;
	}
	return n == 2 || (n > 2 && s->pivot);
}

void pivot_print(FILE *out, const struct result_sweep *sweep, const double *values)
{
	const struct option_row *down = NULL, *across = NULL;
	struct pivot p = { .sweep = sweep, .values = values };
	double *cell = NULL;

	if (!choose(sweep, &down, &across))
		return;
	p.shown = calloc(sweep->rows, sizeof(*p.shown));
	if (p.shown && make_axis(&p.down, down, sweep) && make_axis(&p.across, across, sweep))
		cell = calloc(p.down.count * p.across.count, sizeof(*cell));
	for (size_t i = 0; cell && i < sweep->rows; i++)
		if (!p.shown[i])
			print_table(out, &p, i, cell);
	free(cell);
	free(p.shown);
	free(p.down.value);
	free(p.across.value);
}
