/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The report of traffic in the other direction, in both, and on several queue pairs. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "plan/plan.h"
#include "report/text.h"

#include <cmocka.h> /* late: it has a macro named fail */

#include "text_fixture.h"

#define MS UINT64_C(1000000)

/*
 * By the client's clock its window lasts from 1005.0 to 1007.0 s, 1,000 messages a second and then
 * 2,000; the server's, whose clock is 3 s ahead, from 1005.1 to 1007.1 s, 2,000 a second. Both
 * were open for 1.9 s, in which the client counted 3,000 - 100 and the server 3,800: 6,700 in
 * 1.9 s are 3,526.3 a second; of 1,000 B 3.363 MiB/s and 0.02821 Gb/s.
 */
static void fill_both(struct fixture *f, const char *words)
{
	plan(f, words);
	fill_measure(&f->client, 3000, 2 * SECOND);
	f->client.started_ns = 1000 * SECOND;
	series_start(&f->client.series, 5 * SECOND, 20);
	series_add(&f->client.series, 6 * SECOND, 1020);
	series_close(&f->client.series, 7 * SECOND, 3020);
	fill_measure(&f->server, 4000, 2 * SECOND);
	f->server.started_ns = 1003 * SECOND + 500 * MS;
	f->server.window.t0 = 4600 * MS;
	f->server.window.t1 = 6600 * MS;
	series_start(&f->server.series, 4600 * MS, 50);
	series_close(&f->server.series, 6600 * MS, 4050);
	f->result.clock_offset_ns = 3 * (int64_t)SECOND;
	f->client.receiver = f->server.receiver = point_op(&f->result.point)->receives;
}

static void check_sum(const struct fixture *f, double rate)
{
	double got = result_sum_rate(&f->result);

	if (isnan(rate) ? !isnan(got) : !(fabs(got - rate) < rate * 1e-9))
		fail_msg("%f, not %f", got, rate);
}

/* 6,700 / 1.9, whoever counts, and wherever the clocks stand. */
static void sum_over_the_overlap(void **state)
{
	static const char *const lines[] = {
		"--op send -b -s 1000", "--op write -b -s 1000", "--op read --direction both",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < 3; i++) {
		fill_both(f, lines[i]);
		check_sum(f, 6700 / 1.9);
		f->result.clock_offset_ns -= 1003 * (int64_t)SECOND; /* the server's is behind */
		f->server.started_ns -= 1003 * SECOND;
		check_sum(f, 6700 / 1.9);
		/* Now its window comes 0.05 s earlier: 1.95 s, 2,950 and 3,900. */
		f->server.started_ns -= 50 * MS;
		check_sum(f, 6850 / 1.95);
		/* And 0.1 s earlier again, before the client's: 3,000 - 200 / 2 and 3,900. */
		f->server.started_ns -= 100 * MS;
		check_sum(f, (2900 + 3900) / 1.95);
	}
}

/* Nine tenths of the shorter window are enough, a nanosecond less is not. */
static void sum_needs_an_overlap(void **state)
{
	struct fixture *f = *state;

	fill_both(f, "--op send -b -s 1000");
	f->server.started_ns += 100 * MS; /* 1005.2 to 1007: 2,800 and 3,600 in 1.8 s */
	check_sum(f, 6400 / 1.8);
	f->server.started_ns += 1;
	check_sum(f, NAN);
	f->server.started_ns += 100 * SECOND;
	check_sum(f, NAN);
	/* A short one inside of the other: 1005.5 to 1006.5, 500 + 1,000 and 2,000. */
	fill_both(f, "--op send -b -s 1000");
	f->server.window = (struct window){ 5 * SECOND, 6 * SECOND, 2000 };
	series_start(&f->server.series, 5 * SECOND, 50);
	series_close(&f->server.series, 6 * SECOND, 2050);
	check_sum(f, 3500);
	f->server.opened = false;
	check_sum(f, NAN);
	f->server.opened = true;
	f->server.window.t1 = f->server.window.t0;
	check_sum(f, NAN);
	f->result.side[SIDE_SERVER].measure = NULL;
	check_sum(f, NAN);
}

static void expect_in_order(const char *text, const char *const *parts, size_t count)
{
	const char *at = text;

	for (size_t i = 0; i < count; i++) {
		at = strstr(at, parts[i]);
		if (!at)
			fail_msg("no '%s' in its place in:\n%s", parts[i], text);
		at += strlen(parts[i]);
	}
}

