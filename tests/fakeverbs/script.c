/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The settings of FAKEVERBS, the calls that fail, and what is written for a test to read. */
#define _GNU_SOURCE
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fake_script script = {
	.devices = 1, .max_qp = 8192, .max_qp_wr = 16384, .max_cqe = 4194304, .max_sge = FAKE_SGE,
	.max_inline = 256, .max_msg_sz = 1ULL << 30, .max_mr_size = 1ULL << 40,
	.max_rd_atomic = 16, .max_dest_rd_atomic = 16, .atomics = 1, .mtu = 4096,
	.windows = 3, .wr_api = 1, .max_srq_wr = 16384, .checked = 4096,
	.gids = "fe80::fa:ce,127.0.0.1,::1", .pkeys = "ffff",
	.cm_device = FAKE_DEVICES, .cm_gid = FAKE_GIDS,
};

static const char *const call_names[] = {
#define CALL(name) #name,
#include "calls.def"
#undef CALL
	"control", "data",
};

#define CALL_NAMES (sizeof(call_names) / sizeof(call_names[0]))

enum kind { NUMBER, BOOL, TEXT, PAIR }; /* PAIR: "A:B" into two numbers that follow each other */

static const struct setting {
	const char *name;
	enum kind kind;
	size_t at, second;
} settings[] = {
#define AT(member) offsetof(struct fake_script, member)
	{ "devices", NUMBER, AT(devices), 0 }, { "max_qp", NUMBER, AT(max_qp), 0 },
	{ "max_qp_wr", NUMBER, AT(max_qp_wr), 0 }, { "max_cqe", NUMBER, AT(max_cqe), 0 },
	{ "max_sge", NUMBER, AT(max_sge), 0 }, { "max_inline", NUMBER, AT(max_inline), 0 },
	{ "max_msg_sz", NUMBER, AT(max_msg_sz), 0 },
	{ "max_mr_size", NUMBER, AT(max_mr_size), 0 },
	{ "max_rd_atomic", NUMBER, AT(max_rd_atomic), 0 },
	{ "max_dest_rd_atomic", NUMBER, AT(max_dest_rd_atomic), 0 },
	{ "atomics", NUMBER, AT(atomics), 0 }, { "mtu", NUMBER, AT(mtu), 0 },
	{ "lmc", NUMBER, AT(lmc), 0 }, { "odp", NUMBER, AT(odp), 0 },
	{ "drop", NUMBER, AT(drop), 0 }, { "seed", NUMBER, AT(seed), 0 },
	{ "status", PAIR, AT(status), AT(status_at) },
	{ "recv_status", PAIR, AT(recv_status), AT(recv_status_at) },
	{ "lose", NUMBER, AT(lose), 0 }, { "duplicate", NUMBER, AT(duplicate), 0 },
	{ "late", NUMBER, AT(late), 0 }, { "stall", PAIR, AT(stall_at), AT(stall) },
	{ "pace", NUMBER, AT(pace), 0 }, { "wire", NUMBER, AT(wire), 0 },
	{ "tick", NUMBER, AT(tick), 0 },
	{ "port_down", NUMBER, AT(port_down), 0 }, { "corrupt", NUMBER, AT(corrupt), 0 },
	{ "max_srq_wr", NUMBER, AT(max_srq_wr), 0 },
	{ "wr_api", NUMBER, AT(wr_api), 0 },
	{ "dmabuf", NUMBER, AT(dmabuf), 0 }, { "windows", NUMBER, AT(windows), 0 },
	{ "reg", NUMBER, AT(reg), 0 }, { "reg_page", NUMBER, AT(reg_page), 0 },
	{ "dereg", NUMBER, AT(dereg), 0 }, { "checked", NUMBER, AT(checked), 0 },
	{ "refuse", NUMBER, AT(refuse), 0 }, { "overrun", NUMBER, AT(overrun), 0 },
	{ "cm_reject", PAIR, AT(cm_reject), AT(cm_reject_at) },
	{ "cm_address", PAIR, AT(cm_address), AT(cm_address_at) },
	{ "cm_route", PAIR, AT(cm_route), AT(cm_route_at) },
	{ "cm_unreachable", NUMBER, AT(cm_unreachable), 0 },
	{ "cm_lose", NUMBER, AT(cm_lose), 0 }, { "cm_garble", NUMBER, AT(cm_garble), 0 },
	{ "cm_device", NUMBER, AT(cm_device), 0 }, { "cm_gid", NUMBER, AT(cm_gid), 0 },
	{ "cm_disconnect", NUMBER, AT(cm_disconnect), 0 },
	{ "talk", BOOL, AT(talk), 0 }, { "null", BOOL, AT(null), 0 },
	{ "gids", TEXT, AT(gids), sizeof(script.gids) },
	{ "pkeys", TEXT, AT(pkeys), sizeof(script.pkeys) },
	{ "report", TEXT, AT(report), sizeof(script.report) },
	{ "trace", TEXT, AT(trace), sizeof(script.trace) },
#undef AT
};

