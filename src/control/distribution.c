/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/distribution.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "control/fields.h"
#include "control/messages.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static const struct field moments_fields[] = {
	FIELD(struct moments, n, U64),
	FIELD(struct moments, sum, U64),
	FIELD(struct moments, min, U64),
	FIELD(struct moments, max, U64),
};

static json_t *encode_sumsq(unsigned __int128 sumsq)
{
	return json_sprintf("0x%016llx%016llx", (unsigned long long)(sumsq >> 64),
			    (unsigned long long)sumsq);
}

static int decode_sumsq(const json_t *json, unsigned __int128 *sumsq)
{
	const char *text = json_string_value(json);
	unsigned long long high, low;

	/* sscanf alone would take signs, blanks and fewer digits. */
	if (!text || strlen(text) != 34 || strspn(text + 2, "0123456789abcdef") != 32 ||
	    sscanf(text, "0x%16llx%16llx", &high, &low) != 2)
		return -EBADMSG;
	*sumsq = (unsigned __int128)high << 64 | low;
	return 0;
}

json_t *distribution_encode(const struct histogram *h, unsigned int divisor)
{
	json_t *json = fields_encode(moments_fields, COUNT(moments_fields), &h->m);
	json_t *low = json_array(), *count = json_array();

	for (uint32_t i = 0; histogram_next(h, &i); i++) {
		json_array_append_new(low, fields_u64(histogram_low(i)));
		json_array_append_new(count, fields_u64(h->count[i]));
	}
	json_object_set_new(json, "unit", json_string("ns"));
	json_object_set_new(json, "sub_bucket_bits", json_integer(HISTOGRAM_SUB_BITS));
	json_object_set_new(json, "divisor", json_integer(divisor));
	json_object_set_new(json, "sumsq", encode_sumsq(h->m.sumsq));
	json_object_set_new(json, "low", low);
	json_object_set_new(json, "count", count);
	return json;
}

static int decode_buckets(const json_t *json, struct histogram *h)
{
	const json_t *low = json_object_get(json, "low"), *count = json_object_get(json, "count");
	uint64_t total = 0;

	if (!json_is_array(low) || !json_is_array(count) ||
	    json_array_size(low) != json_array_size(count) ||
	    json_array_size(low) > HISTOGRAM_BUCKETS)
		return -EBADMSG;
	for (size_t i = 0; i < json_array_size(low); i++) {
		uint64_t at, n;

		if (fields_get_u64(json_array_get(low, i), &at) ||
		    fields_get_u64(json_array_get(count, i), &n))
			return -EBADMSG;
		h->count[histogram_index(at)] += n;
		if (__builtin_add_overflow(total, n, &total))
			return -EBADMSG;
	}
	return total == h->m.n ? 0 : -EBADMSG;
}

/* What a report makes of the moments has to be a number, and lie where the buckets say. */
static int check_moments(const struct histogram *h, const char **key)
{
	uint32_t low = 0, high = HISTOGRAM_BUCKETS - 1;

	histogram_next(h, &low);
	while (high && !h->count[high])
		high--;
	*key = "min";
	if (h->m.n && histogram_index(h->m.min) != low)
		return -EBADMSG;
	*key = "max";
	if (h->m.n && histogram_index(h->m.max) != high)
		return -EBADMSG;
	*key = "sumsq";
	return moments_possible(&h->m) ? 0 : -EBADMSG;
}

int distribution_decode(const json_t *json, struct histogram *h, const char **key)
{
	int rc;

	histogram_reset(h);
	*key = "latency";
	if (!json_is_object(json))
		return -EBADMSG;
	rc = fields_decode(moments_fields, COUNT(moments_fields), json, &h->m, key);
	if (rc)
		return rc;
	*key = "sumsq";
	rc = decode_sumsq(json_object_get(json, "sumsq"), &h->m.sumsq);
	if (rc)
		return rc;
	*key = json_is_array(json_object_get(json, "low")) ? "count" : "low";
	rc = decode_buckets(json, h);
	return rc ? rc : check_moments(h, key);
}

static const struct field pace_fields[] = {
	FIELD_AS(struct pace_measure, backlog, U64, "backlog_messages"),
	FIELD(struct pace_measure, kept, DOUBLE),
};

static json_t *encode_some(const struct histogram *h)
{
	return h->m.n ? distribution_encode(h, 1) : json_null();
}

json_t *pace_encode(const struct pace_measure *p)
{
	json_t *json;

	if (!p->active)
		return json_null();
	json = fields_encode(pace_fields, COUNT(pace_fields), p);
	json_object_set_new(json, "response_ns", encode_some(&p->response));
	json_object_set_new(json, "lateness_ns", encode_some(&p->lateness));
	return json;
}

/* Buckets of another width cannot be read into these. */
static int decode_some(const json_t *object, const char *name, struct histogram *h,
		       const char **key)
{
	const json_t *json = json_object_get(object, name);

	histogram_reset(h);
	if (json_is_null(json))
		return 0;
	*key = name;
	if (!json_is_object(json))
		return -EBADMSG;
	*key = "sub_bucket_bits";
	if (json_integer_value(json_object_get(json, *key)) != HISTOGRAM_SUB_BITS)
		return -EBADMSG;
	return distribution_decode(json, h, key);
}

