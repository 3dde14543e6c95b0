/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Messages of the control connection: each goes through its text and comes back the same. Structs
 * are cleared before they are filled, so that they can be compared whole.
 */
#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "control/fields.h"
#include "control/frame.h"
#include "control/messages.h"

#include <cmocka.h> /* late: it has a macro named fail */

#include "point_sample.h"
#include "wire.h"

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

/* A decoder with its struct, so that all kinds go through the same tests. */
struct kind {
	const char *type;
	size_t size;
	void *sample;
	json_t *(*encode)(const void *m);
	int (*decode)(const json_t *json, void *m, const char **key);
	void (*prepare)(void *m); /* of what is decoded into; may be NULL... */
	void (*settle)(void *m);  /* ...and then this makes it as the sample; with prepare */
};

#define KIND(name)                                                                       \
	static json_t *encode_##name(const void *m)                                      \
	{                                                                                \
		return message_##name(m);                                                \
	}                                                                                \
	static int decode_##name(const json_t *json, void *m, const char **key)          \
	{                                                                                \
		return message_get_##name(json, m, key);                                 \
	}

KIND(facts)
KIND(point)
KIND(accept)
KIND(endpoints)
KIND(beat)
KIND(sent)
KIND(result)

static json_t *encode_hello(const void *m)
{
	return message_greeting("HELLO", m);
}

static int decode_hello(const json_t *json, void *m, const char **key)
{
	return message_get_greeting(json, m, key);
}

static json_t *encode_abort(const void *m)
{
	return message_abort("ABORT", m);
}

static int decode_abort(const json_t *json, void *m, const char **key)
{
	return message_get_abort(json, m, key);
}

static json_t *encode_ready(const void *m)
{
	return message_ready(*(const uint64_t *)m);
}

static int decode_ready(const json_t *json, void *m, const char **key)
{
	return message_get_ready(json, m, key);
}

static const uint32_t qpns[] = { 17, 0xffffff, 0 }, psns[] = { 1, 2, UINT32_MAX };
static uint32_t qpns_read[3], psns_read[3], rkeys_read[3];

static void prepare_endpoints(void *at)
{
	struct message_endpoints *m = at;

	m->count = 3;
	m->qpn_out = qpns_read;
	m->psn_out = psns_read;
	m->rkey_out = rkeys_read;
	memset(qpns_read, 0x55, sizeof(qpns_read));
	memset(psns_read, 0x55, sizeof(psns_read));
}

/* The pointers differ, what they point to must not. */
static void settle_endpoints(void *at)
{
	struct message_endpoints *m = at;

	m->qpn_out = m->psn_out = m->rkey_out = NULL;
	m->qpn = m->rkey = qpns;
	m->psn = psns;
	assert_memory_equal(qpns_read, qpns, sizeof(qpns));
	assert_memory_equal(psns_read, psns, sizeof(psns));
	assert_memory_equal(rkeys_read, qpns, sizeof(qpns));
}

static uint64_t totals[] = { 0, 0x8000000000000001, 7 }, totals_read[COUNT_OF(totals) + 2];

static void prepare_sent(void *at)
{
	struct message_sent *m = at;

	m->count = COUNT_OF(totals_read);
	m->total = totals_read;
	memset(totals_read, 0x55, sizeof(totals_read));
}

static void settle_sent(void *at)
{
	struct message_sent *m = at;

	assert_int_equal(m->count, COUNT_OF(totals));
	assert_memory_equal(totals_read, totals, sizeof(totals));
	assert_true(totals_read[COUNT_OF(totals)] == 0x5555555555555555);
	m->total = totals;
}

static struct message_greeting hello;
static struct message_facts facts;
static struct message_point point;
static struct message_accept accepted = { .inline_size = 96, .stall_ns = (1ULL << 53) + 5 };
static struct message_endpoints endpoints = {
	.count = 3, .qpn = qpns, .psn = psns, .rkey = qpns, .address = 0xfedcba9876543210,
	.lid = 0xbfff, .cm_port = 65535, .gid = "::ffff:10.77.0.1",
};
static struct message_beat beat = {
	.phase = "OPEN", .posted = 1ULL << 53, .completed = (1ULL << 53) + 1,
	.received = UINT64_MAX,
};
static struct message_abort sorry = {
	.class = 4, .text = "completion error: \"12\"\\\xe2\x96\x88",
};
static struct message_sent sent = {
	.count = COUNT_OF(totals), .total = totals, .missed = 0xfedcba9876543210,
};
static uint64_t ready = (1ULL << 53) + 1;
static struct measure *measured;

