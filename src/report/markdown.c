/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Tables for a page or a pull request: the ends once, then one table for each run of rows of the
 * same test, a line for each row and direction.
 */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "cli/units.h"
#include "config.h"
#include "report/formats.h"
#include "report/record.h"
#include "verbs/transport.h"

/* Of the table that is being printed: its tests; no table yet has none. */
static struct {
	bool open;
	unsigned int tests;
	bool paced; /* its rows have schedules */
} table;

/* What would end a cell, or begin something else in it. */
static void print_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("|\\<>*_`[]", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void print_end(FILE *out, const char *name, const struct side *s)
{
	const struct device_facts *d = &s->device;

	fprintf(out, "| %s | ", name);
	print_text(out, s->host.hostname);
	fputs(" | ", out);
	print_text(out, s->host.kernel);
	fputs(" | ", out);
	print_text(out, s->host.cpu);
	fputs(" | ", out);
	print_text(out, d->name);
	fprintf(out, " port %u | %u | ", d->port, d->caps.active_mtu);
	print_text(out, d->gid);
	fputs(" |\n", out);
}

static bool one_transport(const struct result *r)
{
	for (size_t i = 1; r->sweep && i < r->sweep->rows; i++)
		if (r->sweep->points[i].transport.value != r->sweep->points[0].transport.value)
			return false;
	return true;
}

void markdown_begin(FILE *out, const struct result *r)
{
	if (r->row)
		return;
	table.open = false;
	bool named = !result_is_alone(r) && one_transport(r);

	fprintf(out, "rdmeter %s%s%s\n\n", r->version ? r->version : PACKAGE_VERSION,
		named ? ", " : "", named ? transport_get(r->point.transport.value)->name : "");
	fputs("| | host | kernel | CPU | device | MTU | GID |\n|-|-|-|-|-|-|-|\n", out);
	print_end(out, "client", &r->side[SIDE_CLIENT]);
	if (result_is_alone(r))
		return;
	print_end(out, "server", &r->side[SIDE_SERVER]);
}

/* A column of the table that is open. */
static bool is_shown(const struct column *c)
{
	if (!(c->tests & table.tests))
		return false;
	return c->table == COLUMN_MAIN || c->table == COLUMN_UNDO ||
	       (table.paced && (c->table == COLUMN_RESPONSE || c->table == COLUMN_PACE));
}

/* The percentiles of two tables stand in one line: they are told apart. */
static void print_head(FILE *out, const struct column *c)
{
	bool prefixed = c->table == COLUMN_RESPONSE && c->format != COLUMN_COUNT;

	fprintf(out, " %s%s%s%s |", prefixed ? "response " :
		c->table == COLUMN_UNDO ? "undo " : "", c->header,
		c->unit[0] ? ", " : "", c->unit);
}

static void open_table(FILE *out, const struct point *p)
{
	static const char *const by_schedule[] = {
		[TEST_LAT] = " by schedule: of the service, from the post; of the response, from "
			     "when a message was to leave",
		[TEST_BW] = " by schedule",
	};
	unsigned int tests = column_tests_of(p);
	bool paced = p->rate.value;

	if (table.open && table.tests == tests && table.paced == paced)
		return;
	table.open = true;
	table.tests = tests;
	table.paced = paced;
	fprintf(out, "\n%s%s\n\n| operation | from |",
		p->test.value == TEST_LAT ? "Latency" : "Bandwidth",
		paced ? by_schedule[p->test.value] : "");
	for (size_t i = 0; i < column_count; i++)
		if (is_shown(&columns[i]))
			print_head(out, &columns[i]);
	fputs("\n|-|-|", out);
	for (size_t i = 0; i < column_count; i++)
		if (is_shown(&columns[i]))
			fputs("-:|", out);
	fputc('\n', out);
}

/* A time that is not the device's: it grew with the length of the run. */
static bool is_of_backlog(const struct result *r, int sender, const struct column *c)
{
	return c->table == COLUMN_RESPONSE && c->format != COLUMN_COUNT && result_behind(r, sender);
}

static void print_cell(FILE *out, const struct column *c, double value, bool of_backlog)
{
	char text[UNITS_TEXT_SIZE];

	if (!isfinite(value))
		fputs(" - |", out);
	else if (c->format == COLUMN_SIZE)
		fprintf(out, " %s |", units_size(text, sizeof(text), (uint64_t)value));
	else if (c->format == COLUMN_COUNT)
		fprintf(out, " %s |", units_count(text, sizeof(text), (uint64_t)llround(value)));
	else if (c->format == COLUMN_REAL3 && value < 100)
		fprintf(out, " %.4f |", value);
	else
		fprintf(out, " %.2f%s |", value, of_backlog ? " (backlog)" : "");
}

static void begin_line(FILE *out, const struct result *r, int sender)
{
	open_table(out, &r->point);
	fputs("| ", out);
	print_text(out, point_op(&r->point)->name);
	fprintf(out, " | %s |", sender == SIDE_CLIENT ? "client" : "server");
}

void markdown_row(FILE *out, const struct result *r)
{
	for (int side = 0; side < SIDES; side++) {
		if (!record_flow(r, side))
			continue;
		begin_line(out, r, side);
		for (size_t i = 0; i < column_count; i++)
			if (is_shown(&columns[i]))
				print_cell(out, &columns[i], columns[i].value(r, side),
					   is_of_backlog(r, side, &columns[i]));
		fputc('\n', out);
	}
}

void markdown_failed(FILE *out, const struct result *r)
{
	char text[UNITS_TEXT_SIZE];

	begin_line(out, r, result_sends(r, SIDE_CLIENT) ? SIDE_CLIENT : SIDE_SERVER);
	fprintf(out, " %s | ", units_size(text, sizeof(text), r->point.size.value));
	print_text(out, r->failed ? r->failed : "not measured");
	fputs(" |\n", out);
}

void markdown_end(FILE *out)
{
	(void)out;
	table.open = false;
}
