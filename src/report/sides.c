/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/sides.h"

#include <errno.h>
#include <string.h>

#include "control/distribution.h"
#include "control/fields.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct field host_fields[] = {
	FIELD(struct host_facts, hostname, TEXT),
	FIELD(struct host_facts, kernel, MAYBE_TEXT),
	FIELD(struct host_facts, cpu, MAYBE_TEXT),
	FIELD(struct host_facts, cpus, MAYBE_U32),
	FIELD(struct host_facts, numa_nodes, MAYBE_U32),
	FIELD(struct host_facts, governor, MAYBE_TEXT),
	FIELD(struct host_facts, clocksource, MAYBE_TEXT),
	FIELD(struct host_facts, virtual_machine, MAYBE_TEXT),
	FIELD_AS(struct host_facts, rdma_core, MAYBE_TEXT, "rdma_core_version"),
};

static const struct field device_fields[] = {
	FIELD(struct device_facts, name, TEXT),
	FIELD_AS(struct device_facts, why, TEXT, "reason"),
	FIELD(struct device_facts, driver, MAYBE_TEXT),
	FIELD(struct device_facts, firmware, MAYBE_TEXT),
	FIELD(struct device_facts, numa_node, MAYBE_I32),
	FIELD(struct device_facts, port, U32),
	FIELD(struct device_facts, lid, U32),
	FIELD(struct device_facts, netdev, MAYBE_TEXT),
	FIELD_AS(struct device_facts, gid, MAYBE_TEXT, "gid"),
	FIELD(struct device_facts, gid_index, U32),
	FIELD_AS(struct device_facts, gid_why, TEXT, "gid_reason"),
	FIELD_AS(struct device_facts, placed, MAYBE_TEXT, "placement"),
	FIELD_AS(struct device_facts, link_lanes, MAYBE_U32, "link_width_lanes"),
	FIELD(struct device_facts, pcie_address, MAYBE_TEXT),
	FIELD_AS(struct device_facts, pcie_width, MAYBE_U32, "pcie_width_lanes"),
	FIELD_AS(struct device_facts, pcie_max_width, MAYBE_U32, "pcie_max_width_lanes"),
};

static const struct field caps_fields[] = {
	FIELD_AS(struct caps, active_mtu, U32, "active_mtu_bytes"),
	FIELD_AS(struct caps, max_msg_sz, U64, "max_msg_bytes"),
	FIELD_AS(struct caps, max_mr_size, U64, "max_mr_bytes"),
	FIELD(struct caps, max_qp, U32),
	FIELD(struct caps, max_qp_wr, U32),
	FIELD(struct caps, max_sge, U32),
	FIELD(struct caps, max_cqe, U32),
	FIELD_AS(struct caps, max_rd_init, U32, "max_rd_atomic_initiator"),
	FIELD_AS(struct caps, max_rd_res, U32, "max_rd_atomic_responder"),
};

/* Rates are told in the units of their field; a document has SI. */
static const struct {
	const char *key;
	size_t offset;
	double scale;
} rates[] = {
	{ "link_bit_per_s", offsetof(struct device_facts, link_gbit_per_s), 1e9 },
	{ "pcie_transfers_per_s", offsetof(struct device_facts, pcie_speed), 1e9 },
	{ "pcie_max_transfers_per_s", offsetof(struct device_facts, pcie_max_speed), 1e9 },
};

/* Enumerations by their words; the first one is null. */
static const char *const link_layers[] = { NULL, "InfiniBand", "Ethernet" };
static const char *const gid_types[] = { NULL, "IB", "RoCE v1", "RoCE v2" };

static json_t *word(const char *const *words, size_t count, uint32_t value)
{
	return value && value < count ? json_string(words[value]) : json_null();
}

static int get_word(const json_t *json, const char *const *words, size_t count, uint32_t *value)
{
	*value = 0;
	for (uint32_t i = 1; i < count; i++)
		if (json_is_string(json) && !strcmp(json_string_value(json), words[i]))
			*value = i;
	return *value || json_is_null(json) ? 0 : -EBADMSG;
}

