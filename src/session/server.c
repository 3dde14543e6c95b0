/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The side that serves: one session after another, each as its client says. */
#define _GNU_SOURCE
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fail.h"
#include "cli/units.h"
#include "config.h"
#include "control/messages.h"
#include "plan/plan.h"
#include "session/common.h"
#include "session/devices.h"
#include "session/dialog.h"
#include "session/net.h"

#define HELLO_NS 3000000000ULL /* who has connected and says nothing keeps others waiting */
#define ACCEPT_PAUSE_US 100000
#define IDLE_NS 3600000000000ULL

static int take_hello(struct session *s)
{
	struct message_greeting m;
	uint64_t stall = s->stall_ns;
	int rc = dialog_greet(&s->channel, false);

	if (rc)
		return fail(FAIL_SETUP, -rc, "sending GREETING to the client %s: %s; see what it "
			    "says", s->peer, strerror(-rc));
	session_set_stall(s, stall < HELLO_NS ? stall : HELLO_NS);
	rc = session_take_greeting(s, "HELLO", &m);
	session_set_stall(s, stall);
	s->met = !rc;
	return rc;
}

static int open_device(struct session *s, const struct message_facts *m)
{
	const struct options *opt = s->opt;
	struct device_request request = {
		.name = opt->device.given ? opt->device.text : NULL,
		.asked = m->asked_device[0] ? m->asked_device : NULL,
		.port = m->asked_port ? m->asked_port : (uint32_t)opt->ib_port.num,
		.gid_index = m->asked_gid_index,
		.local = &s->local,
		.peer = &m->device,
	};

	if (request.gid_index < 0 && opt->gid_index.given)
		request.gid_index = (int32_t)opt->gid_index.num;
	return device_open(&s->device, &request);
}

static bool is_ipv4(const struct device_facts *d)
{
	return !strncmp(d->gid, "::ffff:", 7);
}

/* "GID 1 (::1, RoCE v2)", or "LID 7" */
static void name_address(char *out, size_t size, const struct device_facts *d)
{
	if (d->gid_kind == GID_NONE)
		snprintf(out, size, "LID %u", d->lid);
	else
		snprintf(out, size, "GID %u (%s, %s)", d->gid_index, d->gid,
			 gid_kind_name(d->gid_kind));
}

/* Two RoCE versions, IPv4 and IPv6, InfiniBand and Ethernet have no common word on the wire. */
static int check_gids(const struct session *s)
{
	const struct device_facts *ours = &s->device.facts, *theirs = &s->peer_device;
	char our[96], their[96];

	if (ours->gid_kind == theirs->gid_kind && is_ipv4(ours) == is_ipv4(theirs))
		return 0;
	name_address(our, sizeof(our), ours);
	name_address(their, sizeof(their), theirs);
	return fail(FAIL_SETUP, EPROTONOSUPPORT, "the client's %s has %s and the server's %s %s, "
		    "which cannot talk; choose with --gid-index and --peer-gid-index",
		    theirs->name, their, ours->name, our);
}

/* Releases json, the client's FACTS. */
static int exchange_facts(struct session *s, json_t *json)
{
	struct message_facts m;
	int rc = session_take_facts(s, json, &m);

	if (!rc)
		rc = open_device(s, &m);
	if (!rc)
		rc = check_gids(s);
	return rc ? rc : session_send_facts(s);
}

static void log_row(const struct row *r, const struct measure *client)
{
	const struct measure *truth = r->measure->active && (r->measure->receiver || r->sends) ?
					      r->measure : client;
	char size[UNITS_TEXT_SIZE];

	note("%s: %s %s, %s: %" PRIu64 " messages in %.3f s", r->session->peer,
	     point_op(&r->point)->name, r->point.test.value == TEST_LAT ? "lat" : "bw",
	     units_size(size, sizeof(size), r->point.size.value), truth->window.count,
	     (double)(truth->window.t1 - truth->window.t0) / 1e9);
}

static int connect_row(struct row *r)
{
	json_t *json;
	int rc = session_take_endpoints(r);

	if (!rc)
		rc = row_connect(r);
	if (!rc)
		rc = session_send_endpoints(r);
	if (!rc)
		rc = dialog_expect(r->session, "READY", &json);
	if (rc)
		return rc;
	json_decref(json);
	rc = dialog_connected(r->session);
	return rc ? rc : dialog_send(r->session, message_ready(clock_raw_ns()));
}

static int measure_row(struct row *r)
{
	struct measure *client = calloc(1, sizeof(*client));
	struct phases_end end = { 0 };
	int rc = client ? connect_row(r) : fail(FAIL_SETUP, ENOMEM, "out of memory");

	if (!rc)
		rc = phases_run(r, &end);
	if (!rc)
		rc = session_exchange_results(r, &end, client);
	if (!rc)
		log_row(r, client);
	r->clean = !rc;
	free(client);
	free(end.peer.total);
	return rc ? rc : end.interrupted ? -EINTR : 0;
}

/* A client may make this side wait, but no longer than its own --stall-timeout. */
static void bound_stall(struct session *s, uint64_t asked)
{
	uint64_t most = s->opt->stall_timeout.num;
	char text[UNITS_TEXT_SIZE], limit[UNITS_TEXT_SIZE];

	session_set_stall(s, asked < most ? asked : most);
	if (asked > most)
		note("%s: --stall-timeout %s -> %s (this server's --stall-timeout)", s->peer,
		     units_time(text, sizeof(text), asked),
		     units_time(limit, sizeof(limit), most));
}

