/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The side that asks: connects, plans, leads through the row, reports. */
#include <errno.h>
#include <stdio.h>
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
#include "session/live.h"
#include "session/local.h"
#include "session/net.h"

#define BUSY_RETRY_NS 200000000

struct client {
	struct session session;
	struct result result;
	const struct reporter *reporter;
	struct result_sweep sweep;
	struct plan *plan;
	struct live live;
	uint32_t server_inline;
	bool kept; /* the server goes on with the queue pairs of the row before */
	bool many;  /* rows: one that fails does not keep the others from being run */
	bool ended; /* the server came to an end: no further row */
	bool shown; /* the reporter has been told of the row */
	bool lost;  /* the session: the next row needs another */
	unsigned int failed;
	char first_failure[FAIL_TEXT];
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
	c->result.side[SIDE_CLIENT] = (struct side){
		.host = s->host, .device = s->device.facts, .inline_size = r->queues.inline_size,
		.outstanding = plan_outstanding(&r->point, ours, theirs),
	};
	c->result.side[SIDE_SERVER] = (struct side){
		.host = s->peer_host, .device = s->peer_device, .inline_size = c->server_inline,
		.outstanding = plan_outstanding(&r->point, theirs, ours),
	};
}

/* The server waits less long than was asked for; both sides then do, in all that is to come. */
static void take_stall(struct client *c, struct row *r, uint64_t limit)
{
	char text[2][UNITS_TEXT_SIZE];

	note("--stall-timeout %s -> %s (the server's --stall-timeout)",
	     units_time(text[0], sizeof(text[0]), r->point.stall_timeout.value),
	     units_time(text[1], sizeof(text[1]), limit));
	r->point.stall_timeout = (struct setting){ .value = limit, .why = "the server's" };
	for (size_t i = 0; i < c->plan->count; i++)
		c->plan->points[i].stall_timeout = r->point.stall_timeout;
	session_set_stall(&c->session, limit);
}

static int take_accept(struct client *c, struct row *r, const json_t *json)
{
	uint64_t asked = r->point.stall_timeout.value;
	struct message_accept accept;
	const char *key;
	int rc = message_get_accept(json, &accept, &key);

	if (!rc && (!accept.stall_ns || accept.stall_ns > asked)) {
		key = "stall_ns";
		rc = -EBADMSG;
	}
	if (rc)
		return dialog_told_bad(&c->session, json, key);
	c->server_inline = accept.inline_size;
	c->kept = accept.kept;
	if (accept.stall_ns < asked)
		take_stall(c, r, accept.stall_ns);
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
	s->in_row = true;
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
	if (!rc)
		rc = dialog_connected(&c->session);
	return rc ? rc : exchange_ready(c);
}

/* The header is printed before the run, so that what is being measured can be seen meanwhile. */
static int measure_row(struct client *c, struct row *r, struct phases_end *end,
		       struct measure *theirs)
{
	struct result *result = &c->result;
	int rc;

	c->reporter->begin(c->reporter->out, result);
	r->live = &c->live;
	live_begin(r->live);
	rc = c->plan->local ? local_run(r, end) : phases_run(r, end);
	live_end(r->live, r);
	result->side[SIDE_CLIENT].measure = r->measure;
	result->samples = r->samples;
	result->interrupted = end->interrupted || end->peer_interrupted;
	if (!rc && !c->plan->local) {
		rc = session_exchange_results(r, end, theirs);
		if (!rc || theirs->data_errors)
			result->side[SIDE_SERVER].measure = theirs;
	}
	clock_calibrate(&c->session.clock);
	result->clock_drift_ppm = c->session.clock.drift_ppm;
	result->failed = rc && fail_last()->class != FAIL_NONE ? fail_last()->text : NULL;
	/* A side that is only reached has no window of its own. */
	if (!rc || r->measure->opened) {
		c->reporter->row(c->reporter->out, result);
		c->shown = true;
	}
	c->ended = end->peer_interrupted;
	r->clean = !rc;
	if (!rc && end->peer_interrupted && !end->interrupted)
		rc = fail(FAIL_RUN, EINTR, "the server %s was interrupted; the result is partial",
			  c->session.peer);
	return rc ? rc : end->interrupted ? -EINTR : 0;
}

