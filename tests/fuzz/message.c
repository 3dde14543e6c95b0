/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One message. It is refused, and the key that is named is one that it has; or it is taken, and
 * then the struct says what the text said, no more, and says it again when it is written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/fail.h"
#include "control/frame.h"
#include "fuzz.h"

/* What a message of a given size may make its reader allocate. */
#define HEAP_MAX(size) ((2U << 20) + 4 * (size))

static json_t *known; /* every key of the samples */

static void learn(const json_t *json)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach((json_t *)(uintptr_t)json, key, value) {
		json_object_set_new(known, key, json_true());
		learn(value);
	}
	json_array_foreach(json, i, value)
		learn(value);
}

static void *room_for(const struct kind *k, int fill)
{
	void *m = malloc(k->size);

	MUST(m, "out of memory");
	memset(m, fill, k->size);
	if (k->prepare)
		k->prepare(m);
	return m;
}

static void release(const struct kind *k, void *m)
{
	if (k->release)
		k->release(m);
	free(m);
}

/* Reads json into new memory that is filled with a byte; NULL when it is refused. */
static void *read_into(const struct kind *k, const json_t *json, int fill)
{
	static const char unset[] = "nothing";
	const char *key = unset;
	void *m = room_for(k, fill);
	int rc = k->decode(json, m, &key);

	MUST(rc == 0 || rc == -EBADMSG, "returned %d", rc);
	if (!rc)
		return m;
	MUST(key && key != unset, "refused without a name");
	MUST(json_object_get(known, key), "refused for '%s', which is none of its keys", key);
	release(k, m);
	return NULL;
}

static bool number_of(const json_t *json, uint64_t *value, bool *negative)
{
	json_int_t i = json_integer_value(json);
	const char *text = json_string_value(json);
	char *end;

	*negative = json_is_integer(json) && i < 0;
	*value = (uint64_t)i;
	if (json_is_integer(json))
		return true;
	if (!text || strncmp(text, "0x", 2))
		return false;
	*value = strtoull(text + 2, &end, 16);
	return !*end && strlen(text) > 2 && strlen(text) <= 18;
}

static bool same(const json_t *in, const json_t *out, const char *key);

static bool same_object(const json_t *in, const json_t *out)
{
	/* The writer says these for others to read; what is read does not depend on them. */
	static const char *const written[] = { "type", "unit", "sub_bucket_bits" };
	bool histogram = json_object_get(out, "sub_bucket_bits");
	const char *key;
	json_t *value;

	json_object_foreach((json_t *)(uintptr_t)out, key, value) {
		bool skip = histogram && (!strcmp(key, "divisor") || !strcmp(key, "low") ||
					  !strcmp(key, "count"));

		for (size_t i = 0; i < sizeof(written) / sizeof(written[0]); i++)
			skip = skip || !strcmp(key, written[i]);
		if (!skip && !same(json_object_get(in, key), value, key))
			return false;
	}
	return true;
}

static bool same_array(const json_t *in, const json_t *out, const char *key)
{
	json_t *value;
	size_t i;

	if (json_array_size(in) != json_array_size(out))
		return false;
	json_array_foreach(out, i, value)
		if (!same(json_array_get(in, i), value, key))
			return false;
	return true;
}

/*
 * A text has no control characters any more. It may have been cut, but not within a character, nor
 * by more than one character.
 */
static bool same_text(const json_t *in, const json_t *out)
{
	const char *b = json_string_value(out);
	char *a = strdup(json_string_value(in));
	size_t n = strlen(b);
	bool equal;

	MUST(a, "out of memory");
	make_harmless(a);
	equal = !strncmp(a, b, n) && (!a[n] || n + 4 >= 16);
	free(a);
	return equal;
}

/* What is not known may be left out, or have a value that no known one has. */
static bool says_nothing(const json_t *in)
{
	uint64_t value;
	bool negative;

	if (!in || json_is_null(in))
		return true;
	if (json_is_string(in) && !*json_string_value(in))
		return true;
	if (json_is_real(in))
		return json_real_value(in) <= 0;
	return number_of(in, &value, &negative) && (negative || !value);
}

