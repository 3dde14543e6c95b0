/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The clock of the measured loops: the CPU's cycle counter where the kernel itself keeps time by
 * it, else CLOCK_MONOTONIC_RAW. Loops keep ticks; only differences are converted.
 */
#ifndef RDMETER_ENGINE_CLOCK_H
#define RDMETER_ENGINE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#define CLOCK_SHIFT 32
#define CLOCK_LEAST_NS 2000000 /* a calibration is over at least so long */

/* What both clocks said at one moment. */
struct clock_pair {
	uint64_t ticks, ns;
};

/* Of readings of both clocks those with the least ticks around the kernel's; 0 to begin with. */
struct clock_pairs {
	uint64_t width, count; /* how many ticks these are, and how many pairs of so many */
	struct clock_pair first;
	uint64_t ticks, ns; /* sums, from the first on */
};

struct clock {
	uint64_t mult;  /* nanoseconds a tick, times 2^CLOCK_SHIFT */
	bool counter;   /* ticks are those of the CPU's counter, else nanoseconds */
	bool calibrated;
	struct clock_pair from; /* where calibration began: the longer ago, the more exact */
	uint32_t read_ns;       /* cost of one read, where many took least; at least 1 */
	uint32_t resolution_ns; /* smallest step seen, at least 1 */
	double drift_ppm;       /* between the last calibration and the one before */
};

static inline uint64_t clock_raw_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Plain and ordered reads of the counter; the ordered one waits for what comes before it. */
#if defined(__x86_64__)
static inline uint64_t counter_read(void)
{
	return __builtin_ia32_rdtsc();
}

static inline uint64_t counter_read_ordered(void)
{
	unsigned int cpu;

	return __builtin_ia32_rdtscp(&cpu);
}
#elif defined(__aarch64__)
static inline uint64_t counter_read(void)
{
	uint64_t v;

	__asm__ volatile("mrs %0, cntvct_el0" : "=r"(v));
	return v;
}

static inline uint64_t counter_read_ordered(void)
{
	uint64_t v;

	__asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(v) : : "memory");
	return v;
}
#else
static inline uint64_t counter_read(void)
{
	return clock_raw_ns();
}

static inline uint64_t counter_read_ordered(void)
{
	return clock_raw_ns();
}
#endif

/* In a loop that only waits. */
static inline void cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Before the post that begins a sample. */
static inline uint64_t clock_start(const struct clock *c)
{
	return c->counter ? counter_read() : clock_raw_ns();
}

/* After the answer that ends a sample. */
static inline uint64_t clock_stop(const struct clock *c)
{
	return c->counter ? counter_read_ordered() : clock_raw_ns();
}

static inline uint64_t clock_ns(const struct clock *c, uint64_t ticks)
{
	return (uint64_t)(((unsigned __int128)ticks * c->mult) >> CLOCK_SHIFT);
}

static inline uint64_t clock_ticks(const struct clock *c, uint64_t ns)
{
	return (uint64_t)(((unsigned __int128)ns << CLOCK_SHIFT) / c->mult);
}

/* Chooses, and takes the readings that calibration begins at. What follows need not wait for it. */
void clock_begin(struct clock *c);

/*
 * Calibrates over all the time since clock_begin(), and waits for what it is short of the least;
 * the first time measures what a read costs too: ticks are not to be converted before. Beyond
 * 100 ppm from the calibration before, drift_ppm says so, and the caller warns.
 */
void clock_calibrate(struct clock *c);

/* Adds one pair, the kernel's clock having been read between two reads of the counter. */
void clock_pairs_add(struct clock_pairs *p, uint64_t before, uint64_t ns, uint64_t after);
struct clock_pair clock_pairs_mean(const struct clock_pairs *p);

/* Nanoseconds a tick from one moment to another, times 2^CLOCK_SHIFT. */
uint64_t clock_mult(const struct clock_pair *from, const struct clock_pair *to);

/* "tsc", "cntvct" or "CLOCK_MONOTONIC_RAW" */
const char *clock_name(const struct clock *c);

#endif
