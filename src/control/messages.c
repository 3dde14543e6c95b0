/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/messages.h"

#include <errno.h>
#include <string.h>

#include "control/fields.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

json_t *message_simple(const char *type)
{
	return json_pack("{s:s}", "type", type);
}

const char *message_type(const json_t *message)
{
	const char *type = json_string_value(json_object_get(message, "type"));

	return type ? type : "";
}

/* A message whose keys are those of a table. */
static json_t *encode(const char *type, const struct field *fields, size_t count, const void *base)
{
	json_t *object = fields_encode(fields, count, base);

	json_object_set_new(object, "type", json_string(type));
	return object;
}

static const struct field greeting_fields[] = {
	FIELD(struct message_greeting, major, U32),
	FIELD(struct message_greeting, minor, U32),
	FIELD(struct message_greeting, busy, BOOL),
	FIELD(struct message_greeting, version, TEXT),
	FIELD(struct message_greeting, auth, TEXT),
};

json_t *message_greeting(const char *type, const struct message_greeting *m)
{
	return encode(type, greeting_fields, COUNT(greeting_fields), m);
}

int message_get_greeting(const json_t *json, struct message_greeting *m, const char **key)
{
	return fields_decode(greeting_fields, COUNT(greeting_fields), json, m, key);
}

static const struct field host_fields[] = {
	FIELD(struct host_facts, hostname, TEXT),
	FIELD(struct host_facts, kernel, TEXT),
	FIELD(struct host_facts, cpu, TEXT),
	FIELD(struct host_facts, cpus, U32),
	FIELD(struct host_facts, governor, MAYBE_TEXT),
	FIELD(struct host_facts, virtual_machine, MAYBE_TEXT),
	FIELD(struct host_facts, clocksource, MAYBE_TEXT),
	FIELD(struct host_facts, rdma_core, MAYBE_TEXT),
	FIELD(struct host_facts, numa_nodes, MAYBE_U32),
};

static const struct field caps_fields[] = {
	FIELD(struct caps, max_msg_sz, U64), FIELD(struct caps, max_mr_size, U64),
	FIELD(struct caps, max_qp, U32),     FIELD(struct caps, max_qp_wr, U32),
	FIELD(struct caps, max_sge, U32),    FIELD(struct caps, max_cqe, U32),
	FIELD(struct caps, max_srq_wr, U32), FIELD(struct caps, max_srq_sge, U32),
	FIELD(struct caps, active_mtu, U32), FIELD(struct caps, max_rd_init, U32),
	FIELD(struct caps, max_rd_res, U32), FIELD(struct caps, atomics, U32),
	FIELD(struct caps, odp_rc, U32),     FIELD(struct caps, odp_uc, U32),
	FIELD(struct caps, odp_ud, U32),
};

static const struct field device_fields[] = {
	FIELD(struct device_facts, name, TEXT),
	FIELD(struct device_facts, netdev, TEXT),
	FIELD(struct device_facts, gid, TEXT),
	FIELD(struct device_facts, gid_why, TEXT),
	FIELD(struct device_facts, why, TEXT),
	FIELD(struct device_facts, placed, TEXT),
	FIELD(struct device_facts, port, U32),
	FIELD(struct device_facts, gid_index, U32),
	FIELD(struct device_facts, gid_kind, U32),
	FIELD(struct device_facts, lid, U32),
	FIELD(struct device_facts, numa_node, I32),
	FIELD(struct device_facts, software_device, MAYBE_U32),
	FIELD(struct device_facts, pcie_speed, MAYBE_DOUBLE),
	FIELD(struct device_facts, pcie_max_speed, MAYBE_DOUBLE),
	FIELD(struct device_facts, pcie_width, MAYBE_U32),
	FIELD(struct device_facts, pcie_max_width, MAYBE_U32),
	FIELD(struct device_facts, link_gbit_per_s, MAYBE_DOUBLE),
	FIELD(struct device_facts, driver, MAYBE_TEXT),
	FIELD(struct device_facts, firmware, MAYBE_TEXT),
	FIELD(struct device_facts, pcie_address, MAYBE_TEXT),
	FIELD(struct device_facts, link_layer, MAYBE_U32),
	FIELD(struct device_facts, link_lanes, MAYBE_U32),
};

static const struct field asked_fields[] = {
	FIELD(struct message_facts, asked_device, TEXT),
	FIELD(struct message_facts, asked_port, U32),
	FIELD(struct message_facts, asked_gid_index, I32),
};

