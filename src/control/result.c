/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The RESULT message: what one side measured. */
#include "control/distribution.h"
#include "control/fields.h"
#include "control/messages.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct field measure_fields[] = {
	FIELD(struct measure, active, BOOL),
	FIELD(struct measure, opened, BOOL),
	FIELD(struct measure, closed, BOOL),
	FIELD(struct measure, receiver, BOOL),
	FIELD(struct measure, started_ns, U64),
	FIELD(struct measure, posted, U64),
	FIELD(struct measure, completed, U64),
	FIELD(struct measure, received, U64),
	FIELD(struct measure, warmup, U64),
	FIELD(struct measure, qp_least, U64),
	FIELD(struct measure, qp_most, U64),
	FIELD(struct measure, missed, U64),
	FIELD(struct measure, divisor, U32),
	FIELD(struct measure, thread_node, I32),
	FIELD(struct measure, data_errors, U64),
	FIELD(struct measure, data_fault, TEXT),
	FIELD(struct measure, clock, TEXT),
	FIELD(struct measure, clock_read_ns, U32),
	FIELD(struct measure, clock_resolution_ns, U32),
};

static const struct field window_fields[] = {
	FIELD(struct window, t0, U64),
	FIELD(struct window, t1, U64),
	FIELD(struct window, count, U64),
};

static const struct field cpu_fields[] = {
	FIELD(struct cpu_use, process_cores, DOUBLE),
	FIELD(struct cpu_use, host_cores, DOUBLE),
	FIELD(struct cpu_use, host_softirq_cores, DOUBLE),
	FIELD(struct cpu_use, valid, BOOL),
};

json_t *message_result(const struct measure *m)
{
	json_t *json = fields_encode(measure_fields, COUNT(measure_fields), m);

	json_object_set_new(json, "type", json_string("RESULT"));
	json_object_set_new(json, "window",
			    fields_encode(window_fields, COUNT(window_fields), &m->window));
	json_object_set_new(json, "cpu", fields_encode(cpu_fields, COUNT(cpu_fields), &m->cpu));
	json_object_set_new(json, "threads", threads_encode(m));
	json_object_set_new(json, "counters", counters_encode(&m->counters));
	json_object_set_new(json, "latency", distribution_encode(&m->latency, m->divisor));
	if (m->pace.active)
		json_object_set_new(json, "pace", pace_encode(&m->pace));
	json_object_set_new(json, "series", series_encode(&m->series));
	return json;
}

int message_get_result(const json_t *json, struct measure *m, const char **key)
{
	int rc = fields_decode(measure_fields, COUNT(measure_fields), json, m, key);

	if (!rc)
		rc = fields_decode_inner(window_fields, COUNT(window_fields), json, "window",
					 &m->window, key);
	if (!rc)
		rc = fields_decode_inner(cpu_fields, COUNT(cpu_fields), json, "cpu", &m->cpu, key);
	if (!rc)
		rc = measure_check(m, key);
	if (!rc)
		rc = threads_decode(json_object_get(json, "threads"), m, key);
	if (!rc)
		rc = counters_decode(json, &m->counters, key);
	if (!rc)
		rc = distribution_decode(json_object_get(json, "latency"), &m->latency, key);
	if (!rc)
		rc = pace_decode(json_object_get(json, "pace"), &m->pace, key);
	if (rc)
		return rc;
	*key = "series";
	return series_decode(json_object_get(json, "series"), &m->series);
}