/* 4,000 in 2 s of 1,000 B: 1.91 MiB/s, 0.0160 Gb/s; 3,000 in 2 s: 1.43 MiB/s, 0.0120 Gb/s. */
static void both_directions(void **state)
{
	static const char *const parts[] = {
		"\nclient to server: counted at the server, by arrival; ",
		"   1000 B       4,000     2.00       1.91    0.0160        2,000"
		"      1.91      1.91      1.91\n",
		"\nserver to client: counted at the client, by arrival; ",
		"   1000 B       3,000     2.00       1.43    0.0120        1,500"
		"      0.95      1.43      1.91\n",
		"\nboth directions together, while both windows were open: "
		"3.36 MiB/s, 0.0282 Gb/s, 3526 messages/s\n",
		"client: posted ", "server: posted ", "clock client: tsc", "clock server: tsc",
	};
	struct fixture *f = *state;
	char *text;

	fill_both(f, "--op send -b -s 1000");
	text = result_text(f, false);
	check_columns(text);
	expect_in_order(text, parts, sizeof(parts) / sizeof(parts[0]));
	expect_no(text, "own window");
	free(text);
	f->server.started_ns += SECOND;
	text = result_text(f, false);
	expect(text, "\nboth directions together: - (the two windows hardly overlap)\n");
	expect_no(text, "while both");
	free(text);
	fill_both(f, "--op write -b -s 1000");
	text = result_text(f, false);
	expect(text, "client to server: counted at the client, by completion; ");
	expect(text, "server to client: counted at the server, by completion; ");
	expect(text, "3526 messages/s\n");
	free(text);
}

/* Without the peer's result there is nothing about what was sent to it: arrivals are not that. */
static void half_of_both(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill_both(f, "--op send -b -s 1000");
	f->result.side[SIDE_SERVER].measure = NULL;
	assert_null(result_truth(&f->result, SIDE_CLIENT));
	assert_ptr_equal(result_truth(&f->result, SIDE_SERVER), &f->client);
	text = result_text(f, false);
	expect_no(text, "client to server: counted");
	expect(text, "server to client: counted at the client, by arrival; ");
	expect(text, "   1000 B       3,000     2.00       1.43");
	expect(text, "both directions together: -");
	free(text);
	/* In one direction a sender's own count is better than none. */
	fill_both(f, "--op send -s 1000");
	f->client.receiver = false;
	assert_ptr_equal(result_truth(&f->result, SIDE_CLIENT), &f->client);
}

/* The server sends: its latencies, its clock, and the arrivals at the client are the truth. */
static void the_other_direction(void **state)
{
	struct fixture *f = *state;
	char line[200], *text;

	fill_both(f, "--op send --direction in -s 1000");
	f->server.receiver = false;
	for (uint64_t i = 0; i < 30; i++)
		histogram_record(&f->server.latency, 100000 + 1000 * i);
	text = result_text(f, false);
	expect(text, "\ncounted at the client, by arrival; ");
	values_line(text, line, sizeof(line));
	expect(line, "   1000 B       3,000     2.00       1.43");
	/* 4,000 in 2 s */
	expect(text, "the server's own window: 4000 messages in 2.0000 s, 1.91 MiB/s\n");
	expect(text, "        30    100.00    114.17         -         -    129.00    114.50");
	expect(text, "clock server: ");
	expect_no(text, "clock client: ");
	expect_no(text, "directions");
	free(text);
	fill_both(f, "--op read --direction in -s 1000");
	text = result_text(f, false);
	expect(text, "\ncounted at the server, by completion; ");
	expect_no(text, "own window");
	free(text);
}

static void the_other_latency(void **state)
{
	struct fixture *f = *state;
	char line[200], *text;

	plan(f, "--op read --test lat --direction in");
	fill_measure(&f->server, 1, SECOND);
	histogram_record(&f->server.latency, 3000);
	histogram_record(&f->client.latency, 777000);
	text = result_text(f, false);
	values_line(text, line, sizeof(line));
	expect(line, "      8 B         1    3.00       -");
	expect_no(text, "777");
	free(text);
}