static const struct kind kinds[] = {
	{ "HELLO", sizeof(hello), &hello, encode_hello, decode_hello, NULL, NULL },
	{ "FACTS", sizeof(facts), &facts, encode_facts, decode_facts, NULL, NULL },
	{ "POINT", sizeof(point), &point, encode_point, decode_point, NULL, NULL },
	{ "ACCEPT", sizeof(accepted), &accepted, encode_accept, decode_accept, NULL, NULL },
	{ "ENDPOINTS", sizeof(endpoints), &endpoints, encode_endpoints, decode_endpoints,
	  prepare_endpoints, settle_endpoints },
	{ "BEAT", sizeof(beat), &beat, encode_beat, decode_beat, NULL, NULL },
	{ "ABORT", sizeof(sorry), &sorry, encode_abort, decode_abort, NULL, NULL },
	{ "SENT", sizeof(sent), &sent, encode_sent, decode_sent, prepare_sent, settle_sent },
	{ "READY", sizeof(ready), &ready, encode_ready, decode_ready, NULL, NULL },
	{ "RESULT", sizeof(*measured), NULL, encode_result, decode_result, NULL, NULL },
};

static const void *sample_of(const struct kind *k)
{
	return k->sample ? k->sample : measured;
}

static void *decoded_into(const struct kind *k)
{
	void *m = calloc(1, k->size);

	assert_non_null(m);
	if (k->prepare)
		k->prepare(m);
	return m;
}

static void fill_facts(void)
{
	struct device_facts *d = &facts.device;

	TEXT(facts.host.hostname, "node-1.example");
	TEXT(facts.host.kernel, "6.1.0-18-amd64");
	TEXT(facts.host.cpu, "CPU \"X\" @ 2.4GHz");
	facts.host.cpus = 256;
	TEXT(facts.host.governor, "powersave");
	TEXT(facts.host.clocksource, "tsc");
	TEXT(facts.host.rdma_core, "44.0");
	facts.host.numa_nodes = 2;
	TEXT(facts.host.virtual_machine, "KVM");
	TEXT(d->netdev, "v0");
	TEXT(d->gid, "::ffff:10.77.0.1");
	TEXT(d->gid_why, "the local address");
	TEXT(d->why, "owns the local address");
	TEXT(d->name, "rxe0");
	d->port = 255;
	d->gid_index = 3;
	d->gid_kind = GID_ROCE_V2;
	d->lid = 1;
	d->numa_node = -1;
	d->software_device = 1;
	d->pcie_speed = 2.5;
	d->pcie_max_speed = 32;
	d->pcie_width = 8;
	d->pcie_max_width = 16;
	d->link_gbit_per_s = 400;
	TEXT(d->driver, "mlx5_core");
	TEXT(d->firmware, "16.35.2000");
	d->link_layer = LINK_LAYER_ETHERNET;
	d->caps.max_msg_sz = 1ULL << 31;
	d->caps.max_mr_size = UINT64_MAX;
	d->caps.max_qp = 1;
	d->caps.max_qp_wr = 2;
	d->caps.max_sge = 3;
	d->caps.max_cqe = 4;
	d->caps.max_rd_init = 5;
	d->caps.max_rd_res = 6;
	d->caps.atomics = UINT32_MAX;
	d->caps.active_mtu = 4096;
	TEXT(facts.asked_device, "mlx5_0");
	facts.asked_port = 2;
	facts.asked_gid_index = -1;
}

static int fill_all(void **state)
{
	(void)state;
	measured = calloc(1, sizeof(*measured));
	if (!measured)
		return -1;
	hello.major = 1;
	hello.minor = 65536;
	hello.busy = true;
	TEXT(hello.version, "0.1.0");
	TEXT(hello.auth, "none");
	fill_facts();
	point_sample(&point);
	measure_sample(measured);
	return 0;
}

