/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The RESULT message: histogram, series and what must be refused of them. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "control/messages.h"

#include <cmocka.h>

#include "wire.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static struct measure *measured, *got;

static int set_up(void **state)
{
	(void)state;
	measured = calloc(1, sizeof(*measured));
	got = calloc(1, sizeof(*got));
	if (!measured || !got)
		return -1;
	measure_sample(measured);
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	free(measured);
	free(got);
	return 0;
}

static void check_refused(const json_t *json, const char *name, const char *what)
{
	const char *key = "?";
	int rc = message_get_result(json, got, &key);

	if (rc != -EBADMSG || strcmp(key, name))
		fail_msg("%s: returned %d, named '%s'", what, rc, key);
}

static void not_finite(void **state)
{
	double kept = measured->cpu.host_cores;
	const char *key;
	json_t *json;

	(void)state;
	measured->cpu.host_cores = NAN;
	measured->cpu.process_cores = INFINITY;
	json = wire(message_result(measured));
	assert_true(json_is_null(json_object_get(json_object_get(json, "cpu"), "host_cores")));
	assert_int_equal(message_get_result(json, got, &key), 0);
	assert_true(isnan(got->cpu.host_cores));
	assert_true(isnan(got->cpu.process_cores));
	measured->cpu.host_cores = kept;
	measured->cpu.process_cores = 0.1;
	json_decref(json);
}

/*
 * 0, two of 2^62, and 1500 to 2499 make n = 1,003. The rest is python3's:
 * '%032x' % (2 * 2**124 + sum(i * i for i in range(1500, 2500))) and
 * hex(2 * 2**62 + sum(range(1500, 2500))).
 */
static void histogram_on_the_wire(void **state)
{
	json_t *json = wire(message_result(measured)), *h = json_object_get(json, "latency");
	const char *sumsq = json_string_value(json_object_get(h, "sumsq"));

	(void)state;
	assert_string_equal(sumsq, "0x200000000000000000000000f34434fc");
	assert_int_equal(json_integer_value(json_object_get(h, "n")), 1003);
	assert_string_equal(json_string_value(json_object_get(h, "sum")), "0x80000000001e828c");
	assert_string_equal(json_string_value(json_object_get(h, "max")), "0x4000000000000000");
	assert_int_equal(json_integer_value(json_object_get(h, "sub_bucket_bits")), 7);
	assert_string_equal(json_string_value(json_object_get(h, "unit")), "ns");
	assert_int_equal(json_integer_value(json_object_get(h, "divisor")), 2);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(h, "low"), 0)), 0);
	/* 1500 lies in [1496, 1504): its octave, [1024, 2048), has steps of 8. */
	assert_int_equal(json_integer_value(json_array_get(json_object_get(h, "low"), 1)), 1496);
	assert_int_equal(json_integer_value(json_array_get(json_object_get(h, "count"), 1)), 4);
	json_decref(json);
}

static void histogram_must_add_up(void **state)
{
	static const struct {
		const char *path, *value;
	} bad[] = {
		{ "latency.n", "1002" },
		{ "latency.n", "0" },
		{ "latency.count", "[1003]" },
		{ "latency.low", "[]" },
		{ "latency.count", "3" },
	};
	const char *named;
	json_t *json, *h;
	char key[32];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		json = wire(message_result(measured));
		set_path(json, bad[i].path, bad[i].value, key, sizeof(key));
		check_refused(json, "count", bad[i].path);
		json_decref(json);
	}
	/* Counts whose sum wraps round to n. */
	json = wire(message_result(measured));
	h = json_object_get(json, "latency");
	json_object_set_new(h, "n", json_integer(1));
	json_object_set_new(h, "low", json_pack("[i,i]", 1, 2));
	json_object_set_new(h, "count", json_pack("[s,i]", "0xffffffffffffffff", 2));
	check_refused(json, "count", "wrapped");
	json_object_set_new(h, "low", json_pack("[i]", 1));
	json_object_set_new(h, "count", json_pack("[i]", -1));
	check_refused(json, "count", "negative");
	json_object_set_new(h, "count", json_pack("[i]", 1));
	json_object_set_new(h, "min", json_integer(1));
	json_object_set_new(h, "max", json_integer(1));
	json_object_set_new(h, "sum", json_integer(1));
	json_object_set_new(h, "sumsq", json_string("0x00000000000000000000000000000001"));
	assert_int_equal(message_get_result(json, got, &named), 0);
	json_decref(json);
}