static void several_queue_pairs(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill_both(f, "--op send -q 5 -s 1000");
	f->server.qp_least = 790;
	f->server.qp_most = 811;
	f->client.qp_least = 1;
	f->client.qp_most = 9999; /* not the truth */
	text = result_text(f, false);
	expect(text, "\nof 5 queue pairs the slowest had 790 messages in the window, "
		     "the fastest 811\n");
	expect_no(text, "9999");
	check_columns(text);
	free(text);
	fill_both(f, "--op write -q 5 -b -s 1000");
	text = result_text(f, false);
	expect(text, "slowest had 790 messages");
	expect(text, "slowest had 1 messages");
	free(text);
	fill_both(f, "--op send -s 1000");
	text = result_text(f, false);
	expect_no(text, "queue pairs");
	free(text);
}

static void several_threads(void **state)
{
	static const int cpus[] = { 3, 2, 1, 7, 8, 9, 4, 4 };
	struct fixture *f = *state;
	char *text;

	fill_both(f, "--op send -q 8 -s 1000 --threads 8");
	text = result_text(f, false);
	expect_no(text, "threads ");
	free(text);
	f->server.threads = 8;
	for (int i = 0; i < 8; i++)
		f->server.thread[i] = (struct measure_thread){
			cpus[i], 0, 1000 + (uint64_t)i, 2000, 1230 + (uint64_t)i,
		};
	text = result_text(f, false);
	expect(text, "\nthreads server: 8 on CPUs 3-1,7-9,4,4, 1,230 to 1,237 messages each, "
		     "together 99.30 % of the time\n");
	expect_no(text, "threads client");
	free(text);
	for (int i = 0; i < 40; i++)
		f->server.thread[i] = (struct measure_thread){ i / 2 * 3, 0, 1000, 2000, 9 };
	f->server.threads = 40;
	text = result_text(f, false);
	expect(text, "40 on CPUs 0,0,3,3,6,6,9,9,12,..., 9 to 9 messages each");
	free(text);
	f->server.thread[39].cpu = -1;
	text = result_text(f, false);
	expect(text, "40 on any CPU, 9 to 9 messages each");
	check_columns(text);
	free(text);
}

static void missed_operations(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill_both(f, "--op cas --atomic-target shared -q 2");
	text = result_text(f, false);
	expect_no(text, "another value");
	free(text);
	f->client.missed = 1234;
	text = result_text(f, false);
	expect(text, "\n1234 operations found another value than they expected\n");
	free(text);
}

static char *header_text(const struct fixture *f)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	text_header(out, &f->result);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* The ends are those of the first row; what is run, and how, is each row's. */
static void later_rows(void **state)
{
	struct fixture *f = *state;
	char *text;

	plan(f, "--op read --test lat --direction in -s 64");
	text = header_text(f);
	expect(text, ": read latency, RC, server to client\n");
	expect(text, "alpha, 8 CPUs");
	expect(text, "beta, 8 CPUs");
	assert_true(text[0] == 'r');
	free(text);
	f->result.row = 1;
	plan(f, "--op cas --test bw -b -q 7 --atomic-target shared");
	text = header_text(f);
	assert_int_equal(strncmp(text, "\nrdmeter ", 9), 0);
	expect(text, ": cas bandwidth, RC, both directions\n");
	expect_no(text, "alpha");
	expect_no(text, "beta");
	expect_no(text, "10.77");
	expect_no(text, "because");
	expect(text, "7 (given)");
	expect(text, "shared (given)");
	expect(text, "8 B (the operation's only one)");
	check_columns(text);
	free(text);
}

/* A line for each side that knows them; long ones go on in the next, between counters only. */
static void counters(void **state)
{
	struct fixture *f = *state;
	char *text;

	plan(f, "--op write --test bw -s 64");
	fill_measure(&f->client, 1000, SECOND);
	text = result_text(f, false);
	expect_no(text, "counters");
	free(text);
	move(&f->client, "rcvd_pkts", 10, 1244);
	move(&f->client, "sent_pkts", 7, 3);
	f->client.counters.more = 2;
	f->server.counters.valid = true;
	text = result_text(f, false);
	expect(text, "\ncounters client: rcvd_pkts +1,234, sent_pkts 7 -> 3 (reset), and 2 more\n"
	       "counters server: none moved\n");
	free(text);
	f->client.counters.more = 0;
	for (int i = 0; i < 3; i++)
		move(&f->server, "a_counter_of_thirty_nine_characters____", 0, 1);
	text = result_text(f, false);
	expect(text, "sent_pkts 7 -> 3 (reset)\n");
	expect(text, "\ncounters server: a_counter_of_thirty_nine_characters____ +1,\n"
	       "  a_counter_of_thirty_nine_characters____ +1, "
	       "a_counter_of_thirty_nine_characters____ +1\n");
	check_columns(text);
	free(text);
}

