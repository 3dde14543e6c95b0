/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"

#define EXACT_MAX (1ULL << 53)

json_t *fields_u64(uint64_t value)
{
	char text[24];

	if (value <= EXACT_MAX)
		return json_integer((json_int_t)value);
	snprintf(text, sizeof(text), "0x%" PRIx64, value);
	return json_string(text);
}

int fields_get_u64(const json_t *json, uint64_t *value)
{
	const char *text = json_string_value(json);

	if (json_is_integer(json) && json_integer_value(json) >= 0) {
		*value = (uint64_t)json_integer_value(json);
		return 0;
	}
	if (!text || strncmp(text, "0x", 2) || !text[2] || strlen(text) > 18 ||
	    text[2 + strspn(text + 2, "0123456789abcdefABCDEF")])
		return -EBADMSG;
	*value = strtoull(text + 2, NULL, 16);
	return 0;
}

/* Bytes of text that fit into size with a terminator, without the half of a character. */
static size_t whole_characters(const char *text, size_t size)
{
	size_t n = strnlen(text, size - 1);

	/* Bytes of a character after its first are 10xxxxxx. */
	while (n && text[n] && ((unsigned char)text[n] & 0xc0) == 0x80)
		n--;
	return n;
}

/* What was cut, and so fills its array, may end in the first bytes of a character: they go too. */
static json_t *encode_text(const char *text, size_t size)
{
	size_t n = strlen(text), lead = n;
	json_t *json = json_string(text);

	while (lead && n - lead < 3 && ((unsigned char)text[lead - 1] & 0xc0) == 0x80)
		lead--;
	if (!json && n == size - 1 && lead && (unsigned char)text[lead - 1] >= 0xc0)
		json = json_stringn(text, lead - 1);
	return json ? json : json_string("?");
}

static bool is_unknown(const struct field *f, const void *at)
{
	if (f->kind == FIELD_MAYBE_TEXT)
		return !*(const char *)at;
	if (f->kind == FIELD_MAYBE_U32)
		return !*(const uint32_t *)at;
	if (f->kind == FIELD_MAYBE_DOUBLE)
		return !(*(const double *)at > 0);
	return *(const int32_t *)at < 0;
}

static json_t *encode_known(const struct field *f, const void *at)
{
	if (f->kind == FIELD_MAYBE_TEXT)
		return encode_text(at, f->size);
	if (f->kind == FIELD_MAYBE_U32)
		return json_integer(*(const uint32_t *)at);
	if (f->kind == FIELD_MAYBE_DOUBLE)
		return json_real(*(const double *)at);
	return json_integer(*(const int32_t *)at);
}

static json_t *encode_one(const struct field *f, const void *at)
{
	double number;

	switch (f->kind) {
	case FIELD_U32:
		return json_integer(*(const uint32_t *)at);
	case FIELD_I32:
		return json_integer(*(const int32_t *)at);
	case FIELD_U64:
		return fields_u64(*(const uint64_t *)at);
	case FIELD_DOUBLE:
		number = *(const double *)at;
		return isfinite(number) ? json_real(number) : json_null();
	case FIELD_BOOL:
		return json_boolean(*(const bool *)at);
	case FIELD_TEXT:
		/* A host may have a name that is not UTF-8: it is lost, the message is not. */
		return encode_text(at, f->size);
	default:
		return is_unknown(f, at) ? json_null() : encode_known(f, at);
	}
}

json_t *fields_encode(const struct field *fields, size_t count, const void *base)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < count; i++) {
		json_object_set_new(object, fields[i].key,
				    encode_one(&fields[i], (const char *)base + fields[i].offset));
	}
	return object;
}

static int decode_number(const struct field *f, const json_t *json, void *at)
{
	uint64_t value;

	if (f->kind == FIELD_I32) {
		json_int_t i = json_integer_value(json);

		if (!json_is_integer(json) || i < INT32_MIN || i > INT32_MAX)
			return -EBADMSG;
		*(int32_t *)at = (int32_t)i;
		return 0;
	}
	if (fields_get_u64(json, &value) || (f->kind == FIELD_U32 && value > UINT32_MAX))
		return -EBADMSG;
	if (f->kind == FIELD_U32)
		*(uint32_t *)at = (uint32_t)value;
	else
		*(uint64_t *)at = value;
	return 0;
}

static int decode_text(const struct field *f, const json_t *json, char *at)
{
	const char *text = json_string_value(json);
	size_t n;

	if (!text)
		return -EBADMSG;
	n = whole_characters(text, f->size);
	memcpy(at, text, n);
	at[n] = '\0';
	make_harmless(at); /* it may be printed anywhere */
	return 0;
}

static int decode_one(const struct field *f, const json_t *json, void *at);

static void set_unknown(const struct field *f, void *at)
{
	if (f->kind == FIELD_MAYBE_TEXT)
		*(char *)at = '\0';
	else if (f->kind == FIELD_MAYBE_DOUBLE)
		*(double *)at = 0;
	else
		*(int32_t *)at = f->kind == FIELD_MAYBE_U32 ? 0 : -1;
}

static int decode_maybe(const struct field *f, const json_t *json, void *at)
{
	static const enum field_kind known[] = {
		[FIELD_MAYBE_U32] = FIELD_U32, [FIELD_MAYBE_I32] = FIELD_I32,
		[FIELD_MAYBE_DOUBLE] = FIELD_DOUBLE, [FIELD_MAYBE_TEXT] = FIELD_TEXT,
	};
	const struct field as = { f->key, f->offset, f->size, known[f->kind] };
	int rc = decode_one(&as, json, at);

	/* A value that no known one has: there is one way to say so. */
	if (!rc && is_unknown(f, at))
		set_unknown(f, at);
	return rc;
}

static int decode_one(const struct field *f, const json_t *json, void *at)
{
	if (f->kind >= FIELD_MAYBE_U32 && (!json || json_is_null(json))) {
		set_unknown(f, at);
		return 0;
	}
	switch (f->kind) {
	case FIELD_DOUBLE:
		if (!json_is_number(json) && !json_is_null(json))
			return -EBADMSG;
		*(double *)at = json_is_null(json) ? NAN : json_number_value(json);
		return 0;
	case FIELD_BOOL:
		if (!json_is_boolean(json))
			return -EBADMSG;
		*(bool *)at = json_is_true(json);
		return 0;
	case FIELD_TEXT:
		return decode_text(f, json, at);
	case FIELD_U32:
	case FIELD_I32:
	case FIELD_U64:
		return decode_number(f, json, at);
	default:
		return decode_maybe(f, json, at);
	}
}

int fields_decode(const struct field *fields, size_t count, const json_t *object, void *base,
		  const char **key)
{
	for (size_t i = 0; i < count; i++) {
		*key = fields[i].key;
		if (decode_one(&fields[i], json_object_get(object, fields[i].key),
			       (char *)base + fields[i].offset))
			return -EBADMSG;
	}
	return 0;
}

int fields_decode_inner(const struct field *fields, size_t count, const json_t *object,
			const char *name, void *base, const char **key)
{
	const json_t *inner = json_object_get(object, name);

	*key = name;
	return json_is_object(inner) ? fields_decode(fields, count, inner, base, key) : -EBADMSG;
}
