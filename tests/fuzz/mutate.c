/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bytes that are changed at random are hardly ever JSON, and what reads the messages sees objects
 * only. So most changes are made to the object: a value replaced, dropped, multiplied or swapped.
 */
#include <stdlib.h>
#include <string.h>

#include "fuzz.h"

#define PLACES_MAX 2048
#define COPIES_MAX 4096

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);

/* Where a value is: under a key of an object, or in an array. */
struct place {
	json_t *parent;
	const char *key; /* NULL: an array's */
	size_t index;
};

struct places {
	struct place at[PLACES_MAX];
	size_t count;
	unsigned int random;
};

static unsigned int draw(struct places *p, unsigned int below)
{
	p->random = p->random * 1103515245 + 12345;
	return (p->random >> 8) % below;
}

static void collect(struct places *p, json_t *json)
{
	const char *key;
	json_t *value;
	size_t i;

	json_object_foreach(json, key, value) {
		if (p->count == PLACES_MAX)
			return;
		p->at[p->count++] = (struct place){ json, key, 0 };
		collect(p, value);
	}
	json_array_foreach(json, i, value) {
		if (p->count == PLACES_MAX)
			return;
		p->at[p->count++] = (struct place){ json, NULL, i };
		collect(p, value);
	}
}

static json_t *value_at(const struct place *at)
{
	return at->key ? json_object_get(at->parent, at->key) :
			 json_array_get(at->parent, at->index);
}

static void put(const struct place *at, json_t *value)
{
	if (!value)
		return;
	if (at->key)
		json_object_set_new(at->parent, at->key, value);
	else
		json_array_set_new(at->parent, at->index, value);
}

/* The edges of every type and range. */
static void put_edge(struct places *p, const struct place *at)
{
	static const char *const edges[] = {
		"0", "1", "-1", "2", "7", "64", "127", "255", "256", "1024", "1025", "4096",
		"2147483647", "2147483648", "-2147483648", "-2147483649", "4294967295",
		"4294967296", "4294967297", "9007199254740992", "9007199254740993",
		"9223372036854775807", "-9223372036854775808", "\"0x20000000000001\"",
		"\"0xffffffffffffffff\"", "\"0x10000000000000000\"", "\"0x8000000000000000\"",
		"\"0x0\"", "\"0x\"", "\"0xg\"", "0.5", "-0.0", "1e308", "-1e-308", "null", "true",
		"false", "\"\"", "[]", "{}", "[[]]", "[0]", "\"x\"", "\"\\n\\u001b[2J\"",
		"\"\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\\u00e9\"",
	};

	put(at, json_loads(edges[draw(p, sizeof(edges) / sizeof(edges[0]))], JSON_DECODE_ANY,
			   NULL));
}

/* Texts around every buffer's size, of characters of one to four bytes. */
static void put_text(struct places *p, const struct place *at)
{
	static const char *const characters[] = { "a", "\xc3\xa9", "\xe2\x96\x88",
						  "\xf0\x9f\x98\x80", " ", "\x7f" };
	static const unsigned int sizes[] = { 16, 20, 24, 48, 64, 72, 80, 96, 128, 512 };
	const char *c = characters[draw(p, 6)];
	unsigned int size = sizes[draw(p, sizeof(sizes) / sizeof(sizes[0]))] + 4 - draw(p, 8);
	char text[600];
	size_t n = 0;

	for (; draw(p, 3) == 0; n++)
		text[n] = 'b';
	for (; n + strlen(c) <= size; n += strlen(c))
		memcpy(text + n, c, strlen(c));
	put(at, json_stringn(text, n));
}

static void change_number(struct places *p, const struct place *at)
{
	uint64_t value = (uint64_t)json_integer_value(value_at(at));

	if (draw(p, 2))
		value += draw(p, 9) - UINT64_C(4);
	else
		value = (UINT64_C(1) << draw(p, 64)) - draw(p, 3);
	put(at, json_integer((json_int_t)value));
}

static void multiply(struct places *p, const struct place *at)
{
	json_t *array = at->key ? value_at(at) : at->parent;
	unsigned int copies = draw(p, 8) ? 1 + draw(p, 4) : draw(p, COPIES_MAX);
	json_t *one = json_array_get(array, at->key ? 0 : at->index);
	json_t *value = one ? json_deep_copy(one) : json_integer(0);

	for (unsigned int i = 0; json_is_array(array) && i < copies; i++)
		json_array_append(array, value);
	json_decref(value);
}

static void drop(struct places *p, const struct place *at)
{
	(void)p;
	if (at->key)
		json_object_del(at->parent, at->key);
	else
		json_array_remove(at->parent, at->index);
}

static void copy_other(struct places *p, const struct place *at)
{
	put(at, json_deep_copy(value_at(&p->at[draw(p, (unsigned int)p->count)])));
}

static void change_one(struct places *p)
{
	static void (*const changes[])(struct places *p, const struct place *at) = {
		put_edge, put_edge, put_text, change_number, change_number, multiply, drop,
		copy_other,
	};
	const struct place *at = &p->at[draw(p, (unsigned int)p->count)];

	changes[draw(p, sizeof(changes) / sizeof(changes[0]))](p, at);
}

size_t mutate_json(const struct kind *k, uint8_t *data, size_t size, size_t max, unsigned int seed)
{
	json_t *json = json_loadb((const char *)data, size, 0, NULL);
	static struct places p;
	size_t length = 0;

	p.random = seed;
	/* Much of what libFuzzer collects is no JSON at all; begin anew rather than stay there. */
	if (!json_is_object(json)) {
		json_decref(json);
		json = kind_sample(k, draw(&p, 4));
	}
	for (unsigned int i = 0, n = draw(&p, 2) ? 1 : 1 + draw(&p, 3); json && i < n; i++) {
		p.count = 0;
		collect(&p, json);
		if (p.count)
			change_one(&p);
	}
	if (json)
		length = json_dumpb(json, (char *)data, max, JSON_COMPACT);
	json_decref(json);
	return length <= max ? length : 0;
}
