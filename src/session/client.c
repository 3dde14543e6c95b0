/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The side that asks: connects, plans, leads through the row, reports. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "cli/units.h"
#include "config.h"
#include "control/messages.h"
#include "plan/plan.h"
#include "report/result.h"
#include "session/common.h"
#include "session/dialog.h"
#include "session/net.h"

#define BUSY_RETRY_NS 200000000

struct client {
	struct session session;
	struct result result;
	const struct reporter *reporter;
	uint32_t server_inline;
	bool kept; /* the server goes on with the queue pairs of the row before */
	bool peer_interrupted;
};

/* 0, -EBUSY when the server serves somebody else, or -errno told. */
static int take_greeting(struct session *s)
{
	struct message_greeting m;
	int rc = session_take_greeting(s, "GREETING", &m);

	if (rc)
		return rc;
	if (strcmp(m.auth, "none"))
		return fail(FAIL_SETUP, EACCES, "the server %s wants authentication '%s', which "
			    "this version does not have", s->peer, m.auth);
	s->met = !m.busy;
	return m.busy ? -EBUSY : 0;
}

static int greet(struct session *s)
{
	struct message_greeting m = {
		.major = PROTOCOL_MAJOR, .minor = PROTOCOL_MINOR, .version = PACKAGE_VERSION,
		.auth = "none",
	};
	uint64_t stall = s->stall_ns, patience = net_patience(s->opt);
	int rc;

	/* Both magic words are on their way at once: neither side waits to be told who it is. */
	rc = channel_send_magic(&s->channel);
	if (rc)
		return fail(FAIL_SETUP, -rc, "sending HELLO to %s: %s; check --port", s->peer,
			    strerror(-rc));
	session_set_stall(s, stall < patience ? stall : patience);
	rc = take_greeting(s);
	session_set_stall(s, stall);
	return rc ? rc : dialog_send(s, message_greeting("HELLO", &m));
}

/* A busy server is tried again until the deadline, as one that does not listen yet. */
int session_connect(struct session *s, const struct options *opt, struct watch *watch)
{
	uint64_t deadline = watch_now() + opt->connect_timeout.num;

	for (;;) {
		int rc = net_connect(opt, watch, deadline);

		if (rc < 0)
			return rc;
		rc = session_open(s, opt, watch, true, rc);
		if (!rc)
			rc = greet(s);
		if (rc != -EBUSY)
			return rc;
		if (watch_now() + BUSY_RETRY_NS >= deadline)
			return fail(FAIL_SETUP, EBUSY, "the server %s is busy with another client; "
				    "try later, or raise --connect-timeout", s->peer);
		session_close(s);
		if (watch_wait(watch, watch_now() + BUSY_RETRY_NS) & WATCH_SIGNAL)
			return -EINTR;
	}
}

static int exchange_facts(struct session *s)
{
	const struct options *opt = s->opt;
	struct device_request request = {
		.name = opt->device.given ? opt->device.text : NULL,
		.port = (uint32_t)opt->ib_port.num,
		.gid_index = opt->gid_index.given ? (int32_t)opt->gid_index.num : -1,
		.local = &s->local,
	};
	struct message_facts m;
	json_t *json;
	int rc = device_open(&s->device, &request);

	if (!rc)
		rc = session_send_facts(s);
	if (!rc)
		rc = dialog_expect(s, "FACTS", &json);
	return rc ? rc : session_take_facts(s, json, &m);
}

static void fill_result(struct client *c, const struct row *r)
{
	const struct session *s = &c->session;

	const struct caps *ours = &s->device.facts.caps, *theirs = &s->peer_device.caps;

	c->result.point = r->point;
	c->result.samples = NULL;
	c->result.required = c->reporter->required;
	c->result.side[SIDE_CLIENT] = (struct side){
		.host = s->host, .device = s->device.facts, .inline_size = r->queues.inline_size,
		.outstanding = plan_outstanding(&r->point, ours, theirs),
	};
	c->result.side[SIDE_SERVER] = (struct side){
		.host = s->peer_host, .device = s->peer_device, .inline_size = c->server_inline,
		.outstanding = plan_outstanding(&r->point, theirs, ours),
	};
}

/* The server may wait less long than was asked for; both sides then do. */
static int take_accept(struct client *c, struct row *r, const json_t *json)
{
	struct session *s = &c->session;
	struct setting *stall = &r->point.stall_timeout;
	char text[UNITS_TEXT_SIZE], limit[UNITS_TEXT_SIZE];
	struct message_accept accept;
	const char *key;
	int rc = message_get_accept(json, &accept, &key);

	if (!rc && (!accept.stall_ns || accept.stall_ns > stall->value)) {
		key = "stall_ns";
		rc = -EBADMSG;
	}
	if (rc)
		return dialog_told_bad(s, json, key);
	c->server_inline = accept.inline_size;
	c->kept = accept.kept;
	if (accept.stall_ns == stall->value)
		return 0;
	note("--stall-timeout %s -> %s (the server's --stall-timeout)",
	     units_time(text, sizeof(text), stall->value),
	     units_time(limit, sizeof(limit), accept.stall_ns));
	*stall = (struct setting){ .value = accept.stall_ns, .why = "the server's" };
	session_set_stall(s, accept.stall_ns);
	return 0;
}

