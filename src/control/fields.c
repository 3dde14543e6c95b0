/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
		return json_string(at);
	}
	return NULL;
}

json_t *fields_encode(const struct field *fields, size_t count, const void *base)
{
	json_t *object = json_object();

	for (size_t i = 0; object && i < count; i++) {
		json_t *value = encode_one(&fields[i], (const char *)base + fields[i].offset);

		/* A host may have a name that is not UTF-8: it is lost, the message is not. */
		if (!value && fields[i].kind == FIELD_TEXT)
			value = json_string("?");
		json_object_set_new(object, fields[i].key, value);
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

static int decode_one(const struct field *f, const json_t *json, void *at)
{
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
		if (!json_is_string(json))
			return -EBADMSG;
		snprintf(at, f->size, "%s", json_string_value(json));
		return 0;
	default:
		return decode_number(f, json, at);
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
