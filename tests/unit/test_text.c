/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The report of results made by hand, against golden text. RDMETER_GOLDEN=write in the
 * environment writes the golden files anew: read what changed before keeping it. The numbers in
 * them were checked against python3 (see numbers_of_*), not taken from the program.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "config.h"
#include "plan/plan.h"
#include "report/text.h"

#include <cmocka.h> /* late: it has a macro named fail */

#include "text_fixture.h"

/* Round trips, shown as half: 2,000 of 20.0 to 21.999 us, one of 1 ms. */
static void fill_lat(struct fixture *f)
{
	plan(f, "--op write --test lat -s 64 -D 2");
	fill_measure(&f->client, 2001, 2 * SECOND);
	fill_measure(&f->server, 2001, 2 * SECOND);
	f->server.receiver = true;
	f->client.divisor = 2;
	for (uint64_t i = 0; i < 2000; i++)
		histogram_record(&f->client.latency, 20000 + i);
	histogram_record(&f->client.latency, 1000000);
}

static void golden_lat(void **state)
{
	struct fixture *f = *state;

	fill_lat(f);
	check_golden(result_text(f, true), "lat-utf8.txt");
	check_golden(result_text(f, false), "lat-ascii.txt");
}

/*
 * Half of the round trips by python3: min 10, max 500, mean (sum(range(20000, 22000)) + 10**6)
 * / 2001 / 2 = 10744.38 ns, stdev (statistics.stdev) 10946.63 ns. p50 is rank 1,001,
 * 21,000 in [20992, 21120) -> 21,119; p90 rank 1,801: 21,800 in [21760, 21888) -> 21,887; p99
 * rank 1,981: 21,980 in [21888, 22016) -> 22,015. p99.9 has rank 1,999 and two samples beyond, p99.99 none.
 */
static void numbers_of_lat(void **state)
{
	struct fixture *f = *state;
	char line[200], *text;

	fill_lat(f);
	text = result_text(f, false);
	assert_string_equal(values_line(text, line, sizeof(line)),
			    "     64 B     2,001   10.00   10.56   10.94   11.01       -       -"
			    "  500.00   10.74   10.95");
	free(text);
}

static void ascii_is_ascii(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill_lat(f);
	text = result_text(f, false);
	for (const char *c = text; *c; c++)
		assert_true((unsigned char)*c < 128);
	expect(text, "#");
	free(text);
	text = result_text(f, true);
	expect(text, "\xe2\x96\x88");
	expect_no(text, "#");
	free(text);
}

/* 1,000 messages of 1,000 B in 1 s: 1 MB/s, 0.0080 Gb/s, 10^6 / 2^20 = 0.95 MiB/s. */
static void fill_bw(struct fixture *f)
{
	plan(f, "--op write --test bw -s 1000 -D 1");
	fill_measure(&f->client, 1000, SECOND);
	series_start(&f->client.series, 5 * SECOND, 20);
	series_add(&f->client.series, 5 * SECOND + SECOND / 2, 420);
	series_add(&f->client.series, 5 * SECOND + SECOND * 3 / 4, 720);
	series_close(&f->client.series, 6 * SECOND, 1020);
	f->server.cpu = (struct cpu_use){ .valid = false };
	f->server.active = false;
	for (uint64_t i = 0; i < 30; i++)
		histogram_record(&f->client.latency, 100000 + 1000 * i);
}

static void golden_bw(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	check_golden(result_text(f, true), "bw.txt");
}

/* Intervals: 400 in 0.5 s, 300 in 0.25 s, 300 in 0.25 s: 800, 1,200, 1,200 messages/s. */
static void numbers_of_bw(void **state)
{
	struct fixture *f = *state;
	char line[200], *text;

	fill_bw(f);
	text = result_text(f, false);
	assert_string_equal(values_line(text, line, sizeof(line)),
			    "   1000 B       1,000     1.00       0.95    0.0080        1,000"
			    "      0.76      1.14      1.14");
	/* 30 stamps of 100 to 129 us: p50 is rank 15, in [113664, 114176); p99 has none beyond. */
	expect(text, "        30    100.00    114.17         -         -    129.00    114.50");
	free(text);
}

