/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/live.h"

#include <stdlib.h>
#include <string.h>

#include "host/sysfs.h"
#include "session/watch.h"

#define NEVER UINT64_MAX
#define FIRST_TICK_NS 100000000 /* the reporter has just been told of the row */
#define SLACK_NS 5000000  /* an edge is seen so much after its time, as a rule */
#define LOOK_NS 20000000  /* between two looks at what did not come */
#define LATE_NS 100000000 /* a mark that has not come by then is not waited for */

/* The port's counter of one of these names, whatever its driver calls it. */
static bool port_count(const struct device_facts *d, const char *const *names, uint64_t *count)
{
	char text[32];

	for (; *names; names++) {
		if (!sysfs_text(text, sizeof(text), "infiniband/%s/ports/%u/hw_counters/%s",
				d->name, d->port, *names))
			continue;
		*count = strtoull(text, NULL, 10);
		return true;
	}
	return false;
}

/* What this side's port has sent again, and how often it was told of a receiver not ready. */
static struct live_trouble take_trouble(const struct row *r)
{
	static const char *const retransmits[] = {
		"completer_retry_err", "local_ack_timeout_err", "to_retransmits", "RetransSegs",
		NULL,
	};
	static const char *const rnr[] = {
		"rcvd_rnr_err", "rnr_nak_retry_err", "rnr_naks_rcvd", "RNR rcvd", NULL,
	};
	const struct device_facts *d = &r->session->device.facts;
	struct live_trouble t = { 0 };

	t.known = port_count(d, retransmits, &t.retransmits) && port_count(d, rnr, &t.rnr);
	return t;
}

void live_begin(struct live *l)
{
	if (!l)
		return;
	*l = (struct live){ .reporter = l->reporter, .result = l->result, .every = l->every };
	l->tick_at = watch_now() + FIRST_TICK_NS;
	l->look_at = l->every ? 0 : NEVER;
}

uint64_t live_deadline(const struct live *l)
{
	if (!l)
		return NEVER;
	return l->tick_at < l->look_at ? l->tick_at : l->look_at;
}

void live_heard(struct live *l, const struct message_beat *beat)
{
	uint64_t now = watch_now(), count = beat->completed + beat->received;

	if (!l || strcmp(beat->phase, "OPEN"))
		return;
	if (!l->hears) {
		l->heard_at = now;
		l->heard_count = count;
	}
	l->hears = true;
	l->heard = (struct lane_mark){ .ns = now - l->heard_at, .count = count - l->heard_count };
}

static bool read_mark(const struct live *l, const struct row *r, struct lane_mark *m)
{
	if (r->lane)
		return threads_mark(&r->threads, m);
	*m = l->heard;
	return l->hears;
}

static void tell(struct live *l, const struct row *r, const struct lane_mark *m)
{
	struct live_trouble now = take_trouble(r);
	struct result_interval i = {
		.from_ns = l->told.ns, .to_ns = m->ns, .count = m->count - l->told.count,
		.in_flight = m->in_flight,
		.posts = r->lane && r->lane->leads && r->point.test.value == TEST_BW,
		.retransmits = now.retransmits - l->trouble.retransmits,
		.rnr = now.rnr - l->trouble.rnr, .counters = now.known && l->trouble.known,
		.of_server = !r->lane,
	};

	l->reporter->interval(l->result, &i);
	l->told = *m;
	l->trouble = now;
	l->due = (m->ns / l->every + 1) * l->every;
}

/*
 * A mark comes with a completion. Where none comes, that is told too: as many had been counted at
 * the part's end as at the last mark. What was counted since then falls into the next part.
 */
static void look(struct live *l, const struct row *r, uint64_t now)
{
	struct lane_mark m;
	uint64_t at;

	l->look_at = now + LOOK_NS;
	if (!read_mark(l, r, &m))
		return;
	if (!l->opened || m.ns != l->seen.ns) {
		l->seen = m;
		l->seen_at = now;
	}
	if (!l->opened) {
		l->opened = true;
		l->due = l->every;
		l->trouble = take_trouble(r);
	}
	at = l->seen.ns + (now - l->seen_at); /* no later than it is by the lane's clock */
	if (m.ns < l->due && r->lane && at >= l->due + LATE_NS)
		m.ns = l->due;
	if (m.ns >= l->due)
		tell(l, r, &m);
	if (l->due > at + LOOK_NS)
		l->look_at = now + (l->due - at) + SLACK_NS;
}

void live_tick(struct live *l, const struct row *r)
{
	uint64_t now = watch_now();

	if (!l)
		return;
	if (now >= l->tick_at) {
		uint64_t wait = l->reporter->tick();

		l->tick_at = wait == NEVER ? NEVER : now + wait;
	}
	if (now >= l->look_at)
		look(l, r, now);
}

void live_end(struct live *l, const struct row *r)
{
	struct lane_mark m;

	if (!l || !l->every || !r->lane || !read_mark(l, r, &m) ||
	    (m.ns <= l->told.ns && m.count == l->told.count))
		return;
	/* The others may have come to an end long ago. */
	m.ns = m.last_ns;
	tell(l, r, &m);
}
