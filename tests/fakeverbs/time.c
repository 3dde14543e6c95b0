/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clock of the device, and with clock=virtual that of the program too: its
 * CLOCK_MONOTONIC_RAW stands still from the first request on, but for what the device makes take
 * time. It is one clock for all processes of the fabric that have it. The program is told that the
 * kernel has no faith in the TSC, so that it uses that clock.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define CLOCKSOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

static int (*real_clock_gettime)(clockid_t id, struct timespec *ts);
static FILE *(*real_fopen)(const char *path, const char *mode);
static _Atomic bool stands;

static void __attribute__((constructor(101))) find_real(void)
{
	*(void **)&real_clock_gettime = dlsym(RTLD_NEXT, "clock_gettime");
	*(void **)&real_fopen = dlsym(RTLD_NEXT, "fopen");
}

uint64_t fake_real_now(void)
{
	struct timespec ts;

	if (!real_clock_gettime)
		find_real();
	real_clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

uint64_t fake_now(void)
{
	return atomic_load_explicit(&stands, memory_order_relaxed) ?
		       atomic_load_explicit(&fabric->virtual_now, memory_order_relaxed) :
		       fake_real_now();
}

void time_stands(void)
{
	uint64_t begun = 0;

	if (!script.virtual_clock || atomic_load(&stands))
		return;
	atomic_compare_exchange_strong(&fabric->virtual_now, &begun, fake_real_now());
	atomic_store(&stands, true);
}

int clock_gettime(clockid_t id, struct timespec *ts)
{
	uint64_t now;

	if (!real_clock_gettime)
		find_real();
	if (!atomic_load_explicit(&stands, memory_order_relaxed) || id != CLOCK_MONOTONIC_RAW)
		return real_clock_gettime(id, ts);
	now = fake_now();
	ts->tv_sec = (time_t)(now / 1000000000);
	ts->tv_nsec = (long)(now % 1000000000);
	return 0;
}

FILE *fopen(const char *path, const char *mode)
{
	if (!real_fopen)
		find_real();
	return real_fopen(script.virtual_clock && !strcmp(path, CLOCKSOURCE) ? "/dev/null" : path,
			  mode);
}
