/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The settings of a point outside of it: in a document and in CSV each goes by its option's name
 * with its unit ("size_bytes", "tx_depth", "duration_ns").
 */
#ifndef RDMETER_REPORT_SETTINGS_H
#define RDMETER_REPORT_SETTINGS_H

#include <jansson.h>

#include "cli/options.h"
#include "plan/point.h"

#define SETTING_KEY 48

/* The key of a PUSH row. Of --warmup there are two, by time and by number of messages. */
const char *setting_key(const struct option_row *row, bool counts, char key[SETTING_KEY]);

/* Its value: a word for what has words, null for what does not apply, else a number. */
json_t *setting_value(const struct option_row *row, const struct point *p);

/* {"size_bytes": {"value": 64, "reason": "given"}, ...} of every setting. */
json_t *settings_encode(const struct point *p);

/* 0, or -EBADMSG with *key the option whose setting is missing or wrong. */
int settings_decode(const json_t *json, struct point *p, const char **key);

#endif
