/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A sweep as text. Rates by hand: 2^20 messages of 64 B in a second are 64 MiB/s and 0.5369 Gb/s.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "plan/plan.h"
#include "report/sweep.h"

#include <cmocka.h> /* late: it has a macro named fail */

#include "text_fixture.h"

#define S UINT64_C(1000000000)
#define MI (UINT64_C(1) << 20)

struct run {
	struct fixture *f;
	struct plan plan;
	struct options opt;
	struct result_sweep sweep;
	FILE *out;
	char *text;
	size_t size;
};

static void open_run(struct run *r, struct fixture *f, const char *words)
{
	char text[256], *argv[32], *save = NULL, name[] = "rdmeter", host[] = "beta";
	int argc = 0;

	*r = (struct run){ .f = f };
	snprintf(text, sizeof(text), "%s", words);
	argv[argc++] = name;
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc++] = host;
	argv[argc] = NULL;
	assert_int_equal(options_parse(&r->opt, argc, argv), 0);
	assert_int_equal(plan_make(&r->opt, &r->plan), 0);
	r->sweep = (struct result_sweep){
		.points = r->plan.points, .rows = r->plan.count, .varied = r->plan.varied,
		.varied_count = r->plan.varied_count, .pivot = r->opt.pivot.given,
		.plan_only = r->opt.plan.given,
		.seed = r->opt.shuffle.given ? &r->opt.shuffle.num : NULL,
	};
	f->result.sweep = &r->sweep;
	r->out = open_memstream(&r->text, &r->size);
	assert_non_null(r->out);
}

static void begin_row(struct run *r, unsigned int row)
{
	r->f->result.row = row;
	r->f->result.point = r->plan.points[row];
	r->f->result.failed = NULL;
	sweep_begin(r->out, &r->f->result);
}

/* A row of so many messages in a second, counted at the client. */
static void add_row(struct run *r, unsigned int row, uint64_t count)
{
	begin_row(r, row);
	memset(&r->f->client, 0, sizeof(r->f->client));
	histogram_reset(&r->f->client.latency);
	fill_measure(&r->f->client, count, S);
	sweep_row(r->out, &r->f->result);
}

static void add_failure(struct run *r, unsigned int row, const char *why)
{
	r->f->result.row = row;
	r->f->result.point = r->plan.points[row];
	r->f->result.failed = why;
	sweep_row(r->out, &r->f->result);
}

static void close_run(struct run *r)
{
	sweep_end(r->out);
	plan_free(&r->plan);
	assert_int_equal(fclose(r->out), 0);
}

static unsigned int lines_with(const char *text, const char *part)
{
	unsigned int n = 0;

	for (const char *at = text; (at = strstr(at, part)) != NULL; at++)
		n++;
	return n;
}

static void header(void **state)
{
	struct run r;

	open_run(&r, *state, "--op write -s 64,64K -t 64");
	add_row(&r, 0, MI);
	add_row(&r, 1, MI);
	close_run(&r);
	expect(r.text, "sweep of size, 2 rows: write, RC, client to server\n");
	expect(r.text, "tx-depth      64 (given)");
	expect(r.text, "\ndiffer by row, see --plan: signal, stamp, slots\n");
	expect_no(r.text, "signal        ");
	free(r.text);
}

/* The whole of it, header aside: once, in columns, a failure in its place, then the pivot table. */
static void rows_are_lines(void **state)
{
	static const char want[] =
		"   size  batch      MiB/s      Gb/s   messages/s       p50       p99\n"
		"                                                        us        us\n"
		"   64 B      1      64.00    0.5369    1,048,576         -         -\n"
		"   64 B     16     128.00    1.0737    2,097,152         -         -\n"
		"  128 B      1  failed: no such luck\n"
		"  128 B     16     512.00    4.2950    4,194,304         -         -\n"
		"\n"
		"MiB/s: size (down) by batch (across)\n"
		"                         1          16\n"
		"          64 B       64.00      128.00\n"
		"         128 B           -      512.00\n";
	struct run r;

	open_run(&r, *state, "-s 64,128 -l 1,16");
	add_row(&r, 0, MI);
	add_row(&r, 1, 2 * MI);
	add_failure(&r, 2, "no such luck");
	add_row(&r, 3, 4 * MI);
	close_run(&r);
	expect(r.text, want);
	assert_int_equal(lines_with(r.text, "messages/s"), 1);
	assert_int_equal(lines_with(r.text, "because"), 2); /* the two ends, once */
	check_columns(r.text);
	free(r.text);
}

/* One option has nothing to be pivoted with; three are when asked for, by the first. */
static void when_it_pivots(void **state)
{
	struct run r;

	open_run(&r, *state, "-s 64,128");
	add_row(&r, 0, MI);
	add_row(&r, 1, MI);
	close_run(&r);
	expect_no(r.text, "(down)");
	free(r.text);

	open_run(&r, *state, "-s 64,128 -t 8,16 -l 1,2");
	for (unsigned int i = 0; i < 8; i++)
		add_row(&r, i, MI * (i + 1));
	close_run(&r);
	expect_no(r.text, "(down)");
	free(r.text);

	open_run(&r, *state, "-s 64,128 -t 8,16 -l 1,2 --pivot");
	for (unsigned int i = 0; i < 8; i++)
		add_row(&r, i, MI * (i + 1));
	close_run(&r);
	expect(r.text, "MiB/s: tx-depth (down) by batch (across), size 64 B\n"
		       "                         1           2\n"
		       "             8       64.00      128.00\n"
		       "            16      192.00      256.00\n"
		       "\n"
		       "MiB/s: tx-depth (down) by batch (across), size 128 B\n"
		       "                         1           2\n"
		       "             8      640.00      768.00\n"
		       "            16      896.00     1024.00\n");
	free(r.text);
}