static int prepare_row(struct client *c, struct row *r, const struct point *p)
{
	const struct options *opt = c->session.opt;
	int rc;

	if (c->plan->local)
		return local_prepare(r, &c->session, p);
	rc = row_prepare(r, &c->session, p, (struct row_wish){
			 .inline_exact = opt->inline_size.given, .keep = !opt->plan.given });
	return rc ? rc : ask_point(c, r);
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
		rc = prepare_row(c, r, p);
	if (!rc)
		fill_result(c, r);
	if (!rc && opt->plan.given)
		c->reporter->begin(c->reporter->out, &c->result);
	if (!rc && !opt->plan.given) {
		rc = c->plan->local ? 0 : connect_row(c, r);
		if (!rc)
			rc = measure_row(c, r, &end, theirs);
	}
	row_free(r);
	free(theirs);
	free(end.peer.total);
	return rc;
}

/* What the report of a row that does not get as far as fill_result() is made of. */
static void begin_row(struct client *c, const struct point *p)
{
	const struct session *s = &c->session;

	c->shown = false;
	c->result.point = *p;
	c->result.failed = NULL;
	c->result.interrupted = false;
	c->result.required = c->reporter->required;
	c->result.side[SIDE_CLIENT] = (struct side){ .host = s->host, .device = s->device.facts };
	c->result.side[SIDE_SERVER] = (struct side){
		.host = s->peer_host, .device = s->peer_device,
	};
}

/* The session is gone. Another one, once; the rows so far stay what they are. */
static int reconnect(struct client *c)
{
	struct session *s = &c->session;
	int rc;

	if (!c->lost)
		return 0;
	c->lost = false;
	/* A server that is being killed may listen on for a moment. */
	if (watch_wait(s->watch, watch_now() + BUSY_RETRY_NS) & WATCH_SIGNAL)
		return -EINTR;
	rc = session_connect(s, s->opt, s->watch);
	if (!rc)
		rc = exchange_facts(s);
	if (rc)
		note("the session was lost, and there is no other: %u of %u rows were begun",
		     c->result.row, c->result.rows);
	return rc;
}

/*
 * A row has failed: that is its result, and the next one begins, in this session where both sides
 * can agree on the row's end. 0, or rc where it is the end of the run.
 */
static int take_failure(struct client *c, int rc)
{
	struct session *s = &c->session;
	const struct options *opt = s->opt;
	struct watch *watch = s->watch;

	if (rc == -EINTR || watch->signals || s->stuck || c->ended || !c->many)
		return rc;
	c->result.failed = fail_last()->text;
	for (int i = 0; i < SIDES; i++)
		c->result.side[i].measure = NULL; /* gone with the row */
	if (!c->shown)
		c->reporter->row(c->reporter->out, &c->result);
	if (!c->failed++)
		snprintf(c->first_failure, sizeof(c->first_failure), "%s", fail_last()->text);
	if (!c->plan->local && dialog_end_row(s)) {
		c->lost = true;
		session_close(s);
		*s = (struct session){ .opt = opt, .watch = watch, .channel = { .fd = -1 } };
	}
	fail_set_aside();
	return watch->signals ? -EINTR : 0;
}

static bool left_out(const struct client *c, const struct plan *plan, const struct point *p)
{
	return plan->overview && !(plan_supports(p, &c->session.device.facts.caps) &&
				   plan_supports(p, &c->session.peer_device.caps));
}

