/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/common.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "config.h"
#include "control/messages.h"
#include "session/dialog.h"
#include "session/net.h"
#include "verbs/diagnose.h"
#include "verbs/gid.h"

int session_open(struct session *s, const struct options *opt, struct watch *watch, bool client,
		 int fd)
{
	socklen_t size = sizeof(s->remote), local_size = sizeof(s->local);
	int rc;

	*s = (struct session){
		.opt = opt, .watch = watch, .client = client,
		.peer_is = client ? "server" : "client", .stall_ns = opt->stall_timeout.num,
	};
	clock_begin(&s->clock);
	getpeername(fd, (struct sockaddr *)&s->remote, &size);
	getsockname(fd, (struct sockaddr *)&s->local, &local_size);
	net_unmap(&s->local);
	net_unmap(&s->remote);
	net_text(&s->remote, s->peer, sizeof(s->peer));
	rc = channel_open(&s->channel, fd, s->stall_ns);
	if (rc)
		return fail(FAIL_SETUP, -rc, "setting up the connection to %s: %s", s->peer,
			    strerror(-rc));
	watch->channel = &s->channel;
	watch->peer_gone = false;
	watch->error = 0;
	facts_get(&s->host);
	return 0;
}

void session_close(struct session *s)
{
	dialog_give_up(s);
	s->watch->channel = NULL;
	channel_close(&s->channel);
	if (s->stuck)
		return;
	keep_free(&s->kept);
	device_close(&s->device);
}

void session_set_stall(struct session *s, uint64_t stall_ns)
{
	s->stall_ns = stall_ns;
	s->channel.send_timeout_ns = stall_ns;
}

int session_take_greeting(struct session *s, const char *type, struct message_greeting *m)
{
	const char *key;
	json_t *json;
	int rc = dialog_expect(s, type, &json);

	if (rc)
		return rc;
	rc = message_get_greeting(json, m, &key);
	if (rc)
		rc = dialog_told_bad(s, json, key);
	json_decref(json);
	if (!rc && m->major != PROTOCOL_MAJOR)
		rc = fail(FAIL_SETUP, EPROTO, "the %s %s speaks protocol %u.%u (rdmeter %s), this "
			  "side %d.%d (%s): upgrade the older one", s->peer_is, s->peer, m->major,
			  m->minor, m->version, PROTOCOL_MAJOR, PROTOCOL_MINOR, PACKAGE_VERSION);
	return rc;
}

int session_send_facts(struct session *s)
{
	const struct options *opt = s->opt;
	struct message_facts m = {
		.host = s->host, .device = s->device.facts, .asked_gid_index = -1,
	};

	counters_open(&s->counters, s->device.facts.name, s->device.facts.port);
	if (s->client) {
		snprintf(m.asked_device, sizeof(m.asked_device), "%s",
			 opt->peer_device.given ? opt->peer_device.text : "");
		m.asked_port = (uint32_t)opt->peer_ib_port.num;
		if (opt->peer_gid_index.given)
			m.asked_gid_index = (int32_t)opt->peer_gid_index.num;
	}
	return dialog_send(s, message_facts(&m));
}

int session_take_facts(struct session *s, json_t *json, struct message_facts *m)
{
	const char *key;
	int rc = message_get_facts(json, m, &key);

	if (rc)
		rc = dialog_told_bad(s, json, key);
	json_decref(json);
	if (rc)
		return rc;
	s->peer_host = m->host;
	s->peer_device = m->device;
	return 0;
}

/* How many of them the message has that begins with number `at`. */
static uint32_t endpoints_from(const struct endpoints *e, uint32_t at)
{
	return e->count - at < ENDPOINTS_MOST ? e->count - at : ENDPOINTS_MOST;
}

int session_send_endpoints(struct row *r)
{
	const struct endpoints *e = &r->ours;
	int rc = 0;

	for (uint32_t at = 0; !rc && at < e->count; at += ENDPOINTS_MOST) {
		struct message_endpoints m = {
			.count = endpoints_from(e, at), .qpn = e->qpn + at, .psn = e->psn + at,
			.rkey = e->rkey + at, .address = e->address, .lid = e->lid,
			.cm_port = e->cm_port,
		};

		gid_text(&e->gid, m.gid, sizeof(m.gid));
		rc = dialog_send(r->session, message_endpoints(&m));
	}
	return rc;
}

