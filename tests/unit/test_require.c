/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Requirements: how they are written, and what results come to. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "report/require.h"

#include <cmocka.h> /* late: it has a macro named fail */

#include "text_fixture.h"

static struct requirements required;

/* The one requirement of that text. */
static const struct requirement *parse(const char *text)
{
	static struct options opt;

	opt.require.texts[0] = text;
	opt.require.count = 1;
	fail_clear();
	if (requirements_parse(&required, &opt))
		fail_msg("'%s' is refused", text);
	assert_int_equal(required.count, 1);
	return &required.list[0];
}

static void refused(const char *text, const char *words)
{
	static struct options opt;

	opt.require.texts[0] = text;
	opt.require.count = 1;
	fail_clear();
	if (!requirements_parse(&required, &opt))
		fail_msg("'%s' is taken", text);
	assert_int_equal(fail_last()->class, FAIL_USAGE);
	if (!strstr(fail_last()->text, words))
		fail_msg("'%s': no '%s' in: %s", text, words, fail_last()->text);
}

/* 10,000 writes of 62,500 B in 1 s are 5 Gb/s, 625 MB/s, 596.046 MiB/s. */
static void fill_bw(struct fixture *f)
{
	plan(f, "--op write --test bw -s 62500");
	fill_measure(&f->client, 10000, SECOND);
	histogram_reset(&f->client.latency);
	for (int i = 0; i < 2000; i++)
		histogram_record(&f->client.latency, 100000);
}

/* 2,000 round trips of exactly 6 us, shown as 3: the maximum bounds every percentile. */
static void fill_lat(struct fixture *f)
{
	plan(f, "--op write --test lat -s 8");
	fill_measure(&f->client, 2000, SECOND);
	f->client.divisor = 2;
	histogram_reset(&f->client.latency);
	for (int i = 0; i < 2000; i++)
		histogram_record(&f->client.latency, 6000);
}

static void check(const struct fixture *f, const char *text, enum verdict wanted)
{
	struct judgement j;

	requirement_judge(parse(text), &f->result, &j);
	if (j.verdict != wanted)
		fail_msg("%s: %s, got %g", text, verdict_name(j.verdict), j.got);
}

static void operators(void **state)
{
	struct fixture *f = *state;

	fill_lat(f);
	check(f, "p99<3.001us", VERDICT_HOLDS);
	check(f, "p99<3us", VERDICT_FAILS);
	check(f, "p99<=3us", VERDICT_HOLDS);
	check(f, "p99<=2.999us", VERDICT_FAILS);
	check(f, "p99>3us", VERDICT_FAILS);
	check(f, "p99>2999ns", VERDICT_HOLDS);
	check(f, "p99>=3us", VERDICT_HOLDS);
	check(f, "p99>=0.003001ms", VERDICT_FAILS);
	check(f, "p99=3us", VERDICT_HOLDS);
	check(f, "p99==0.000003s", VERDICT_HOLDS);
	check(f, "p99=3.1us", VERDICT_FAILS);
	check(f, "p99!=3us", VERDICT_FAILS);
	check(f, "p99!=4us", VERDICT_HOLDS);
	check(f, "  p99  <  4  us ", VERDICT_HOLDS);
}

static void units_and_names(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	check(f, "bw>=4.999Gb/s", VERDICT_HOLDS);
	check(f, "bw>5.001Gb/s", VERDICT_FAILS);
	check(f, "bw_gbit_per_s=5Gb/s", VERDICT_HOLDS);
	check(f, "bw<625.1MB/s", VERDICT_HOLDS);
	check(f, "bw<624.9MB/s", VERDICT_FAILS);
	check(f, "BW>596.04MiB/s", VERDICT_HOLDS);
	check(f, "bw>596.05MiB/s", VERDICT_FAILS);
	check(f, "MiB/s<597MiB/s", VERDICT_HOLDS);
	check(f, "msg>=10k/s", VERDICT_HOLDS);
	check(f, "msg_per_s<10000", VERDICT_FAILS);
	check(f, "messages/s<0.0101M/s", VERDICT_HOLDS);
	check(f, "messages=10000", VERDICT_HOLDS);
	check(f, "messages=10k", VERDICT_HOLDS);
	check(f, "window=1s", VERDICT_HOLDS);
	check(f, "size=62500", VERDICT_HOLDS);
	check(f, "size<62K", VERDICT_HOLDS); /* 63,488 */
	check(f, "size_bytes<61KiB", VERDICT_FAILS); /* 62,464 */
	check(f, "stamped=2k", VERDICT_HOLDS);
	check(f, "stamped_p99=100us", VERDICT_HOLDS);
	check(f, "p99=100us", VERDICT_HOLDS); /* in a row of bandwidth the stamped ones */
}

