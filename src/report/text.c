/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "report/text.h"

#include <inttypes.h>
#include <langinfo.h>
#include <math.h>
#include <string.h>

#include "cli/units.h"
#include "config.h"
#include "report/bars.h"
#include "report/columns.h"
#include "report/text_doubt.h"
#include "report/text_pace.h"
#include "report/text_threads.h"
#include "verbs/transport.h"

#define LABEL 13
#define CELL 42 /* a side's column of the header */

bool text_utf8(void)
{
	return !strcmp(nl_langinfo(CODESET), "UTF-8");
}

static void print_pair(FILE *out, const char *label, const char *client, const char *server)
{
	fprintf(out, "%-*s %-*.*s %.*s\n", LABEL, label, CELL, CELL, client, CELL, server);
}

static void describe_device(const struct device_facts *d, char *name, char *gid, size_t size)
{
	char numa[24] = "";

	if (d->numa_node >= 0)
		snprintf(numa, sizeof(numa), ", NUMA node %d", d->numa_node);
	snprintf(name, size, "%s port %u, MTU %u%s", d->name, d->port, d->caps.active_mtu, numa);
	if (d->gid_kind == GID_NONE)
		snprintf(gid, size, "LID %u", d->lid);
	else
		snprintf(gid, size, "%u %s %s", d->gid_index, d->gid, gid_kind_name(d->gid_kind));
}

/* Of a host that was measured alone. */
static void print_alone(FILE *out, const struct side *c)
{
	char name[160], gid[160];

	describe_device(&c->device, name, gid, sizeof(name));
	fprintf(out, "%-*s %s, %u CPUs, kernel %s\n", LABEL, "host", c->host.hostname,
		c->host.cpus, c->host.kernel);
	fprintf(out, "%-*s %s\n", LABEL, "cpu", c->host.cpu);
	fprintf(out, "%-*s %s (%s)\n", LABEL, "device", name, c->device.why);
	fprintf(out, "%-*s %s\n", LABEL, "numa", c->device.placed);
}

void text_sides(FILE *out, const struct result *r)
{
	const struct side *c = &r->side[SIDE_CLIENT], *s = &r->side[SIDE_SERVER];
	char text[4][160];

	if (result_is_alone(r)) {
		print_alone(out, c);
		return;
	}
	print_pair(out, "", "client", "server");
	snprintf(text[0], sizeof(text[0]), "%s, %u CPUs", c->host.hostname, c->host.cpus);
	snprintf(text[1], sizeof(text[1]), "%s, %u CPUs", s->host.hostname, s->host.cpus);
	print_pair(out, "host", text[0], text[1]);
	print_pair(out, "kernel", c->host.kernel, s->host.kernel);
	print_pair(out, "cpu", c->host.cpu, s->host.cpu);
	describe_device(&c->device, text[0], text[1], sizeof(text[0]));
	describe_device(&s->device, text[2], text[3], sizeof(text[2]));
	print_pair(out, "device", text[0], text[2]);
	print_pair(out, "  because", c->device.why, s->device.why);
	print_pair(out, "gid", text[1], text[3]);
	print_pair(out, "  because", c->device.gid_why, s->device.gid_why);
	print_pair(out, "numa", c->device.placed, s->device.placed);
}

void text_value(const struct option_row *row, const struct setting *s, char *out, size_t size)
{
	const char *word = option_word(row->words, s->value);

	if (row->kind == OPTION_TEXT)
		snprintf(out, size, "%s", ops[s->value].name); /* --op: the one text in a point */
	else if (word)
		snprintf(out, size, "%s", word);
	else if (row->kind == OPTION_SIZE)
		units_size(out, size, s->value);
	else if (row->kind == OPTION_TIME)
		units_time(out, size, s->value);
	else if (row->kind == OPTION_RATE)
		units_rate(out, size, s->value);
	else
		snprintf(out, size, "%" PRIu64, s->value);
}