static json_t *device_encode(const struct device_facts *d)
{
	json_t *json = fields_encode(device_fields, COUNT(device_fields), d);

	json_object_set_new(json, "gid_type", word(gid_types, COUNT(gid_types), d->gid_kind));
	json_object_set_new(json, "link_layer",
			    word(link_layers, COUNT(link_layers), d->link_layer));
	for (size_t i = 0; i < COUNT(rates); i++) {
		double value = *(const double *)((const char *)d + rates[i].offset);

		json_object_set_new(json, rates[i].key,
				    value > 0 ? json_real(value * rates[i].scale) : json_null());
	}
	json_object_set_new(json, "software_device", json_boolean(d->software_device));
	json_object_update_new(json, fields_encode(caps_fields, COUNT(caps_fields), &d->caps));
	json_object_set_new(json, "atomics", json_boolean(d->caps.atomics));
	return json;
}

static int device_decode(const json_t *json, struct device_facts *d, const char **key)
{
	int rc = fields_decode(device_fields, COUNT(device_fields), json, d, key);

	if (!rc)
		rc = fields_decode(caps_fields, COUNT(caps_fields), json, &d->caps, key);
	if (rc)
		return rc;
	for (size_t i = 0; i < COUNT(rates); i++)
		*(double *)((char *)d + rates[i].offset) =
			json_number_value(json_object_get(json, rates[i].key)) / rates[i].scale;
	d->software_device = json_is_true(json_object_get(json, "software_device"));
	d->caps.atomics = json_is_true(json_object_get(json, "atomics"));
	*key = "gid_type";
	rc = get_word(json_object_get(json, *key), gid_types, COUNT(gid_types), &d->gid_kind);
	if (rc)
		return rc;
	*key = "link_layer";
	return get_word(json_object_get(json, *key), link_layers, COUNT(link_layers),
			&d->link_layer);
}

json_t *end_encode(const struct side *s)
{
	return json_pack("{s:o, s:o}", "host",
			 fields_encode(host_fields, COUNT(host_fields), &s->host), "device",
			 device_encode(&s->device));
}

int end_decode(const json_t *json, struct side *s, const char **key)
{
	int rc = fields_decode_inner(host_fields, COUNT(host_fields), json, "host", &s->host, key);

	return rc ? rc : device_decode(json_object_get(json, "device"), &s->device, key);
}

static const struct field measure_fields[] = {
	FIELD(struct measure, active, BOOL),
	FIELD_AS(struct measure, receiver, BOOL, "counts_arrivals"),
	FIELD_AS(struct measure, started_ns, U64, "started_raw_ns"),
	FIELD(struct measure, data_errors, U64),
	FIELD(struct measure, data_fault, MAYBE_TEXT),
	FIELD_AS(struct measure, thread_node, MAYBE_I32, "thread_numa_node"),
	FIELD(struct measure, clock, TEXT),
	FIELD(struct measure, clock_read_ns, U32),
	FIELD(struct measure, clock_resolution_ns, U32),
	FIELD_AS(struct measure, divisor, U32, "lat_divisor"),
};

/* Of a side that moves messages: a write's target knows of none. */
static const struct field count_fields[] = {
	FIELD(struct measure, posted, U64),
	FIELD(struct measure, completed, U64),
	FIELD(struct measure, received, U64),
	FIELD(struct measure, missed, U64),
	FIELD_AS(struct measure, warmup, U64, "before_window"),
	FIELD_AS(struct measure, qp_least, U64, "qp_least_in_window"),
	FIELD_AS(struct measure, qp_most, U64, "qp_most_in_window"),
};

static const struct field window_fields[] = {
	FIELD(struct measure, closed, BOOL),
	FIELD_AS(struct measure, window.t0, U64, "begin_ns"),
	FIELD_AS(struct measure, window.t1, U64, "end_ns"),
	FIELD_AS(struct measure, window.count, U64, "messages"),
};

static const struct field cpu_fields[] = {
	FIELD(struct cpu_use, process_cores, DOUBLE),
	FIELD(struct cpu_use, host_cores, DOUBLE),
	FIELD(struct cpu_use, host_softirq_cores, DOUBLE),
};

static json_t *window_encode(const struct measure *m)
{
	return m->opened ? fields_encode(window_fields, COUNT(window_fields), m) : json_null();
}

static json_t *cpu_encode(const struct cpu_use *cpu)
{
	return cpu->valid ? fields_encode(cpu_fields, COUNT(cpu_fields), cpu) : json_null();
}

