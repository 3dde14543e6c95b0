/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * One end of a result as JSON: what it is, and what it measured. Not known and not measured are
 * null. Decoders return 0, or -EBADMSG with *key what is missing or wrong.
 */
#ifndef RDMETER_REPORT_SIDES_H
#define RDMETER_REPORT_SIDES_H

#include <jansson.h>

#include "report/result.h"

/* The host and its device. */
json_t *end_encode(const struct side *s);
int end_decode(const json_t *json, struct side *s, const char **key);

/* null for NULL; with null *m becomes NULL, else what it points to is filled. */
json_t *measure_encode(const struct measure *m);
int measure_decode(const json_t *json, struct measure **m, const char **key);

#endif
