/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/phases.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "cli/units.h"
#include "control/messages.h"
#include "session/common.h"
#include "session/dialog.h"
#include "session/live.h"
#include "session/usage.h"

#define BEAT_NS 1000000000ULL
#define BEATS_MISSED 5
#define BEATS_A_STALL 4 /* beats are what shows a peer progress: several fit into its patience */

struct phases {
	struct row *r;
	struct session *s;
	struct phases_end *end;
	bool warm_told, closed_told, sent_told, finished_told;
	bool peer_warm, peer_closed, peer_sent, peer_finished;
	bool open, draining;
	uint64_t next_beat, last_heard, last_progress, interrupted_at, lost_at;
	struct message_beat peer; /* its last beat */
	uint64_t progress;        /* a number that grows when anything moves at either end */
	struct usage usage; /* from the window's opening */
};

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static const char *phase_name(const struct phases *p)
{
	if (p->draining)
		return "DRAIN";
	if (p->closed_told)
		return "CLOSED";
	return p->open ? "OPEN" : "RUN";
}

static unsigned int reached(const struct phases *p)
{
	return threads_reached(&p->r->threads);
}

static void own_beat(const struct phases *p, struct message_beat *m)
{
	struct threads_counts told = threads_told(&p->r->threads);

	*m = (struct message_beat){
		.posted = told.posted, .completed = told.completed, .received = told.received,
	};
	snprintf(m->phase, sizeof(m->phase), "%s", phase_name(p));
}

static int say(struct phases *p, const char *type)
{
	return dialog_send(p->s, message_simple(type));
}

static void begin_open(struct phases *p)
{
	p->open = true;
	usage_begin(&p->usage, &p->s->counters);
	threads_open(&p->r->threads);
}

/* Whoever only receives cannot stop before it knows how much there is: SENT tells it. */
static void begin_drain(struct phases *p)
{
	p->draining = true;
	/* A window that is cut short closes with the drain, which the peer knows of already. */
	if (p->open && !p->closed_told)
		usage_end(&p->usage, &p->s->counters, p->r->measure);
	p->closed_told = true;
	if (p->r->lane && p->r->lane->leads)
		threads_stop(&p->r->threads, LANE_DRAIN);
}

static bool lane_is_warm(const struct phases *p)
{
	return !p->r->lane || reached(p) & LANE_WARM;
}

/* A side without a loop has a window only for its CPU time, and that lasts until DRAIN. */
static bool lane_is_closed(const struct phases *p)
{
	return p->r->lane ? reached(p) & LANE_CLOSED : p->open;
}

static bool lane_has_sent(const struct phases *p)
{
	return !p->r->lane || !p->r->lane->leads || reached(p) & LANE_SENT;
}

static bool lane_has_left(const struct phases *p)
{
	return !p->r->lane || reached(p) & LANE_LEFT;
}

static int tell_sent(struct phases *p)
{
	const struct threads *t = &p->r->threads;
	uint32_t qps = p->r->sends && t->count ? p->r->queues.count : 0;
	uint64_t *total = qps ? calloc(qps, sizeof(*total)) : NULL;
	struct message_sent m = { .total = total };
	int rc;

	if (qps && !total)
		return fail(FAIL_RUN, ENOMEM, "out of memory for the totals of %u queue pairs",
			    qps);
	for (; m.count < qps; m.count++)
		total[m.count] = t->qp[m.count].posted;
	m.missed = qps ? threads_missed(t) : 0;
	rc = dialog_send(p->s, message_sent(&m));
	free(total);
	return rc;
}

static bool lossy(const struct phases *p)
{
	return !transport_get(p->r->point.transport.value)->reliable;
}

/* By count, all is sent; a peer to which some of it is lost would wait for it. */
static bool finished(const struct phases *p)
{
	return lossy(p) && p->r->lane && p->r->lane->leads && reached(p) & LANE_SENT;
}

static int tell_own_edges(struct phases *p)
{
	int rc = 0;

	if (!p->warm_told && lane_is_warm(p)) {
		p->warm_told = true;
		rc = say(p, "WARM");
	}
	if (!rc && !p->closed_told && p->open && lane_is_closed(p)) {
		if (p->r->lane)
			usage_end(&p->usage, &p->s->counters, p->r->measure);
		p->closed_told = p->r->lane != NULL;
		rc = p->closed_told ? say(p, "CLOSED") : 0;
	}
	if (!rc && !p->draining && !p->finished_told && finished(p)) {
		p->finished_told = true;
		rc = say(p, "FINISHED");
	}
	if (!rc && p->draining && !p->sent_told && lane_has_sent(p)) {
		p->sent_told = true;
		rc = tell_sent(p);
	}
	return rc;
}

