/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/dialog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "cli/units.h"
#include "config.h"
#include "control/messages.h"

#define WAITING "while waiting for"
#define GIVE_UP_NS 1000000000 /* for a last word to a peer that may not listen any more */
#define END_ROW_NS 4000000000 /* for the peer to leave a row: its data thread has two seconds */

int dialog_greet(struct channel *c, bool busy)
{
	struct message_greeting m = {
		.major = PROTOCOL_MAJOR, .minor = PROTOCOL_MINOR, .busy = busy,
		.version = PACKAGE_VERSION, .auth = "none",
	};
	json_t *json = message_greeting("GREETING", &m);
	int rc = channel_send_magic(c);

	if (!rc)
		rc = channel_send(c, json);
	json_decref(json);
	return rc;
}

static bool gives_up(const json_t *message)
{
	return !strcmp(message_type(message), "ABORT") || !strcmp(message_type(message), "REJECT");
}

/* Before the peer has shown that it is rdmeter, failing to talk is a matter of set-up. */
static enum fail_class class_of(const struct session *s)
{
	return s->met ? FAIL_RUN : FAIL_SETUP;
}

/* Whoever gives up says why before it closes: that is the cause, not the broken connection. */
static int told_unsent(struct session *s, int error, const char *type)
{
	json_t *last;
	int rc = 0;

	channel_fill(&s->channel);
	while (!rc && channel_next(&s->channel, &last) > 0) {
		if (gives_up(last))
			rc = dialog_told_abort(s, last);
		json_decref(last);
	}
	return rc ? rc : fail(class_of(s), -error, "sending %s to the %s %s: %s; see what it says",
			      type, s->peer_is, s->peer, strerror(-error));
}

int dialog_send(struct session *s, json_t *message)
{
	int rc = message ? channel_send(&s->channel, message) : -ENOMEM;

	if (rc)
		rc = told_unsent(s, rc, message_type(message));
	json_decref(message);
	return rc;
}

int dialog_told_gone(struct session *s, const char *when, const char *step)
{
	int error = s->watch->error ? s->watch->error : ECONNRESET;

	return fail(class_of(s), error, "the %s %s is gone (%s, %s %s); see what it says",
		    s->peer_is, s->peer, strerror(error), when, step);
}

int dialog_told_garbage(struct session *s, int rc, const char *when, const char *step)
{
	if (rc == -EPROTO)
		return fail(FAIL_SETUP, EPROTO, "%s is not rdmeter: it sent '%s'; check --port",
			    s->peer, s->channel.stranger);
	return fail(class_of(s), -rc, "the %s %s sent a frame that cannot be read (%s %s): %s; "
		    "use the same version on both sides", s->peer_is, s->peer, when, step,
		    strerror(-rc));
}

int dialog_told_abort(struct session *s, const json_t *message)
{
	struct message_abort m;
	const char *key;

	if (message_get_abort(message, &m, &key))
		return dialog_told_bad(s, message, key);
	s->rejected = !strcmp(message_type(message), "REJECT");
	s->row_over = m.row;
	return fail(m.class == FAIL_USAGE ? FAIL_USAGE : m.class == FAIL_SETUP ? FAIL_SETUP :
		    FAIL_RUN, ECONNABORTED, "the %s %s %s: %s", s->peer_is, s->peer,
		    s->rejected ? "refused" : "gave up", m.text);
}

int dialog_told_undue(const struct session *s, const json_t *message, const char *due)
{
	return fail(class_of(s), EPROTO, "the %s %s sent %s where %s was due; use the same version "
		    "on both sides", s->peer_is, s->peer, message_type(message), due);
}

int dialog_told_bad(const struct session *s, const json_t *message, const char *key)
{
	return fail(s->running ? FAIL_RUN : FAIL_SETUP, EBADMSG, "the %s %s sent %s whose '%s' "
		    "is missing or out of range; use the same version on both sides", s->peer_is,
		    s->peer, message_type(message), key);
}

static int told_late(const struct session *s, const char *step)
{
	char text[UNITS_TEXT_SIZE];

	units_time(text, sizeof(text), s->stall_ns);
	return fail(class_of(s), ETIMEDOUT, "the %s %s did not answer within %s (" WAITING " %s); "
		    "see what it is doing%s", s->peer_is, s->peer, text, step,
		    s->met ? ", or raise --stall-timeout" :
		    s->client ? ", or raise --connect-timeout or --stall-timeout" : "");
}

static bool is_lost(const struct session *s)
{
	return s->connection && s->connection->lost[0];
}

static bool is_connecting(const struct session *s)
{
	return s->connection && (!connection_stands(s->connection) || is_lost(s));
}

static int told_unconnected(const struct session *s)
{
	const struct connection *c = s->connection;
	char text[UNITS_TEXT_SIZE];

	if (c->lost[0])
		return fail(FAIL_SETUP, ECONNREFUSED, "%s: the %s %s %s", c->how->name,
			    s->peer_is, s->peer, c->lost);
	return fail(FAIL_SETUP, ETIMEDOUT, "connecting by %s: %u of %u queue pairs, and nothing "
		    "more for %s; see the path between both devices (UDP port 4791), or raise "
		    "--stall-timeout", c->how->name, c->standing, c->queues->count,
		    units_time(text, sizeof(text), s->stall_ns));
}

/* A step is progress; what strangers want is none. */
static int go_on_connecting(struct session *s, uint64_t *deadline)
{
	uint64_t before = s->connection->steps;
	int rc = s->connection->how->advance(s->connection);

	if (s->connection->steps != before)
		*deadline = watch_now() + s->stall_ns;
	if (!is_lost(s))
		return rc;
	*deadline = watch_now() + DIALOG_LAST_WORD_NS;
	s->watch->connection_fd = -1;
	return rc;
}

