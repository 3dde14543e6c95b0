/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/pace.h"

#include <math.h>

#include "engine/lane.h"

#define NANO_SECOND 1000000000000000000ULL /* ns in the time that a rate counts messages in */

/* The 64 binary digits after the point of rem / by, which is below 1; by is below 2^127. */
static uint64_t fraction_of(unsigned __int128 rem, unsigned __int128 by)
{
	uint64_t fraction = 0;

	for (int i = 0; i < 64; i++) {
		rem *= 2;
		fraction = fraction * 2 + (rem >= by);
		rem -= rem >= by ? by : 0;
	}
	return fraction;
}

/* A burst takes burst 10^18 / rate ns: 2^60 with a burst of 2^16 and the clock's 2^32 fit. */
void pace_init(struct pace *p, const struct pace_plan *plan, const struct clock *c)
{
	unsigned __int128 ns = (unsigned __int128)NANO_SECOND * plan->burst;
	unsigned __int128 by = (unsigned __int128)plan->rate * c->mult;

	*p = (struct pace){
		.active = plan->rate, .poisson = plan->poisson, .burst = plan->burst,
		.random = plan->seed, .gap = clock_ticks(c, plan->gap_ns),
	};
	if (!p->active)
		return;
	p->step = (uint64_t)((ns << CLOCK_SHIFT) / by);
	p->step_fraction = fraction_of((ns << CLOCK_SHIFT) % by, by);
}

void pace_begin(struct pace *p, uint64_t now, uint64_t messages, struct histogram *spare)
{
	p->due = now;
	p->fraction = 0;
	p->left = p->burst;
	p->remaining = messages;
	p->response = p->lateness = spare;
}

/* splitmix64 */
static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* Above 0 and at most 1, so that its logarithm is a number. */
static double next_uniform(uint64_t *state)
{
	return (double)((next_random(state) >> 11) + 1) * 0x1p-53;
}

void pace_draw(struct pace *p)
{
	double mean = (double)p->step + (double)p->step_fraction * 0x1p-64;
	double gap = p->rest - mean * log(next_uniform(&p->random));
	uint64_t whole = (uint64_t)gap;

	p->due += whole;
	p->rest = gap - (double)whole;
}

void pace_backlog(struct pace *p, uint64_t late)
{
	uint64_t bursts = p->step ? late / p->step : late;
	uint64_t waiting;

	if (__builtin_mul_overflow(bursts, p->burst, &waiting))
		waiting = UINT64_MAX - p->burst;
	waiting += p->left - 1;
	waiting = waiting < p->remaining ? waiting : p->remaining;
	p->backlog = waiting > p->backlog ? waiting : p->backlog;
}

/*
 * How far the schedule is at now: where the clock is when nothing is late, else at what is due.
 * One that has ended stays as far behind as its last message was.
 */
static uint64_t position(const struct pace *p, uint64_t now)
{
	if (!p->remaining)
		return now - p->late;
	return p->due < now ? p->due : now;
}

void pace_open(struct pace *p, struct pace_measure *m, uint64_t now)
{
	if (!p->active)
		return;
	m->active = true;
	p->response = &m->response;
	p->lateness = &m->lateness;
	p->backlog = 0;
	p->opened = now;
	p->open_at = position(p, now);
}

void pace_close(struct pace *p, struct pace_measure *m, uint64_t now, struct histogram *spare)
{
	uint64_t at = position(p, now);

	if (!p->active)
		return;
	/* A window may be closed at an edge that is past, before the schedule's end. */
	at = (int64_t)(at - p->open_at) > 0 ? at : p->open_at;
	p->response = p->lateness = spare;
	if (p->remaining && now > p->due)
		pace_backlog(p, now - p->due);
	m->backlog = p->backlog;
	m->kept = now > p->opened ? (double)(at - p->open_at) / (double)(now - p->opened) : NAN;
}

int lane_wait(struct lane *l)
{
	while (clock_start(&l->clock) < l->pace.due) {
		lane_reap(l, l->group);
		if (lane_stop(l) != LANE_RUN || l->error.kind != LANE_FINE)
			return -1;
	}
	return 0;
}

void lane_answered(struct lane *l, uint64_t begin, uint64_t end, bool came)
{
	struct pace *p = &l->pace;

	if (!p->active) {
		p->due = end + p->gap;
		return;
	}
	if (came)
		histogram_record(p->response, clock_ns(&l->clock, end - p->due));
	pace_leave(p, &l->clock, begin);
}
