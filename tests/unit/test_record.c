/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rows of results as JSON and back: nothing of what is printed gets lost. */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "report/document.h"
#include "report/record.h"
#include "report/sides.h"
#include "stats/series.h"
#include "text_fixture.h"

#include <cmocka.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static void fill_lat(struct fixture *f)
{
	plan(f, "--op write --test lat -s 64 -D 2");
	fill_measure(&f->client, 2001, 2 * SECOND);
	fill_measure(&f->server, 2001, 2 * SECOND);
	f->server.receiver = true;
	f->client.divisor = 2;
	for (uint64_t i = 0; i < 2000; i++)
		histogram_record(&f->client.latency, 20000 + i);
	histogram_record(&f->client.latency, UINT64_C(1) << 60);
}

static void fill_series(struct measure *m, uint64_t count)
{
	series_start(&m->series, m->window.t0, 20);
	series_add(&m->series, m->window.t0 + SECOND / 2, 20 + count / 4);
	series_close(&m->series, m->window.t1, 20 + count);
}

static void fill_both(struct fixture *f)
{
	plan(f, "--op send_imm --test bw -s 4096 -n 100000 -q 2 -b");
	fill_measure(&f->client, 200000, SECOND);
	fill_measure(&f->server, 190000, SECOND);
	fill_series(&f->client, 200000);
	fill_series(&f->server, 190000);
	f->client.receiver = f->server.receiver = true;
	f->client.started_ns = (UINT64_C(1) << 61) - 1;
	f->server.started_ns = 17;
	f->client.qp_least = 99000;
	f->client.qp_most = 101000;
	f->client.missed = 3;
	f->client.cpu.host_cores = 1.0 / 3;
	TEXT(f->server.data_fault, "first in slot 1");
	f->server.data_errors = UINT64_MAX;
	f->result.clock_offset_ns = -123456789;
	f->result.clock_drift_ppm = 0.1;
	f->result.side[SIDE_SERVER].inline_size = 220;
	f->result.side[SIDE_SERVER].outstanding = 16;
	f->client.thread_node = -1;
	f->server.thread_node = 1;
	f->server.threads = 2;
	f->server.thread[0] = (struct measure_thread){ 5, 1, 0, SECOND, 90000 };
	f->server.thread[1] = (struct measure_thread){ -1, -1, 3, UINT64_C(1) << 60, UINT64_MAX };
	f->server.counters = (struct counter_moves){
		.valid = true, .more = 3, .count = 2,
		.move = { { "out_of_sequence", 5, UINT64_MAX }, { "port_rcv_data", 7, 0 } },
	};
}

/* A write's target moves nothing, and takes no CPU time that is known. */
static void fill_target(struct fixture *f)
{
	plan(f, "--op write --test bw -s 1000 -D 0 --stamp off --direction in --mtu 1024");
	fill_measure(&f->server, 1000, SECOND);
	f->client.divisor = 1;
	TEXT(f->client.clock, "tsc");
	f->result.interrupted = true;
	f->result.row = 7;
	f->result.ends_line = true;
	f->result.resumed = true;
}

static void fill_failed(struct fixture *f)
{
	plan(f, "--op cas --test bw --atomic-target shared -n 7");
	f->result.side[SIDE_CLIENT].measure = NULL;
	f->result.side[SIDE_SERVER].measure = NULL;
	f->result.failed = "cas failed: \"retry\" exceeded";
}

static void fill_partial(struct fixture *f)
{
	fill_target(f);
	f->server.opened = f->server.closed = false;
	f->server.window = (struct window){ 0 };
	f->result.failed = "the peer has gone";
}

/* By schedule, at a rate of more digits than a double keeps: 1,000 responses, ever later. */
static void fill_paced(struct fixture *f)
{
	plan(f, "--op read --test lat -s 3 -n 1000 --rate 1Gb/s");
	fill_measure(&f->client, 1000, SECOND / 10);
	f->result.side[SIDE_SERVER].measure = NULL;
	f->client.pace.active = true;
	f->client.pace.backlog = 499;
	f->client.pace.kept = 1.0 / 3;
	histogram_reset(&f->client.pace.response);
	histogram_reset(&f->client.pace.lateness);
	for (uint64_t i = 0; i < 1000; i++) {
		histogram_record(&f->client.latency, 20000);
		histogram_record(&f->client.pace.lateness, 10000 * i);
		histogram_record(&f->client.pace.response, 10000 * i + 20000);
	}
}