static bool own_closed(const struct phases *p)
{
	return p->r->lane ? p->closed_told : p->open;
}

/* The client alone decides when windows open and when the load ends. */
static int lead(struct phases *p)
{
	int rc = 0;

	if (!p->s->client)
		return 0;
	if (!p->open && p->warm_told && p->peer_warm) {
		rc = say(p, "OPEN");
		begin_open(p);
	}
	if (!rc && !p->draining &&
	    (p->end->interrupted || p->end->peer_interrupted ||
	     (p->open && own_closed(p) && p->peer_closed))) {
		rc = say(p, "DRAIN");
		begin_drain(p);
	}
	return rc;
}

static int heard_sent(struct phases *p, const json_t *message)
{
	struct message_sent *m = &p->end->peer;
	const struct lane *l = p->r->lane;
	const char *key;

	m->count = p->r->queues.count;
	free(m->total);
	m->total = calloc(m->count, sizeof(*m->total));
	if (!m->total)
		return fail(FAIL_RUN, ENOMEM, "out of memory for the peer's totals");
	if (message_get_sent(message, m, &key))
		return dialog_told_bad(p->s, message, key);
	p->peer_sent = true;
	threads_expect(&p->r->threads, m->total);
	if (l && !l->leads)
		threads_stop(&p->r->threads, LANE_DRAIN);
	return 0;
}

static int heard_beat(struct phases *p, const json_t *message)
{
	const char *key;

	if (message_get_beat(message, &p->peer, &key))
		return dialog_told_bad(p->s, message, key);
	live_heard(p->r->live, &p->peer);
	return 0;
}

static int heard_warm(struct phases *p, const json_t *message)
{
	(void)message;
	p->peer_warm = true;
	return 0;
}

static int heard_closed(struct phases *p, const json_t *message)
{
	(void)message;
	p->peer_closed = true;
	return 0;
}

static int heard_open(struct phases *p, const json_t *message)
{
	(void)message;
	begin_open(p);
	/* Nothing here has a window to close: it is over whenever the client's is. */
	return p->r->lane ? 0 : say(p, "CLOSED");
}

static int heard_drain(struct phases *p, const json_t *message)
{
	(void)message;
	begin_drain(p);
	return 0;
}

static int heard_finished(struct phases *p, const json_t *message)
{
	(void)message;
	p->peer_finished = true;
	threads_finish(&p->r->threads);
	return 0;
}

static int heard_interrupt(struct phases *p, const json_t *message)
{
	(void)message;
	p->end->peer_interrupted = true;
	return 0;
}

static int heard_abort(struct phases *p, const json_t *message)
{
	return dialog_told_abort(p->s, message);
}

static bool always_due(const struct phases *p)
{
	(void)p;
	return true;
}

static bool warm_due(const struct phases *p)
{
	return !p->peer_warm;
}

/* The client alone leads, so a server hears OPEN and DRAIN and a client never does. */
static bool open_due(const struct phases *p)
{
	return !p->s->client && !p->open && !p->draining && p->warm_told && p->peer_warm;
}

static bool closed_due(const struct phases *p)
{
	return p->open && !p->peer_closed;
}

static bool drain_due(const struct phases *p)
{
	return !p->s->client && !p->draining;
}

static bool sent_due(const struct phases *p)
{
	return p->draining;
}

static bool finished_due(const struct phases *p)
{
	return lossy(p) && !p->peer_finished;
}

static bool interrupt_due(const struct phases *p)
{
	return p->s->client;
}

/* What may be heard, and when: a peer that says it at another time counts otherwise than we do. */
static const struct {
	const char *type;
	bool (*due)(const struct phases *p);
	int (*heard)(struct phases *p, const json_t *message);
} hearing[] = {
	{ "BEAT", always_due, heard_beat },	  { "WARM", warm_due, heard_warm },
	{ "OPEN", open_due, heard_open },	  { "CLOSED", closed_due, heard_closed },
	{ "DRAIN", drain_due, heard_drain },	  { "SENT", sent_due, heard_sent },
	{ "FINISHED", finished_due, heard_finished },
	{ "INTERRUPT", interrupt_due, heard_interrupt },
	{ "ABORT", always_due, heard_abort },
};