static int serve_point(struct session *s, const struct message_point *m)
{
	struct row *r;
	int rc = plan_check_limits(&m->point, &s->device.facts.caps, "the server's device");

	if (!rc)
		rc = plan_check_limits(&m->point, &s->peer_device.caps, "the client's device");
	if (rc)
		return rc;
	r = calloc(1, sizeof(*r));
	if (!r)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for a row");
	rc = row_prepare(r, s, &m->point, (struct row_wish){ .keep = m->keep });
	if (!rc) {
		struct message_accept accept = {
			.inline_size = r->queues.inline_size, .stall_ns = s->stall_ns,
			.kept = r->reused,
		};

		s->in_row = !m->plan_only;
		rc = dialog_send(s, message_accept(&accept));
	}
	if (!rc && !m->plan_only)
		rc = measure_row(r);
	row_free(r);
	return rc;
}

/* A row that fails does not end the session where client and server can agree on its end. */
static int serve_row(struct session *s, const json_t *json)
{
	struct message_point m = { 0 };
	const char *key;
	int rc = message_get_point(json, &m, &key);

	if (rc)
		return dialog_told_bad(s, json, key);
	bound_stall(s, m.point.stall_timeout.value);
	rc = serve_point(s, &m);
	if (rc && (rc == -EINTR || s->stuck || dialog_end_row(s)))
		return rc;
	s->in_row = false;
	fail_set_aside();
	return 0;
}

static int serve_points(struct session *s)
{
	int rc = 0;

	while (!rc) {
		json_t *json;

		/* Requests that have arrived already must not keep a signal from being seen. */
		if (watch_wait(s->watch, 0) & WATCH_SIGNAL)
			return -EINTR;
		rc = dialog_next(s, "POINT", &json);
		if (rc)
			return rc;
		if (!strcmp(message_type(json), "BYE")) {
			json_decref(json);
			return 0;
		}
		if (!strcmp(message_type(json), "POINT"))
			rc = serve_row(s, json);
		else
			rc = dialog_told_undue(s, json, "POINT");
		json_decref(json);
	}
	return rc;
}

/* One client from its first word to its last. -EDEADLK: a data thread is stuck. */
static int serve_one(const struct options *opt, struct watch *watch, int fd)
{
	struct session s;
	json_t *facts = NULL;
	int rc = session_open(&s, opt, watch, false, fd);

	if (!rc)
		rc = take_hello(&s);
	if (!rc)
		rc = devices_answer(&s, &facts);
	if (!rc && facts)
		rc = exchange_facts(&s, facts);
	if (!rc && facts)
		rc = serve_points(&s);
	session_close(&s);
	return s.stuck ? -EDEADLK : rc;
}

static int wait_for_client(struct watch *watch)
{
	for (;;) {
		unsigned int what;
		int fd;

		/* One that came while a session was failing has been taken off the descriptor. */
		if (watch->signal)
			return -EINTR;
		what = watch_wait(watch, watch_now() + IDLE_NS);
		if (what & WATCH_SIGNAL)
			return -EINTR;
		if (!(what & WATCH_LISTEN))
			continue;
		fd = accept4(watch->listen_fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0)
			return fd;
		if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
			fail(FAIL_SETUP, errno, "accepting a client: %s; close something",
			     strerror(errno));
		/* The connection stays pending: without a pause this would be a busy loop. */
		usleep(ACCEPT_PAUSE_US);
	}
}

/* The device has to be there before clients come: a server that can serve nobody says so now. */
static int check_device(const struct options *opt)
{
	struct device_request request = {
		.name = opt->device.given ? opt->device.text : NULL,
		.port = (uint32_t)opt->ib_port.num,
		.gid_index = opt->gid_index.given ? (int32_t)opt->gid_index.num : -1,
	};
	struct device d;
	int rc;

	if (!opt->device.given)
		return 0;
	rc = device_open(&d, &request);
	device_close(&d);
	return rc;
}

/* A server says for itself where files of buffers are to be. */
static bool names_place(const struct options *opt, const struct option_row *row)
{
	return !strcmp(row->name, "memory") && opt->memory.num == MEMORY_FILE;
}

static void note_client_options(const struct options *opt)
{
	for (size_t i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		/* --stall-timeout is pushed, but a server's own is a limit. */
		if (option_value((struct options *)(uintptr_t)opt, row)->given &&
		    row->group != GROUP_CONTROL && !names_place(opt, row) &&
		    (row->scope == SCOPE_PUSH || row->scope == SCOPE_PEER))
			note("--%s: a server needs no test options: the client decides", row->name);
	}
}

int server_run(const struct options *opt, struct watch *watch)
{
	char text[80];
	int rc = check_device(opt);

	if (rc)
		return rc;
	note_client_options(opt);
	watch->listen_fd = net_listen(opt, text, sizeof(text));
	if (watch->listen_fd < 0)
		return watch->listen_fd;
	note("listening on %s", text);
	do {
		fail_clear();
		rc = wait_for_client(watch);
		if (rc >= 0)
			rc = serve_one(opt, watch, rc);
	} while (!opt->once.given && rc != -EINTR && rc != -EDEADLK);
	close(watch->listen_fd);
	watch->listen_fd = -1;
	return rc;
}
