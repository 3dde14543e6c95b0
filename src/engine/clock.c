/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

#define CALIBRATE_NS 5000000
#define READS 2000

#if defined(__x86_64__)
#define COUNTER_NAME "tsc"
#define CLOCKSOURCE "tsc"

/* CPUID 80000007h, EDX bit 8: the counter runs at one rate in every power state. */
static bool counter_invariant(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & (1U << 8));
}
#elif defined(__aarch64__)
#define COUNTER_NAME "cntvct"
#define CLOCKSOURCE "arch_sys_counter"

static bool counter_invariant(void)
{
	return true; /* the architecture says so */
}
#else
#define COUNTER_NAME "none"
#define CLOCKSOURCE "none"

static bool counter_invariant(void)
{
	return false;
}
#endif

/* The kernel's watchdog knows of counters that differ between CPUs; its choice is ours. */
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
 * One pair of readings of both clocks, as close together as can be had: the tightest of a few, so
 * that an interrupt between them does not count.
 */
static void read_pair(uint64_t *ticks, uint64_t *ns)
{
	uint64_t best = UINT64_MAX;

	for (int i = 0; i < 20; i++) {
		uint64_t before = counter_read_ordered();
		uint64_t now = clock_raw_ns();
		uint64_t after = counter_read_ordered();

		if (after - before < best) {
			best = after - before;
			*ticks = before + (after - before) / 2;
			*ns = now;
		}
	}
}

static uint64_t mult_since(const struct clock *c)
{
	uint64_t ticks = 0, ns = 0;

	read_pair(&ticks, &ns);
	return (uint64_t)(((unsigned __int128)(ns - c->ns0) << CLOCK_SHIFT) / (ticks - c->ticks0));
}

static void measure_reads(struct clock *c)
{
	uint64_t cost = UINT64_MAX, step = UINT64_MAX;

	for (int i = 0; i < READS; i++) {
		uint64_t a = clock_start(c), b = clock_start(c);

		cost = b - a < cost ? b - a : cost;
		if (b > a)
			step = b - a < step ? b - a : step;
	}
	/* A read that takes no tick at all costs less than the resolution; say one tick. */
	c->read_ns = (uint32_t)clock_ns(c, cost ? cost : step);
	c->resolution_ns = c->counter ? (uint32_t)clock_ns(c, 1) : (uint32_t)step;
	if (!c->resolution_ns)
		c->resolution_ns = 1;
}

void clock_init(struct clock *c)
{
	*c = (struct clock){ .mult = 1ULL << CLOCK_SHIFT };
	c->counter = counter_invariant() && kernel_trusts_counter();
	if (c->counter) {
		read_pair(&c->ticks0, &c->ns0);
		while (clock_raw_ns() - c->ns0 < CALIBRATE_NS)
			;
		c->mult = mult_since(c);
	}
	measure_reads(c);
}

void clock_refine(struct clock *c)
{
	uint64_t mult;

	if (!c->counter)
		return;
	mult = mult_since(c);
	c->drift_ppm = fabs((double)mult - (double)c->mult) / (double)c->mult * 1e6;
	c->mult = mult;
}

const char *clock_name(const struct clock *c)
{
	return c->counter ? COUNTER_NAME : "CLOCK_MONOTONIC_RAW";
}