/* Settings that mean nothing for the operation, the test, or a run of that kind. */
static bool is_beside_the_point(const struct point *p, const struct option_row *row,
				const struct setting *s)
{
	const struct op *op = point_op(p);

	if (s == &p->op || s == &p->test || s == &p->transport)
		return true; /* they are in the title */
	if (op_is_local(op) && !point_row_is_local(row))
		return true;
	if (s == &p->loss_timeout)
		return p->test.value != TEST_LAT || transport_get(p->transport.value)->reliable;
	if (s == &p->qp_timeout || s == &p->retry || s == &p->rnr_retry || s == &p->min_rnr)
		return !transport_get(p->transport.value)->reliable;
	if (s == &p->iters || s == &p->duration)
		return point_counts(p) == (s == &p->duration);
	if (text_pace_hides(p, s))
		return true;
	return (s == &p->window && !op_has(op, TRAIT_WINDOWS)) ||
	       (s == &p->outs && !op_has(op, TRAIT_READS) && strncmp(s->why, "given", 5)) ||
	       (s == &p->atomic_target && op->flow != FLOW_COUNTER) ||
	       ((s == &p->rx_depth || s == &p->recv_batch || s == &p->srq) && !op->receives) ||
	       (s == &p->tos && !p->rdma_cm.value) ||
	       (s == &p->inline_size && !op_has(op, TRAIT_INLINES)) ||
	       ((s == &p->mr || s == &p->threads) && p->qps.value == 1) ||
	       (s == &p->stamp && p->test.value == TEST_LAT);
}

static void describe_setting(const struct point *p, const struct option_row *row,
			     const struct setting *s, char *out, size_t size)
{
	char value[UNITS_TEXT_SIZE + 16];

	text_value(row, s, value, sizeof(value));
	if (s == &p->warmup && point_counts(p))
		snprintf(value, sizeof(value), "%" PRIu64 " messages", s->value);
	snprintf(out, size, "%s%s%s%s", value, s->why[0] ? " (" : "", s->why,
		 s->why[0] ? ")" : "");
}

bool text_differs(const struct option_row *row, const struct point *points, size_t count)
{
	const struct setting *first = point_setting_const(points, row);

	for (size_t i = 1; first && i < count; i++)
		if (point_setting_const(&points[i], row)->value != first->value)
			return true;
	return false;
}

void text_settings(FILE *out, const struct point *points, size_t count)
{
	const struct point *p = points;
	bool left = true;

	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];
		const struct setting *s = point_setting_const(p, row);
		char text[120];
		int label, room;

		if (!s || is_beside_the_point(p, row, s) || text_differs(row, points, count))
			continue;
		describe_setting(p, row, s, text, sizeof(text));
		/* A name beyond its column takes from what follows it. */
		label = strlen(row->name) > LABEL ? (int)strlen(row->name) : LABEL;
		room = LABEL + 34 - label;
		/* A reason is never cut: one that is too long for the left ends the line. */
		left = left && strlen(text) <= (size_t)room;
		if (left)
			fprintf(out, "%-*s %-*s ", LABEL, row->name, room, text);
		else
			fprintf(out, "%-*s %s\n", LABEL, row->name, text);
		left = !left;
	}
	if (!left)
		fputc('\n', out);
}

static void print_inline(FILE *out, const struct result *r)
{
	char text[2][64];

	for (int i = 0; i < SIDES; i++) {
		uint32_t got = r->side[i].inline_size;
		uint64_t asked = r->point.inline_size.value;

		if (got < asked)
			snprintf(text[i], sizeof(text[i]), "%" PRIu64 " -> %u (device)", asked,
				 got);
		else
			snprintf(text[i], sizeof(text[i]), "%" PRIu64, asked);
	}
	print_pair(out, "inlines", text[0], text[1]);
}

void text_ends(FILE *out, const struct result *r)
{
	if (!result_is_alone(r) && !strcmp(r->side[0].device.gid, r->side[1].device.gid) &&
	    !strcmp(r->side[0].host.hostname, r->side[1].host.hostname))
		fputs("loopback: both ends are the same device, the wire is not used\n", out);
	fputc('\n', out);
	text_sides(out, r);
}

