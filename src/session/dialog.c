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
	return fail(m.class == FAIL_USAGE ? FAIL_USAGE : m.class == FAIL_SETUP ? FAIL_SETUP :
		    FAIL_RUN, ECONNABORTED, "the %s %s gave up: %s", s->peer_is, s->peer, m.text);
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

/* As dialog_next(), with the deadline of a step that may take several messages. */
static int next_until(struct session *s, const char *step, uint64_t deadline, json_t **message)
{
	bool late = false;

	for (;;) {
		unsigned int what;
		int rc = channel_next(&s->channel, message);

		if (rc < 0)
			return dialog_told_garbage(s, rc, WAITING, step);
		if (rc && gives_up(*message)) {
			rc = dialog_told_abort(s, *message);
			json_decref(*message);
			return rc;
		}
		if (rc)
			return 0;
		if (s->watch->peer_gone)
			return dialog_told_gone(s, WAITING, step);
		if (late)
			return told_late(s, step);
		what = watch_wait(s->watch, deadline);
		if (what & WATCH_SIGNAL)
			return -EINTR;
		/* What arrived with the last wait still counts. */
		late = what & WATCH_TIMEOUT;
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

void dialog_give_up(struct session *s)
{
	const struct failure *f = fail_last();
	struct message_abort m = { .class = f->class };
	json_t *json;

	if (s->channel.fd < 0 || s->channel.broken || s->watch->peer_gone ||
	    !s->channel.greeted)
		return;
	if (f->class == FAIL_NONE && !s->watch->signal)
		return;
	snprintf(m.text, sizeof(m.text), "%s",
		 f->class == FAIL_NONE ? "it was interrupted" : f->text);
	json = message_abort("ABORT", &m);
	s->channel.send_timeout_ns = GIVE_UP_NS;
	channel_send(&s->channel, json);
	json_decref(json);
}
