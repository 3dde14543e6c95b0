/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/dialog.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/fail.h"
#include "cli/units.h"
#include "config.h"
#include "control/messages.h"

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

/* Before the peer has shown that it is rdmeter, failing to talk is a matter of set-up. */
static enum fail_class class_of(const struct session *s)
{
	return s->met ? FAIL_RUN : FAIL_SETUP;
}

int dialog_send(struct session *s, json_t *message)
{
	int rc = message ? channel_send(&s->channel, message) : -ENOMEM;

	if (rc)
		rc = fail(class_of(s), -rc, "sending %s to the %s %s: %s; see what it says",
			  message_type(message), s->peer_is, s->peer, strerror(-rc));
	json_decref(message);
	return rc;
}

int dialog_told_gone(struct session *s, const char *step)
{
	int error = s->watch->error ? s->watch->error : ECONNRESET;

	return fail(class_of(s), error, "the %s %s is gone (%s, while waiting for %s); see what "
		    "it says", s->peer_is, s->peer, strerror(error), step);
}

int dialog_told_garbage(struct session *s, int rc, const char *step)
{
	if (rc == -EPROTO)
		return fail(FAIL_SETUP, EPROTO, "%s is not rdmeter: it sent '%s'; check --port",
			    s->peer, s->channel.stranger);
	return fail(class_of(s), -rc, "the %s %s sent a frame that cannot be read (while waiting "
		    "for %s): %s; use the same version on both sides", s->peer_is, s->peer, step,
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

int dialog_told_bad(const struct session *s, const json_t *message, const char *key)
{
	return fail(FAIL_SETUP, EBADMSG, "the %s %s sent a %s whose '%s' is missing or out of "
		    "range; use the same version on both sides", s->peer_is, s->peer,
		    message_type(message), key);
}

static int told_late(const struct session *s, const char *step)
{
	char text[UNITS_TEXT_SIZE];

	units_time(text, sizeof(text), s->stall_ns);
	return fail(class_of(s), ETIMEDOUT, "the %s %s did not answer within %s (while waiting "
		    "for %s); see what it is doing, or raise --stall-timeout", s->peer_is, s->peer,
		    text, step);
}

int dialog_next(struct session *s, const char *step, json_t **message)
{
	uint64_t deadline = watch_now() + s->stall_ns;

	for (;;) {
		const char *type;
		unsigned int what;
		int rc = channel_next(&s->channel, message);

		if (rc < 0)
			return dialog_told_garbage(s, rc, step);
		type = rc ? message_type(*message) : "";
		if (!strcmp(type, "ABORT") || !strcmp(type, "REJECT")) {
			rc = dialog_told_abort(s, *message);
			json_decref(*message);
			return rc;
		}
		if (rc)
			return 0;
		if (s->watch->peer_gone)
			return dialog_told_gone(s, step);
		what = watch_wait(s->watch, deadline);
		if (what & WATCH_SIGNAL)
			return -EINTR;
		if (what & WATCH_TIMEOUT && !(what & WATCH_CHANNEL))
			return told_late(s, step);
	}
}

int dialog_expect(struct session *s, const char *type, json_t **message)
{
	int rc;

	do {
		rc = dialog_next(s, type, message);
		if (rc)
			return rc;
		if (!strcmp(message_type(*message), type))
			return 0;
		/* A beat of the phases may still be on its way when they are over here. */
		rc = s->met && !strcmp(message_type(*message), "BEAT") ? 0 : -EPROTO;
		if (rc)
			rc = fail(class_of(s), EPROTO, "the %s %s sent %s where %s was due; use "
				  "the same version on both sides", s->peer_is, s->peer,
				  message_type(*message), type);
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