/* Settings that are said by a word. */
static const struct {
	const char *word;
	size_t at;
} words[] = {
	{ "state=down", offsetof(struct fake_script, down) },
	{ "link=ib", offsetof(struct fake_script, infiniband) },
	{ "clock=virtual", offsetof(struct fake_script, virtual_clock) },
};

static void __attribute__((noreturn, format(printf, 1, 2))) quit(const char *fmt, ...)
{
	va_list ap;

	fputs("fakeverbs: ", stderr);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	_exit(99);
}

/* A number with a unit of time, if any; what comes after it into *end. */
static uint64_t number(const char *text, const char **end)
{
	static const struct {
		const char *name;
		uint64_t factor;
	} units[] = { { "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 } };
	char *after;
	uint64_t n = strtoull(text, &after, 0);

	if (after == text)
		quit("'%s' is no number", text);
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t length = strlen(units[i].name);

		if (!strncmp(after, units[i].name, length) && (!after[length] || after[length] == ':')) {
			*end = after + length;
			return n * units[i].factor;
		}
	}
	*end = after;
	return n;
}

static void read_lates(const char *path)
{
	FILE *f = fopen(path, "re");
	uint64_t value;

	if (!f)
		quit("late=@%s: %s", path, strerror(errno));
	for (size_t room = 0; fscanf(f, "%" SCNu64, &value) == 1;) {
		if (script.lates == room) {
			room = room ? 2 * room : 1024;
			script.late_list = realloc(script.late_list, room * sizeof(value));
		}
		script.late_list[script.lates++] = value;
	}
	fclose(f);
}

/* "CALL:N:ERRNO", or "CALL:N" of one that hangs */
static void read_fault(const char *text, bool hangs)
{
	struct fake_fault *f = &script.fault[script.faults++];
	const char *colon = strchr(text, ':'), *end;
	size_t length = colon ? (size_t)(colon - text) : 0;

	if (!colon || script.faults > sizeof(script.fault) / sizeof(script.fault[0]))
		quit("fail=%s: not CALL:N:ERRNO, or too many of them", text);
	for (f->call = 0; f->call < CALL_NAMES; f->call++)
		if (strlen(call_names[f->call]) == length &&
		    !strncmp(call_names[f->call], text, length))
			break;
	if (f->call == CALL_NAMES)
		quit("fail=%s: no such call", text);
	f->n = number(colon + 1, &end);
	if (hangs)
		return;
	if (*end != ':')
		quit("fail=%s: not CALL:N:ERRNO", text);
	f->error = (int)number(end + 1, &end);
}

static void set_value(const struct setting *s, const char *value)
{
	char *base = (char *)&script;
	const char *end = "";

	if (s->kind == TEXT) {
		snprintf(base + s->at, s->second, "%s", value);
	} else if (s->kind == NUMBER || s->kind == PAIR) {
		*(uint64_t *)(void *)(base + s->at) = number(value, &end);
		if (s->kind == PAIR && *end == ':')
			*(uint64_t *)(void *)(base + s->second) = number(end + 1, &end);
	} else {
		*(bool *)(base + s->at) = true;
	}
	if (*end)
		quit("%s=%s: what is '%s'?", s->name, value, end);
}

static void read_setting(char *text)
{
	char *value = strchr(text, '=');
	size_t length = value ? (size_t)(value - text) : strlen(text);

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(text, words[i].word)) {
			*((bool *)&script + words[i].at) = true;
			return;
		}
	value = value ? value + 1 : text + length;
	if (!strncmp(text, "late=@", 6)) {
		read_lates(text + 6);
	} else if (!strncmp(text, "fail=", 5) || !strncmp(text, "hang=", 5)) {
		read_fault(value, text[0] == 'h');
	} else {
		for (size_t i = 0; i < sizeof(settings) / sizeof(settings[0]); i++)
			if (strlen(settings[i].name) == length &&
			    !strncmp(settings[i].name, text, length)) {
				set_value(&settings[i], value);
				script.null_marker |= !strcmp(text, "null=marker");
				script.null_ahead |= !strcmp(text, "null=ahead");
				return;
			}
		quit("what is '%s'?", text);
	}
}

