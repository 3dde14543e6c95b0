/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/sweep.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/units.h"
#include "config.h"
#include "report/columns.h"
#include "report/pivot.h"
#include "report/text.h"
#include "verbs/transport.h"

#define GAP 2
#define TOO_FEW 100 /* completions, as for a row alone */
#define COLUMNS_MOST 8
#define VARIED_MOST 40 /* with --plan every setting that differs */
#define MIB 1048576.0

/* The columns of a sweep of latencies, of bandwidths, and of both in one table... */
static const char *const keys[][COLUMNS_MOST] = {
	[COLUMN_LAT] = { "lat_min_us", "lat_p50_us", "lat_p90_us", "lat_p99_us", "lat_p99.9_us",
			 "lat_max_us", "lat_mean_us" },
	[COLUMN_BW] = { "bw_mib_per_s", "bw_gbit_per_s", "msg_per_s", "stamped_p50_us",
			"stamped_p99_us" },
	[COLUMN_BOTH] = { "lat_p50_us", "lat_p99_us", "lat_max_us", "bw_mib_per_s",
			  "bw_gbit_per_s", "msg_per_s" },
	[COLUMN_LAT | COLUMN_LOCAL] = { "pages", "lat_p50_us", "lat_p99_us", "lat_max_us",
					"undo_p50_us", "undo_p99_us", "undo_max_us" },
};

/* ...and where messages leave by schedule. */
static const char *const paced_keys[][COLUMNS_MOST] = {
	[COLUMN_LAT] = { "rate_achieved_per_s", "rate_achieved_percent", "response_p50_us",
			 "response_p99_us", "response_max_us", "lat_p50_us", "lat_p99_us" },
	[COLUMN_BW] = { "rate_achieved_per_s", "rate_achieved_percent", "response_p50_us",
			"response_p99_us", "response_max_us", "stamped_p50_us", "bw_mib_per_s" },
	[COLUMN_BOTH] = { "rate_achieved_per_s", "rate_achieved_percent", "response_p50_us",
			  "response_p99_us", "response_max_us", "lat_p50_us", "bw_mib_per_s" },
};

static struct {
	const struct result_sweep *sweep; /* NULL: no sweep has begun */
	const struct option_row *varied[VARIED_MOST];
	int width[VARIED_MOST];
	size_t varied_count;
	const struct column *column[COLUMNS_MOST];
	size_t column_count;
	double *value; /* by point: what a pivot table shows */
} state;

static bool is_paced(const struct result_sweep *s)
{
	return s->points[0].rate.value; /* of one it would be of all */
}

static void choose_columns(const struct result_sweep *s)
{
	const char *const *key;
	unsigned int tests = 0;

	for (size_t i = 0; i < s->rows; i++)
		tests |= column_tests_of(&s->points[i]);
	key = is_paced(s) ? paced_keys[tests] : keys[tests];
	for (size_t k = 0; k < COLUMNS_MOST && key[k] && !s->plan_only; k++)
		for (size_t i = 0; i < column_count; i++)
			if (!strcmp(columns[i].key, key[k]))
				state.column[state.column_count++] = &columns[i];
}

static int width_of(const struct option_row *row, const struct result_sweep *s)
{
	int width = (int)strlen(row->name);
	char text[UNITS_TEXT_SIZE];

	for (size_t i = 0; i < s->rows; i++) {
		int n;

		text_value(row, point_setting_const(&s->points[i], row), text, sizeof(text));
		n = (int)strlen(text);
		width = n > width ? n : width;
	}
	return width + GAP;
}

static void add_varied(const struct option_row *row, const struct result_sweep *s)
{
	if (state.varied_count == VARIED_MOST)
		return;
	state.width[state.varied_count] = width_of(row, s);
	state.varied[state.varied_count++] = row;
}

/* A plan also shows what follows from the options that vary. */
static void choose_varied(const struct result_sweep *s)
{
	if (s->plan_only) {
		for (size_t i = 0; i < option_row_count; i++)
			if (text_differs(&option_rows[i], s->points, s->rows))
				add_varied(&option_rows[i], s);
		return;
	}
	for (size_t i = 0; i < s->varied_count; i++)
		add_varied(s->varied[i], s);
}

static bool is_varied(const struct option_row *row)
{
	for (size_t i = 0; i < state.varied_count; i++)
		if (state.varied[i] == row)
			return true;
	return false;
}

