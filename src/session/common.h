/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The steps of a session that both sides take alike. */
#ifndef RDMETER_SESSION_COMMON_H
#define RDMETER_SESSION_COMMON_H

#include "session/phases.h"
#include "session/row.h"
#include "session/session.h"

/* Takes over a connected descriptor. 0, or -errno told; s is to be given to session_close(). */
int session_open(struct session *s, const struct options *opt, struct watch *watch, bool client,
		 int fd);
void session_close(struct session *s);

/*
 * A client's session with opt's host, as far as HELLO. 0, -EINTR for a signal, or -errno told; s
 * is to be given to session_close().
 */
int session_connect(struct session *s, const struct options *opt, struct watch *watch);

/* How long this session waits for the other side from now on, in reading and in writing. */
void session_set_stall(struct session *s, uint64_t stall_ns);

/* The peer's first message, of that type; another major protocol is refused. 0 or -errno told. */
int session_take_greeting(struct session *s, const char *type, struct message_greeting *m);

/* Sends this side's facts; the client's request for a device of the server's is in them. */
int session_send_facts(struct session *s);

/* Keeps what the peer's FACTS say of it, and all of them in m. Releases json. 0 or -errno told. */
int session_take_facts(struct session *s, json_t *json, struct message_facts *m);

/* Sends ours, or takes theirs, of a row's queue pairs. */
int session_send_endpoints(struct row *r);
int session_take_endpoints(struct row *r);

/* Takes the device's asynchronous events: 0, or -errno told of one that ends the row. */
int session_take_events(struct session *s, const char *phase);

/* Checks the data that arrived here, and exchanges RESULT; theirs is the peer's. */
int session_exchange_results(struct row *r, const struct phases_end *end, struct measure *theirs);

#endif
