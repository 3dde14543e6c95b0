/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The messages: how each is written and read, and what holds for one that was taken. */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "control/messages.h"
#include "fuzz.h"
#include "plan/plan.h"
#include "report/devices.h"
#include "report/doubt.h"
#include "report/result.h"
#include "samples.h"

#define QUEUE_PAIRS 3 /* of the row that ENDPOINTS and SENT are read for */

/* A field of a text must end inside its array. */
#define MUST_END(field) MUST(memchr(field, 0, sizeof(field)), "'%s' does not end", #field)

#define CODEC(name)                                                                      \
	static json_t *encode_##name(const void *m)                                      \
	{                                                                                \
		return message_##name(m);                                                \
	}                                                                                \
	static int decode_##name(const json_t *json, void *m, const char **key)          \
	{                                                                                \
		return message_get_##name(json, m, key);                                 \
	}

CODEC(facts)
CODEC(devices)
CODEC(point)
CODEC(accept)
CODEC(beat)
CODEC(sent)
CODEC(result)

static json_t *encode_greeting(const void *m)
{
	return message_greeting("HELLO", m);
}

static int decode_greeting(const json_t *json, void *m, const char **key)
{
	return message_get_greeting(json, m, key);
}

static json_t *encode_abort(const void *m)
{
	return message_abort("ABORT", m);
}

static int decode_abort(const json_t *json, void *m, const char **key)
{
	return message_get_abort(json, m, key);
}

static json_t *encode_ready(const void *m)
{
	return message_ready(*(const uint64_t *)m);
}

static int decode_ready(const json_t *json, void *m, const char **key)
{
	return message_get_ready(json, m, key);
}

/* What was read has been put into the arrays to read into. */
static json_t *encode_endpoints(const void *at)
{
	struct message_endpoints m = *(const struct message_endpoints *)at;

	m.qpn = m.qpn_out;
	m.psn = m.psn_out;
	m.rkey = m.rkey_out;
	return message_endpoints(&m);
}

static int decode_endpoints(const json_t *json, void *m, const char **key)
{
	return message_get_endpoints(json, m, key);
}

static void prepare_endpoints(void *at)
{
	struct message_endpoints *m = at;

	m->count = QUEUE_PAIRS;
	m->qpn_out = calloc(QUEUE_PAIRS, sizeof(*m->qpn_out));
	m->psn_out = calloc(QUEUE_PAIRS, sizeof(*m->psn_out));
	m->rkey_out = calloc(QUEUE_PAIRS, sizeof(*m->rkey_out));
}

static void release_endpoints(void *at)
{
	struct message_endpoints *m = at;

	free(m->qpn_out);
	free(m->psn_out);
	free(m->rkey_out);
}

static void prepare_sent(void *at)
{
	struct message_sent *m = at;

	m->count = QUEUE_PAIRS;
	m->total = calloc(QUEUE_PAIRS, sizeof(*m->total));
}

static void release_sent(void *at)
{
	free(((struct message_sent *)at)->total);
}

/* Nothing is prepared: what the message did not have is not to be freed. */
static void release_devices(void *at)
{
	inventory_free(at);
}

static void check_greeting(const void *at)
{
	const struct message_greeting *m = at;

	MUST_END(m->version);
	MUST_END(m->auth);
}

static void check_facts(const void *at)
{
	const struct message_facts *m = at;

	MUST_END(m->host.hostname);
	MUST_END(m->host.kernel);
	MUST_END(m->host.cpu);
	MUST_END(m->device.name);
	MUST_END(m->device.netdev);
	MUST_END(m->device.gid);
	MUST_END(m->device.gid_why);
	MUST_END(m->device.why);
	MUST_END(m->asked_device);
}

/* key=value between tabs, the value neither empty nor with a blank in it; for each GID a line. */
static void check_script(const struct inventory *inventory)
{
	size_t size, lines = 0, fields = 0;
	char *text;
	FILE *out = open_memstream(&text, &size);

	devices_print_script(out, inventory);
	fclose(out);
	for (size_t i = 0; i < size; i++) {
		MUST(isgraph((unsigned char)text[i]) || text[i] == '\t' || text[i] == '\n',
		     "byte %d for a script", text[i]);
		MUST(text[i] != '=' || isgraph((unsigned char)text[i + 1]), "an empty value");
		lines += text[i] == '\n';
		fields += text[i] == '\t';
	}
	MUST(fields == lines * 25, "%zu tabs in %zu lines", fields, lines);
	free(text);
}

