/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "text_fixture.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include "plan/plan.h"

#include <cmocka.h> /* late: it has a macro named fail */

static void fill_side(struct side *s, const char *host, const char *device, const char *gid)
{
	TEXT(s->host.hostname, host);
	TEXT(s->host.kernel, "Linux 6.1.0-18-amd64");
	TEXT(s->host.cpu, "A CPU @ 2.40GHz");
	s->host.cpus = 8;
	TEXT(s->device.name, device);
	TEXT(s->device.gid, gid);
	TEXT(s->device.gid_why, "the local address, RoCE v2");
	TEXT(s->device.why, "owns the local address");
	TEXT(s->device.placed, "anywhere: the host has one NUMA node");
	s->device.port = 1;
	s->device.gid_index = 1;
	s->device.gid_kind = GID_ROCE_V2;
	s->device.numa_node = -1;
	s->device.caps.active_mtu = 4096;
}

int open_fixture(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	fill_side(&f->result.side[SIDE_CLIENT], "alpha", "rxe0", "::ffff:10.77.0.1");
	fill_side(&f->result.side[SIDE_SERVER], "beta", "rxe1", "::ffff:10.77.1.1");
	f->result.side[SIDE_CLIENT].measure = &f->client;
	f->result.side[SIDE_SERVER].measure = &f->server;
	histogram_reset(&f->client.latency);
	histogram_reset(&f->server.latency);
	histogram_reset(&f->client.pace.response);
	histogram_reset(&f->client.pace.lateness);
	*state = f;
	return 0;
}

int close_fixture(void **state)
{
	free(*state);
	return 0;
}

void plan(struct fixture *f, const char *words)
{
	char text[256], *argv[32], *save = NULL, name[] = "rdmeter", host[] = "beta";
	struct options opt;
	int argc = 0;

	snprintf(text, sizeof(text), "%s", words);
	argv[argc++] = name;
	for (char *w = strtok_r(text, " ", &save); w; w = strtok_r(NULL, " ", &save))
		argv[argc++] = w;
	argv[argc++] = host;
	argv[argc] = NULL;
	assert_int_equal(options_parse(&opt, argc, argv), 0);
	assert_int_equal(plan_resolve(&opt, &f->result.point), 0);
	f->result.point.mtu.value = 4096;
	TEXT(f->result.point.mtu.why, "smaller active MTU");
	f->result.side[SIDE_CLIENT].inline_size = (uint32_t)f->result.point.inline_size.value;
}

void fill_measure(struct measure *m, uint64_t count, uint64_t length)
{
	m->active = m->opened = m->closed = true;
	m->window = (struct window){ 5 * SECOND, 5 * SECOND + length, count };
	m->posted = count + 30;
	m->completed = count + 30;
	m->warmup = 20;
	m->divisor = 1;
	m->cpu = (struct cpu_use){ 1.0, 2.5, 0.25, true };
	TEXT(m->clock, "tsc");
	m->clock_read_ns = 10;
	m->clock_resolution_ns = 1;
}

void move(struct measure *m, const char *name, uint64_t before, uint64_t after)
{
	struct counter_move *c = &m->counters.move[m->counters.count++];

	TEXT(c->name, name);
	c->before = before;
	c->after = after;
	m->counters.valid = true;
}

char *result_text(const struct fixture *f, bool utf8)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	text_result(out, &f->result, utf8);
	assert_int_equal(fclose(out), 0);
	return text;
}

void check_columns(const char *text)
{
	int column = 0;

	for (const char *c = text; *c; c++) {
		if (*c == '\n')
			column = 0;
		else if (((unsigned char)*c & 0xc0) != 0x80 && ++column > 100)
			fail_msg("more than 100 columns: %.100s", c - 100);
		assert_true(*c != '\t' && *c != '\033' && *c != '\r');
	}
}

static FILE *golden(const char *name, const char *mode)
{
	const char *tree = getenv("SRCDIR");
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/tests/unit/golden/%s", tree ? tree : ".", name);
	file = fopen(path, mode);
	if (!file)
		fail_msg("%s: %s", path, strerror(errno));
	return file;
}

void check_golden(char *text, const char *name)
{
	check_columns(text);
	check_golden_long(text, name);
}

void check_golden_long(char *text, const char *name)
{
	const char *mode = getenv("RDMETER_GOLDEN");
	static char wanted[65536];
	FILE *file;
	size_t n;

	if (mode && !strcmp(mode, "write")) {
		file = golden(name, "w");
		fputs(text, file);
		fclose(file);
	}
	file = golden(name, "r");
	n = fread(wanted, 1, sizeof(wanted) - 1, file);
	fclose(file);
	wanted[n] = '\0';
	assert_true(n > 0);
	if (strcmp(text, wanted))
		fail_msg("not as %s:\n%s", name, text);
	free(text);
}

void expect(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("no '%s' in:\n%s", part, text);
}

void expect_no(const char *text, const char *part)
{
	if (strstr(text, part))
		fail_msg("'%s' in:\n%s", part, text);
}

const char *values_line(const char *text, char *line, size_t size)
{
	const char *at = strstr(text, "     size");

	assert_non_null(at);
	for (int i = 0; i < 2; i++)
		at = strchr(at, '\n') + 1;
	snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
	return line;
}
