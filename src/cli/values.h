/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several values of one option: what a sweep is made of. */
#ifndef RDMETER_CLI_VALUES_H
#define RDMETER_CLI_VALUES_H

#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"

#define VALUES_MOST 100000 /* of one option, and rows of a sweep */

struct values {
	uint64_t *num;
	size_t count; /* at least 1 */
};

/*
 * Items separated by commas, in the order in which they stand. An item is a value as
 * option_parse_value() takes it, or a range FROM:TO:xN (each N times the one before it) or
 * FROM:TO:+N. FROM belongs to a range, TO only where a step meets it. Ranges that descend or do
 * not end are refused. Returns 0 with v to be given to values_free(), or -errno told.
 */
int values_parse(const struct option_row *row, const char *text, struct values *v);
void values_free(struct values *v);

#endif
