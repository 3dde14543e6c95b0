/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/bars.h"

#include <inttypes.h>
#include <math.h>

#include "cli/units.h"

#define ROWS 20 /* at most, gaps included */
#define WIDTH 40

/* 2^k neighbouring buckets make a row, so a row is a fixed fraction of an octave. */
struct rows {
	const struct histogram *h;
	uint32_t first, last; /* buckets that hold something */
	unsigned int shift;
};

static uint64_t row_count(const struct rows *rows, uint32_t row)
{
	uint32_t from = row << rows->shift, to = (row + 1) << rows->shift;
	uint64_t n = 0;

	for (uint32_t i = from; i < to && i < HISTOGRAM_BUCKETS; i++)
		n += rows->h->count[i];
	return n;
}

/* Lines that the rows take when runs of empty ones are drawn as one gap. */
static uint32_t lines_needed(const struct rows *rows)
{
	uint32_t lines = 0;
	bool gap = false;

	for (uint32_t row = rows->first >> rows->shift; row <= rows->last >> rows->shift; row++) {
		bool empty = !row_count(rows, row);

		lines += !empty || !gap;
		gap = empty;
	}
	return lines;
}

static void find_rows(struct rows *rows, const struct histogram *h)
{
	uint32_t i = 0;

	*rows = (struct rows){ .h = h };
	histogram_next(h, &i);
	rows->first = rows->last = i;
	for (; histogram_next(h, &i); i++)
		rows->last = i;
	while (rows->shift < 12 && lines_needed(rows) > ROWS)
		rows->shift++;
}

static void print_bar(FILE *out, double share, bool utf8)
{
	static const char *const eighths[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	unsigned int parts = (unsigned int)lround(share * WIDTH * 8);

	if (!utf8) {
		for (unsigned int i = 0; i < (parts + 4) / 8; i++)
			fputc('#', out);
		return;
	}
	for (unsigned int i = 0; i < parts / 8; i++)
		fputs("█", out);
	fputs(eighths[parts % 8], out);
}

static void print_row(FILE *out, const struct rows *rows, uint32_t row, double scale, double most,
		      uint64_t below, bool utf8)
{
	uint64_t n = row_count(rows, row);
	uint32_t end = ((row + 1) << rows->shift) - 1;
	char count[UNITS_TEXT_SIZE];

	units_count(count, sizeof(count), n);
	if (end >= HISTOGRAM_BUCKETS)
		end = HISTOGRAM_BUCKETS - 1;
	fprintf(out, "%10.3f %10.3f %12s %7.3f%% ",
		(double)histogram_low(row << rows->shift) * scale,
		((double)histogram_high(end) + 1) * scale, count,
		100.0 * (double)(below + n) / (double)rows->h->m.n);
	print_bar(out, (double)n / most, utf8);
	fputc('\n', out);
}

void bars_print(FILE *out, const struct histogram *h, unsigned int divisor, bool utf8)
{
	double scale = 1e-3 / (divisor ? divisor : 1);
	uint64_t most = 0, below = 0;
	struct rows rows;
	bool gap = false;

	if (!h->m.n)
		return;
	find_rows(&rows, h);
	for (uint32_t row = rows.first >> rows.shift; row <= rows.last >> rows.shift; row++)
		if (row_count(&rows, row) > most)
			most = row_count(&rows, row);
	fprintf(out, "%10s %10s %12s %8s\n", "from us", "below us", "samples", "up to");
	for (uint32_t row = rows.first >> rows.shift; row <= rows.last >> rows.shift; row++) {
		uint64_t n = row_count(&rows, row);

		if (n)
			print_row(out, &rows, row, scale, (double)most, below, utf8);
		else if (!gap)
			fprintf(out, "%10s\n", "...");
		gap = !n;
		below += n;
	}
}