/* Whether out, which was written, says what in said. */
static bool same(const json_t *in, const json_t *out, const char *key)
{
	uint64_t a, b;
	bool a_negative, b_negative;

	if (json_is_null(out))
		return says_nothing(in);
	if (json_is_object(out))
		return json_is_object(in) && same_object(in, out);
	if (json_is_array(out))
		return json_is_array(in) && same_array(in, out, key);
	/* Operations have one name each, but their case does not matter. */
	if (!strcmp(key, "op"))
		return json_is_string(in) && !strcasecmp(json_string_value(in),
							 json_string_value(out));
	/* A text may look like a number. */
	if (json_is_string(in) && json_is_string(out) && same_text(in, out))
		return true;
	if (number_of(in, &a, &a_negative) && number_of(out, &b, &b_negative))
		return a == b && a_negative == b_negative;
	if (json_is_real(out))
		return json_is_number(in) && json_number_value(in) == json_real_value(out);
	return json_equal(in, out);
}

/* As the other side gets it. */
static json_t *wire(const json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	json_t *again;

	MUST(text, "what was read cannot be written");
	MUST(strlen(text) <= FRAME_MAX, "what was read does not fit into a frame");
	again = json_loads(text, 0, NULL);
	MUST(again, "what was written is no JSON: %s", text);
	free(text);
	return again;
}

static char *text_of(const json_t *json)
{
	return json_dumps(json, JSON_COMPACT | JSON_SORT_KEYS);
}

static void check_same(const json_t *in, const json_t *out)
{
	MUST(same(in, out, ""), "read\n%s\nwrote\n%s", text_of(in), text_of(out));
}

/* m was read from json. */
static void check_taken(const struct kind *k, const json_t *json, const void *m)
{
	json_t *out = k->encode(m), *text, *twice;
	void *again, *other;

	MUST(out, "what was read cannot be encoded");
	check_same(json, out);
	text = wire(out);
	again = read_into(k, text, 0);
	MUST(again, "what was written is refused: %s", text_of(text));
	twice = k->encode(again);
	MUST(json_equal(out, twice), "wrote\n%s\nthen\n%s", text_of(out), text_of(twice));
	/* Where everything is in the struct itself, all of that is the same. */
	other = read_into(k, json, 0);
	MUST(other, "refused the second time");
	MUST(k->prepare || k->release || !memcmp(again, other, k->size),
	     "something was read that is not written");
	release(k, again);
	release(k, other);
	json_decref(twice);
	json_decref(text);
	json_decref(out);
	if (k->check)
		k->check(m);
}

static bool try_object(const struct kind *k, const json_t *json, size_t size)
{
	size_t before = heap_now().bytes, bytes;
	void *m = read_into(k, json, 0xa5);

	bytes = heap_now().bytes - before;
	MUST(bytes <= HEAP_MAX(size) + k->size, "%zu bytes made it allocate %zu", size, bytes);
	if (m) {
		check_taken(k, json, m);
		release(k, m);
	}
	return m != NULL;
}

bool message_try(const struct kind *k, const uint8_t *data, size_t size)
{
	json_t *json = json_loadb((const char *)data, size, 0, NULL);
	bool taken = json_is_object(json) && try_object(k, json, size);

	json_decref(json);
	return taken;
}

void message_begin(const struct kind *k)
{
	json_t *json;

	known = json_object();
	for (unsigned int n = 0; (json = kind_sample(k, n)); n++) {
		learn(json);
		json_decref(json);
	}
	for (unsigned int n = 0; (json = kind_sample(k, n)); n++) {
		char *text = json_dumps(json, JSON_COMPACT);

		MUST(message_try(k, (const uint8_t *)text, strlen(text)),
		     "a valid message is refused: %s", text);
		free(text);
		json_decref(json);
	}
}