/* Rate and window give the messages even when it was short: 1,500 in 4.5678 ms. */
static void short_window(void **state)
{
	struct fixture *f = *state;
	char line[200], *text;

	plan(f, "--op write -s 64 -n 1500");
	fill_measure(&f->client, 1500, 4567800);
	text = result_text(f, false);
	values_line(text, line, sizeof(line));
	expect(line, "     64 B       1,500 0.004568      20.04    0.1681      328,386");
	free(text);
}

/* The receiver's count is the truth, the sender's own window stands beside it. */
static void golden_send(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	plan(f, "--op send --test bw -s 1000 -n 500 -m 1024");
	fill_measure(&f->server, 500, SECOND / 2);
	f->server.receiver = true;
	f->server.received = 530;
	f->server.posted = f->server.completed = 0;
	series_start(&f->server.series, 5 * SECOND, 20);
	series_close(&f->server.series, 5 * SECOND + SECOND / 2, 520);
	check_golden(result_text(f, false), "bw-send.txt");
}

static void golden_header(void **state)
{
	struct fixture *f = *state;
	char *text = NULL, *rest, first[100];
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	plan(f, "--op send --test lat -s 64 -n 1000 -t 16");
	f->result.side[SIDE_SERVER].inline_size = 32;
	f->result.side[SIDE_SERVER].device.numa_node = 1;
	text_header(out, &f->result);
	assert_int_equal(fclose(out), 0);
	snprintf(first, sizeof(first), "rdmeter %s: send latency, RC, client to server\n",
		 PACKAGE_VERSION);
	assert_int_equal(strncmp(text, first, strlen(first)), 0);
	expect(text, "64 -> 32 (device)");
	expect(text, "16 (given)");
	expect(text, "100 messages (a tenth of --iters)");
	expect_no(text, "loopback");
	rest = strdup(strchr(text, '\n') + 1);
	assert_non_null(rest);
	/* The id depends on every option's name; test_plan has its own tests. */
	memset(strchr(strstr(rest, "config id"), '\n') - 16, 'x', 16);
	check_golden(rest, "header.txt");
	free(text);
}

/* "16 (default when all are signalled)" has 35 letters, and the left column room for 34. */
static void reasons_are_whole(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	plan(f, "--op send --test bw -s 64K");
	text_header(out, &f->result);
	assert_int_equal(fclose(out), 0);
	expect(text, "\nstamp         16 (default when all are signalled)\nevents        off (default) ");
	free(text);
}

static void loopback_is_said(void **state)
{
	struct fixture *f = *state;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	plan(f, "");
	f->result.side[SIDE_SERVER] = f->result.side[SIDE_CLIENT];
	text_header(out, &f->result);
	fclose(out);
	expect(text, "loopback: both ends are the same device, the wire is not used\n");
	free(text);
}

static void nothing_measured(void **state)
{
	struct fixture *f = *state;
	char *text;

	plan(f, "--test lat");
	f->result.interrupted = true;
	text = result_text(f, false);
	expect(text, "nothing was measured: the run ended before its window opened\n");
	free(text);
	f->result.side[SIDE_CLIENT].measure = f->result.side[SIDE_SERVER].measure = NULL;
	text = result_text(f, false);
	expect(text, "nothing was measured");
	free(text);
}

