/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The forms of a result besides text, as a whole and number by number. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/document.h"
#include "report/formats.h"
#include "report/stored.h"
#include "text_fixture.h"

#include <cmocka.h>

/*
 * The rows of the golden files: a latency, both directions at once of which one has stamps, one by
 * a schedule that was not kept, one that failed. The ends are the fixture's.
 */
static void fill_lat(struct fixture *f)
{
	plan(f, "--op write --test lat -s 64 -n 2000");
	fill_measure(&f->client, 2000, 2 * SECOND);
	fill_measure(&f->server, 2000, 2 * SECOND);
	f->client.divisor = 2;
	for (uint64_t i = 0; i < 2000; i++)
		histogram_record(&f->client.latency, 200 + i % 10);
	f->result.row = 0;
	f->result.rows = 4;
}

static void fill_both(struct fixture *f)
{
	plan(f, "--op send --test bw -s 1000 -D 1 -b");
	fill_measure(&f->client, 1000, SECOND);
	fill_measure(&f->server, 500, SECOND);
	f->client.receiver = f->server.receiver = true;
	f->client.series.n = f->server.series.n = 0;
	histogram_reset(&f->client.latency);
	for (uint64_t i = 0; i < 30; i++)
		histogram_record(&f->client.latency, 100000 + 1000 * i);
	f->server.cpu.valid = false;
	f->result.row = 1;
}

/* At half of the rate that was asked for. */
static void fill_paced(struct fixture *f)
{
	plan(f, "--op read --test lat -s 64 -n 2000 --rate 10k");
	fill_measure(&f->client, 2000, 4 * SECOND / 10);
	histogram_reset(&f->client.latency);
	histogram_reset(&f->client.pace.response);
	histogram_reset(&f->client.pace.lateness);
	f->client.pace.active = true;
	f->client.pace.backlog = 1000;
	f->client.pace.kept = 0.5;
	for (uint64_t i = 0; i < 2000; i++) {
		histogram_record(&f->client.latency, 200000);
		histogram_record(&f->client.pace.response, 100000 * i + 200000);
		histogram_record(&f->client.pace.lateness, 100000 * i);
	}
	f->result.row = 2;
}

static void fill_failed(struct fixture *f)
{
	plan(f, "--op read --test bw -s 4K -n 10");
	f->result.side[SIDE_CLIENT].measure = NULL;
	f->result.side[SIDE_SERVER].measure = NULL;
	f->result.failed = "read failed, of \"rxe0\" | status 12";
	f->result.row = 3;
}

static void (*const rows[])(struct fixture *f) = { fill_lat, fill_both, fill_paced, fill_failed };
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* What a run of those rows prints. */
static char *printed(struct fixture *f, const struct format *format)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	f->result.version = "x.y.z";
	if (format->start)
		format->start(out);
	for (size_t i = 0; i < ROWS; i++) {
		rows[i](f);
		if (format->begin)
			format->begin(out, &f->result);
		if (!f->result.failed && format->row)
			format->row(out, &f->result);
		else if (f->result.failed && format->failed)
			format->failed(out, &f->result);
	}
	if (format->end)
		format->end(out);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void set_text(json_t *at, const char *key, const char *text)
{
	json_object_set_new(at, key, json_string(text));
}

/* With a time and a version that stay. */
static char *document_text(struct fixture *f)
{
	char name[] = "rdmeter", json[] = "--json", host[] = "beta";
	char *argv[] = { name, json, host, NULL }, *text = NULL;
	struct document d;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	struct options opt;

	assert_int_equal(document_new(&d, 3, argv), 0);
	assert_int_equal(options_parse(&opt, 3, argv), 0);
	document_ask(&d, &opt);
	for (size_t i = 0; i < ROWS; i++) {
		rows[i](f);
		document_begin(&d, &f->result);
		document_row(&d, &f->result);
	}
	document_end(&d, 0);
	set_text(d.root, "start_time", "2026-01-02T03:04:05Z");
	set_text(d.root, "end_time", "2026-01-02T03:04:06Z");
	set_text(json_object_get(d.root, "tool"), "version", "x.y.z");
	document_write(&d, out);
	document_free(&d);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void golden_csv(void **state)
{
	check_golden_long(printed(*state, &formats[FORMAT_CSV]), "rows.csv");
}

static void golden_markdown(void **state)
{
	check_golden_long(printed(*state, &formats[FORMAT_MARKDOWN]), "rows.md");
}

static void golden_hgrm(void **state)
{
	check_golden_long(printed(*state, &formats[FORMAT_HGRM]), "rows.hgrm");
}

static void golden_json(void **state)
{
	check_golden_long(document_text(*state), "rows.json");
}

/* What report prints of the document is what was printed of the rows. */
static void report_is_live(void **state)
{
	static const int all[] = { FORMAT_TEXT, FORMAT_CSV, FORMAT_MARKDOWN, FORMAT_HGRM };
	char *document = document_text(*state), name[] = "/tmp/rdmeter-test-XXXXXX";
	int fd = mkstemp(name);
	FILE *file = fdopen(fd, "w");

	assert_non_null(file);
	fputs(document, file);
	assert_int_equal(fclose(file), 0);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		char *text = NULL, *live;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		assert_int_equal(stored_print(out, name, all[i]), 0);
		assert_int_equal(fclose(out), 0);
		close_fixture(state);
		open_fixture(state);
		live = printed(*state, &formats[all[i]]);
		assert_string_equal(text, live);
		free(text);
		free(live);
	}
	remove(name);
	free(document);
}