static void check_print(const struct inventory *inventory)
{
	size_t size;
	char *text;
	FILE *out = open_memstream(&text, &size);

	devices_print(out, inventory);
	fclose(out);
	for (size_t i = 0; i < size; i++)
		MUST(isprint((unsigned char)text[i]) || text[i] == '\n', "byte %d on a terminal",
		     text[i]);
	free(text);
}

static void check_port(const struct inventory_port *p)
{
	MUST_END(p->netdev);
	MUST(!p->gid_count == !p->gids, "%zu GIDs at %p", p->gid_count, (void *)p->gids);
	for (size_t i = 0; i < p->gid_count; i++) {
		MUST_END(p->gids[i].address);
		MUST_END(p->gids[i].netdev);
	}
}

static void check_devices(const void *at)
{
	const struct inventory *m = at;

	for (size_t i = 0; i < m->count; i++) {
		const struct inventory_device *d = &m->devices[i];

		MUST_END(d->name);
		MUST_END(d->driver);
		MUST_END(d->firmware);
		MUST_END(d->node_guid);
		MUST_END(d->problem);
		for (size_t j = 0; j < d->port_count; j++)
			check_port(&d->ports[j]);
	}
	check_script(m);
	check_print(m);
}

static bool in_range(const struct option_row *row, uint64_t value)
{
	if (row->words && option_word(row->words, value))
		return true;
	if (row->kind == OPTION_ENUM || row->kind == OPTION_ENUMS)
		return false;
	/* Nothing was asked for. */
	if (!value && (!strcmp(row->name, "iters") || !strcmp(row->name, "outs")))
		return true;
	return value >= row->min && value <= row->max;
}

/* What is taken can be computed with, and what passes the rules can be run. */
static void check_point(const void *at)
{
	const struct message_point *m = at;
	const struct point *p = &m->point;
	const struct caps caps = {
		.max_msg_sz = UINT64_MAX, .max_qp = UINT32_MAX, .max_qp_wr = UINT32_MAX,
		.max_cqe = UINT32_MAX, .max_sge = UINT32_MAX, .max_rd_init = 16, .max_rd_res = 16,
		.atomics = 1,
	};

	MUST(p->op.value < op_count, "operation %" PRIu64, p->op.value);
	for (size_t i = 0; i < option_row_count; i++) {
		const struct setting *s = point_setting_const(p, &option_rows[i]);

		if (s && option_rows[i].kind != OPTION_TEXT)
			MUST(in_range(&option_rows[i], s->value), "--%s of %" PRIu64,
			     option_rows[i].name, s->value);
	}
	point_config_id(p);
	MUST(point_stride(p) >= p->size.value, "stride %" PRIu64, point_stride(p));
	MUST(point_slots(p), "no slots");
	if (plan_check_limits(p, &caps, "a device"))
		return;
	MUST(p->signal.value <= p->depth.value && p->batch.value <= p->depth.value &&
	     plan_outstanding(p, &caps, &caps) <= 16, "the rules let too much pass");
}

static void check_accept(const void *m)
{
	(void)m;
}

static void check_ready(const void *m)
{
	/* A difference of two clocks, and that of two windows on them, has to have a sign. */
	MUST(*(const uint64_t *)m < (UINT64_C(1) << 61), "clock %" PRIu64, *(const uint64_t *)m);
}

static void check_endpoints(const void *at)
{
	const struct message_endpoints *m = at;

	MUST(m->count == QUEUE_PAIRS, "%u queue pairs", m->count);
	MUST_END(m->gid);
}

static void check_beat(const void *at)
{
	MUST_END(((const struct message_beat *)at)->phase);
}

static void check_sent(const void *at)
{
	const struct message_sent *m = at;
	uint64_t sum = 0;

	MUST(m->count <= QUEUE_PAIRS, "%u totals", m->count);
	for (uint32_t i = 0; i < m->count; i++)
		MUST(!__builtin_add_overflow(sum, m->total[i], &sum), "the totals overflow");
}

static void check_abort(const void *at)
{
	MUST_END(((const struct message_abort *)at)->text);
}