json_t *message_facts(const struct message_facts *m)
{
	json_t *json = encode("FACTS", asked_fields, COUNT(asked_fields), m);

	json_object_set_new(json, "host", fields_encode(host_fields, COUNT(host_fields), &m->host));
	json_object_set_new(json, "device",
			    fields_encode(device_fields, COUNT(device_fields), &m->device));
	json_object_set_new(json, "caps",
			    fields_encode(caps_fields, COUNT(caps_fields), &m->device.caps));
	return json;
}

int message_get_facts(const json_t *json, struct message_facts *m, const char **key)
{
	int rc = fields_decode(asked_fields, COUNT(asked_fields), json, m, key);

	if (!rc)
		rc = fields_decode_inner(host_fields, COUNT(host_fields), json, "host", &m->host,
					 key);
	if (!rc)
		rc = fields_decode_inner(device_fields, COUNT(device_fields), json, "device",
					 &m->device, key);
	if (!rc)
		rc = fields_decode_inner(caps_fields, COUNT(caps_fields), json, "caps",
					 &m->device.caps, key);
	return rc;
}

static const struct field point_fields[] = {
	FIELD(struct message_point, plan_only, BOOL),
	FIELD(struct message_point, sends, BOOL),
	FIELD(struct message_point, takes, BOOL),
};

/* A key that came with a later minor of the protocol: absent is false. */
static json_t *set_mark(json_t *json, const char *key, bool value)
{
	if (value)
		json_object_set_new(json, key, json_true());
	return json;
}

static bool get_mark(const json_t *json, const char *key)
{
	return json_is_true(json_object_get(json, key));
}

/* The settings are the PUSH rows of the option table; the operation goes by its name. */
json_t *message_point(const struct message_point *m)
{
	json_t *json = encode("POINT", point_fields, COUNT(point_fields), m);

	for (size_t i = 0; i < option_row_count; i++) {
		const struct setting *s = point_setting_const(&m->point, &option_rows[i]);

		if (s)
			json_object_set_new(json, option_rows[i].name, fields_u64(s->value));
	}
	json_object_set_new(json, "op", json_string(point_op(&m->point)->name));
	return set_mark(json, "keep", m->keep);
}

/* 0, outside the row's range, stands for "by time" and "what both devices allow". */
static bool may_be_none(const struct option_row *row, uint64_t value)
{
	return !value && (row->offset == offsetof(struct options, iters) ||
			  row->offset == offsetof(struct options, outs));
}

static int get_setting(const json_t *json, const struct option_row *row, struct setting *s)
{
	const json_t *value = json_object_get(json, row->name);
	const char *text = json_string_value(value);

	if (row->kind == OPTION_TEXT) {
		const struct op *op = text ? op_find(text) : NULL;

		s->value = op ? (uint64_t)(op - ops) : 0;
		return op ? 0 : -EBADMSG;
	}
	if (fields_get_u64(value, &s->value))
		return -EBADMSG;
	if (row->kind == OPTION_ENUM || row->kind == OPTION_ENUMS)
		return option_word(row->words, s->value) ? 0 : -EBADMSG;
	if (option_word(row->words, s->value) || may_be_none(row, s->value))
		return 0;
	return s->value < row->min || s->value > row->max ? -EBADMSG : 0;
}

int message_get_point(const json_t *json, struct message_point *m, const char **key)
{
	int rc = fields_decode(point_fields, COUNT(point_fields), json, m, key);

	for (size_t i = 0; !rc && i < option_row_count; i++) {
		struct setting *s = point_setting(&m->point, &option_rows[i]);

		*key = option_rows[i].name;
		if (s)
			rc = get_setting(json, &option_rows[i], s);
	}
	m->keep = get_mark(json, "keep");
	return rc;
}

json_t *message_ready(uint64_t clock_ns)
{
	return json_pack("{s:s, s:o}", "type", "READY", "clock_ns", fields_u64(clock_ns));
}

int message_get_ready(const json_t *json, uint64_t *clock_ns, const char **key)
{
	*key = "clock_ns";
	if (fields_get_u64(json_object_get(json, "clock_ns"), clock_ns))
		return -EBADMSG;
	return *clock_ns < MESSAGE_CLOCK_MAX ? 0 : -EBADMSG;
}

static const struct field accept_fields[] = {
	FIELD(struct message_accept, inline_size, U32),
	FIELD(struct message_accept, stall_ns, U64),
};

