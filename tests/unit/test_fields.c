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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(integers),
		cmocka_unit_test(cut_between_characters),
		cmocka_unit_test(texts_are_harmless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