static void read_settings(char *text)
{
	char *save = NULL;

	for (char *t = strtok_r(text, " ;\n", &save); t; t = strtok_r(NULL, " ;\n", &save))
		read_setting(t);
}

void script_read(void)
{
	const char *text = getenv("FAKEVERBS"), *path = getenv("FAKEVERBS_SCRIPT");
	static char buffer[8192];
	FILE *f;
	size_t n;

	if (path) {
		f = fopen(path, "re");
		if (!f)
			quit("%s: %s", path, strerror(errno));
		n = fread(buffer, 1, sizeof(buffer) - 1, f);
		buffer[n] = '\0';
		fclose(f);
		read_settings(buffer);
	}
	if (text) {
		if (strlen(text) >= sizeof(buffer))
			quit("FAKEVERBS is too long");
		strcpy(buffer, text);
		read_settings(buffer);
	}
	if (script.devices > FAKE_DEVICES || script.max_sge > FAKE_SGE)
		quit("at most %d devices and %d SGEs", FAKE_DEVICES, FAKE_SGE);
}

static _Atomic uint64_t calls[CALLS + 2];

int fault_call(enum fake_call call)
{
	bool data = call == CALL_post_send || call == CALL_post_recv || call == CALL_poll_cq ||
		    call == CALL_bind_mw || call == CALL_req_notify_cq ||
		    call == CALL_get_cq_event;
	uint64_t n = atomic_fetch_add(&calls[call], 1) + 1;
	/* A thread is none of the verbs. */
	uint64_t of_kind = call == CALL_thread ? 0 :
			   atomic_fetch_add(&calls[CALLS + data], 1) + 1;

	for (size_t i = 0; i < script.faults; i++) {
		const struct fake_fault *f = &script.fault[i];

		if ((f->call != call || f->n != n) &&
		    (f->call != CALLS + (uint32_t)data || f->n != of_kind))
			continue;
		report_line("fault %s", call_names[call]);
		while (!f->error)
			pause();
		return f->error;
	}
	return 0;
}

static void append(const char *path, const char *fmt, va_list ap)
{
	char line[512];
	int fd, n;

	if (!path[0])
		return;
	n = vsnprintf(line, sizeof(line) - 1, fmt, ap);
	n = n < (int)sizeof(line) - 1 ? n : (int)sizeof(line) - 2;
	line[n++] = '\n';
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	if (fd < 0 || write(fd, line, (size_t)n) != n)
		quit("%s: %s", path, strerror(errno));
	close(fd);
}

void report_line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append(script.report, fmt, ap);
	va_end(ap);
}

void trace_line(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	append(script.trace, fmt, ap);
	va_end(ap);
}

static void __attribute__((destructor)) report_calls(void)
{
	for (size_t i = 0; i < CALL_NAMES; i++)
		if (atomic_load(&calls[i]))
			report_line("calls %s %" PRIu64, call_names[i], atomic_load(&calls[i]));
	free(script.late_list);
	script.late_list = NULL;
}

/* splitmix64 */
uint64_t script_draw(uint64_t n)
{
	uint64_t z = script.seed += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (z ^ (z >> 31)) % n;
}