/* What is not the same in all rows though it was not swept: defaults that follow from others. */
static void print_differing(FILE *out, const struct result_sweep *s)
{
	bool any = false;

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (is_varied(row) || !text_differs(row, s->points, s->rows) ||
		    (op_is_local(point_op(s->points)) && !point_row_is_local(row)))
			continue;
		fprintf(out, "%s %s", any ? "," : "differ by row, see --plan:", row->name);
		any = true;
	}
	if (any)
		fputc('\n', out);
}

static void print_seed(FILE *out, const struct result_sweep *s)
{
	if (s->seed)
		fprintf(out, "in a random order: --shuffle %" PRIu64 "\n", *s->seed);
}

/* The columns of the first half come before those of the second. */
static void print_alone(FILE *out, const struct result_sweep *s, bool one_op)
{
	const struct op *op = point_op(s->points);

	fprintf(out, ", %zu rows%s%s, on this host alone\n", s->rows, one_op ? ": " : "",
		one_op ? op->name : "");
	print_seed(out, s);
	if (one_op)
		fprintf(out, "%s, then %s; latency is %s\n", op->make, op->undo, op->latency_is);
	else
		fputs("register or bind, then deregister or invalidate\n", out);
}

static void print_title(FILE *out, const struct result *r)
{
	const struct result_sweep *s = r->sweep;
	const struct point *p = s->points;
	const struct op *op = point_op(p);
	static const char *const directions[] = {
		[DIRECTION_OUT] = "client to server", [DIRECTION_IN] = "server to client",
		[DIRECTION_BOTH] = "both directions",
	};
	bool one_op = true, one_test = true, one_direction = true, one_transport = true;
	bool both = false;

	for (size_t i = 0; i < s->rows; i++) {
		one_op = one_op && s->points[i].op.value == p->op.value;
		one_test = one_test && s->points[i].test.value == p->test.value;
		one_direction = one_direction && s->points[i].direction.value == p->direction.value;
		one_transport = one_transport &&
				s->points[i].transport.value == p->transport.value;
		both = both || s->points[i].direction.value == DIRECTION_BOTH;
	}
	fprintf(out, "rdmeter %s: sweep of", r->version ? r->version : PACKAGE_VERSION);
	for (size_t i = 0; i < s->varied_count; i++)
		fprintf(out, "%s %s", i ? " x" : "", s->varied[i]->name);
	if (op_is_local(op)) {
		print_alone(out, s, one_op);
		return;
	}
	fprintf(out, ", %zu rows%s%s%s%s%s%s%s\n", s->rows, one_op || one_test ? ":" : "",
		one_op ? " " : "", one_op ? op->name : "", one_transport ? ", " : "",
		one_transport ? transport_get(p->transport.value)->name : "",
		one_direction ? ", " : "",
		one_direction ? directions[p->direction.value] : "");
	print_seed(out, s);
	if (is_paced(s))
		fputs("times are whole: resp from when a message was to leave, the others from its "
		      "post\n", out);
	else if (!one_test || p->test.value == TEST_LAT)
		fprintf(out, "latency is %s\n", one_op ? op->latency_is : "half of the round trip "
			"for send and write, all of it for read and atomics");
	if (both)
		fputs("rates of both directions are their sum while both windows were open\n", out);
}

/* The percentiles of responses, and those of second halves, stand beside others here. */
static void print_head(FILE *out, const struct column *c, bool unit)
{
	char text[24];

	snprintf(text, sizeof(text), "%s%s", c->table == COLUMN_RESPONSE ? "resp " :
		 c->table == COLUMN_UNDO ? "undo " : "", c->header);
	fprintf(out, "%*s", c->width, unit ? c->unit : text);
}

static void print_heads(FILE *out)
{
	fputc('\n', out);
	for (int line = 0; line < 2; line++) {
		for (size_t i = 0; i < state.varied_count; i++)
			fprintf(out, "%*s", state.width[i], line ? "" : state.varied[i]->name);
		for (size_t i = 0; i < state.column_count; i++)
			print_head(out, state.column[i], line);
		fputc('\n', out);
		if (!state.column_count)
			break;
	}
}