/* What is not stamped has no response; a schedule of random arrivals. */
static void fill_unstamped(struct fixture *f)
{
	plan(f, "--op write --test bw -s 64 -n 1000 --rate 0.5 --arrival poisson --stamp off "
	     "--stall-timeout 100");
	fill_measure(&f->client, 1000, 2000 * SECOND);
	f->result.side[SIDE_SERVER].measure = NULL;
	f->client.pace.active = true;
	f->client.pace.kept = 1;
	histogram_reset(&f->client.pace.response);
	histogram_reset(&f->client.pace.lateness);
	histogram_record(&f->client.pace.lateness, 0);
}

static void (*const fills[])(struct fixture *f) = {
	fill_lat, fill_both, fill_target, fill_failed, fill_partial, fill_paced, fill_unstamped,
};

/* Through text, as a file is. */
static json_t *reread(json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	json_t *read = json_loads(text, JSON_REJECT_DUPLICATES, NULL);

	assert_non_null(read);
	free(text);
	json_decref(json);
	return read;
}

static struct record *take(const json_t *json)
{
	struct record *record = malloc(sizeof(*record));
	const char *key = "?";

	assert_non_null(record);
	if (record_decode(json, record, &key))
		fail_msg("refused for %s", key);
	return record;
}

static void same_point(const struct point *a, const struct point *b)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct setting *x = point_setting_const(a, &option_rows[i]);
		const struct setting *y = point_setting_const(b, &option_rows[i]);

		if (x && (x->value != y->value || strcmp(x->why, y->why)))
			fail_msg("%s: %llu (%s), was %llu (%s)", option_rows[i].name,
				 (unsigned long long)y->value, y->why,
				 (unsigned long long)x->value, x->why);
	}
	assert_true(point_config_id(a) == point_config_id(b));
}

static void same_measure(const struct measure *a, const struct measure *b)
{
	assert_int_equal(!a, !b);
	if (!a)
		return;
	assert_memory_equal(&a->latency, &b->latency, sizeof(a->latency));
	assert_memory_equal(a->series.point, b->series.point,
			    a->series.n * sizeof(a->series.point[0]));
	assert_memory_equal(&a->window, &b->window, sizeof(a->window));
	assert_int_equal(a->opened, b->opened);
	assert_int_equal(a->active, b->active);
	assert_int_equal(a->cpu.valid, b->cpu.valid);
	assert_true(a->cpu.host_cores == b->cpu.host_cores);
	assert_true(a->started_ns == b->started_ns && a->missed == b->missed);
	assert_true(a->data_errors == b->data_errors && a->qp_most == b->qp_most);
	assert_string_equal(a->data_fault, b->data_fault);
	assert_int_equal(a->thread_node, b->thread_node);
	assert_int_equal(a->threads, b->threads);
	assert_memory_equal(a->thread, b->thread, a->threads * sizeof(a->thread[0]));
	assert_int_equal(a->counters.valid, b->counters.valid);
	assert_int_equal(a->counters.more, b->counters.more);
	assert_int_equal(a->counters.count, b->counters.count);
	for (uint32_t i = 0; i < a->counters.count; i++) {
		const struct counter_move *x = &a->counters.move[i], *y = &b->counters.move[i];

		assert_string_equal(x->name, y->name);
		assert_true(x->before == y->before && x->after == y->after);
	}
	assert_int_equal(a->pace.active, b->pace.active);
	if (a->pace.active)
		assert_memory_equal(&a->pace, &b->pace, sizeof(a->pace));
	assert_string_equal(a->clock, b->clock);
	assert_int_equal(a->divisor, b->divisor);
}