int pace_decode(const json_t *json, struct pace_measure *p, const char **key)
{
	int rc;

	p->active = json && !json_is_null(json);
	if (!p->active)
		return 0;
	*key = "pace";
	if (!json_is_object(json))
		return -EBADMSG;
	rc = fields_decode(pace_fields, COUNT(pace_fields), json, p, key);
	if (!rc)
		rc = decode_some(json, "response_ns", &p->response, key);
	if (!rc)
		rc = decode_some(json, "lateness_ns", &p->lateness, key);
	return rc;
}

json_t *series_encode(const struct series *s)
{
	json_t *t = json_array(), *count = json_array();

	for (uint32_t i = 0; i < s->n; i++) {
		json_array_append_new(t, fields_u64(s->point[i].t));
		json_array_append_new(count, fields_u64(s->point[i].count));
	}
	return json_pack("{s:I, s:o, s:o}", "merge", (json_int_t)s->merge, "t_ns", t, "count",
			 count);
}

int series_decode(const json_t *json, struct series *s)
{
	const json_t *t = json_object_get(json, "t_ns"), *count = json_object_get(json, "count");
	uint64_t merge;

	if (!json_is_array(t) || !json_is_array(count) || json_array_size(t) > SERIES_MAX ||
	    json_array_size(t) != json_array_size(count) ||
	    fields_get_u64(json_object_get(json, "merge"), &merge) || merge > UINT32_MAX)
		return -EBADMSG;
	s->n = (uint32_t)json_array_size(t);
	s->merge = (uint32_t)merge;
	for (uint32_t i = 0; i < s->n; i++)
		if (fields_get_u64(json_array_get(t, i), &s->point[i].t) ||
		    fields_get_u64(json_array_get(count, i), &s->point[i].count) ||
		    (i && (s->point[i].t <= s->point[i - 1].t ||
			   s->point[i].count < s->point[i - 1].count)))
			return -EBADMSG;
	return 0;
}

int measure_check(const struct measure *m, const char **key)
{
	const struct {
		const char *key;
		bool wrong;
	} rules[] = {
		{ "divisor", !m->divisor },
		{ "started_ns", m->started_ns >= MESSAGE_CLOCK_MAX },
		{ "t0", m->window.t0 >= MESSAGE_CLOCK_MAX },
		{ "t1", m->window.t1 >= MESSAGE_CLOCK_MAX },
		{ "t1", m->closed && m->window.t1 < m->window.t0 },
	};

	for (size_t i = 0; i < COUNT(rules); i++) {
		*key = rules[i].key;
		if (rules[i].wrong)
			return -EBADMSG;
	}
	return 0;
}

static const struct field thread_fields[] = {
	FIELD(struct measure_thread, cpu, MAYBE_I32),
	FIELD_AS(struct measure_thread, node, MAYBE_I32, "numa_node"),
	FIELD_AS(struct measure_thread, t0, U64, "begin_ns"),
	FIELD_AS(struct measure_thread, t1, U64, "end_ns"),
	FIELD_AS(struct measure_thread, count, U64, "messages"),
};

json_t *threads_encode(const struct measure *m)
{
	json_t *list = json_array();

	for (uint32_t i = 0; i < m->threads; i++)
		json_array_append_new(list, fields_encode(thread_fields, COUNT(thread_fields),
							  &m->thread[i]));
	return list;
}

int threads_decode(const json_t *list, struct measure *m, const char **key)
{
	*key = "threads";
	m->threads = 0;
	if (!json_is_array(list) || json_array_size(list) > MEASURE_THREADS)
		return -EBADMSG;
	for (; m->threads < json_array_size(list); m->threads++) {
		struct measure_thread *t = &m->thread[m->threads];

		if (fields_decode(thread_fields, COUNT(thread_fields),
				  json_array_get(list, m->threads), t, key))
			return -EBADMSG;
		*key = "end_ns";
		if (t->t1 < t->t0 || t->t1 >= MESSAGE_CLOCK_MAX)
			return -EBADMSG;
	}
	return 0;
}

static const struct field moves_fields[] = {
	FIELD(struct counter_moves, valid, BOOL),
	FIELD(struct counter_moves, more, U32),
};

static const struct field move_fields[] = {
	FIELD(struct counter_move, name, TEXT),
	FIELD(struct counter_move, before, U64),
	FIELD(struct counter_move, after, U64),
};

json_t *counters_encode(const struct counter_moves *c)
{
	json_t *json = fields_encode(moves_fields, COUNT(moves_fields), c), *list = json_array();

	for (uint32_t i = 0; i < c->count; i++)
		json_array_append_new(list, fields_encode(move_fields, COUNT(move_fields),
							  &c->move[i]));
	json_object_set_new(json, "moved", list);
	return json;
}

int counters_decode(const json_t *json, struct counter_moves *c, const char **key)
{
	const json_t *list = json_object_get(json_object_get(json, "counters"), "moved");
	int rc = fields_decode_inner(moves_fields, COUNT(moves_fields), json, "counters", c, key);

	if (rc)
		return rc;
	*key = "moved";
	c->count = 0;
	if (!json_is_array(list))
		return -EBADMSG;
	for (size_t i = 0; !rc && i < json_array_size(list); i++) {
		struct counter_move spare;

		rc = fields_decode(move_fields, COUNT(move_fields), json_array_get(list, i),
				   c->count < COUNTER_MOVES ? &c->move[c->count] : &spare, key);
		if (c->count < COUNTER_MOVES)
			c->count++;
		else
			c->more++;
	}
	return rc;
}