static void check_latency(const struct histogram *h)
{
	static const double fractions[] = { 0.5, 0.9, 0.99, 0.999, 0.9999, 1.0 };
	double mean = moments_mean(&h->m), stdev = moments_stdev(&h->m);
	uint64_t last = h->m.min;

	if (isfinite(mean))
		MUST(mean >= (double)h->m.min && mean <= (double)h->m.max * (1 + 1e-12), "mean %g", mean);
	MUST(isnan(mean) || h->m.n < 2 || (isfinite(stdev) && stdev >= 0), "deviation %g", stdev);
	MUST(isnan(mean) || h->m.n < 2 || stdev <= (double)(h->m.max - h->m.min),
	     "deviation %g of at most %" PRIu64, stdev, h->m.max - h->m.min);
	for (size_t i = 0; i < sizeof(fractions) / sizeof(fractions[0]); i++) {
		uint64_t value;
		int rc = histogram_percentile(h, fractions[i], &value);

		MUST(rc == 0 || rc == -ENODATA, "percentile %g: %d", fractions[i], rc);
		if (rc)
			continue;
		MUST(value >= last && value <= h->m.max, "percentile %g is %" PRIu64,
		     fractions[i], value);
		last = value;
	}
}

static void check_rate(double rate)
{
	MUST(isnan(rate) || (isfinite(rate) && rate >= 0), "rate %g", rate);
}

static void check_counters(const struct counter_moves *c)
{
	MUST(c->count <= COUNTER_MOVES, "%u counters", c->count);
	for (uint32_t i = 0; i < c->count; i++)
		MUST_END(c->move[i].name);
}

/* Whatever there is to doubt of it can be said. */
static void check_doubts(const struct result *r)
{
	static struct warnings w;

	doubt_collect(r, &w);
	for (size_t i = 0; i < w.count; i++)
		MUST_END(w.list[i].seen);
}

/* Every number of a report can be made of it, whatever the other side's clock was said to be. */
static void check_result(const void *at)
{
	static const int64_t ahead[] = { 0, -(INT64_C(1) << 61), INT64_C(1) << 61 };
	const struct measure *m = at;
	struct series_summary rates;
	int rc = series_rates(&m->series, &rates);

	MUST_END(m->data_fault);
	MUST_END(m->clock);
	MUST(m->divisor, "divisor 0");
	MUST(!m->closed || m->window.t1 >= m->window.t0, "a window of less than nothing");
	check_latency(&m->latency);
	check_counters(&m->counters);
	if (m->pace.active) {
		check_latency(&m->pace.response);
		check_latency(&m->pace.lateness);
	}
	MUST(rc == 0 || rc == -ENODATA, "series: %d", rc);
	if (!rc)
		MUST(rates.min >= 0 && rates.min <= rates.median && rates.median <= rates.max &&
		     isfinite(rates.max), "rates %g %g %g", rates.min, rates.median, rates.max);
	check_rate(measure_rate(m));
	for (size_t i = 0; i < sizeof(ahead) / sizeof(ahead[0]); i++) {
		struct result r = { .clock_offset_ns = ahead[i] };

		r.point.direction.value = DIRECTION_BOTH;
		r.point.test.value = TEST_BW;
		r.side[SIDE_CLIENT].measure = r.side[SIDE_SERVER].measure = m;
		check_rate(result_sum_rate(&r));
		check_doubts(&r);
		r.point.test.value = TEST_LAT;
		check_doubts(&r);
	}
}

#define KIND(name, type, prepare, release)                                                \
	{ #name, sizeof(type), encode_##name, decode_##name, sample_##name, prepare,      \
	  release, check_##name }

const struct kind kinds[] = {
	KIND(greeting, struct message_greeting, NULL, NULL),
	KIND(facts, struct message_facts, NULL, NULL),
	KIND(devices, struct inventory, NULL, release_devices),
	KIND(point, struct message_point, NULL, NULL),
	KIND(accept, struct message_accept, NULL, NULL),
	KIND(endpoints, struct message_endpoints, prepare_endpoints, release_endpoints),
	KIND(ready, uint64_t, NULL, NULL),
	KIND(beat, struct message_beat, NULL, NULL),
	KIND(sent, struct message_sent, prepare_sent, release_sent),
	KIND(abort, struct message_abort, NULL, NULL),
	KIND(result, struct measure, NULL, NULL),
};

const size_t kind_count = sizeof(kinds) / sizeof(kinds[0]);

json_t *kind_sample(const struct kind *k, unsigned int number)
{
	void *m = calloc(1, k->size);
	json_t *json = NULL;

	if (k->prepare)
		k->prepare(m);
	if (k->sample(m, number))
		json = k->encode(m);
	if (k->prepare && k->release)
		k->release(m);
	free(m);
	return json;
}
