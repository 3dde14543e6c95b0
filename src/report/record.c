/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/record.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/fields.h"
#include "report/doubt.h"
#include "report/require.h"
#include "report/settings.h"
#include "report/sides.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

const char *const record_sides[SIDES] = { "client", "server" };

static const char *const status_names[] = {
	[RECORD_PLANNED] = "planned", [RECORD_MEASURED] = "measured",
	[RECORD_INTERRUPTED] = "interrupted", [RECORD_FAILED] = "failed",
};

const char *record_status_name(enum record_status status)
{
	return status_names[status];
}

bool record_has_numbers(const struct result *r)
{
	return r->side[SIDE_CLIENT].measure || r->side[SIDE_SERVER].measure;
}

enum record_status record_status(const struct result *r)
{
	if (r->failed)
		return RECORD_FAILED;
	if (!record_has_numbers(r))
		return RECORD_PLANNED;
	return r->interrupted ? RECORD_INTERRUPTED : RECORD_MEASURED;
}

bool record_flow(const struct result *r, int sender)
{
	/* A latency is taken by one side, whatever the direction. */
	if (r->point.test.value == TEST_LAT && sender == SIDE_SERVER)
		return !result_sends(r, SIDE_CLIENT);
	return result_sends(r, sender);
}

int record_target(const struct result *r, int sender)
{
	return op_is_local(point_op(&r->point)) ? sender : !sender;
}

/* The units that text has and SI has not, by the end of a column's key. */
static const struct {
	const char *end, *si;
	double scale;
} units[] = {
	{ "_us", "_ns", 1e3 },
	{ "_mib_per_s", "_bytes_per_s", 1048576 },
	{ "_gbit_per_s", "_bit_per_s", 1e9 },
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), m = strlen(end);

	return n > m && !strcmp(text + n - m, end);
}

const char *record_key(const struct column *c, char key[RECORD_KEY])
{
	snprintf(key, RECORD_KEY, "%s", c->key);
	for (size_t i = 0; i < COUNT(units); i++) {
		size_t stem = strlen(c->key) - strlen(units[i].end);

		if (ends_with(c->key, units[i].end))
			snprintf(key, RECORD_KEY, "%.*s%s", (int)stem, c->key, units[i].si);
	}
	return key;
}

/* Without the digits that dividing by a thousand and multiplying again have made up. */
static double tidy(double value)
{
	char text[32];

	snprintf(text, sizeof(text), "%.15g", value);
	return strtod(text, NULL);
}

double record_value(const struct column *c, const struct result *r, int sender)
{
	double value = c->tests & column_tests_of(&r->point) ? c->value(r, sender) : NAN;

	for (size_t i = 0; i < COUNT(units); i++)
		if (ends_with(c->key, units[i].end))
			return tidy(value * units[i].scale);
	return tidy(value);
}

json_t *record_number(double value)
{
	if (!isfinite(value))
		return json_null();
	if (value == floor(value) && fabs(value) < 9e15)
		return json_integer((json_int_t)value);
	return json_real(value);
}

/* What became of messages that may be lost; null on a transport that loses none. */
static json_t *encode_delivery(const struct result *r, int sender)
{
	uint64_t sent, delivered;

	if (!result_delivery(r, sender, &sent, &delivered))
		return json_null();
	if (delivered == RESULT_UNKNOWN)
		return json_pack("{s:o, s:n, s:n}", "sent", fields_u64(sent), "delivered", "lost");
	return json_pack("{s:o, s:o, s:o}", "sent", fields_u64(sent), "delivered",
			 fields_u64(delivered), "lost",
			 fields_u64(sent > delivered ? sent - delivered : 0));
}

static json_t *encode_flow(const struct result *r, int sender)
{
	const struct measure *truth = result_truth(r, sender);
	unsigned int tests = column_tests_of(&r->point);
	json_t *json = json_pack("{s:s, s:s}", "from", record_sides[sender], "to",
				 record_sides[record_target(r, sender)]);
	char key[RECORD_KEY];

	json_object_set_new(json, "counted_at", !truth ? json_null() :
			    json_string(record_sides[truth == r->side[SIDE_SERVER].measure]));
	json_object_set_new(json, "counted_by", !truth ? json_null() :
			    json_string(truth->receiver ? "arrival" : "completion"));
	json_object_set_new(json, "delivery", encode_delivery(r, sender));
	for (size_t i = 0; i < column_count; i++)
		if (columns[i].tests & tests)
			json_object_set_new(json, record_key(&columns[i], key),
					    record_number(record_value(&columns[i], r, sender)));
	return json;
}

static json_t *encode_flows(const struct result *r)
{
	json_t *json = json_array();

	for (int side = 0; side < SIDES; side++)
		if (record_flow(r, side) && record_has_numbers(r))
			json_array_append_new(json, encode_flow(r, side));
	return json;
}

/* Both directions together: only over the time that both have in common. */
static json_t *encode_sum(const struct result *r)
{
	double rate = r->point.direction.value == DIRECTION_BOTH && r->point.test.value == TEST_BW ?
		      result_sum_rate(r) : NAN;

	if (!isfinite(rate))
		return json_null();
	return json_pack("{s:o, s:o}", "msg_per_s", record_number(tidy(rate)), "bw_bytes_per_s",
			 record_number(tidy(rate * (double)r->point.size.value)));
}

