/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Numbers on the control connection: what is one, and what is none. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "control/fields.h"

#include <cmocka.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static void integers(void **state)
{
	static const struct {
		const char *json;
		int rc;
		uint64_t value;
	} known[] = {
		{ "0", 0, 0 },
		{ "9007199254740992", 0, UINT64_C(1) << 53 },
		{ "9007199254740993", 0, (UINT64_C(1) << 53) + 1 },
		{ "\"0x0\"", 0, 0 },
		{ "\"0x20000000000001\"", 0, (UINT64_C(1) << 53) + 1 },
		{ "\"0xffffffffffffffff\"", 0, UINT64_MAX },
		{ "\"0xFF\"", 0, 255 },
		{ "-1", -EBADMSG, 0 },
		{ "1.0", -EBADMSG, 0 },
		{ "true", -EBADMSG, 0 },
		{ "null", -EBADMSG, 0 },
		{ "[1]", -EBADMSG, 0 },
		{ "\"\"", -EBADMSG, 0 },
		{ "\"16\"", -EBADMSG, 0 },
		{ "\"0x\"", -EBADMSG, 0 },
		{ "\"0xg\"", -EBADMSG, 0 },
		{ "\"0x1 \"", -EBADMSG, 0 },
		{ "\"0x 1\"", -EBADMSG, 0 },
		{ "\"0x\\t1\"", -EBADMSG, 0 },
		{ "\"0x-1\"", -EBADMSG, 0 },
		{ "\"0x+1\"", -EBADMSG, 0 },
		{ "\"0x0x1\"", -EBADMSG, 0 },
		{ "\"0X1\"", -EBADMSG, 0 },
		{ "\"-0x1\"", -EBADMSG, 0 },
		{ "\"0x10000000000000000\"", -EBADMSG, 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		json_t *json = json_loads(known[i].json, JSON_DECODE_ANY, NULL);
		uint64_t v = 0;
		int rc = fields_get_u64(json, &v);

		if (!json || rc != known[i].rc || (!rc && v != known[i].value))
			fail_msg("%s: returned %d", known[i].json, rc);
		json_decref(json);
	}
}

/* A text that is cut keeps whole characters, and can be sent on; each of those fills 7 bytes. */
static void cut_between_characters(void **state)
{
	struct text {
		char t[8], next;
	} s;
	static const struct field fields[] = { FIELD(struct text, t, TEXT) };
	static const struct {
		const char *sent, *kept;
	} known[] = {
		{ "1234567", "1234567" },
		{ "12345678", "1234567" },
		{ "123456\xc3\xa9", "123456" },
		{ "12345\xc3\xa9", "12345\xc3\xa9" },
		{ "12345\xc3\xa9\xc3\xa9", "12345\xc3\xa9" },
		{ "12345\xe2\x96\x88", "12345" },
		{ "1234\xf0\x9f\x98\x80", "1234" },
		{ "123\xf0\x9f\x98\x80", "123\xf0\x9f\x98\x80" },
	};
	const char *key;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		json_t *json = json_pack("{s:s}", "t", known[i].sent);

		memset(&s, 0x55, sizeof(s));
		assert_int_equal(fields_decode(fields, 1, json, &s, &key), 0);
		assert_string_equal(s.t, known[i].kept);
		assert_int_equal(s.next, 0x55);
		json_decref(json);
		/* And what this side has cut itself is not lost for its last character. */
		memcpy(s.t, known[i].sent, 7);
		s.t[7] = '\0';
		json = fields_encode(fields, 1, &s);
		assert_string_equal(json_string_value(json_object_get(json, "t")), known[i].kept);
		json_decref(json);
	}
}

/* Whatever a peer calls itself may be printed, so it must not steer a terminal. */
static void texts_are_harmless(void **state)
{
	static const struct {
		const char *json, *text;
	} known[] = {
		{ "{\"name\": \"node-1\"}", "node-1" },
		{ "{\"name\": \"a\\u001b[2Jb\"}", "a?[2Jb" },
		{ "{\"name\": \"\\n\\r\\t\\u007f\"}", "????" },
		{ "{\"name\": \"\\u009b2J\\u0080\\u009f\"}", "??2J????" },
		{ "{\"name\": \"\\u00a0\\u00e9\"}", "\xc2\xa0\xc3\xa9" },
		{ "{\"name\": \"12345678901\\u009b\"}", "12345678901" }, /* 11 fit */
	};
	struct named {
		char name[12];
	} got;
	static const struct field fields[] = { FIELD(struct named, name, TEXT) };
	const char *key;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		json_t *json = json_loads(known[i].json, 0, NULL);

		assert_non_null(json);
		assert_int_equal(fields_decode(fields, 1, json, &got, &key), 0);
		assert_string_equal(got.name, known[i].text);
		json_decref(json);
	}
}

struct facts {
	uint32_t lanes;
	int32_t node;
	double speed;
	char driver[8];
};

static const struct field facts_fields[] = {
	FIELD(struct facts, lanes, MAYBE_U32),
	FIELD(struct facts, node, MAYBE_I32),
	FIELD_AS(struct facts, speed, MAYBE_DOUBLE, "gt_per_s"),
	FIELD(struct facts, driver, MAYBE_TEXT),
};

static void expect_facts(const struct facts *f, const char *text)
{
	json_t *json = fields_encode(facts_fields, COUNT_OF(facts_fields), f);
	char *dumped = json_dumps(json, JSON_COMPACT);

	assert_string_equal(dumped, text);
	free(dumped);
	json_decref(json);
}

static int take_facts(const char *text, struct facts *f, const char **key)
{
	json_t *json = json_loads(text, 0, NULL);
	int rc;

	assert_non_null(json);
	memset(f, 0x55, sizeof(*f));
	rc = fields_decode(facts_fields, COUNT_OF(facts_fields), json, f, key);
	json_decref(json);
	return rc;
}

static void what_is_not_known_is_null(void **state)
{
	static const char nothing[] =
		"{\"lanes\":null,\"node\":null,\"gt_per_s\":null,\"driver\":null}";
	static const char all[] =
		"{\"lanes\":4,\"node\":0,\"gt_per_s\":2.5,\"driver\":\"siw\"}";
	const char *absent[] = { nothing, "{}" };
	const char *key;
	struct facts f;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(absent); i++) {
		assert_int_equal(take_facts(absent[i], &f, &key), 0);
		expect_facts(&f, nothing);
		assert_int_equal(f.lanes, 0);
		assert_int_equal(f.node, -1);
		assert_true(f.speed == 0);
		assert_string_equal(f.driver, "");
	}
	assert_int_equal(take_facts(all, &f, &key), 0);
	assert_int_equal(f.lanes, 4);
	assert_int_equal(f.node, 0);
	assert_true(f.speed == 2.5);
	expect_facts(&f, all);
	assert_int_equal(take_facts("{\"gt_per_s\":true}", &f, &key), -EBADMSG);
	assert_string_equal(key, "gt_per_s");
	assert_int_equal(take_facts("{\"lanes\":-1}", &f, &key), -EBADMSG);
	assert_int_equal(take_facts("{\"node\":true}", &f, &key), -EBADMSG);
	assert_int_equal(take_facts("{\"driver\":0}", &f, &key), -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cut_between_characters),
		cmocka_unit_test(texts_are_harmless),
		cmocka_unit_test(what_is_not_known_is_null),
		cmocka_unit_test(integers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