/* A row by schedule has names of its own beside those of the service. */
static void schedules(void **state)
{
	struct fixture *f = *state;

	fill_lat(f);
	check(f, "response_p99<1us", VERDICT_INCONCLUSIVE);
	plan(f, "--op read --test lat -n 2000 --rate 2010");
	f->client.pace.active = true;
	f->client.pace.backlog = 7;
	f->client.divisor = 1;
	histogram_reset(&f->client.pace.response);
	histogram_reset(&f->client.pace.lateness);
	for (int i = 0; i < 2000; i++) {
		histogram_record(&f->client.pace.response, 9000);
		histogram_record(&f->client.pace.lateness, 3000);
	}
	check(f, "p99=6us", VERDICT_HOLDS);
	check(f, "response_p99=9us", VERDICT_HOLDS);
	check(f, "response_max<9us", VERDICT_FAILS);
	check(f, "late_p99<=3us", VERDICT_HOLDS);
	check(f, "rate_achieved>=2k/s", VERDICT_HOLDS);
	check(f, "rate_achieved_percent>=99.6", VERDICT_FAILS);
	check(f, "kept>=99.5", VERDICT_HOLDS);
	check(f, "backlog<=6", VERDICT_FAILS);
}

/* "min" is a rate of intervals or a latency: the unit says which. */
static void unit_tells_columns_apart(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	series_start(&f->client.series, 5 * SECOND, 20);
	series_close(&f->client.series, 6 * SECOND, 10020);
	check(f, "min>596MiB/s", VERDICT_HOLDS);
	check(f, "min<597MiB/s", VERDICT_HOLDS);
	check(f, "min=100us", VERDICT_HOLDS);
	check(f, "interval_min>597MiB/s", VERDICT_FAILS);
}

static void other_tests_do_not_count(void **state)
{
	struct fixture *f = *state;

	fill_lat(f);
	check(f, "bw>=1Gb/s", VERDICT_NONE);
	check(f, "stamped_p99<1s", VERDICT_NONE);
	fill_bw(f);
	check(f, "lat_p99<1s", VERDICT_NONE);
}

static void not_measured_is_inconclusive(void **state)
{
	struct fixture *f = *state;

	fill_lat(f);
	check(f, "p99.9<3us", VERDICT_INCONCLUSIVE); /* 2 beyond; it wants 10 */
	check(f, "p99.9>0us", VERDICT_INCONCLUSIVE);
	f->client.window.count = 99; /* too few messages, whatever came of them */
	check(f, "p99<1us", VERDICT_INCONCLUSIVE);
	check(f, "samples>1k", VERDICT_HOLDS);
	check(f, "samples>3k", VERDICT_FAILS);
	f->client.window.count = 100;
	check(f, "p99<1us", VERDICT_FAILS);
	f->client.opened = false;
	fill_bw(f);
	f->client.opened = false;
	check(f, "bw>1b/s", VERDICT_INCONCLUSIVE);
}

/* The server sends too, at half the rate: 5 Gb/s and 2.5. */
static void worse_direction_counts(void **state)
{
	struct fixture *f = *state;
	struct judgement j;

	fill_bw(f);
	plan(f, "--op write --test bw -s 62500 -b");
	fill_measure(&f->server, 5000, SECOND);
	check(f, "bw_gbit_per_s>=2.4Gb/s", VERDICT_HOLDS);
	check(f, "bw_gbit_per_s>=2.6Gb/s", VERDICT_FAILS);
	requirement_judge(&required.list[0], &f->result, &j);
	assert_true(fabs(j.got - 2.5) < 1e-9);
	check(f, "bw<3Gb/s", VERDICT_FAILS);
}

static void mistakes_are_named(void **state)
{
	(void)state;
	refused("p98<3us", "no column 'p98'; there are size, pages, samples, min, p50");
	refused("bw", "no comparison");
	refused("", "no comparison");
	refused("<3us", "no column ''");
	refused("p99<", "no number");
	refused("p99<us", "no number");
	refused("p99<-1us", "no number");
	refused("p99<infus", "no number");
	refused("p99<0x3us", "'x3us' is no unit of p99; there are ns, us, ms, s");
	refused("p99<1.2.3us", "no number");
	refused("p99<.us", "no number");
	refused("p99<3", "p99 wants a unit; there are ns, us, ms, s");
	refused("p99<3Gb/s", "'Gb/s' is no unit of p99; there are ns, us, ms, s");
	refused("p99<3US", "'US' is no unit");
	refused("bw>1us", "no unit of bw; there are b/s, kb/s, Mb/s, Gb/s, Tb/s, B/s, kB/s, MB/s");
	refused("bw>1gb/s", "'gb/s' is no unit");
	refused("min<3", "there are ns, us, ms, s, b/s");
	refused("messages>3us", "'us' is no unit of messages; there are k, M");
	refused("p99<3us and more", "'us and more' is no unit");
	refused("p99<3 a unit of more than sixteen letters", "is no unit of p99");
	refused("a_name_that_is_longer_than_any_of_the_columns_is<3us", "no column");
}