/* How much memory the messages go through. */
static void print_buffers(FILE *out, const struct point *p)
{
	char stride[UNITS_TEXT_SIZE], all[UNITS_TEXT_SIZE];

	fprintf(out, "%-*s %" PRIu64 " x %u, every %s: a working set of %s\n", LABEL, "buffers",
		p->qps.value, point_slots(p), units_size(stride, sizeof(stride), point_stride(p)),
		units_size(all, sizeof(all), point_working_set(p)));
}

void text_header(FILE *out, const struct result *r)
{
	const struct op *op = point_op(&r->point);
	bool lat = r->point.test.value == TEST_LAT;
	static const char *const directions[] = {
		[DIRECTION_OUT] = "client to server", [DIRECTION_IN] = "server to client",
		[DIRECTION_BOTH] = "both directions",
	};

	fprintf(out, "%srdmeter %s: %s ", r->row ? "\n" : "",
		r->version ? r->version : PACKAGE_VERSION, op->name);
	if (result_is_alone(r))
		fprintf(out, "latency: %s, on this host alone\n", op->summary);
	else
		fprintf(out, "%s, %s, %s\n", lat ? "latency" : "bandwidth",
			transport_get(r->point.transport.value)->name,
			directions[r->point.direction.value]);
	if (lat)
		fprintf(out, "%s%s\n", r->point.rate.value ? "" : "latency is ",
			r->point.rate.value ? text_pace_is : op->latency_is);
	/* The ends are those of the row before. */
	if (!r->row)
		text_ends(out, r);
	if (op_has(op, TRAIT_INLINES))
		print_inline(out, r);
	fputc('\n', out);
	text_settings(out, &r->point, 1);
	print_buffers(out, &r->point);
	fprintf(out, "%-*s %016" PRIx64 "\n", LABEL, "config id", point_config_id(&r->point));
}

/* A number too wide for its column loses its separators, then digits; columns never touch. */
static void shorten(const struct column *c, double value, char *text, size_t size)
{
	if (strlen(text) < (size_t)c->width || c->format == COLUMN_SIZE)
		return;
	snprintf(text, size, "%.0f", value);
	if (strlen(text) >= (size_t)c->width)
		snprintf(text, size, "%.*g", c->width - 6, value);
}

void text_cell(FILE *out, const struct column *c, double value)
{
	char text[UNITS_TEXT_SIZE + 8];

	if (!isfinite(value))
		snprintf(text, sizeof(text), "-");
	else if (c->format == COLUMN_SIZE)
		units_size(text, sizeof(text), (uint64_t)value);
	else if (c->format == COLUMN_COUNT)
		units_count(text, sizeof(text), (uint64_t)llround(value));
	else if (c->format == COLUMN_REAL3 && value < 100)
		snprintf(text, sizeof(text), "%.4f", value);
	else if (c->format == COLUMN_SECONDS && value > 0 && value < 1)
		snprintf(text, sizeof(text), "%.6f", value); /* or a short one would be 0.00 */
	else
		snprintf(text, sizeof(text), value < 10000 ? "%.2f" : "%.0f", value);
	if (isfinite(value))
		shorten(c, value, text, sizeof(text));
	fprintf(out, "%*s", c->width, text);
}

void text_table(FILE *out, const struct result *r, int sender, unsigned int tests,
		enum column_table table)
{
	for (int line = 0; line < 3; line++) {
		for (size_t i = 0; i < column_count; i++) {
			const struct column *c = &columns[i];

			if (!(c->tests & tests) || c->table != table)
				continue;
			if (line == 2)
				text_cell(out, c, c->value(r, sender));
			else
				fprintf(out, "%*s", c->width, line ? c->unit : c->header);
		}
		fputc('\n', out);
	}
}

static const char *side_name(const struct result *r, int side)
{
	static const char *const names[SIDES] = { "client", "server" };

	return result_is_alone(r) ? "this host" : names[side];
}