static int take_endpoints(struct row *r, uint32_t at)
{
	struct endpoints *e = &r->theirs;
	struct message_endpoints m = {
		.count = endpoints_from(e, at), .qpn_out = e->qpn + at, .psn_out = e->psn + at,
		.rkey_out = e->rkey + at,
	};
	const char *key;
	json_t *json;
	int rc = dialog_expect(r->session, "ENDPOINTS", &json);

	if (rc)
		return rc;
	rc = message_get_endpoints(json, &m, &key);
	if (!rc && inet_pton(AF_INET6, m.gid, e->gid.raw) != 1) {
		key = "gid";
		rc = -EBADMSG;
	}
	if (rc)
		rc = dialog_told_bad(r->session, json, key);
	json_decref(json);
	e->address = m.address;
	e->lid = m.lid;
	e->cm_port = m.cm_port;
	return rc;
}

int session_take_endpoints(struct row *r)
{
	int rc = 0;

	for (uint32_t at = 0; !rc && at < r->theirs.count; at += ENDPOINTS_MOST)
		rc = take_endpoints(r, at);
	return rc;
}

static int take_result(struct session *s, struct measure *theirs)
{
	const char *key;
	json_t *json;
	int rc = dialog_expect(s, "RESULT", &json);

	if (rc)
		return rc;
	rc = message_get_result(json, theirs, &key);
	if (rc)
		rc = dialog_told_bad(s, json, key);
	json_decref(json);
	return rc;
}

static int told_corrupt(const struct row *r, const struct measure *theirs)
{
	const struct measure *ours = r->measure;
	const struct measure *bad = ours->data_errors ? ours : theirs;

	if (!bad->data_errors)
		return 0;
	if (r->point.verify.value)
		return fail(FAIL_RUN, EIO, "corrupt data: %" PRIu64 " messages at %s are not what "
			    "was sent, %s; do not trust this path", bad->data_errors,
			    bad == ours ? r->session->device.facts.name :
					  r->session->peer_device.name, bad->data_fault);
	return fail(FAIL_RUN, EIO, "corrupt data: %" PRIu64 " of %u slots at %s are not what was "
		    "sent, %s; do not trust this path", bad->data_errors,
		    point_slots(&r->point) * r->queues.count,
		    bad == ours ? r->session->device.facts.name : r->session->peer_device.name,
		    bad->data_fault);
}

/* The server speaks first, so that two large results never wait for each other. */
int session_exchange_results(struct row *r, const struct phases_end *end, struct measure *theirs)
{
	struct session *s = r->session;
	int rc;

	rc = row_check_data(r, &end->peer);
	if (rc)
		return rc;
	if (s->client)
		rc = take_result(s, theirs);
	else
		rc = dialog_send(s, message_result(r->measure));
	if (!rc && s->client)
		rc = dialog_send(s, message_result(r->measure));
	else if (!rc)
		rc = take_result(s, theirs);
	if (!rc)
		s->running = false;
	return rc ? rc : told_corrupt(r, theirs);
}

/* A device's other port is no concern of this row. */
static bool concerns(const struct session *s, const struct ibv_async_event *event)
{
	return event->event_type != IBV_EVENT_PORT_ERR ||
	       event->element.port_num == (int)s->device.facts.port;
}

int session_take_events(struct session *s, const char *phase)
{
	struct ibv_async_event event;
	int rc = 0;

	while (!rc && !ibv_get_async_event(s->device.context, &event)) {
		const char *what = diagnose_event(event.event_type);

		if (what && concerns(s, &event))
			rc = fail(FAIL_RUN, EIO, "asynchronous event of %s port %u during %s: %s: "
				  "%s", s->device.facts.name, s->device.facts.port, phase,
				  ibv_event_type_str(event.event_type), what);
		ibv_ack_async_event(&event);
	}
	return rc;
}
