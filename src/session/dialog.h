/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Saying and hearing one message at a time, with a deadline, and parting in good order. */
#ifndef RDMETER_SESSION_DIALOG_H
#define RDMETER_SESSION_DIALOG_H

#include <stdbool.h>

#include <jansson.h>

#include "control/frame.h"
#include "session/session.h"

/* A server's first words; busy: they are also its last. 0 or -errno (not told). */
int dialog_greet(struct channel *c, bool busy);

/* Sends and releases message. 0, or -errno told as FAIL_RUN. */
int dialog_send(struct session *s, json_t *message);

/*
 * The next message, whatever it is, within the session's stall time; step says what is waited
 * for. ABORT, REJECT and the peer's disappearance are told here. 0 with *message to be released,
 * -EINTR when a signal came first, or -errno told.
 */
int dialog_next(struct session *s, const char *step, json_t **message);

/* The next message, which has to be of that type. As dialog_next(). */
int dialog_expect(struct session *s, const char *type, json_t **message);

/*
 * Until the queue pairs stand, when no message is due before. Connecting goes on in dialog_next()
 * and dialog_expect() too; each step of it renews their wait. As dialog_next().
 */
int dialog_connected(struct session *s);

/* For the peer to say itself why it has undone a connection, before that alone is told. */
#define DIALOG_LAST_WORD_NS 500000000

/* A message of another type than what was due: tells it. Returns -EPROTO. */
int dialog_told_undue(const struct session *s, const json_t *message, const char *due);

/* A message lacks a key or has a wrong value there: tells it. Returns -EBADMSG. */
int dialog_told_bad(const struct session *s, const json_t *message, const char *key);

/*
 * The peer has gone, or sends what cannot be read; when and step say where that was, as "while
 * waiting for" and "FACTS". -errno.
 */
int dialog_told_gone(struct session *s, const char *when, const char *step);
int dialog_told_garbage(struct session *s, int rc, const char *when, const char *step);

/* Tells what an ABORT or REJECT of the peer's says; returns -ECONNABORTED. */
int dialog_told_abort(struct session *s, const json_t *message);

/*
 * A row in its phases failed here: says so before its queue pairs are broken up, or the peer would
 * see that they do not answer any more and take that for the cause. goes_on: the session does, by
 * dialog_end_row(); else this is the last word.
 */
void dialog_leave_row(struct session *s, bool goes_on);

/*
 * A row failed here or there, and the session is to go on. Before both sides were at work on it
 * the server refuses with REJECT. Else each side sends one ABORT whose row is true and takes
 * everything up to the other's, so that nothing of the row is left in the connection. A peer that
 * does not know this gives up: then, and when the peer is gone, the session is lost. 0 or -errno
 * (not told).
 */
int dialog_end_row(struct session *s);

/* Tells the peer why this side gives up, if anything was told and the peer is there. */
void dialog_give_up(struct session *s);

#endif