/*
 * As dialog_next(), with the deadline of a step that may take several messages. Without a step it
 * ends when the queue pairs stand, with *message NULL unless one came before.
 */
static int next_until(struct session *s, const char *step, uint64_t deadline, json_t **message)
{
	const char *what_for = step ? step : "its queue pairs";
	bool late = false, connecting = is_lost(s);

	*message = NULL;
	for (;;) {
		unsigned int what;
		int rc = channel_next(&s->channel, message);

		if (rc < 0)
			return dialog_told_garbage(s, rc, WAITING, what_for);
		if (rc && gives_up(*message)) {
			rc = dialog_told_abort(s, *message);
			json_decref(*message);
			return rc;
		}
		if (rc)
			return 0;
		if (s->watch->peer_gone)
			return dialog_told_gone(s, WAITING, what_for);
		if (connecting)
			rc = go_on_connecting(s, &deadline);
		if (rc || (!step && !is_connecting(s)))
			return rc;
		if (late && watch_now() >= deadline)
			return is_connecting(s) ? told_unconnected(s) : told_late(s, step);
		what = watch_wait(s->watch, deadline);
		if (what & WATCH_SIGNAL)
			return -EINTR;
		/* What arrived with the last wait still counts. */
		late = what & WATCH_TIMEOUT;
		connecting = what & WATCH_CONNECTION;
	}
}

int dialog_next(struct session *s, const char *step, json_t **message)
{
	return next_until(s, step, watch_now() + s->stall_ns, message);
}

int dialog_expect(struct session *s, const char *type, json_t **message)
{
	uint64_t deadline = watch_now() + s->stall_ns;
	int rc;

	do {
		rc = next_until(s, type, deadline, message);
		if (rc)
			return rc;
		if (!strcmp(message_type(*message), type))
			return 0;
		/* Beats of the phases may still be on their way when they are over here. */
		rc = s->met && !strcmp(message_type(*message), "BEAT") ? 0 : -EPROTO;
		if (!rc && watch_now() >= deadline)
			rc = told_late(s, type);
		else if (rc)
			rc = dialog_told_undue(s, *message, type);
		json_decref(*message);
	} while (!rc);
	return rc;
}

int dialog_connected(struct session *s)
{
	json_t *message;
	int rc;

	if (!is_connecting(s))
		return 0;
	rc = next_until(s, NULL, watch_now() + s->stall_ns, &message);
	if (rc || !message)
		return rc;
	rc = dialog_told_undue(s, message, "nothing");
	json_decref(message);
	return rc;
}

static int send_last_word(struct session *s, const char *type, bool row)
{
	const struct failure *f = fail_last();
	struct message_abort m = { .class = f->class, .row = row };
	json_t *json;
	int rc;

	snprintf(m.text, sizeof(m.text), "%s",
		 f->class == FAIL_NONE ? "it was interrupted" : f->text);
	json = message_abort(type, &m);
	rc = json ? channel_send(&s->channel, json) : -ENOMEM;
	json_decref(json);
	return rc;
}

/* The next message while a row is being ended; everything but its end is of the past. */
static int take_end_of_row(struct session *s, uint64_t deadline)
{
	struct message_abort m;
	const char *key;
	unsigned int what;
	json_t *json;
	int rc = channel_next(&s->channel, &json);

	if (rc > 0) {
		bool ends = !strcmp(message_type(json), "ABORT");

		s->row_over = ends && !message_get_abort(json, &m, &key) && m.row;
		json_decref(json);
		return ends && !s->row_over ? -ECONNABORTED : 0;
	}
	if (rc < 0)
		return rc;
	if (s->watch->peer_gone)
		return -ECONNRESET;
	what = watch_wait(s->watch, deadline);
	if (what & WATCH_SIGNAL)
		return -EINTR;
	return what & WATCH_TIMEOUT && !(what & WATCH_CHANNEL) ? -ETIMEDOUT : 0;
}

static bool cannot_talk(const struct session *s)
{
	return s->channel.fd < 0 || s->channel.broken || s->watch->peer_gone;
}

void dialog_leave_row(struct session *s, bool goes_on)
{
	uint64_t patience = s->channel.send_timeout_ns;

	if (cannot_talk(s))
		return;
	s->left = true;
	s->gave_up = !goes_on;
	s->channel.send_timeout_ns = GIVE_UP_NS < patience ? GIVE_UP_NS : patience;
	send_last_word(s, "ABORT", goes_on);
	s->channel.send_timeout_ns = patience;
}

int dialog_end_row(struct session *s)
{
	uint64_t deadline = watch_now() + (s->stall_ns < END_ROW_NS ? s->stall_ns : END_ROW_NS);
	bool in_row = s->in_row, left = s->left;
	int rc;

	s->in_row = false;
	s->left = false;
	s->running = false;
	if (cannot_talk(s) || s->gave_up)
		return -ECONNRESET;
	if (!in_row)
		return s->client ? 0 : send_last_word(s, "REJECT", false);
	if (s->rejected) {
		s->rejected = false;
		return 0;
	}
	rc = left ? 0 : send_last_word(s, "ABORT", true);
	while (!rc && !s->row_over)
		rc = take_end_of_row(s, deadline);
	s->row_over = false;
	return rc;
}

void dialog_give_up(struct session *s)
{
	const struct failure *f = fail_last();

	if (cannot_talk(s) || !s->channel.greeted || s->gave_up)
		return;
	if (f->class == FAIL_NONE && !s->watch->signal)
		return;
	s->channel.send_timeout_ns = GIVE_UP_NS;
	if (s->rejected)
		dialog_send(s, message_simple("BYE")); /* the peer knows why, it said so */
	else
		send_last_word(s, "ABORT", false);
}