/* The same as on the wire, but for what says that nothing is known. */
static json_t *encode_counters(const struct counter_moves *c)
{
	json_t *json = c->valid ? counters_encode(c) : json_null();

	json_object_del(json, "valid");
	return json;
}

static int decode_counters(const json_t *json, struct counter_moves *c, const char **key)
{
	json_t *known, *whole;
	int rc;

	if (json_is_null(json))
		return 0;
	known = json_deep_copy(json);
	json_object_set_new(known, "valid", json_true());
	whole = json_pack("{s:o}", "counters", known);
	*key = "counters";
	rc = whole ? counters_decode(whole, c, key) : -EBADMSG;
	json_decref(whole);
	return rc;
}

json_t *measure_encode(const struct measure *m)
{
	json_t *json = m ? fields_encode(measure_fields, COUNT(measure_fields), m) : json_null();

	if (!m)
		return json;
	json_object_set_new(json, "messages", !m->active ? json_null() :
			    fields_encode(count_fields, COUNT(count_fields), m));
	json_object_set_new(json, "window", window_encode(m));
	json_object_set_new(json, "threads", threads_encode(m));
	json_object_set_new(json, "cpu", cpu_encode(&m->cpu));
	json_object_set_new(json, "counters", encode_counters(&m->counters));
	json_object_set_new(json, "lat_ns", !m->latency.m.n ? json_null() :
			    distribution_encode(&m->latency, m->divisor));
	json_object_set_new(json, "pace", pace_encode(&m->pace));
	if (m->undo.m.n)
		json_object_set_new(json, "undo_ns", distribution_encode(&m->undo, m->divisor));
	json_object_set_new(json, "intervals", m->series.n ? series_encode(&m->series) :
							     json_null());
	return json;
}

static int decode_parts(const json_t *json, struct measure *m, const char **key)
{
	const json_t *window = json_object_get(json, "window"), *cpu = json_object_get(json, "cpu");
	int rc = 0;

	if (m->active)
		rc = fields_decode_inner(count_fields, COUNT(count_fields), json, "messages", m,
					 key);
	if (rc)
		return rc;
	*key = "window";
	m->opened = !json_is_null(window);
	if (m->opened)
		rc = fields_decode(window_fields, COUNT(window_fields), window, m, key);
	m->cpu.valid = !rc && !json_is_null(cpu);
	if (m->cpu.valid)
		rc = fields_decode(cpu_fields, COUNT(cpu_fields), cpu, &m->cpu, key);
	return rc;
}

static int decode_series(const json_t *json, struct measure *m, const char **key)
{
	*key = "intervals";
	return json_is_null(json) ? 0 : series_decode(json, &m->series);
}

/* Buckets of another width cannot be read into these. */
static int decode_latency(const json_t *json, const char *name, struct histogram *h,
			  const char **key)
{
	histogram_reset(h);
	if (!json || json_is_null(json))
		return 0;
	*key = "sub_bucket_bits";
	if (json_integer_value(json_object_get(json, *key)) != HISTOGRAM_SUB_BITS)
		return -EBADMSG;
	*key = name;
	return distribution_decode(json, h, key);
}

int measure_decode(const json_t *json, struct measure **m, const char **key)
{
	struct measure *into = *m;
	int rc;

	if (json_is_null(json)) {
		*m = NULL;
		return 0;
	}
	memset(into, 0, sizeof(*into));
	rc = fields_decode(measure_fields, COUNT(measure_fields), json, into, key);
	if (!rc)
		rc = decode_parts(json, into, key);
	if (!rc)
		rc = measure_check(into, key);
	if (!rc)
		rc = threads_decode(json_object_get(json, "threads"), into, key);
	if (!rc)
		rc = decode_counters(json_object_get(json, "counters"), &into->counters, key);
	if (!rc)
		rc = decode_latency(json_object_get(json, "lat_ns"), "lat_ns", &into->latency, key);
	if (!rc)
		rc = decode_latency(json_object_get(json, "undo_ns"), "undo_ns", &into->undo, key);
	if (!rc)
		rc = pace_decode(json_object_get(json, "pace"), &into->pace, key);
	return rc ? rc : decode_series(json_object_get(json, "intervals"), into, key);
}
