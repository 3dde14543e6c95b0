/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Structs <-> JSON objects by a table of fields, so that no message is packed by hand. Integers
 * beyond 2^53 travel as hexadecimal strings, since many readers of JSON keep only doubles. A NaN
 * travels as null. Unknown keys are ignored, missing ones are refused by name.
 */
#ifndef RDMETER_CONTROL_FIELDS_H
#define RDMETER_CONTROL_FIELDS_H

#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

enum field_kind {
	FIELD_U32,
	FIELD_I32,
	FIELD_U64,
	FIELD_DOUBLE,
	FIELD_BOOL,
	/* A char array; too long a string is cut between characters, and what would steer a
	 * terminal becomes '?'. */
	FIELD_TEXT,
	/* Facts that may be unknown: null, and absent when an older version tells them. */
	FIELD_MAYBE_U32,  /* 0 is not known */
	FIELD_MAYBE_I32,  /* -1 is not known */
	FIELD_MAYBE_DOUBLE, /* 0 is not known */
	FIELD_MAYBE_TEXT, /* empty is not known */
};

struct field {
	const char *key;
	size_t offset, size;
	enum field_kind kind;
};

#define FIELD(type, member, kind_)                                                      \
	{                                                                               \
		#member, offsetof(type, member), sizeof(((type *)0)->member), FIELD_##kind_ \
	}

/* The same under another key. */
#define FIELD_AS(type, member, kind_, key_)                                             \
	{                                                                               \
		key_, offsetof(type, member), sizeof(((type *)0)->member), FIELD_##kind_ \
	}

/* A new object of the fields of base; NULL when out of memory. */
json_t *fields_encode(const struct field *fields, size_t count, const void *base);

/* Fills base's fields from object. 0, or -EBADMSG with *key the one that is missing or wrong. */
int fields_decode(const struct field *fields, size_t count, const json_t *object, void *base,
		  const char **key);

/* The same from the object that object has under name; *key is name when there is none. */
int fields_decode_inner(const struct field *fields, size_t count, const json_t *object,
			const char *name, void *base, const char **key);

json_t *fields_u64(uint64_t value);

/* 0, or -EBADMSG when json is not an unsigned integer in either form. */
int fields_get_u64(const json_t *json, uint64_t *value);

#endif