/* Mean and deviation of these would lie outside the samples, or be no numbers. */
static void moments_must_be_possible(void **state)
{
	static const struct {
		const char *path, *value, *named;
	} bad[] = {
		{ "latency.min", "1", "min" },
		{ "latency.max", "2500", "max" },
		{ "latency.max", "\"0x7fffffffffffffff\"", "max" },
		{ "latency.sum", "1", "sumsq" },
		{ "latency.sumsq", "\"0x00000000000000000000000000000000\"", "sumsq" },
		{ "latency.sumsq", "\"0xffffffffffffffffffffffffffffffff\"", "sumsq" },
	};
	char key[32];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		json_t *json = wire(message_result(measured));

		set_path(json, bad[i].path, bad[i].value, key, sizeof(key));
		check_refused(json, bad[i].named, bad[i].value);
		json_decref(json);
	}
}

static void window_must_not_be_negative(void **state)
{
	struct window kept = measured->window;
	const char *key;
	json_t *json;

	(void)state;
	measured->window = (struct window){ 9, 8, 0 };
	json = wire(message_result(measured));
	assert_int_equal(message_get_result(json, got, &key), 0); /* it has not closed */
	json_object_set_new(json, "closed", json_true());
	check_refused(json, "t1", "closed before it opened");
	measured->window = kept;
	json_decref(json);
}

/* A stride beyond what an int holds. */
static void series_merge_is_unsigned(void **state)
{
	uint32_t kept = measured->series.merge;
	const char *key;
	json_t *json;

	(void)state;
	measured->series.merge = 1U << 31;
	json = wire(message_result(measured));
	assert_int_equal(message_get_result(json, got, &key), 0);
	assert_int_equal(got->series.merge, 1U << 31);
	measured->series.merge = kept;
	json_decref(json);
}

/* Two histograms more of a side with a schedule, and nothing of one without. */
static void pace_on_the_wire(void **state)
{
	static const struct {
		const char *path, *value, *named;
	} bad[] = {
		{ "pace", "[]", "pace" },
		{ "pace.backlog_messages", "-1", "backlog_messages" },
		{ "pace.kept", "\"x\"", "kept" },
		{ "pace.response_ns", "3", "response_ns" },
		{ "pace.lateness_ns", "{}", "sub_bucket_bits" },
		{ "pace.lateness_ns", "{\"sub_bucket_bits\": 7}", "n" },
	};
	struct pace_measure *p = &measured->pace;
	const char *named;
	char key[32];
	json_t *json = wire(message_result(measured));

	(void)state;
	assert_null(json_object_get(json, "pace"));
	assert_int_equal(message_get_result(json, got, &named), 0);
	assert_false(got->pace.active);
	json_decref(json);
	*p = (struct pace_measure){ .active = true, .backlog = (1ULL << 53) + 1, .kept = 0.1 };
	histogram_reset(&p->response);
	histogram_reset(&p->lateness);
	histogram_record(&p->response, 3000);
	histogram_record(&p->lateness, 0);
	histogram_record(&p->lateness, 700);
	json = wire(message_result(measured));
	assert_int_equal(message_get_result(json, got, &named), 0);
	assert_memory_equal(&got->pace, p, sizeof(*p));
	json_decref(json);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		json = wire(message_result(measured));
		set_path(json, bad[i].path, bad[i].value, key, sizeof(key));
		check_refused(json, bad[i].named, bad[i].path);
		json_decref(json);
	}
	*p = (struct pace_measure){ 0 };
}