static void begin(FILE *out, const struct result *r)
{
	const struct result_sweep *s = r->sweep;

	if (state.sweep)
		return;
	state.sweep = s;
	state.value = malloc(s->rows * sizeof(*state.value));
	for (size_t i = 0; state.value && i < s->rows; i++)
		state.value[i] = NAN;
	choose_columns(s);
	choose_varied(s);
	print_title(out, r);
	text_ends(out, r);
	fputc('\n', out);
	text_settings(out, s->points, s->rows);
	print_differing(out, s);
	print_heads(out);
	fflush(out); /* what is being measured can be seen meanwhile, in a pipe too */
}

static void print_varied(FILE *out, const struct point *p)
{
	char text[UNITS_TEXT_SIZE];

	for (size_t i = 0; i < state.varied_count; i++) {
		text_value(state.varied[i], point_setting_const(p, state.varied[i]), text,
			   sizeof(text));
		fprintf(out, "%*s", state.width[i], text);
	}
}

/* A value that the devices lowered is not the one that was swept: "outs 64 -> 16, ...". */
static void print_lowered(FILE *out, const struct point *p)
{
	for (size_t i = 0; i < state.varied_count; i++) {
		const struct setting *s = point_setting_const(p, state.varied[i]);

		if (strstr(s->why, " -> "))
			fprintf(out, "  %s %s", state.varied[i]->name, s->why);
	}
}

static double rate_of(const struct result *r, int sender)
{
	return r->point.direction.value == DIRECTION_BOTH ? result_sum_rate(r) :
							    measure_rate(result_truth(r, sender));
}

/* In both directions a rate is the sum; everything else is of one side. */
static double value_of(const struct column *c, const struct result *r, int sender)
{
	double size = (double)r->point.size.value;

	if (!(c->tests & column_tests_of(&r->point)))
		return NAN;
	if (!strcmp(c->key, "msg_per_s"))
		return rate_of(r, sender);
	if (!strcmp(c->key, "bw_mib_per_s"))
		return rate_of(r, sender) * size / MIB;
	if (!strcmp(c->key, "bw_gbit_per_s"))
		return rate_of(r, sender) * size * 8 / 1e9;
	return c->value(r, sender);
}

static double pivot_value(const struct result *r, int sender)
{
	const char *key = r->point.test.value == TEST_LAT ? "lat_p50_us" : "bw_mib_per_s";

	for (size_t i = 0; i < column_count; i++)
		if (!strcmp(columns[i].key, key))
			return value_of(&columns[i], r, sender);
	return NAN;
}

void sweep_begin(FILE *out, const struct result *r)
{
	begin(out, r);
	if (!r->sweep->plan_only)
		return;
	print_varied(out, &r->point);
	print_lowered(out, &r->point);
	fputc('\n', out);
}

/* Of messages that may be lost those that were, in both directions. */
static void print_lost(FILE *out, const struct result *r)
{
	uint64_t sent, delivered, all = 0, lost = 0;

	for (int side = 0; side < SIDES; side++) {
		if (!result_sends(r, side) || !result_delivery(r, side, &sent, &delivered) ||
		    delivered == RESULT_UNKNOWN)
			continue;
		all += sent;
		lost += sent > delivered ? sent - delivered : 0;
	}
	if (lost)
		fprintf(out, "  lost %" PRIu64 " of %" PRIu64, lost, all);
}

void sweep_row(FILE *out, const struct result *r)
{
	int sender = result_sends(r, SIDE_CLIENT) ? SIDE_CLIENT : SIDE_SERVER;
	const struct measure *truth = result_truth(r, sender);

	begin(out, r);
	print_varied(out, &r->point);
	if (r->failed) {
		fprintf(out, "  failed: %s\n", r->failed);
		fflush(out);
		return;
	}
	for (size_t i = 0; i < state.column_count; i++)
		text_cell(out, state.column[i], value_of(state.column[i], r, sender));
	print_lowered(out, &r->point);
	if (result_behind(r, SIDE_CLIENT) || result_behind(r, SIDE_SERVER))
		fputs("  backlog", out);
	print_lost(out, r);
	if (r->interrupted)
		fputs("  interrupted", out);
	if (truth && truth->opened && truth->window.count < TOO_FEW)
		fprintf(out, "  only %" PRIu64 " messages", truth->window.count);
	fputc('\n', out);
	fflush(out);
	if (state.value)
		state.value[r->row] = pivot_value(r, sender);
}

void sweep_end(FILE *out)
{
	if (!state.sweep)
		return;
	if (state.value && !state.sweep->plan_only)
		pivot_print(out, state.sweep, state.value);
	free(state.value);
	memset(&state, 0, sizeof(state));
}