/* 16 and 44 columns, and a name of 36 with 4 more: that is the 100th. */
static void counters_up_to_the_edge(void **state)
{
	struct fixture *f = *state;
	char *text;

	plan(f, "--op write --test bw -s 64");
	fill_measure(&f->client, 1000, SECOND);
	move(&f->client, "a_counter_of_thirty_nine_characters____", 0, 1);
	move(&f->client, "a_counter_of_thirty_six_characters__", 0, 1);
	text = result_text(f, false);
	expect(text, "\ncounters client: a_counter_of_thirty_nine_characters____ +1, "
	       "a_counter_of_thirty_six_characters__ +1\n");
	check_columns(text);
	free(text);
	move(&f->server, "a_counter_of_thirty_nine_characters____", 0, 1);
	move(&f->server, "a_counter_of_thirty_seven_characters_", 0, 1);
	text = result_text(f, false);
	expect(text, "\ncounters server: a_counter_of_thirty_nine_characters____ +1,\n"
	       "  a_counter_of_thirty_seven_characters_ +1\n");
	free(text);
}

/* What was seen and what to try, in lines of at most 100 columns. */
static void warnings(void **state)
{
	struct fixture *f = *state;
	char *text;

	plan(f, "--op write --test bw -s 64");
	fill_measure(&f->client, 99, SECOND);
	TEXT(f->result.side[0].host.governor, "powersave");
	TEXT(f->result.side[1].host.governor, "schedutil");
	text = result_text(f, false);
	expect(text, "\nwarning: the CPU frequency governor of the client is powersave; the CPU "
	       "frequency governor of the\n  server is schedutil; set it with cpupower "
	       "frequency-set -g performance\n"
	       "warning: 99 messages in the window are too few for a verdict; raise --iters or "
	       "--duration\n");
	check_columns(text);
	free(text);
}

/* 990 of 1,030 are 96.117 %: 40 lost are 3.883 %. */
static void losses(void **state)
{
	struct fixture *f = *state;
	char *text;

	plan(f, "-c ud --op send -s 1000");
	fill_measure(&f->client, 1000, SECOND);
	fill_measure(&f->server, 960, SECOND);
	f->server.receiver = true;
	f->server.received = 990;
	text = result_text(f, false);
	expect(text, "\nclient to server: sent 1,030, received 990, lost 40 (3.883 %)\n");
	expect_no(text, "server to client");
	free(text);
	f->result.side[SIDE_SERVER].measure = NULL; /* the run failed before it told */
	text = result_text(f, false);
	expect(text, "\nclient to server: sent 1,030, delivered: unknown\n");
	free(text);
}

static void losses_of_others(void **state)
{
	struct fixture *f = *state;
	char *text;

	plan(f, "-c uc --op send --test lat --direction in");
	fill_measure(&f->client, 1000, SECOND);
	fill_measure(&f->server, 1000, SECOND);
	f->server.received = 1029;
	f->server.divisor = 2;
	text = result_text(f, false);
	expect(text, "\nserver to client: sent 1,030, answered 1,029, lost 1 (0.097 %)\n");
	free(text);
	plan(f, "-c uc --op write -b");
	text = result_text(f, false);
	expect(text, "\nclient to server: sent 1,030, delivered: unknown\n"
		     "server to client: sent 1,030, delivered: unknown\n");
	free(text);
	plan(f, "--op send"); /* what is reliable loses nothing */
	text = result_text(f, false);
	expect_no(text, "lost");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(sum_over_the_overlap),
		TEST(sum_needs_an_overlap),
		TEST(both_directions),
		TEST(half_of_both),
		TEST(the_other_direction),
		TEST(the_other_latency),
		TEST(several_queue_pairs),
		TEST(several_threads),
		TEST(missed_operations),
		TEST(later_rows),
		TEST(counters),
		TEST(counters_up_to_the_edge),
		TEST(warnings),
		TEST(losses),
		TEST(losses_of_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