static int free_all(void **state)
{
	(void)state;
	free(measured);
	return 0;
}

static void there_and_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		const struct kind *k = &kinds[i];
		json_t *json = wire(k->encode(sample_of(k)));
		const char *key = "?";
		void *m = decoded_into(k);

		assert_string_equal(message_type(json), k->type);
		if (k->decode(json, m, &key))
			fail_msg("%s: '%s' was refused", k->type, key);
		if (k->settle)
			k->settle(m);
		if (memcmp(m, sample_of(k), k->size))
			fail_msg("%s came back different", k->type);
		free(m);
		json_decref(json);
	}
}

static void simple_messages(void **state)
{
	json_t *json = wire(message_simple("WARM"));

	(void)state;
	assert_string_equal(message_type(json), "WARM");
	assert_int_equal(json_object_size(json), 1);
	json_object_set_new(json, "type", json_integer(3));
	assert_string_equal(message_type(json), "");
	json_object_del(json, "type");
	assert_string_equal(message_type(json), "");
	json_decref(json);
}

static void unknown_keys_are_ignored(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		json_t *json = wire(kinds[i].encode(sample_of(&kinds[i])));
		const char *key, *inner;
		void *m = decoded_into(&kinds[i]);
		json_t *value;

		json_object_foreach(json, inner, value)
			if (json_is_object(value))
				json_object_set_new(value, "zz_new", json_true());
		json_object_set_new(json, "zz_new", json_pack("{s:i}", "x", 1));
		assert_int_equal(kinds[i].decode(json, m, &key), 0);
		free(m);
		json_decref(json);
	}
}

/* Expects the refusal to name name, or the object that it belongs to. */
static void check_refused(const struct kind *k, const json_t *json, const char *name,
			  const char *object, const char *what)
{
	const char *key = "?";
	void *m = decoded_into(k);
	int rc = k->decode(json, m, &key);

	if (rc != -EBADMSG || (strcmp(key, name) && (!object || strcmp(key, object))))
		fail_msg("%s with %s '%s': returned %d, named '%s'", k->type, what, name, rc, key);
	free(m);
}

/* What an older version does not tell is unknown, and no reason to refuse it. */
static bool may_be_missing(const char *key)
{
	return strstr("governor clocksource rdma_core numa_nodes virtual_machine driver firmware "
		      "link_lanes software_device pcie_address pcie_max_width pcie_max_speed "
		      "link_layer link_gbit_per_s pcie_width pcie_speed", key) != NULL;
}

/* Each key of at, which is json or an object within, once missing and once of a wrong type. */
static void spoil_keys(const struct kind *k, json_t *json, json_t *at, const char *object)
{
	json_t *keys = json_deep_copy(at), *array = json_array(), *value;
	const char *key;

	json_object_foreach(keys, key, value) {
		if (!strcmp(key, "type") || !strcmp(key, "unit") ||
		    !strcmp(key, "sub_bucket_bits") || (object && !strcmp(key, "divisor")))
			continue;
		json_object_del(at, key);
		if (!may_be_missing(key))
			check_refused(k, json, key, object, "no");
		json_object_set(at, key, json_is_array(value) ? json_true() : array);
		check_refused(k, json, key, object, "a wrong");
		json_object_set(at, key, value);
		if (json_is_object(value))
			spoil_keys(k, json, json_object_get(at, key), key);
	}
	json_decref(array);
	json_decref(keys);
}

static void missing_and_wrong_keys_are_named(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		json_t *json = wire(kinds[i].encode(sample_of(&kinds[i])));

		spoil_keys(&kinds[i], json, json, NULL);
		json_decref(json);
	}
}

static void large_integers_are_strings(void **state)
{
	json_t *at = fields_u64(UINT64_C(1) << 53), *beyond = fields_u64((UINT64_C(1) << 53) + 1);

	(void)state;
	assert_true(json_is_integer(at));
	assert_string_equal(json_string_value(beyond), "0x20000000000001");
	json_decref(at);
	json_decref(beyond);
	at = wire(encode_beat(&beat));
	assert_true(json_is_integer(json_object_get(at, "posted")));
	assert_string_equal(json_string_value(json_object_get(at, "completed")),
			    "0x20000000000001");
	assert_string_equal(json_string_value(json_object_get(at, "received")),
			    "0xffffffffffffffff");
	json_decref(at);
}

