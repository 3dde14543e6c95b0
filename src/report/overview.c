/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/overview.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/units.h"
#include "config.h"
#include "report/text.h"
#include "verbs/transport.h"

#define LAT_SIZE 8 /* of an overview whose sizes were not given */

/* The sizes of the columns: their own, or the one that was given for all. */
static void print_sizes(FILE *out, uint64_t first, bool datagrams)
{
	char size[UNITS_TEXT_SIZE], head[3][UNITS_TEXT_SIZE + 16];

	units_size(size, sizeof(size), first);
	snprintf(head[0], sizeof(head[0]), "latency, %s", size);
	snprintf(head[1], sizeof(head[1]), "rate, %s", first == LAT_SIZE ? "64 B" : size);
	snprintf(head[2], sizeof(head[2]), "bw, %s", first != LAT_SIZE ? size :
		 datagrams ? "MTU" : "64 KiB");
	fprintf(out, "%-12s %16s %20s %14s %12s\n", "", head[0], head[1], head[2], "");
}

void overview_begin(FILE *out, const struct result *r)
{
	if (r->row)
		return;
	fprintf(out, "rdmeter %s: overview, %s, client to server\n\n",
		r->version ? r->version : PACKAGE_VERSION,
		transport_get(r->point.transport.value)->name);
	text_sides(out, r);
	fputs("\nlatency: median, half of the round trip for send and write, all of it for read "
	      "and atomics\n\n", out);
	print_sizes(out, r->point.size.value,
		    transport_get(r->point.transport.value)->datagrams);
	fprintf(out, "%-12s %16s %20s %14s %12s\n", "operation", "us", "messages/s", "MiB/s",
		"Gb/s");
	fflush(out);
}

static void print_number(FILE *out, int width, double value)
{
	char text[UNITS_TEXT_SIZE];

	if (!isfinite(value))
		fprintf(out, " %*s", width, "-");
	else if (value >= 10000)
		fprintf(out, " %*s", width,
			units_count(text, sizeof(text), (uint64_t)llround(value)));
	else
		fprintf(out, " %*.2f", width, value);
}

static double p50_us(const struct measure *m)
{
	uint64_t ns;

	if (!m || histogram_percentile(&m->latency, 0.5, &ns))
		return NAN;
	return (double)ns / (double)m->divisor / 1e3;
}

/* How many numbers of an operation's line are there: its latency, its rate. */
static int in_line;

/*
 * The first bandwidth row is the rate, the last one the bandwidth; with a size given for all they
 * are the same row. An operation with one size has no bandwidth worth the name.
 */
void overview_row(FILE *out, const struct result *r)
{
	const struct op *op = point_op(&r->point);
	int sender = result_sends(r, SIDE_CLIENT) ? SIDE_CLIENT : SIDE_SERVER;
	double rate = measure_rate(result_truth(r, sender)), size = (double)r->point.size.value;

	if (r->point.test.value == TEST_LAT) {
		fprintf(out, "%-12s", op->name);
		print_number(out, 16, p50_us(result_timed(r, sender)));
		in_line = 1;
		return;
	}
	if (in_line == 1) {
		print_number(out, 20, rate);
		in_line = 2;
	}
	if (!r->ends_line)
		return;
	if (op->min_size == op->max_size)
		rate = NAN;
	print_number(out, 14, rate * size / 1048576);
	print_number(out, 12, rate * size * 8 / 1e9);
	fputc('\n', out);
	fflush(out);
	in_line = 0;
}

void overview_end(FILE *out)
{
	if (in_line)
		fputc('\n', out);
	in_line = 0;
}