static int ask_point(struct client *c, struct row *r)
{
	struct session *s = &c->session;
	struct message_point m = {
		.plan_only = s->opt->plan.given, .keep = r->reused, .point = r->point,
	};
	uint64_t direction = r->point.direction.value;
	json_t *json;
	int rc;

	m.sends = direction != DIRECTION_OUT;
	m.takes = direction != DIRECTION_IN;
	rc = dialog_send(s, message_point(&m));
	if (!rc)
		rc = dialog_expect(s, "ACCEPT", &json);
	if (rc)
		return rc;
	rc = take_accept(c, r, json);
	json_decref(json);
	return rc || !r->reused || c->kept ? rc : row_renew(r);
}

/*
 * Both sides are ready to be reached. The server's clock comes with its answer, from half way
 * between question and answer, as near as can be known.
 */
static int exchange_ready(struct client *c)
{
	struct session *s = &c->session;
	uint64_t asked = clock_raw_ns(), theirs;
	const char *key;
	json_t *json;
	int rc = dialog_send(s, message_ready(asked));

	if (!rc)
		rc = dialog_expect(s, "READY", &json);
	if (rc)
		return rc;
	rc = message_get_ready(json, &theirs, &key);
	if (rc)
		rc = dialog_told_bad(s, json, key);
	json_decref(json);
	c->result.clock_offset_ns = (int64_t)(theirs - asked) -
				    (int64_t)(clock_raw_ns() - asked) / 2;
	return rc;
}

static int connect_row(struct client *c, struct row *r)
{
	int rc = session_send_endpoints(r);

	if (!rc)
		rc = session_take_endpoints(r);
	if (!rc)
		rc = row_connect(r);
	return rc ? rc : exchange_ready(c);
}

/* The header is printed before the run, so that what is being measured can be seen meanwhile. */
static int measure_row(struct client *c, struct row *r, struct phases_end *end,
		       struct measure *theirs)
{
	struct result *result = &c->result;
	int rc;

	c->reporter->begin(c->reporter->out, result);
	rc = phases_run(r, end);
	result->side[SIDE_CLIENT].measure = r->measure;
	result->samples = r->samples;
	result->interrupted = end->interrupted || end->peer_interrupted;
	if (!rc) {
		rc = session_exchange_results(r, end, theirs);
		if (!rc || theirs->data_errors)
			result->side[SIDE_SERVER].measure = theirs;
	}
	clock_refine(&c->session.clock);
	result->clock_drift_ppm = c->session.clock.drift_ppm;
	/* A side that is only reached has no window of its own. */
	if (!rc || r->measure->opened)
		c->reporter->row(c->reporter->out, result);
	r->clean = !rc;
	if (!rc && end->peer_interrupted && !end->interrupted)
		rc = fail(FAIL_RUN, EINTR, "the server %s was interrupted; the result is partial",
			  c->session.peer);
	return rc ? rc : end->interrupted ? -EINTR : 0;
}

static int run_row(struct client *c, const struct point *p)
{
	const struct options *opt = c->session.opt;
	struct measure *theirs = calloc(1, sizeof(*theirs));
	struct row *r = calloc(1, sizeof(*r));
	struct phases_end end = { 0 };
	int rc;

	if (!r || !theirs)
		rc = fail(FAIL_SETUP, ENOMEM, "out of memory for a row");
	else
		rc = row_prepare(r, &c->session, p, (struct row_wish){
				 .inline_exact = opt->inline_size.given,
				 .keep = !opt->plan.given });
	if (!rc)
		rc = ask_point(c, r);
	if (!rc)
		fill_result(c, r);
	if (!rc && opt->plan.given)
		c->reporter->begin(c->reporter->out, &c->result);
	if (!rc && !opt->plan.given) {
		rc = connect_row(c, r);
		if (!rc)
			rc = measure_row(c, r, &end, theirs);
	}
	row_free(r);
	free(theirs);
	free(end.peer.total);
	c->result.row++;
	return rc;
}

static bool left_out(const struct client *c, const struct plan *plan, const struct point *p)
{
	return plan->overview && !(plan_supports(p, &c->session.device.facts.caps) &&
				   plan_supports(p, &c->session.peer_device.caps));
}

static int run_plan(struct client *c, struct plan *plan)
{
	struct session *s = &c->session;
	int rc = 0;

	c->result.overview = plan->overview;
	for (size_t i = 0; i < plan->count; i++)
		c->result.rows += !left_out(c, plan, &plan->points[i]);
	for (size_t i = 0; i < plan->count && !rc; i++) {
		struct point *p = &plan->points[i];

		if (left_out(c, plan, p))
			continue;
		c->result.ends_line = i + 1 == plan->count || p[1].op.value != p->op.value;
		rc = plan_fit(s->opt, p, &s->device.facts.caps, &s->peer_device.caps);
		if (!rc)
			rc = run_row(c, p);
	}
	return rc;
}

static int run_session(struct client *c, const struct options *opt, struct watch *watch,
		       struct plan *plan)
{
	int rc = session_connect(&c->session, opt, watch);

	if (!rc)
		rc = exchange_facts(&c->session);
	if (!rc)
		rc = run_plan(c, plan);
	if (!rc)
		dialog_send(&c->session, message_simple("BYE"));
	session_close(&c->session);
	return rc;
}

int client_run(const struct options *opt, struct watch *watch, const struct reporter *reporter)
{
	struct client *c = calloc(1, sizeof(*c));
	struct plan plan;
	int rc = plan_make(opt, &plan);

	if (!rc && !c)
		rc = fail(FAIL_SETUP, ENOMEM, "out of memory");
	if (!rc) {
		c->reporter = reporter;
		c->session = (struct session){ .watch = watch, .channel = { .fd = -1 } };
		rc = run_session(c, opt, watch, &plan);
	}
	plan_free(&plan);
	free(c);
	return rc;
}
