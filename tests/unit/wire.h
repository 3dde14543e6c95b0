/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the tests of the messages share. Include it after cmocka.h. */
#ifndef TESTS_WIRE_H
#define TESTS_WIRE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "control/frame.h"
#include "stats/measure.h"

#define TEXT(field, text) snprintf(field, sizeof(field), "%s", text)

/* As the other side reads it. Takes over json. */
static inline json_t *wire(json_t *json)
{
	char *text = json_dumps(json, JSON_COMPACT);
	json_t *read;

	assert_non_null(text);
	assert_true(strlen(text) <= FRAME_MAX);
	read = json_loads(text, 0, NULL);
	assert_non_null(read);
	free(text);
	json_decref(json);
	return read;
}

/* path is "key" or "object.key", which key then holds the last part of; value is JSON. */
static inline void set_path(json_t *json, const char *path, const char *value, char *key,
			    size_t size)
{
	const char *dot = strchr(path, '.');

	if (dot) {
		snprintf(key, size, "%.*s", (int)(dot - path), path);
		json = json_object_get(json, key);
	}
	snprintf(key, size, "%s", dot ? dot + 1 : path);
	assert_non_null(json_object_get(json, key));
	json_object_set_new(json, key, json_loads(value, JSON_DECODE_ANY, NULL));
}

/* A result with something in every field. */
static inline void measure_sample(struct measure *m)
{
	m->active = m->opened = m->receiver = true;
	m->window = (struct window){ 1, (1ULL << 53) + 7, UINT64_MAX };
	m->posted = 10;
	m->completed = 9;
	m->received = 8;
	m->warmup = 7;
	m->started_ns = (1ULL << 53) + 1;
	m->qp_least = 6;
	m->qp_most = UINT64_MAX - 1;
	m->missed = (1ULL << 53) + 3;
	histogram_reset(&m->latency);
	histogram_record(&m->latency, 0);
	for (int i = 0; i < 1000; i++)
		histogram_record(&m->latency, 1500 + (uint64_t)i);
	histogram_record(&m->latency, 1ULL << 62);
	histogram_record(&m->latency, 1ULL << 62);
	m->divisor = 2;
	series_start(&m->series, 5, 0);
	series_add(&m->series, 100000005, 1000);
	series_add(&m->series, 200000005, (1ULL << 53) + 1);
	series_close(&m->series, 300000005, (1ULL << 53) + 2001);
	m->cpu = (struct cpu_use){ 0.1, 1.0 / 3, 1e-9, true };
	m->counters = (struct counter_moves){ .valid = true, .more = 3, .count = 2 };
	TEXT(m->counters.move[0].name, "rcvd_seq_err");
	m->counters.move[0].after = UINT64_MAX;
	TEXT(m->counters.move[1].name, "RNR sent");
	m->counters.move[1].before = 7;
	m->thread_node = -1;
	m->threads = 2;
	m->thread[0] = (struct measure_thread){ 3, 0, 1, 5, 7 };
	m->thread[1] = (struct measure_thread){ -1, -1, 2, (1ULL << 53) + 7, UINT64_MAX };
	m->data_errors = 1ULL << 60;
	TEXT(m->data_fault, "slot 3, byte 17");
	TEXT(m->clock, "tsc");
	m->clock_read_ns = 10;
	m->clock_resolution_ns = 1;
}

#endif
