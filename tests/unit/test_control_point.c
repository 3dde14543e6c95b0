/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* How the settings of a point travel. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include "control/messages.h"
#include "plan/plan.h"

#include <cmocka.h> /* late: it has a macro named fail */

#include "point_sample.h"
#include "wire.h"

/* Each setting that came with several queue pairs and the other operations, as it travels. */
static void point_on_the_wire(void **state)
{
	static const struct {
		const char *key;
		int value;
	} known[] = {
		{ "direction", 2 }, { "qp", 5 }, { "outs", 255 }, { "atomic-target", 1 },
		{ "iters", 7 },	    { "signal", 1 }, { "tx-depth", 2 },
		{ "rdma-cm", 1 },   { "tos", 255 },
	};
	struct message_point point = { 0 };
	json_t *json;

	(void)state;
	point_sample(&point);
	json = wire(message_point(&point));
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (json_integer_value(json_object_get(json, known[i].key)) != known[i].value)
			fail_msg("%s is not %d", known[i].key, known[i].value);
	assert_string_equal(json_string_value(json_object_get(json, "op")), "read");
	assert_true(json_is_true(json_object_get(json, "takes")));
	assert_true(json_is_false(json_object_get(json, "sends")));
	assert_null(json_object_get(json, "bidirectional")); /* it is the direction */
	json_decref(json);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(point_on_the_wire),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