static void rows_are_counted(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	parse("bw>=1Gb/s");
	assert_int_equal(requirements_verdict(&required), VERDICT_NONE); /* no row yet */
	assert_int_equal(requirements_count(&required, &f->result), VERDICT_HOLDS);
	assert_int_equal(requirements_verdict(&required), VERDICT_HOLDS);
	f->client.window.count = 99;
	requirements_count(&required, &f->result);
	assert_int_equal(requirements_verdict(&required), VERDICT_INCONCLUSIVE);
	f->client.window.count = 1000; /* 0.5 Gb/s */
	assert_int_equal(requirements_count(&required, &f->result), VERDICT_FAILS);
	f->client.window.count = 10000;
	assert_int_equal(requirements_count(&required, &f->result), VERDICT_HOLDS);
	assert_int_equal(requirements_verdict(&required), VERDICT_FAILS);
	/* Rows of latency have no bandwidth: alone they say nothing. */
	parse("bw>=1Gb/s");
	fill_lat(f);
	assert_int_equal(requirements_count(&required, &f->result), VERDICT_NONE);
	assert_int_equal(requirements_verdict(&required), VERDICT_INCONCLUSIVE);
	fill_bw(f);
	requirements_count(&required, &f->result);
	assert_int_equal(requirements_verdict(&required), VERDICT_HOLDS);
}

static void several(void **state)
{
	char name[] = "rdmeter", a[] = "--require=bw>1Gb/s", b[] = "--require", c[] = "msg<5k/s";
	char host[] = "h", *argv[] = { name, a, b, c, host, NULL };
	struct fixture *f = *state;
	static struct options opt;

	fill_bw(f);
	assert_int_equal(options_parse(&opt, 5, argv), 0);
	assert_int_equal(requirements_parse(&required, &opt), 0);
	assert_int_equal(required.count, 2);
	assert_string_equal(required.list[0].text, "bw>1Gb/s");
	assert_string_equal(required.list[1].text, "msg<5k/s");
	assert_int_equal(requirements_count(&required, &f->result), VERDICT_FAILS);
	assert_int_equal(required.list[0].rows[VERDICT_HOLDS], 1);
	assert_int_equal(required.list[1].rows[VERDICT_FAILS], 1);
	opt.require.count = 0;
	assert_int_equal(requirements_parse(&required, &opt), 0);
	assert_int_equal(requirements_verdict(&required), VERDICT_NONE);
}

static void too_many(void **state)
{
	char name[] = "rdmeter", one[] = "--require=bw>1Gb/s", *argv[OPTION_REPEATS + 3];
	static struct options opt;
	int argc = 0;

	(void)state;
	fail_clear();
	argv[argc++] = name;
	while (argc <= OPTION_REPEATS)
		argv[argc++] = one;
	assert_int_equal(options_parse(&opt, argc, argv), 0);
	assert_int_equal(opt.require.count, OPTION_REPEATS);
	argv[argc++] = one;
	assert_int_not_equal(options_parse(&opt, argc, argv), 0);
	assert_non_null(strstr(fail_last()->text, "more than 16 times"));
}

static void text_of_a_row(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill_lat(f);
	text = result_text(f, false);
	expect_no(text, "require");
	free(text);
	parse("p99<2us");
	f->result.required = &required;
	text = result_text(f, false);
	expect(text, "\nrequire p99<2us: fails: 3 us\n");
	free(text);
	parse("p99<=3000ns");
	text = result_text(f, false);
	expect(text, "\nrequire p99<=3000ns: holds: 3000 ns\n");
	free(text);
	parse("p99.9<2us");
	text = result_text(f, false);
	expect(text, "\nrequire p99.9<2us: inconclusive: not measured\n");
	free(text);
	parse("bw>1Gb/s");
	text = result_text(f, false);
	expect(text, "\nrequire bw>1Gb/s: does not apply to this test\n");
	free(text);
	parse("samples>1");
	text = result_text(f, false);
	expect(text, "\nrequire samples>1: holds: 2000\n");
	free(text);
	parse("p99<2us");
	f->client.window.count = 99;
	text = result_text(f, false);
	expect(text, "\nrequire p99<2us: inconclusive: 3 us of too few messages\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(operators),
		TEST(units_and_names),	TEST(schedules),
		TEST(unit_tells_columns_apart),
		TEST(other_tests_do_not_count),
		TEST(not_measured_is_inconclusive),
		TEST(worse_direction_counts),
		cmocka_unit_test(mistakes_are_named),
		TEST(rows_are_counted),
		TEST(several),
		cmocka_unit_test(too_many),
		TEST(text_of_a_row),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