json_t *message_accept(const struct message_accept *m)
{
	return set_mark(encode("ACCEPT", accept_fields, COUNT(accept_fields), m), "kept", m->kept);
}

int message_get_accept(const json_t *json, struct message_accept *m, const char **key)
{
	m->kept = get_mark(json, "kept");
	return fields_decode(accept_fields, COUNT(accept_fields), json, m, key);
}

static const struct field endpoint_fields[] = {
	FIELD(struct message_endpoints, address, U64),
	FIELD(struct message_endpoints, lid, U32),
	FIELD(struct message_endpoints, cm_port, U32),
	FIELD(struct message_endpoints, gid, TEXT),
};

static json_t *column(const uint32_t *values, uint32_t count)
{
	json_t *array = json_array();

	for (uint32_t i = 0; i < count; i++)
		json_array_append_new(array, json_integer(values[i]));
	return array;
}

static int get_column(const json_t *json, const char *name, uint32_t *values, uint32_t count,
		      const char **key)
{
	const json_t *array = json_object_get(json, name);

	*key = name;
	if (!json_is_array(array) || json_array_size(array) != count)
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++) {
		json_int_t v = json_integer_value(json_array_get(array, i));

		if (!json_is_integer(json_array_get(array, i)) || v < 0 || v > UINT32_MAX)
			return -EBADMSG;
		values[i] = (uint32_t)v;
	}
	return 0;
}

json_t *message_endpoints(const struct message_endpoints *m)
{
	json_t *json = encode("ENDPOINTS", endpoint_fields, COUNT(endpoint_fields), m);

	json_object_set_new(json, "qpn", column(m->qpn, m->count));
	json_object_set_new(json, "psn", column(m->psn, m->count));
	json_object_set_new(json, "rkey", column(m->rkey, m->count));
	return json;
}

int message_get_endpoints(const json_t *json, struct message_endpoints *m, const char **key)
{
	int rc = fields_decode(endpoint_fields, COUNT(endpoint_fields), json, m, key);

	if (!rc && m->cm_port > UINT16_MAX) {
		*key = "cm_port";
		rc = -EBADMSG;
	}
	if (!rc)
		rc = get_column(json, "qpn", m->qpn_out, m->count, key);
	if (!rc)
		rc = get_column(json, "psn", m->psn_out, m->count, key);
	return rc ? rc : get_column(json, "rkey", m->rkey_out, m->count, key);
}

static const struct field beat_fields[] = {
	FIELD(struct message_beat, phase, TEXT),
	FIELD(struct message_beat, posted, U64),
	FIELD(struct message_beat, completed, U64),
	FIELD(struct message_beat, received, U64),
};

json_t *message_beat(const struct message_beat *m)
{
	return encode("BEAT", beat_fields, COUNT(beat_fields), m);
}

int message_get_beat(const json_t *json, struct message_beat *m, const char **key)
{
	return fields_decode(beat_fields, COUNT(beat_fields), json, m, key);
}

json_t *message_sent(const struct message_sent *m)
{
	json_t *totals = json_array();

	for (uint32_t i = 0; i < m->count; i++)
		json_array_append_new(totals, fields_u64(m->total[i]));
	return json_pack("{s:s, s:o, s:o}", "type", "SENT", "totals", totals, "missed",
			 fields_u64(m->missed));
}

int message_get_sent(const json_t *json, struct message_sent *m, const char **key)
{
	const json_t *totals = json_object_get(json, "totals");
	uint64_t sum = 0;

	*key = "totals";
	if (!json_is_array(totals) || json_array_size(totals) > m->count)
		return -EBADMSG;
	m->count = (uint32_t)json_array_size(totals);
	for (uint32_t i = 0; i < m->count; i++)
		if (fields_get_u64(json_array_get(totals, i), &m->total[i]) ||
		    __builtin_add_overflow(sum, m->total[i], &sum))
			return -EBADMSG;
	*key = "missed";
	return fields_get_u64(json_object_get(json, "missed"), &m->missed);
}

static const struct field abort_fields[] = {
	FIELD(struct message_abort, class, U32),
	FIELD(struct message_abort, text, TEXT),
};

json_t *message_abort(const char *type, const struct message_abort *m)
{
	return set_mark(encode(type, abort_fields, COUNT(abort_fields), m), "row", m->row);
}

int message_get_abort(const json_t *json, struct message_abort *m, const char **key)
{
	m->row = get_mark(json, "row");
	return fields_decode(abort_fields, COUNT(abort_fields), json, m, key);
}