static void describe_sweep(struct client *c, struct plan *plan)
{
	const struct options *opt = c->session.opt;

	c->plan = plan;
	c->result.overview = plan->overview;
	c->many = plan->count > 1;
	c->session.alone = !c->many;
	for (size_t i = 0; i < plan->count; i++) {
		if (left_out(c, plan, &plan->points[i]))
			continue;
		c->result.rows++;
		c->reporter->expect(&plan->points[i], plan->refused && plan->refused[i],
				    opt->max_time.given ? opt->max_time.num : 0);
	}
	if (!plan->sweep)
		return;
	c->sweep = (struct result_sweep){
		.points = plan->points, .rows = plan->count, .varied = plan->varied,
		.varied_count = plan->varied_count, .pivot = opt->pivot.given,
		.plan_only = opt->plan.given,
		.seed = opt->shuffle.given ? &opt->shuffle.num : NULL,
	};
	c->result.sweep = &c->sweep;
}

static int run_point(struct client *c, const struct plan *plan, size_t i)
{
	struct session *s = &c->session;
	struct point *p = &plan->points[i];
	int rc = 0;

	begin_row(c, p);
	if (plan->sweep)
		rc = c->reporter->resume(c->reporter->out, &c->result);
	if (rc) {
		c->result.row++;
		return rc < 0 ? rc : 0;
	}
	fail_hold(plan->sweep);
	if (plan->refused[i])
		rc = fail(plan->refused[i]->class, EINVAL, "%s", plan->refused[i]->text);
	else if (!plan->sweep)
		rc = plan_fit(s->opt, p, &s->device.facts.caps, &s->peer_device.caps);
	if (!rc)
		rc = run_row(c, p);
	s->in_row = s->in_row && rc;
	if (rc)
		rc = take_failure(c, rc);
	fail_hold(false);
	if (rc && plan->sweep && fail_last()->class != FAIL_NONE)
		fail_tell();
	c->result.row++;
	return rc;
}

/* Whether the time for the whole run is up before this row. */
static bool out_of_time(const struct client *c, uint64_t began)
{
	const struct option_value *max = &c->session.opt->max_time;

	if (!max->given || !c->result.row || watch_now() - began < max->num)
		return false;
	note("--max-time %s: %u of %u rows were begun, the others are left out", max->text,
	     c->result.row, c->result.rows);
	return true;
}

static int run_plan(struct client *c, struct plan *plan)
{
	struct session *s = &c->session;
	uint64_t began = watch_now();
	int rc = plan_bound(s->opt, plan, &s->device.facts.caps, &s->peer_device.caps);

	if (!rc && plan->sweep)
		rc = plan_fit_sweep(s->opt, plan, &s->device.facts.caps, &s->peer_device.caps);
	if (!rc)
		describe_sweep(c, plan);
	for (size_t i = 0; i < plan->count && !rc; i++) {
		struct point *p = &plan->points[i];

		if (out_of_time(c, began))
			break;
		rc = reconnect(c);
		if (rc || left_out(c, plan, p))
			continue;
		c->result.ends_line = i + 1 == plan->count || p[1].op.value != p->op.value;
		rc = run_point(c, plan, i);
	}
	if (c->failed && plan->sweep)
		note("%u of %u rows failed; the first: %s", c->failed, c->result.rows,
		     c->first_failure);
	return rc;
}

static int run_session(struct client *c, const struct options *opt, struct watch *watch,
		       struct plan *plan)
{
	int rc;

	if (plan->local)
		rc = local_open(&c->session, opt, watch);
	else
		rc = session_connect(&c->session, opt, watch);
	if (!rc && !plan->local)
		rc = exchange_facts(&c->session);
	if (!rc)
		rc = run_plan(c, plan);
	if (!rc && !c->lost && !plan->local)
		dialog_send(&c->session, message_simple("BYE"));
	session_close(&c->session);
	return rc || !c->failed ? rc : -EIO;
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
		c->live = (struct live){
			.reporter = reporter, .result = &c->result, .every = opt->interval.num,
		};
		c->session = (struct session){ .watch = watch, .channel = { .fd = -1 } };
		rc = run_session(c, opt, watch, &plan);
		reporter->end(reporter->out);
	}
	plan_free(&plan);
	/* What a stuck data thread may still look at stays: the process ends soon. */
	if (!c || !c->session.stuck)
		free(c);
	return rc;
}
