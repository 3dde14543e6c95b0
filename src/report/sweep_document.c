/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/sweep_document.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "control/fields.h"
#include "report/settings.h"

json_t *sweep_encode(const struct result_sweep *s)
{
	json_t *varied;

	if (!s)
		return json_null();
	varied = json_array();
	for (size_t i = 0; i < s->varied_count; i++)
		json_array_append_new(varied, json_string(s->varied[i]->name));
	return json_pack("{s:o, s:o, s:b, s:b}", "varied", varied,
			 "shuffle_seed", s->seed ? fields_u64(*s->seed) : json_null(),
			 "pivot", (int)s->pivot, "plan_only", (int)s->plan_only);
}

static const struct option_row *find_row(const json_t *name)
{
	for (size_t i = 0; i < option_row_count && json_is_string(name); i++)
		if (option_rows[i].scope == SCOPE_PUSH &&
		    !strcmp(option_rows[i].name, json_string_value(name)))
			return &option_rows[i];
	return NULL;
}

static int decode_varied(const json_t *json, struct stored_sweep *s)
{
	size_t count = json_array_size(json);

	if (!count || count > option_row_count)
		return -EBADMSG;
	s->varied = calloc(count, sizeof(*s->varied));
	if (!s->varied)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		s->varied[i] = find_row(json_array_get(json, i));
		if (!s->varied[i])
			return -EBADMSG;
	}
	s->sweep.varied = s->varied;
	s->sweep.varied_count = count;
	return 0;
}

static int decode_points(const json_t *rows, struct stored_sweep *s, const char **key)
{
	size_t count = json_array_size(rows);
	int rc = 0;

	*key = "rows";
	s->points = calloc(count ? count : 1, sizeof(*s->points));
	if (!s->points)
		return -ENOMEM;
	for (size_t i = 0; i < count && !rc; i++)
		rc = settings_decode(json_object_get(json_array_get(rows, i), "config"),
				     &s->points[i], key);
	s->sweep.points = s->points;
	s->sweep.rows = count;
	return rc;
}

int sweep_decode(const json_t *json, const json_t *rows, struct stored_sweep *s, const char **key)
{
	const json_t *seed = json_object_get(json, "shuffle_seed");
	int rc;

	*s = (struct stored_sweep){ 0 };
	if (!json || json_is_null(json))
		return 0;
	*key = "varied";
	rc = decode_varied(json_object_get(json, "varied"), s);
	if (rc)
		return rc;
	*key = "shuffle_seed";
	if (seed && !json_is_null(seed)) {
		if (fields_get_u64(seed, &s->seed))
			return -EBADMSG;
		s->sweep.seed = &s->seed;
	}
	s->sweep.pivot = json_is_true(json_object_get(json, "pivot"));
	s->sweep.plan_only = json_is_true(json_object_get(json, "plan_only"));
	return decode_points(rows, s, key);
}

void sweep_free(struct stored_sweep *s)
{
	free(s->points);
	free(s->varied);
	*s = (struct stored_sweep){ 0 };
}
