/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define BATCHES 20
#define BATCHES_MOST 10000 /* until a coarse clock has made a step */
#define BATCH 32           /* reads */
#define PAIRS 100

#if defined(__x86_64__)
#define COUNTER_NAME "tsc"
#define CLOCKSOURCE "tsc"
#elif defined(__aarch64__)
#define COUNTER_NAME "cntvct"
#define CLOCKSOURCE "arch_sys_counter"
#else
#define COUNTER_NAME "none"
#define CLOCKSOURCE "none"
#endif

/*
 * The kernel's watchdog knows of counters that differ between CPUs; its choice is ours. Then
 * CLOCK_MONOTONIC_RAW is this counter too, so that nothing is gained by asking CPUID for the
 * invariant one as well: a virtual machine may lack that flag, and the slower clock is not better.
 */
static bool kernel_trusts_counter(void)
{
	FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/current_clocksource", "re");
	char name[64] = "";

	if (!f)
		return false;
	if (!fgets(name, sizeof(name), f))
		name[0] = '\0';
	fclose(f);
	name[strcspn(name, "\n")] = '\0';
	return !strcmp(name, CLOCKSOURCE);
}

/*
 * The tightest know best what one clock said when the other was read, and an interrupt between the
 * two does not count. Counters may go in steps of many nanoseconds: that the mean is finer than.
 */
void clock_pairs_add(struct clock_pairs *p, uint64_t before, uint64_t ns, uint64_t after)
{
	if (!p->count || after - before < p->width)
		*p = (struct clock_pairs){
			.width = after - before, .first = { .ticks = before, .ns = ns },
		};
	if (after - before > p->width)
		return;
	p->ticks += before - p->first.ticks;
	p->ns += ns - p->first.ns;
	p->count++;
}

struct clock_pair clock_pairs_mean(const struct clock_pairs *p)
{
	return (struct clock_pair){
		.ticks = p->first.ticks + p->width / 2 + p->ticks / p->count,
		.ns = p->first.ns + p->ns / p->count,
	};
}

static struct clock_pair read_pairs(void)
{
	struct clock_pairs p = { 0 };

	for (int i = 0; i < PAIRS; i++) {
		uint64_t before = counter_read_ordered();
		uint64_t now = clock_raw_ns();

		clock_pairs_add(&p, before, now, counter_read_ordered());
	}
	return clock_pairs_mean(&p);
}

uint64_t clock_mult(const struct clock_pair *from, const struct clock_pair *to)
{
	return (uint64_t)(((unsigned __int128)(to->ns - from->ns) << CLOCK_SHIFT) /
			  (to->ticks - from->ticks));
}

struct reads {
	uint64_t cost; /* ticks: the least of a batch */
	uint64_t step; /* the least that one took, but 0; 0: none was seen to take any */
};

/* Many at once: where a counter goes in steps, two reads may be one tick apart, or many. */
static struct reads measure_reads(const struct clock *c)
{
	struct reads r = { .cost = UINT64_MAX };

	for (int i = 0; i < BATCHES || (!r.step && i < BATCHES_MOST); i++) {
		uint64_t first = clock_start(c), last = first;

		for (int k = 0; k < BATCH; k++) {
			uint64_t now = clock_start(c);

			if (now > last && (!r.step || now - last < r.step))
				r.step = now - last;
			last = now;
		}
		r.cost = last - first < r.cost ? last - first : r.cost;
	}
	return r;
}

static void take_reads(struct clock *c, const struct reads *r)
{
	c->read_ns = (uint32_t)(clock_ns(c, r->cost) + BATCH - 1) / BATCH;
	c->resolution_ns = c->counter ? (uint32_t)clock_ns(c, 1) : (uint32_t)r->step;
	if (!c->resolution_ns)
		c->resolution_ns = 1;
	/* Reads that take no tick at all cost less than the resolution; say that. */
	if (!c->read_ns)
		c->read_ns = c->resolution_ns;
}

void clock_begin(struct clock *c)
{
	*c = (struct clock){ .mult = 1ULL << CLOCK_SHIFT };
	c->counter = kernel_trusts_counter();
	if (c->counter)
		c->from = read_pairs();
}

static void calibrate(struct clock *c)
{
	struct clock_pair to;
	uint64_t mult;

	while (clock_raw_ns() - c->from.ns < CLOCK_LEAST_NS)
		;
	to = read_pairs();
	/* Set back, as where a machine is suspended or moved: the rate is still the same. */
	if (to.ticks <= c->from.ticks) {
		c->from = to;
		c->counter &= c->calibrated;
		return;
	}
	mult = clock_mult(&c->from, &to);
	if (c->calibrated)
		c->drift_ppm = fabs((double)mult - (double)c->mult) / (double)c->mult * 1e6;
	c->mult = mult;
}

void clock_calibrate(struct clock *c)
{
	struct reads reads = { 0 };

	if (!c->calibrated)
		reads = measure_reads(c);
	if (c->counter)
		calibrate(c);
	if (!c->calibrated)
		take_reads(c, &reads);
	c->calibrated = true;
}

const char *clock_name(const struct clock *c)
{
	return c->counter ? COUNTER_NAME : "CLOCK_MONOTONIC_RAW";
}
