/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Runs by schedule as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "text_fixture.h"

/* 1,000 of 20 us each at 10 us apart: message i waits for i 10 us. */
static void fill(struct fixture *f, const char *words, uint64_t length)
{
	plan(f, words);
	fill_measure(&f->client, 1000, length);
	f->client.pace.active = true;
	f->client.pace.backlog = 499;
	f->client.pace.kept = 0.5005;
	for (uint64_t i = 0; i < 1000; i++) {
		histogram_record(&f->client.latency, 20000);
		histogram_record(&f->client.pace.lateness, 10000 * i);
		histogram_record(&f->client.pace.response, 10000 * i + 20000);
	}
}

static void behind(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill(f, "--test lat --op read --rate 100k -n 1000", 20000000);
	check_golden(result_text(f, false), "pace-lat.txt");
	fill(f, "--test bw --op write --rate 100k -n 1000", 20000000);
	text = result_text(f, false);
	expect(text, "response: from when a message was to leave, waiting included; of a backlog");
	expect(text, "warning: backlog: 50.0 % of the schedule was kept, so that messages waited");
	free(text);
}

/* With even gaps the rate says it; with random ones, of which there may be few, the schedule. */
static void kept(void **state)
{
	struct fixture *f = *state;
	char *text;

	fill(f, "--test bw --op write --rate 100k -n 1000", 10100000); /* 99.01 % */
	text = result_text(f, false);
	expect_no(text, "warning: backlog");
	free(text);
	fill(f, "--test bw --op write --rate 100k -n 1000", 10110000); /* 98.91 % */
	text = result_text(f, false);
	expect(text, "warning: backlog");
	free(text);
	fill(f, "--test bw --op write --rate 100k -n 1000 --arrival poisson", 10110000);
	f->client.pace.kept = 0.9901;
	text = result_text(f, false);
	expect_no(text, "warning: backlog");
	free(text);
	f->client.pace.kept = 0.9899;
	text = result_text(f, false);
	expect(text, "warning: backlog");
	free(text);
}

/* A fifth is lost on its way: 80k/s arrive, 100k/s have left. Both ways the schedule says it. */
static void lost_is_not_late(void **state)
{
	struct fixture *f = *state;
	char *text;

	for (int both = 0; both < 2; both++) {
		fill(f, "--test bw -c uc --op send --rate 100k -n 1000", 10000000);
		fill_measure(&f->server, 800, 10000000);
		f->server.receiver = true;
		f->client.receiver = both;
		f->client.pace.kept = 0.9951;
		text = result_text(f, false);
		expect(text, both ? "       100000        99510   99.51" :
				    "       100000       100000  100.00");
		expect_no(text, "backlog:");
		expect_no(text, "of a backlog");
		free(text);
	}
}

static char *header_text(const struct fixture *f)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	text_header(out, &f->result);
	assert_int_equal(fclose(out), 0);
	check_columns(text);
	return text;
}

static void header(void **state)
{
	struct fixture *f = *state;
	char *text;

	plan(f, "--test lat --op send --rate 10Gb/s -s 64K");
	text = header_text(f);
	expect(text, "the response from when the operation was to begin, the service from its post");
	expect(text, "rate          19073.486328125/s (10Gb/s)");
	expect(text, "burst         1 (default)");
	expect(text, "arrival       fixed (default)");
	expect_no(text, "seed");
	expect_no(text, "gap ");
	expect_no(text, "half");
	free(text);
	plan(f, "--test lat --op send --rate 1k --arrival poisson");
	text = header_text(f);
	expect(text, "rate          1000/s (given)");
	expect(text, "seed          1 (default)");
	free(text);
	plan(f, "--test lat --op send --gap 10us");
	text = header_text(f);
	expect(text, "gap           10 us (given)");
	expect_no(text, "rate ");
	expect_no(text, "burst ");
	expect(text, "half the round trip");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(behind, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(kept, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(lost_is_not_late, open_fixture, close_fixture),
		cmocka_unit_test_setup_teardown(header, open_fixture, close_fixture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