static void series_limits(void **state)
{
	json_t *json = wire(message_result(measured)), *s = json_object_get(json, "series");
	json_t *t = json_object_get(s, "t_ns"), *count = json_object_get(s, "count");

	(void)state;
	assert_int_equal(json_array_size(t), 4);
	json_array_append_new(t, json_integer(1));
	check_refused(json, "series", "unlike columns");
	while (json_array_size(t) < SERIES_MAX + 1)
		json_array_append_new(t, json_integer(1));
	while (json_array_size(count) < SERIES_MAX + 1)
		json_array_append_new(count, json_integer(1));
	check_refused(json, "series", "too many points");
	json_array_clear(t);
	json_array_clear(count);
	json_array_append_new(t, json_integer(-1));
	json_array_append_new(count, json_integer(1));
	check_refused(json, "series", "negative time");
	json_array_clear(t);
	json_array_clear(count);
	for (int i = 0; i < 2; i++) {
		json_array_append_new(t, json_integer(5));
		json_array_append_new(count, json_integer(10 * i));
	}
	check_refused(json, "series", "an interval of no time");
	json_decref(json);
}

/* More of them than find room are counted, each of them still has to be one. */
static void more_counters_than_room(void **state)
{
	json_t *json = wire(message_result(measured)), *one, *list;
	const char *key;

	(void)state;
	list = json_object_get(json_object_get(json, "counters"), "moved");
	assert_int_equal(json_array_size(list), 2);
	one = json_array_get(list, 0);
	assert_string_equal(json_string_value(json_object_get(one, "after")),
			    "0xffffffffffffffff");
	while (json_array_size(list) < COUNTER_MOVES + 5)
		json_array_append(list, one);
	assert_int_equal(message_get_result(json, got, &key), 0);
	assert_int_equal(got->counters.count, COUNTER_MOVES);
	assert_int_equal(got->counters.more, 3 + 5);
	assert_string_equal(got->counters.move[COUNTER_MOVES - 1].name, "rcvd_seq_err");
	json_array_append_new(list, json_pack("{s:s,s:i}", "name", "x", "before", 1));
	check_refused(json, "after", "a counter without its end");
	json_array_append_new(list, json_integer(1));
	json_array_remove(list, json_array_size(list) - 2);
	check_refused(json, "name", "a counter that is none");
	json_decref(json);
}

/* The largest that can be: every bucket in use, all numbers as strings, a full series. */
static void largest_result_fits_a_frame(void **state)
{
	struct measure *m = calloc(1, sizeof(*m));
	const char *key;
	json_t *json;

	(void)state;
	assert_non_null(m);
	histogram_reset(&m->latency);
	m->latency.m.n = 0;
	for (uint32_t i = 0; i < HISTOGRAM_BUCKETS; i++) {
		m->latency.count[i] = UINT64_MAX / HISTOGRAM_BUCKETS;
		m->latency.m.n += m->latency.count[i];
	}
	m->latency.m.min = 0;
	m->latency.m.max = UINT64_MAX;
	m->latency.m.sum = UINT64_MAX;
	m->divisor = 1;
	m->latency.m.sumsq = ~(unsigned __int128)0;
	m->series.n = SERIES_MAX;
	m->series.merge = 1 << 20;
	for (uint32_t i = 0; i < SERIES_MAX; i++)
		m->series.point[i] = (struct series_point){ UINT64_MAX - SERIES_MAX + i,
							    UINT64_MAX - SERIES_MAX + i };
	m->counters.count = COUNTER_MOVES;
	for (uint32_t i = 0; i < COUNTER_MOVES; i++) {
		struct counter_move *c = &m->counters.move[i];

		memset(c->name, '"', sizeof(c->name) - 1);
		c->before = c->after = UINT64_MAX;
	}
	memset(got, 0, sizeof(*got));
	memset(m->data_fault, '"', sizeof(m->data_fault) - 1);
	json = wire(message_result(m)); /* checks the size */
	assert_int_equal(message_get_result(json, got, &key), 0);
	assert_memory_equal(m, got, sizeof(*m));
	json_decref(json);
	free(m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(not_finite),
		cmocka_unit_test(histogram_on_the_wire),
		cmocka_unit_test(histogram_must_add_up),
		cmocka_unit_test(moments_must_be_possible),
		cmocka_unit_test(window_must_not_be_negative),
		cmocka_unit_test(series_merge_is_unsigned),
		cmocka_unit_test(pace_on_the_wire),
		cmocka_unit_test(series_limits),
		cmocka_unit_test(more_counters_than_room),
		cmocka_unit_test(largest_result_fits_a_frame),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