/* A random order fills the same table. */
static void shuffled_pivot(void **state)
{
	struct run r;

	open_run(&r, *state, "-s 64,128 -l 1,16 --shuffle 7");
	for (unsigned int i = 0; i < 4; i++)
		add_row(&r, i, MI * r.plan.points[i].batch.value);
	close_run(&r);
	expect(r.text, "in a random order: --shuffle 7\n");
	expect(r.text, "          64 B       64.00     1024.00\n"
		       "         128 B      128.00     2048.00\n");
	free(r.text);
}

/* Latencies and bandwidths in one table; of each its own columns. 1,000 and 3,000 ns, halved. */
static void both_tests(void **state)
{
	struct fixture *f = *state;
	struct run r;

	open_run(&r, f, "--test lat,bw --op write -s 64,128");
	for (unsigned int i = 0; i < 4; i++) {
		begin_row(&r, i);
		memset(&f->client, 0, sizeof(f->client));
		histogram_reset(&f->client.latency);
		fill_measure(&f->client, MI, S);
		for (unsigned int k = 0; k < 1000; k++)
			histogram_record(&f->client.latency, 1000);
		f->client.divisor = 2;
		sweep_row(r.out, &f->result);
	}
	close_run(&r);
	expect(r.text, "latency is half the round trip of a ping-pong on the last byte written\n");
	expect(r.text, "  test   size     p50     p99     max      MiB/s      Gb/s   messages/s\n");
	expect(r.text, "   lat   64 B    0.50    0.50    0.50          -         -            -\n");
	expect(r.text, "    bw   64 B       -       -       -      64.00    0.5369    1,048,576\n");
	free(r.text);
}

/* Responses beside the rest of the columns; rows that are a backlog say so. */
static void schedules(void **state)
{
	struct fixture *f = *state;
	struct run r;

	open_run(&r, f, "--test lat --op send --rate 2k,4Mb/s -s 8");
	for (unsigned int i = 0; i < 2; i++) {
		begin_row(&r, i);
		memset(&f->client, 0, sizeof(f->client));
		histogram_reset(&f->client.latency);
		histogram_reset(&f->client.pace.response);
		fill_measure(&f->client, 2000, S);
		f->client.pace.active = true;
		for (unsigned int k = 0; k < 1000; k++) {
			histogram_record(&f->client.latency, 1000);
			histogram_record(&f->client.pace.response, 3000);
		}
		f->client.divisor = 1;
		sweep_row(r.out, &f->result);
	}
	close_run(&r);
	expect(r.text, "times are whole: resp from when a message was to leave, the others");
	expect_no(r.text, "half");
	expect(r.text, "     rate     achieved    kept  resp p50  resp p99  resp max     p50     p99\n");
	expect(r.text, "   2000/s      2000.00  100.00      3.00      3.00      3.00    1.00    1.00\n");
	expect(r.text, "  62500/s      2000.00    3.20      3.00      3.00      3.00    1.00    1.00"
	       "  backlog\n");
	free(r.text);
}

static void few_messages_are_said(void **state)
{
	struct run r;

	open_run(&r, *state, "-s 64,128");
	add_row(&r, 0, 100);
	add_row(&r, 1, 99);
	close_run(&r);
	assert_int_equal(lines_with(r.text, "only "), 1);
	expect(r.text, "  only 99 messages\n");
	free(r.text);
}

/* What a device lowered is said in the row. */
static void lowered_values(void **state)
{
	struct run r;

	open_run(&r, *state, "--op read -o 4,64");
	r.plan.points[1].outs.value = 16;
	snprintf(r.plan.points[1].outs.why, sizeof(r.plan.points[1].outs.why), "64 -> 16, both");
	add_row(&r, 0, MI);
	add_row(&r, 1, MI);
	close_run(&r);
	assert_int_equal(lines_with(r.text, "  outs 64 -> 16, both\n"), 1);
	free(r.text);
}

static void plans(void **state)
{
	struct run r;

	open_run(&r, *state, "--plan -s 64,64K");
	begin_row(&r, 0);
	begin_row(&r, 1);
	close_run(&r);
	expect(r.text, "\n    size  signal  stamp  slots\n    64 B      32    all     64\n"
		       "  64 KiB       1     16      1\n");
	expect_no(r.text, "MiB/s");
	free(r.text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(header), TEST(rows_are_lines), TEST(when_it_pivots),
		TEST(shuffled_pivot), TEST(schedules), TEST(both_tests), TEST(few_messages_are_said),
		TEST(lowered_values), TEST(plans),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