/*
 * Worked out from the rule: a line wherever the percentile reaches the next of 5 ticks a half
 * distance, 10 % apart to 50 %, 5 % to 75 %, 2.5 % to 87.5 %, 1.25 % to 93.75 %. Five samples of
 * 100 are 50 %, three of 200 make 80 %, one of 1,000 90 %. 100 and 200 have buckets of their own,
 * 1,000 lies in [1000, 1004), and 4,000, in [4000, 4016), is the maximum. Mean 6,100 / 10, deviation
 * sqrt((5 * 510^2 + 3 * 410^2 + 390^2 + 3390^2) / 9) = sqrt(13,449,000 / 9) = 1,222.43.
 */
static const char by_hand[] =
	"       Value   Percentile   TotalCount 1/(1-Percentile)\n"
	"\n"
	"       0.100     0.000000            5         1.00\n"
	"       0.100     0.100000            5         1.11\n"
	"       0.100     0.200000            5         1.25\n"
	"       0.100     0.300000            5         1.43\n"
	"       0.100     0.400000            5         1.67\n"
	"       0.100     0.500000            5         2.00\n"
	"       0.200     0.550000            8         2.22\n"
	"       0.200     0.600000            8         2.50\n"
	"       0.200     0.650000            8         2.86\n"
	"       0.200     0.700000            8         3.33\n"
	"       0.200     0.750000            8         4.00\n"
	"       0.200     0.775000            8         4.44\n"
	"       0.200     0.800000            8         5.00\n"
	"       1.003     0.825000            9         5.71\n"
	"       1.003     0.850000            9         6.67\n"
	"       1.003     0.875000            9         8.00\n"
	"       1.003     0.887500            9         8.89\n"
	"       1.003     0.900000            9        10.00\n"
	"       4.000     0.912500           10        11.43\n"
	"       4.000     1.000000           10          inf\n"
	"#[Mean    =        0.610, StdDeviation   =        1.222]\n"
	"#[Max     =        4.000, Total count    =           10]\n"
	"#[Buckets =           57, SubBuckets     =          256]\n";

static char *hgrm_of(const struct result *r)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	hgrm_row(out, r);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void hgrm_by_hand(void **state)
{
	static const uint64_t samples[] = { 100, 100, 100, 100, 100, 200, 200, 200, 1000, 4000 };
	struct fixture *f = *state;
	char *text;

	plan(f, "--op read --test lat");
	fill_measure(&f->client, 10, SECOND);
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		histogram_record(&f->client.latency, samples[i]);
	f->result.rows = 1;
	text = hgrm_of(&f->result);
	assert_string_equal(text, by_hand);
	free(text);
}

/* One sample is the first percentile and the last; without one there is nothing to draw. */
static void hgrm_of_little(void **state)
{
	struct fixture *f = *state;
	char *text;

	plan(f, "--op write --test lat");
	fill_measure(&f->client, 1, SECOND);
	f->result.rows = 1;
	text = hgrm_of(&f->result);
	assert_string_equal(text, "");
	free(text);
	f->client.divisor = 2;
	histogram_record(&f->client.latency, 3000);
	text = hgrm_of(&f->result);
	expect(text, "\n       1.500     0.000000            1         1.00\n"
		     "       1.500     1.000000            1          inf\n"
		     "#[Mean    =        1.500, StdDeviation   =        0.000]\n");
	free(text);
}

static char *print_of(struct fixture *f, const char *name)
{
	const struct column *c;
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	bool si;

	c = print_find(name, &si);
	assert_non_null(c);
	print_row(out, &f->result, c, si);
	assert_int_equal(fclose(out), 0);
	return text;
}

static void bare_numbers(void **state)
{
	static const struct {
		const char *name, *text;
	} known[] = { /* server by arrival 500, client 1,000 */
		{ "msg_per_s", "500\n1000\n" },
		{ "bw_bytes_per_s", "500000\n1000000\n" },
		{ "bw_bit_per_s", "4000000\n8000000\n" },
		{ "bw_gbit_per_s", "0.004\n0.008\n" },
		{ "size_bytes", "1000\n1000\n" },
		{ "stamped_min_us", "100\n-\n" },
		{ "stamped_min_ns", "100000\n-\n" },
		{ "stamped_p99_ns", "-\n-\n" },
		{ "lat_min_us", "-\n-\n" }, /* no latency test */
	};
	bool si;

	fill_both(*state);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		char *text = print_of(*state, known[i].name);

		if (strcmp(text, known[i].text))
			fail_msg("%s is %s", known[i].name, text);
		free(text);
	}
	assert_null(print_find("bw", &si));
	assert_null(print_find("", &si));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(golden_csv),  TEST(golden_markdown), TEST(golden_hgrm), TEST(golden_json),
		TEST(hgrm_by_hand), TEST(hgrm_of_little), TEST(bare_numbers),
		TEST(report_is_live),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