static void print_cpu(FILE *out, const struct result *r)
{
	for (int i = 0; i < SIDES; i++) {
		const struct measure *m = r->side[i].measure;

		if (i && result_is_alone(r))
			break;
		if (!m || !m->cpu.valid)
			fprintf(out, "CPU %s: not measured (window too short)\n", side_name(r, i));
		else
			fprintf(out, "CPU %s: %.2f cores by rdmeter, %.2f busy on the host, of it "
				"%.2f in interrupts\n", side_name(r, i), m->cpu.process_cores,
				m->cpu.host_cores, m->cpu.host_softirq_cores);
	}
}

static void print_count(FILE *out, const char *name, const struct measure *m)
{
	char counts[4][UNITS_TEXT_SIZE];

	if (!m || !m->active)
		return;
	fprintf(out, "%s: posted %s, completed %s, received %s; %s before the window\n", name,
		units_count(counts[0], UNITS_TEXT_SIZE, m->posted),
		units_count(counts[1], UNITS_TEXT_SIZE, m->completed),
		units_count(counts[2], UNITS_TEXT_SIZE, m->received),
		units_count(counts[3], UNITS_TEXT_SIZE, m->warmup));
}

static void print_clock(FILE *out, const struct result *r)
{
	for (int i = 0; i < SIDES; i++) {
		const struct measure *m = r->side[i].measure;

		if (!m || !result_sends(r, i))
			continue;
		fprintf(out, "clock %s: %s, a read takes %u ns, resolution %u ns", side_name(r, i),
			m->clock, m->clock_read_ns, m->clock_resolution_ns);
		if (i == SIDE_CLIENT && r->clock_drift_ppm > 100)
			fprintf(out, "\nclock %s: it drifted by %.0f ppm: see the kernel's "
				"clocksource", side_name(r, i), r->clock_drift_ppm);
		fputc('\n', out);
	}
}

/* The sender's rate over its own window: unlike windows are never added or compared. */
static void print_other_rate(FILE *out, const struct result *r, int sender)
{
	const struct measure *m = r->side[sender].measure;
	double rate = measure_rate(m);

	/* In both directions a side's one count is that of what comes to it. */
	if (!m || m == result_truth(r, sender) || m->receiver || !isfinite(rate))
		return;
	fprintf(out, "the %s's own window: %" PRIu64 " messages in %.4f s, %.2f MiB/s\n",
		sender == SIDE_CLIENT ? "client" : "server", m->window.count,
		(double)(m->window.t1 - m->window.t0) / 1e9,
		rate * (double)r->point.size.value / 1048576.0);
}

static void print_qps(FILE *out, const struct result *r, const struct measure *m)
{
	if (r->point.qps.value > 1 && m->qp_most)
		fprintf(out, "of %" PRIu64 " queue pairs the slowest had %" PRIu64
			" messages in the window, the fastest %" PRIu64 "\n", r->point.qps.value,
			m->qp_least, m->qp_most);
}

static void print_flow(FILE *out, const struct result *r, int sender)
{
	const struct measure *truth = result_truth(r, sender), *timed = result_timed(r, sender);

	if (!truth || !truth->opened)
		return;
	fprintf(out, "%scounted at the %s, %s; min, median and max are those of its intervals\n",
		r->point.direction.value != DIRECTION_BOTH ? "" :
		sender == SIDE_CLIENT ? "client to server: " : "server to client: ",
		truth == r->side[SIDE_CLIENT].measure ? "client" : "server",
		truth->receiver ? "by arrival" : "by completion");
	text_table(out, r, sender, COLUMN_BW, COLUMN_MAIN);
	print_other_rate(out, r, sender);
	print_qps(out, r, truth);
	if (timed && timed->latency.m.n) {
		fputs("\nfrom post to completion, queueing included\n", out);
		text_table(out, r, sender, COLUMN_BW, COLUMN_STAMPED);
	}
	text_pace(out, r, sender);
}

static void print_sum(FILE *out, const struct result *r)
{
	double rate = result_sum_rate(r), size = (double)r->point.size.value;

	if (isfinite(rate))
		fprintf(out, "\nboth directions together, while both windows were open: "
			"%.2f MiB/s, %.4f Gb/s, %.0f messages/s\n", rate * size / 1048576.0,
			rate * size * 8 / 1e9, rate);
	else
		fputs("\nboth directions together: - (the two windows hardly overlap)\n", out);
}