static int hear_one(struct phases *p, const json_t *message)
{
	for (size_t i = 0; i < sizeof(hearing) / sizeof(hearing[0]); i++)
		if (!strcmp(message_type(message), hearing[i].type) && hearing[i].due(p))
			return hearing[i].heard(p, message);
	return fail(FAIL_RUN, EPROTO, "the %s %s sent %s during %s; use the same version on both "
		    "sides", p->s->peer_is, p->s->peer, message_type(message), phase_name(p));
}

static bool all_done(const struct phases *p)
{
	return p->draining && p->sent_told && p->peer_sent && lane_has_left(p);
}

static int hear_all(struct phases *p)
{
	json_t *message;
	int rc;

	/* What comes after the last SENT belongs to what follows the phases. */
	while (!p->peer_sent && (rc = channel_next(&p->s->channel, &message)) != 0) {
		if (rc < 0)
			return dialog_told_garbage(p->s, rc, "during", phase_name(p));
		p->last_heard = watch_now();
		rc = hear_one(p, message);
		json_decref(message);
		if (rc)
			return rc;
	}
	if (p->s->watch->peer_gone && !p->peer_sent)
		return dialog_told_gone(p->s, "during", phase_name(p));
	return 0;
}

/* A peer that has gone is seen here too, and mostly says more over the control connection. */
static int take_connection(struct phases *p)
{
	struct connection *c = p->s->connection;
	int rc = c->how->advance(c);

	if (rc || !c->lost[0])
		return rc;
	p->lost_at = watch_now();
	p->s->watch->connection_fd = -1;
	return 0;
}

static int take_signal(struct phases *p)
{
	if (p->s->watch->signals > 1) {
		note("interrupted twice: the run is given up during %s", phase_name(p));
		return -EINTR;
	}
	if (p->end->interrupted)
		return 0;
	p->end->interrupted = true;
	p->interrupted_at = watch_now();
	/* The client leads, so a server that is interrupted asks it to come to an end. */
	return p->s->client || p->draining ? 0 : say(p, "INTERRUPT");
}

static int told_stall(const struct phases *p, const char *what)
{
	struct message_beat own;
	char text[UNITS_TEXT_SIZE];

	own_beat(p, &own);
	units_time(text, sizeof(text), p->s->stall_ns);
	return fail(FAIL_RUN, ETIMEDOUT,
		    "%s (stall timeout %s): here %s, posted %" PRIu64 ", completed %" PRIu64
		    ", received %" PRIu64 "; the %s %s: %s, posted %" PRIu64 ", completed %" PRIu64
		    ", received %" PRIu64 "; check the path, or raise --stall-timeout", what, text,
		    own.phase, own.posted, own.completed, own.received, p->s->peer_is, p->s->peer,
		    p->peer.phase[0] ? p->peer.phase : "nothing heard", p->peer.posted,
		    p->peer.completed, p->peer.received);
}

/* This side has said what it has to and only keeps the load on: the peer's word is due. */
static bool awaits_peer(const struct phases *p)
{
	if (p->draining)
		return false;
	if (!p->open)
		return p->warm_told && !(p->s->client && p->peer_warm);
	return own_closed(p) && !(p->s->client && p->peer_closed);
}

/* Both have, and the client knows: OPEN or DRAIN is due, whatever moves meanwhile. */
static bool awaits_lead(const struct phases *p)
{
	return awaits_peer(p) && !p->s->client && (p->open ? p->peer_closed : p->peer_warm);
}

/*
 * Anything that moves at either end, and every step of the phases, is progress; but what moves at
 * an end that waits for the other brings nothing on.
 */
static uint64_t progress_of(const struct phases *p)
{
	uint64_t progress = p->warm_told + p->open + p->closed_told + p->draining + p->sent_told +
			    p->peer_warm + p->peer_closed + p->peer_sent + p->peer_finished;
	struct message_beat own;

	own_beat(p, &own);
	if (!awaits_peer(p))
		progress += own.posted + own.completed + own.received;
	if (!awaits_lead(p))
		progress += p->peer.posted + p->peer.completed + p->peer.received;
	return progress;
}

static uint64_t beat_ns(const struct phases *p)
{
	return least(BEAT_NS, p->s->stall_ns / BEATS_A_STALL);
}

/* A peer whose beats stay away is not there, however well this side gets on. */
static uint64_t silence_ns(const struct phases *p)
{
	return least(BEATS_MISSED * BEAT_NS, p->s->stall_ns);
}