/* A window without length, a message, a sample, a CPU: dashes, no number instead of them. */
static void not_measured_is_not_zero(void **state)
{
	struct fixture *f = *state;
	char line[200], *text;

	fill_bw(f);
	f->client.window.t1 = f->client.window.t0;
	f->client.window.count = 0;
	series_start(&f->client.series, 5 * SECOND, 20);
	histogram_reset(&f->client.latency);
	text = result_text(f, false);
	values_line(text, line, sizeof(line));
	expect(line, "   1000 B           0     0.00          -         -"
				     "            -         -         -         -");
	expect_no(text, "stamped");
	expect(text, "CPU server: not measured");
	expect_no(text, "nan");
	free(text);
	plan(f, "--test lat");
	text = result_text(f, false);
	assert_string_equal(values_line(text, line, sizeof(line)),
			    "      8 B         0       -       -       -       -       -       -"
			    "       -       -       -");
	expect_no(text, "from us");
	free(text);
}

/* Up to 19 samples have no median; one has no deviation; the extremes are exact all the same. */
static void few_samples(void **state)
{
	struct fixture *f = *state;
	char line[200], *text;

	fill_lat(f);
	histogram_reset(&f->client.latency);
	histogram_record(&f->client.latency, 3000);
	text = result_text(f, false);
	assert_string_equal(values_line(text, line, sizeof(line)),
			    "     64 B         1    1.50       -       -       -       -       -"
			    "    1.50    1.50       -");
	free(text);
}

static void interrupted(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill_bw(f);
	text = result_text(f, false);
	expect_no(text, "interrupted");
	free(text);
	f->result.interrupted = true;
	text = result_text(f, false);
	expect(text, "\ninterrupted: the window was closed early\n");
	free(text);
}

static void drift_is_said(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill_bw(f);
	f->result.clock_drift_ppm = 100;
	text = result_text(f, false);
	expect_no(text, "drifted");
	free(text);
	f->result.clock_drift_ppm = 151;
	text = result_text(f, false);
	expect(text, "it drifted by 151 ppm");
	check_columns(text);
	free(text);
}

/* Numbers that are too wide lose separators, then digits, and never touch their neighbours. */
static void extremes_fit(void **state)
{
	struct fixture *f = *state;
	char line[200], *text;

	plan(f, "--test bw -s 1T");
	fill_measure(&f->client, 123456789012, 1000000 * SECOND);
	text = result_text(f, true);
	check_columns(text);
	values_line(text, line, sizeof(line));
	/* 123,456.789 a second, of 2^20 MiB each: 129,453,825,995 MiB/s, 1,085,937,400 Gb/s */
	expect(line, "    1 TiB 1.23457e+11  1000000 1.2945e+11 1.086e+09      123,457");
	free(text);
	fill_measure(&f->client, 1000000000, 10 * SECOND);
	f->client.latency.m.n = 0;
	plan(f, "--test bw -s 64");
	text = result_text(f, true);
	values_line(text, line, sizeof(line));
	/* 10^8 a second of 64 B: 6,103.52 MiB/s, 51.2 Gb/s */
	expect(line, "     64 B  1000000000    10.00    6103.52   51.2000  100,000,000");
	free(text);
	plan(f, "--test lat -s 8M --op send");
	for (uint64_t i = 0; i < 5000; i++)
		histogram_record(&f->client.latency, i * 7000000000);
	f->client.latency.m.n = 5000;
	text = result_text(f, true);
	check_columns(text);
	values_line(text, line, sizeof(line));
	/* max: 4,999 x 7 s are 3.5 x 10^10 us */
	expect(line, "    8 MiB     5,000    0.00 1.8e+10 3.2e+10 3.5e+10");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(golden_lat),
		TEST(numbers_of_lat),
		TEST(ascii_is_ascii),
		TEST(golden_bw),
		TEST(numbers_of_bw),
		TEST(short_window),
		TEST(golden_send),
		TEST(golden_header),
		TEST(reasons_are_whole),
		TEST(loopback_is_said),
		TEST(nothing_measured),
		TEST(not_measured_is_not_zero),
		TEST(few_samples),
		TEST(interrupted),
		TEST(drift_is_said),
		TEST(extremes_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