static void print_bw(FILE *out, const struct result *r)
{
	bool both = r->point.direction.value == DIRECTION_BOTH;

	for (int side = 0; side < SIDES; side++) {
		if (!result_sends(r, side))
			continue;
		print_flow(out, r, side);
		if (both && side == SIDE_CLIENT)
			fputc('\n', out);
	}
	if (both)
		print_sum(out, r);
}

static void print_missed(FILE *out, const struct result *r)
{
	for (int side = 0; side < SIDES; side++)
		if (r->side[side].measure && r->side[side].measure->missed)
			fprintf(out, "%" PRIu64 " operations found another value than they "
				"expected\n", r->side[side].measure->missed);
}

/* Each half has a table and a picture. */
static void print_lat(FILE *out, const struct result *r, int sender, bool utf8)
{
	const struct measure *timed = result_timed(r, sender);
	const struct op *op = point_op(&r->point);
	unsigned int tests = column_tests_of(&r->point);

	if (op->make)
		fprintf(out, "%s\n", op->make);
	text_pace_title(out, timed);
	text_table(out, r, sender, tests, COLUMN_MAIN);
	text_pace(out, r, sender);
	fputc('\n', out);
	text_pace_bars(out, timed);
	if (timed->pace.active)
		bars_print(out, &timed->pace.response, 1, utf8);
	else
		bars_print(out, &timed->latency, timed->divisor, utf8);
	if (!op->undo || !timed->undo.m.n)
		return;
	fprintf(out, "\n%s\n", op->undo);
	text_table(out, r, sender, tests, COLUMN_UNDO);
	fputc('\n', out);
	bars_print(out, &timed->undo, timed->divisor, utf8);
}

/* Where messages may be lost: how many were. */
static void print_delivery(FILE *out, const struct result *r)
{
	const char *came = r->point.test.value == TEST_LAT ? "answered" : "received";
	char text[3][UNITS_TEXT_SIZE];
	uint64_t sent, delivered, lost;

	for (int side = 0; side < SIDES; side++) {
		if (!result_sends(r, side) || !result_delivery(r, side, &sent, &delivered))
			continue;
		lost = sent > delivered ? sent - delivered : 0;
		fprintf(out, "%s: sent %s, ", side == SIDE_CLIENT ? "client to server" :
								    "server to client",
			units_count(text[0], UNITS_TEXT_SIZE, sent));
		if (delivered == RESULT_UNKNOWN)
			fputs("delivered: unknown\n", out);
		else
			fprintf(out, "%s %s, lost %s (%.3f %%)\n", came,
				units_count(text[1], UNITS_TEXT_SIZE, delivered),
				units_count(text[2], UNITS_TEXT_SIZE, lost),
				sent ? 100.0 * (double)lost / (double)sent : 0.0);
	}
}

void text_result(FILE *out, const struct result *r, bool utf8)
{
	int sender = result_sends(r, SIDE_CLIENT) ? SIDE_CLIENT : SIDE_SERVER;
	const struct measure *truth = result_truth(r, sender);

	if (r->point.direction.value == DIRECTION_BOTH && (!truth || !truth->opened))
		truth = result_truth(r, SIDE_SERVER);
	fputc('\n', out);
	if (!truth || !truth->opened) {
		fputs("nothing was measured: the run ended before its window opened\n", out);
		return;
	}
	if (r->point.test.value == TEST_LAT)
		print_lat(out, r, sender, utf8);
	else
		print_bw(out, r);
	fputc('\n', out);
	if (r->interrupted)
		fputs("interrupted: the window was closed early\n", out);
	text_warnings(out, r);
	text_requirements(out, r);
	print_missed(out, r);
	print_delivery(out, r);
	print_count(out, side_name(r, SIDE_CLIENT), r->side[SIDE_CLIENT].measure);
	print_count(out, "server", r->side[SIDE_SERVER].measure);
	text_counters(out, r);
	text_threads(out, r);
	print_cpu(out, r);
	print_clock(out, r);
}