static void round_trip(void **state)
{
	for (size_t i = 0; i < COUNT_OF(fills); i++) {
		struct fixture *f;
		struct record *record;
		json_t *json, *again;
		const struct result *a, *b;

		close_fixture(state);
		assert_int_equal(open_fixture(state), 0);
		f = *state;
		fills[i](f);
		json = reread(record_encode(&f->result));
		record = take(json);
		a = &f->result;
		b = &record->result;
		same_point(&a->point, &b->point);
		for (int side = 0; side < SIDES; side++) {
			same_measure(a->side[side].measure, b->side[side].measure);
			assert_int_equal(a->side[side].inline_size, b->side[side].inline_size);
			assert_int_equal(a->side[side].outstanding, b->side[side].outstanding);
		}
		assert_true(a->clock_offset_ns == b->clock_offset_ns);
		assert_true(a->clock_drift_ppm == b->clock_drift_ppm);
		assert_int_equal(a->interrupted, b->interrupted);
		assert_int_equal(a->ends_line, b->ends_line);
		assert_int_equal(a->resumed, b->resumed);
		assert_int_equal(a->row, b->row);
		assert_int_equal(record_status(a), record_status(b));
		assert_string_equal(a->failed ? a->failed : "", b->failed ? b->failed : "");
		for (int side = 0; side < SIDES; side++) { /* a document has them once */
			record->result.side[side].host = a->side[side].host;
			record->result.side[side].device = a->side[side].device;
		}
		again = record_encode(b);
		assert_true(json_equal(json, again));
		json_decref(again);
		json_decref(json);
		free(record);
	}
}

static void ends_round_trip(void **state)
{
	struct fixture *f = *state;
	struct side *s = &f->result.side[SIDE_CLIENT], back = { 0 };
	json_t *json, *again, *device;
	const char *key;

	TEXT(s->host.governor, "powersave");
	TEXT(s->device.driver, "mlx5_core");
	s->device.link_layer = LINK_LAYER_ETHERNET;
	s->device.link_gbit_per_s = 100;
	s->device.pcie_speed = 2.5;
	s->device.caps.max_mr_size = UINT64_MAX;
	s->device.caps.atomics = 1;
	json = reread(end_encode(s));
	device = json_object_get(json, "device");
	assert_int_equal(end_decode(json, &back, &key), 0);
	again = end_encode(&back);
	assert_true(json_equal(json, again));
	json_decref(again);
	assert_string_equal(back.host.governor, "powersave");
	assert_int_equal(back.device.gid_kind, GID_ROCE_V2);
	assert_true(back.device.caps.max_mr_size == UINT64_MAX);
	assert_true(back.device.pcie_speed == 2.5);
	assert_true(json_real_value(json_object_get(device, "link_bit_per_s")) == 100e9);
	assert_true(json_real_value(json_object_get(device, "pcie_transfers_per_s")) == 2.5e9);
	/* What nothing is known of. */
	assert_true(json_is_null(json_object_get(device, "pcie_max_transfers_per_s")));
	assert_true(json_is_null(json_object_get(device, "firmware")));
	assert_true(json_is_null(json_object_get(device, "numa_node")));
	assert_int_equal(back.device.numa_node, -1);
	json_decref(json);
}

static double flow_number(const json_t *row, size_t flow, const char *key)
{
	const json_t *value = json_object_get(json_array_get(json_object_get(row, "flows"), flow),
					      key);

	assert_true(json_is_number(value) || json_is_null(value));
	return json_is_null(value) ? NAN : json_number_value(value);
}

/*
 * 200,000 messages of 4,096 B that came to the client in a second, 190,000 to the server. The
 * quarter of them came in the first half, so that the slowest interval has 95,000 messages/s.
 */
static void si_units(void **state)
{
	struct fixture *f = *state;
	json_t *row;

	fill_both(f);
	row = record_encode(&f->result);
	assert_int_equal(json_array_size(json_object_get(row, "flows")), 2);
	assert_true(flow_number(row, 0, "msg_per_s") == 190000);
	assert_true(flow_number(row, 1, "msg_per_s") == 200000);
	assert_true(flow_number(row, 0, "bw_bytes_per_s") == 190000.0 * 4096);
	assert_true(flow_number(row, 0, "bw_bit_per_s") == 190000.0 * 4096 * 8);
	assert_true(flow_number(row, 0, "interval_min_bytes_per_s") == 95000.0 * 4096);
	assert_true(isnan(flow_number(row, 0, "stamped_p50_ns")));
	json_decref(row);
	close_fixture(state);
	open_fixture(state);
	f = *state;
	fill_lat(f);
	row = record_encode(&f->result);
	assert_int_equal(json_array_size(json_object_get(row, "flows")), 1);
	assert_true(flow_number(row, 0, "lat_min_ns") == 10000);
	assert_true(flow_number(row, 0, "lat_p50_ns") == 10559.5);
	assert_true(isnan(flow_number(row, 0, "lat_p99.9_ns")));
	assert_null(json_object_get(json_array_get(json_object_get(row, "flows"), 0),
				    "msg_per_s"));
	json_decref(row);
}