static const struct kind *kind_of(const char *type)
{
	for (size_t i = 0; i < COUNT_OF(kinds); i++)
		if (!strcmp(kinds[i].type, type))
			return &kinds[i];
	fail_msg("no kind %s", type);
	return NULL;
}

static void out_of_range(void **state)
{
	static const struct {
		const char *type, *path, *value;
	} known[] = {
		{ "HELLO", "major", "-1" },
		{ "HELLO", "major", "4294967296" },
		{ "HELLO", "major", "\"1\"" },
		{ "HELLO", "major", "1.5" },
		{ "HELLO", "busy", "0" },
		{ "HELLO", "version", "1" },
		{ "FACTS", "asked_gid_index", "2147483648" },
		{ "FACTS", "asked_gid_index", "-2147483649" },
		{ "FACTS", "asked_gid_index", "\"0x1\"" },
		{ "FACTS", "device.numa_node", "4294967295" },
		{ "FACTS", "caps.max_qp", "\"0x100000000\"" },
		{ "FACTS", "caps.max_msg_sz", "-1" },
		{ "FACTS", "caps.max_rd_init", "4294967296" },
		{ "FACTS", "caps.max_rd_res", "null" },
		{ "FACTS", "caps.atomics", "true" },
		{ "POINT", "op", "\"nope\"" },
		{ "POINT", "op", "0" },
		{ "POINT", "test", "2" },
		{ "POINT", "test", "\"lat\"" },
		{ "POINT", "direction", "7" },
		{ "POINT", "mtu", "0" },
		{ "POINT", "mtu", "1500" },
		{ "POINT", "size", "0" },
		{ "POINT", "size", "1099511627777" },
		{ "POINT", "tx-depth", "0" },
		{ "POINT", "tx-depth", "16777217" },
		{ "POINT", "signal", "0" },
		{ "POINT", "batch", "0" },
		{ "POINT", "batch", "65537" },
		{ "POINT", "rx-depth", "0" },
		{ "POINT", "align", "0" },
		{ "POINT", "align", "2097153" },
		{ "POINT", "offset", "2097152" },
		{ "POINT", "hop-limit", "0" },
		{ "POINT", "hop-limit", "256" },
		{ "POINT", "tos", "257" },
		{ "POINT", "stall-timeout", "0" },
		{ "POINT", "stall-timeout", "999999" },
		{ "POINT", "inline", "65537" },
		{ "POINT", "stamp", "1048577" },
		{ "POINT", "iters", "140737488355329" },
		{ "POINT", "direction", "3" },
		{ "POINT", "direction", "\"both\"" },
		{ "POINT", "qp", "0" }, { "POINT", "burst", "0" },
		{ "POINT", "qp", "4097" },
		{ "POINT", "qp", "\"0x100000001\"" },
		{ "POINT", "outs", "256" },
		{ "POINT", "outs", "-1" },
		{ "POINT", "atomic-target", "2" },
		{ "POINT", "sends", "1" },
		{ "POINT", "takes", "\"yes\"" },
		{ "ENDPOINTS", "qpn", "[1, 2]" },
		{ "ENDPOINTS", "qpn", "[1, 2, 3, 4]" },
		{ "ENDPOINTS", "qpn", "[1, -2, 3]" },
		{ "ENDPOINTS", "psn", "[1, 2, 4294967296]" },
		{ "ENDPOINTS", "psn", "[1, 2, \"3\"]" },
		{ "ENDPOINTS", "rkey", "[4294967296, 0, 1]" },
		{ "ENDPOINTS", "cm_port", "65536" },
		{ "BEAT", "posted", "-1" },
		{ "BEAT", "phase", "null" },
		{ "SENT", "totals", "3" },
		{ "SENT", "totals", "{}" },
		{ "SENT", "totals", "[1, 2, 3, 4, 5, 6]" },
		{ "SENT", "totals", "[1, -2]" },
		{ "SENT", "totals", "[1, null]" },
		{ "SENT", "totals", "[\"0xffffffffffffffff\", 1]" },
		{ "SENT", "missed", "-1" },
		{ "SENT", "missed", "[]" },
		{ "READY", "clock_ns", "-1" },
		{ "READY", "clock_ns", "1.5" },
		{ "READY", "clock_ns", "2305843009213693952" }, /* 2^61 */
		{ "RESULT", "qp_least", "-1" },
		{ "RESULT", "qp_most", "null" },
		{ "RESULT", "missed", "true" },
		{ "RESULT", "started_ns", "\"1\"" },
		{ "RESULT", "started_ns", "2305843009213693952" },
		{ "RESULT", "divisor", "4294967296" },
		{ "RESULT", "divisor", "0" },
		{ "RESULT", "window.t1", "2305843009213693952" },
		{ "RESULT", "window.t0", "null" },
		{ "RESULT", "cpu.host_cores", "\"1\"" },
		{ "RESULT", "latency.sumsq", "\"0x1\"" },
		{ "RESULT", "latency.sumsq", "\"0x00000000000000012\"" },
		{ "RESULT", "latency.sumsq", "\"0x-0000000000000010000000000000002\"" },
		{ "RESULT", "latency.sumsq", "\"0x000000000000000100000000000000020\"" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		const struct kind *k = kind_of(known[i].type);
		json_t *json = wire(k->encode(sample_of(k)));
		char key[32];

		set_path(json, known[i].path, known[i].value, key, sizeof(key));
		check_refused(k, json, key, NULL, known[i].value);
		json_decref(json);
	}
}

/* Whoever only takes has no totals; there is room for as many as there are queue pairs. */
static void totals_by_queue_pair(void **state)
{
	struct message_sent none = { .missed = 5 }, got = { .count = 2, .total = totals_read };
	json_t *json = wire(message_sent(&none));
	const char *key = "?";

	(void)state;
	memset(totals_read, 0x55, sizeof(totals_read));
	assert_int_equal(json_array_size(json_object_get(json, "totals")), 0);
	assert_int_equal(message_get_sent(json, &got, &key), 0);
	assert_int_equal(got.count, 0);
	assert_int_equal(got.missed, 5);
	json_decref(json);

	json = wire(message_sent(&sent));
	assert_string_equal(json_string_value(json_array_get(json_object_get(json, "totals"), 1)),
			    "0x8000000000000001");
	got.count = 2; /* one too few */
	assert_int_equal(message_get_sent(json, &got, &key), -EBADMSG);
	assert_string_equal(key, "totals");
	assert_true(totals_read[2] == 0x5555555555555555);
	got.count = 3;
	assert_int_equal(message_get_sent(json, &got, &key), 0);
	assert_int_equal(got.count, 3);
	assert_memory_equal(totals_read, totals, sizeof(totals));
	json_decref(json);
}

static void texts(void **state)
{
	struct message_greeting got = { 0 };
	json_t *json = wire(encode_hello(&hello));
	const char *key;

	(void)state;
	json_object_set_new(json, "version", json_string("0123456789012345678901234567890"));
	assert_int_equal(message_get_greeting(json, &got, &key), 0);
	assert_string_equal(got.version, "01234567890123456789012"); /* 23 fit */
	json_decref(json);
	/* A host's name need not be UTF-8: it is lost, the message is not. */
	TEXT(facts.host.hostname, "caf\xe9");
	json = wire(encode_facts(&facts));
	assert_string_equal(json_string_value(json_object_get(json_object_get(json, "host"),
							      "hostname")), "?");
	json_decref(json);
	TEXT(facts.host.hostname, "node-1.example");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back),
		cmocka_unit_test(simple_messages),
		cmocka_unit_test(unknown_keys_are_ignored),
		cmocka_unit_test(missing_and_wrong_keys_are_named),
		cmocka_unit_test(large_integers_are_strings),
		cmocka_unit_test(out_of_range),
		cmocka_unit_test(totals_by_queue_pair),
		cmocka_unit_test(texts),
	};

	return cmocka_run_group_tests(tests, fill_all, free_all);
}
