/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The DEVICES message: what a server may claim to have, and what is left when it is refused. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "control/messages.h"

#include <cmocka.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

static json_t *zeros(size_t count)
{
	json_t *array = json_array();

	while (count--)
		json_array_append_new(array, json_integer(0));
	return array;
}

/* One device, one port, no GID; at is where the array under name is to be put. */
static json_t *one_port(const char *name, json_t **at)
{
	struct inventory_port port = { .number = 1 };
	struct inventory_device device = { .name = "rxe0", .ports = &port, .port_count = 1 };
	struct inventory inventory = { .devices = &device, .count = 1 };
	json_t *json = message_devices(&inventory), *d, *p;

	d = json_array_get(json_object_get(json, "devices"), 0);
	p = json_array_get(json_object_get(d, "ports"), 0);
	*at = !strcmp(name, "devices") ? json : !strcmp(name, "ports") ? d : p;
	assert_true(json_is_array(json_object_get(*at, name)));
	return json;
}

/* Refused before room is made: a frame holds half a million zeros, and a device takes 500 bytes. */
static void too_many(void **state)
{
	static const struct {
		const char *name;
		size_t most;
	} known[] = { { "devices", 1024 }, { "ports", 255 }, { "gids", 16384 } };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		for (size_t more = 0; more < 2; more++) {
			struct inventory got;
			const char *key = "?";
			json_t *at, *json = one_port(known[i].name, &at);

			memset(&got, 0x55, sizeof(got));
			json_object_set_new(at, known[i].name, zeros(known[i].most + more));
			assert_int_equal(message_get_devices(json, &got, &key), -EBADMSG);
			/* As many as may be are refused for the first one's first key. */
			assert_int_equal(!strcmp(key, known[i].name), more);
			inventory_free(&got);
			json_decref(json);
		}
	}
}

/* Whatever the struct held: there is nothing to be freed. */
static void none_at_all(void **state)
{
	json_t *json = message_simple("DEVICES");
	struct inventory got;
	const char *key;

	(void)state;
	memset(&got, 0x55, sizeof(got));
	assert_int_equal(message_get_devices(json, &got, &key), -EBADMSG);
	assert_string_equal(key, "devices");
	assert_null(got.devices);
	assert_int_equal(got.count, 0);
	inventory_free(&got);
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(too_many),
		cmocka_unit_test(none_at_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
