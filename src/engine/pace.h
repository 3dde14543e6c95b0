/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When messages are to leave: an absolute schedule from the beginning of the load on, which a late
 * message does not shift. Message i of the lane leaves at i / rate, or after exponential gaps of
 * that mean; with a burst of N the i-th N messages leave together at i N / rate. Times are ticks
 * with a fraction of 2^-64, so that no rate is rounded to whole ticks.
 */
#ifndef RDMETER_ENGINE_PACE_H
#define RDMETER_ENGINE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/clock.h"
#include "stats/measure.h"

struct pace {
	uint64_t due, fraction; /* the intended time of the next message */
	uint64_t step, step_fraction; /* between bursts; with Poisson arrivals their mean */
	uint64_t remaining; /* messages of the schedule that have not left */
	uint32_t left, burst; /* messages of the burst at `due` that have not left; all of it */
	uint32_t turn; /* the queue pair that has the next message */
	bool active;   /* there is a schedule */
	bool poisson;
	uint64_t gap;  /* without a schedule: ticks from an answer to the next operation */
	uint64_t now;  /* when the message that is being posted was found to be due */
	uint64_t late; /* of the last one that left */
	uint64_t backlog; /* the most that were due and had not left, since the window opened */
	/* The measure's while the window is open, else the lane's spare one. */
	struct histogram *response, *lateness;
	double rest; /* of Poisson gaps: what was left of a tick */
	uint64_t random;
	uint64_t opened, open_at; /* when the window opened, and how far the schedule was then */
};

struct pace_plan {
	uint64_t rate; /* messages in 10^9 s; 0: no schedule */
	uint32_t burst;
	bool poisson;
	uint64_t seed;
	uint64_t gap_ns;
};

void pace_init(struct pace *p, const struct pace_plan *plan, const struct clock *c);

/* The load begins now; the schedule has so many messages. Outside of a window spare is filled. */
void pace_begin(struct pace *p, uint64_t now, uint64_t messages, struct histogram *spare);

/* At the edges of the window; nothing without a schedule. */
void pace_open(struct pace *p, struct pace_measure *m, uint64_t now);
void pace_close(struct pace *p, struct pace_measure *m, uint64_t now, struct histogram *spare);

/* Moves `due` on by a gap that is drawn. */
void pace_draw(struct pace *p) __attribute__((noinline));

/* Keeps the largest backlog: a message leaves so many ticks late. */
void pace_backlog(struct pace *p, uint64_t late) __attribute__((noinline));

static inline void pace_next(struct pace *p)
{
	p->left = p->burst;
	if (p->poisson)
		pace_draw(p);
	else
		p->due += p->step + __builtin_add_overflow(p->fraction, p->step_fraction,
							   &p->fraction);
}

/* The message that was due has left, at now. */
static inline void pace_leave(struct pace *p, const struct clock *c, uint64_t now)
{
	p->late = now - p->due;
	histogram_record(p->lateness, clock_ns(c, p->late));
	p->remaining--;
	if (p->late >= p->step || p->burst > 1)
		pace_backlog(p, p->late);
	if (--p->left == 0)
		pace_next(p);
}

#endif