/* The rate as a user gave it, without one null; times of a schedule whole. */
static void schedules(void **state)
{
	struct fixture *f = *state;
	json_t *row, *rate;

	fill_paced(f);
	row = record_encode(&f->result);
	rate = json_object_get(json_object_get(row, "config"), "rate_msg_per_s");
	assert_true(json_number_value(json_object_get(rate, "value")) == 41666666.6666667);
	assert_string_equal(json_string_value(json_object_get(rate, "reason")), "1Gb/s");
	assert_true(flow_number(row, 0, "responses") == 1000);
	assert_true(flow_number(row, 0, "response_min_ns") == 20000);
	assert_true(flow_number(row, 0, "response_max_ns") == 10010000);
	assert_true(flow_number(row, 0, "response_mean_ns") == 5015000);
	assert_true(flow_number(row, 0, "late_max_ns") == 9990000);
	assert_true(flow_number(row, 0, "rate_asked_per_s") == 41666666.6666667);
	assert_true(flow_number(row, 0, "rate_achieved_per_s") == 10000);
	assert_true(flow_number(row, 0, "backlog") == 499);
	json_decref(row);
	close_fixture(state);
	open_fixture(state);
	f = *state;
	fill_lat(f);
	row = record_encode(&f->result);
	rate = json_object_get(json_object_get(row, "config"), "rate_msg_per_s");
	assert_true(json_is_null(json_object_get(rate, "value")));
	assert_true(json_is_null(json_object_get(json_object_get(row, "client"), "pace")));
	assert_true(isnan(flow_number(row, 0, "response_p50_ns")));
	assert_true(isnan(flow_number(row, 0, "rate_achieved_per_s")));
	json_decref(row);
}

/* Each key of a row once missing: it is named, and nothing is made up for it. */
static void missing_keys(void **state)
{
	static const struct {
		const char *in, *key, *named;
	} known[] = {
		{ NULL, "index", "index" },
		{ NULL, "status", "index" },
		{ NULL, "config", "op" },
		{ NULL, "client", "active" },
		{ NULL, "inline_granted_bytes", "inline_granted_bytes" },
		{ "config", "size_bytes", "size" },
		{ "config", "test", "test" },
		{ "client", "clock", "clock" },
		{ "client", "messages", "messages" },
		{ "client", "lat_divisor", "lat_divisor" },
	};
	struct fixture *f = *state;
	struct record *record = malloc(sizeof(*record));

	fill_lat(f);
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		json_t *row = record_encode(&f->result);
		json_t *in = known[i].in ? json_object_get(row, known[i].in) : row;
		const char *key = "?";

		json_object_del(in, known[i].key);
		if (record_decode(row, record, &key) != -EBADMSG || strcmp(key, known[i].named))
			fail_msg("without %s: named %s", known[i].key, key);
		json_decref(row);
	}
	free(record);
}

static void wrong_values(void **state)
{
	static const struct {
		const char *setting, *value;
	} known[] = {
		{ "op", "\"nope\"" }, { "op", "0" }, { "test", "\"x\"" }, { "test", "1" },
		{ "direction", "7" }, { "size_bytes", "-1" }, { "size_bytes", "\"64\"" },
		{ "rate_msg_per_s", "\"1k\"" }, { "rate_msg_per_s", "-1" },
		{ "rate_msg_per_s", "1e30" }, { "size_bytes", "null" }, { "size_bytes", "0" }, { "mtu_bytes", "true" },
	};
	struct fixture *f = *state;
	struct record *record = malloc(sizeof(*record));

	fill_lat(f);
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		json_t *row = record_encode(&f->result);
		json_t *setting = json_object_get(json_object_get(row, "config"),
						  known[i].setting);
		const char *key;

		json_object_set_new(setting, "value",
				    json_loads(known[i].value, JSON_DECODE_ANY, NULL));
		if (record_decode(row, record, &key) != -EBADMSG)
			fail_msg("%s %s was taken", known[i].setting, known[i].value);
		json_decref(row);
	}
	free(record);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(round_trip),   TEST(ends_round_trip), TEST(si_units),
		TEST(schedules),
		TEST(missing_keys), TEST(wrong_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