static int told_silence(const struct phases *p)
{
	char what[48 + UNITS_TEXT_SIZE], text[UNITS_TEXT_SIZE];

	snprintf(what, sizeof(what), "nothing heard of the peer for %s",
		 units_time(text, sizeof(text), silence_ns(p)));
	return told_stall(p, what);
}

static int tick(struct phases *p)
{
	uint64_t now = watch_now();
	struct message_beat own;
	uint64_t progress = progress_of(p);

	if (progress != p->progress) {
		p->progress = progress;
		p->last_progress = now;
	}
	/* Who waits for the other lets that one tell first: it knows what does not go on. */
	if (now - p->last_progress > p->s->stall_ns + (awaits_peer(p) ? beat_ns(p) : 0))
		return told_stall(p, awaits_peer(p) ? "the peer does not go on" :
						      "no progress at either end");
	if (now - p->last_heard > silence_ns(p) && !p->peer_sent)
		return told_silence(p);
	if (p->lost_at && now - p->lost_at > DIALOG_LAST_WORD_NS)
		return fail(FAIL_RUN, ENOTCONN, "%s, during %s: the %s %s %s",
			    p->s->connection->how->name, phase_name(p), p->s->peer_is, p->s->peer,
			    p->s->connection->lost);
	if (p->end->interrupted && now - p->interrupted_at > p->s->stall_ns) {
		note("interrupted, and the %s does not come to an end: the run is given up",
		     p->s->peer_is);
		return -EINTR;
	}
	if (now < p->next_beat)
		return 0;
	p->next_beat = now + beat_ns(p);
	own_beat(p, &own);
	return dialog_send(p->s, message_beat(&own));
}

/* The earliest of the next beat, what is told live, and when a stall or a silence would be one. */
static uint64_t deadline(const struct phases *p)
{
	uint64_t stall = p->last_progress + p->s->stall_ns + 1000000;
	uint64_t silence = p->last_heard + silence_ns(p) + 1000000;

	uint64_t lost = p->lost_at ? p->lost_at + DIALOG_LAST_WORD_NS + 1000000 : UINT64_MAX;

	return least(least(least(stall, silence), least(p->next_beat, lost)),
		     live_deadline(p->r->live));
}

static int step(struct phases *p)
{
	unsigned int what = watch_wait(p->s->watch, deadline(p));
	int rc = 0;

	if (what & WATCH_LANE)
		rc = row_told_lane(p->r);
	if (!rc && what & WATCH_ASYNC)
		rc = session_take_events(p->s, phase_name(p));
	if (!rc && what & WATCH_CONNECTION)
		rc = take_connection(p);
	if (!rc && what & WATCH_SIGNAL)
		rc = take_signal(p);
	return rc ? rc : hear_all(p);
}

static int run(struct phases *p)
{
	int rc = row_start(p->r);

	/* The peer's first edges may have come with its READY: no wait would end for them. */
	if (!rc)
		rc = hear_all(p);
	while (!rc) {
		rc = tell_own_edges(p);
		if (!rc)
			rc = lead(p);
		if (rc || all_done(p))
			break;
		rc = step(p);
		live_tick(p->r->live, p->r);
		if (!rc)
			rc = tick(p);
	}
	return rc;
}

int phases_run(struct row *r, struct phases_end *end)
{
	struct session *s = r->session;
	uint64_t now = watch_now();
	struct phases p = {
		.r = r, .s = s, .end = end, .last_heard = now, .last_progress = now,
	};
	int rc;

	*end = (struct phases_end){ 0 };
	p.next_beat = now + beat_ns(&p);
	s->running = true;
	s->watch->lane_fd = r->event_fd;
	s->watch->async_fd = s->device.context->async_fd;
	rc = run(&p);
	s->watch->lane_fd = -1;
	s->watch->async_fd = -1;
	usage_free(&p.usage);
	s->watch->connection_fd = -1; /* from here on the peer may disconnect */
	if (!rc) {
		row_join(r);
		rc = row_told_lane(r);
		return rc ? rc : row_check_counts(r);
	}
	dialog_leave_row(s, rc != -EINTR && !s->watch->signals && !end->peer_interrupted &&
			 !s->alone);
	if (row_abort(r)) {
		s->stuck = true;
		note("%s data thread does not leave %s: the process ends",
		     r->threads.count > 1 ? "a" : "the", s->device.facts.name);
	}
	return rc;
}