/* Reasons to doubt the row. */
static json_t *encode_warnings(const struct result *r)
{
	json_t *json = json_array();
	struct warnings warnings = { 0 };

	if (record_has_numbers(r))
		doubt_collect(r, &warnings);
	for (size_t i = 0; i < warnings.count; i++)
		json_array_append_new(json, json_pack("{s:s, s:s, s:s}",
						      "id", warnings.list[i].key,
						      "message", warnings.list[i].seen,
						      "advice", warnings.list[i].advice));
	return json;
}

/* What was required of the row, and whether it holds. */
static json_t *encode_requirements(const struct result *r)
{
	json_t *json = json_array();
	char text[200];

	for (size_t i = 0; r->required && i < r->required->count; i++) {
		const struct requirement *q = &r->required->list[i];
		struct judgement j;

		if (!record_has_numbers(r))
			break;
		requirement_judge(q, r, &j);
		requirement_text(q, &j, text, sizeof(text));
		json_array_append_new(json, json_pack("{s:s, s:s, s:s}", "require", q->text,
						      "verdict", verdict_name(j.verdict),
						      "message", text));
	}
	return json;
}

static void set_buffers(json_t *json, const struct point *p)
{
	uint64_t stride = point_stride(p), slots = point_slots(p);

	json_object_set_new(json, "stride_bytes", fields_u64(stride));
	json_object_set_new(json, "slots_per_qp", fields_u64(slots));
	json_object_set_new(json, "working_set_bytes", fields_u64(stride * slots * p->qps.value));
}

json_t *record_encode(const struct result *r)
{
	const struct side *side = r->side;
	char id[24];
	json_t *json;

	snprintf(id, sizeof(id), "%016" PRIx64, point_config_id(&r->point));
	json = json_pack("{s:i, s:s, s:s?, s:b, s:b, s:b, s:s, s:o}", "index", (int)r->row,
			 "status", status_names[record_status(r)], "error", r->failed,
			 "interrupted", (int)r->interrupted, "resumed", (int)r->resumed,
			 "ends_line", (int)r->ends_line, "config_id", id,
			 "config", settings_encode(&r->point));
	set_buffers(json, &r->point);
	json_object_set_new(json, "inline_granted_bytes",
			    json_pack("{s:o, s:o}",
				      "client", fields_u64(side[SIDE_CLIENT].inline_size),
				      "server", fields_u64(side[SIDE_SERVER].inline_size)));
	json_object_set_new(json, "outstanding_reads",
			    json_pack("{s:o, s:o}",
				      "client", fields_u64(side[SIDE_CLIENT].outstanding),
				      "server", fields_u64(side[SIDE_SERVER].outstanding)));
	json_object_set_new(json, "flows", encode_flows(r));
	json_object_set_new(json, "sum", encode_sum(r));
	json_object_set_new(json, "warnings", encode_warnings(r));
	json_object_set_new(json, "requirements", encode_requirements(r));
	json_object_set_new(json, "clock_offset_ns", json_integer(r->clock_offset_ns));
	json_object_set_new(json, "clock_drift_ppm", json_real(r->clock_drift_ppm));
	for (int i = 0; i < SIDES; i++)
		json_object_set_new(json, record_sides[i], measure_encode(side[i].measure));
	return json;
}

/* What either side has of something, as it was encoded under name. */
static int decode_of(const json_t *json, const char *name, int side, uint32_t *into,
		     const char **key)
{
	uint64_t value;

	*key = name;
	if (fields_get_u64(json_object_get(json_object_get(json, name), record_sides[side]),
			   &value) || value > UINT32_MAX)
		return -EBADMSG;
	*into = (uint32_t)value;
	return 0;
}

static int decode_side(const json_t *json, struct record *record, int i, const char **key)
{
	struct side *side = &record->result.side[i];
	struct measure *m = &record->measure[i];
	int rc = decode_of(json, "inline_granted_bytes", i, &side->inline_size, key);

	if (!rc)
		rc = decode_of(json, "outstanding_reads", i, &side->outstanding, key);
	if (rc)
		return rc;
	*key = record_sides[i];
	rc = measure_decode(json_object_get(json, record_sides[i]), &m, key);
	side->measure = m;
	return rc;
}

int record_decode(const json_t *json, struct record *record, const char **key)
{
	struct result *r = &record->result;
	const json_t *status = json_object_get(json, "status");
	const char *error = json_string_value(json_object_get(json, "error"));
	int rc;

	memset(record, 0, sizeof(*record));
	*key = "index";
	if (!json_is_integer(json_object_get(json, "index")) || !json_is_string(status))
		return -EBADMSG;
	r->row = (unsigned int)json_integer_value(json_object_get(json, "index"));
	r->ends_line = json_is_true(json_object_get(json, "ends_line"));
	r->resumed = json_is_true(json_object_get(json, "resumed"));
	r->interrupted = json_is_true(json_object_get(json, "interrupted"));
	r->clock_offset_ns = json_integer_value(json_object_get(json, "clock_offset_ns"));
	r->clock_drift_ppm = json_number_value(json_object_get(json, "clock_drift_ppm"));
	if (error) {
		snprintf(record->failed, sizeof(record->failed), "%s", error);
		r->failed = record->failed;
	}
	rc = settings_decode(json_object_get(json, "config"), &r->point, key);
	for (int i = 0; i < SIDES && !rc; i++)
		rc = decode_side(json, record, i, key);
	return rc;
}
