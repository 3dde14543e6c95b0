/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#ifndef STATS_MEASURE_H
#define STATS_MEASURE_H

#include <stdbool.h>
#include <stdint.h>

#include "stats/histogram.h"
#include "stats/series.h"

/*
 * The measured window: the messages counted after @t0 and up to @t1. The times are those of one
 * side's own clock, so that only their difference means anything to the other side.
 */
struct window {
	uint64_t t0, t1; /* ns on this side's clock */
	uint64_t count;  /* messages in it */
};

/* CPU use over the window, in cores: 1.0 is one core all the time. */
struct cpu_use {
	double process_cores;      /* user and system time of this process */
	double host_cores;         /* busy time of the host, softirq included */
	double host_softirq_cores; /* the part of host_cores that served soft interrupts */
	bool valid;                /* false: could not be read, the numbers mean nothing */
};

#define COUNTER_MOVES 96
#define COUNTER_MOVE_NAME 40

/* A counter of the port that changed between the window's edges. */
struct counter_move {
	char name[COUNTER_MOVE_NAME]; /* the kernel's */
	uint64_t before, after;       /* less after than before: somebody reset it */
};

/* All that changed, in the order of their names. */
struct counter_moves {
	bool valid;      /* false: not known, the rest means nothing */
	uint32_t more;   /* changed too, but found no room here */
	uint32_t count;
	struct counter_move move[COUNTER_MOVES];
};

#define MEASURE_THREADS 256

/* What one of a side's data threads had, by its own stamps. */
struct measure_thread {
	int32_t cpu;     /* that it was pinned to; -1: to none */
	int32_t node;    /* NUMA node that it ran on at its end; -1: not known */
	uint64_t t0, t1; /* its window, as the side's: ns from the same beginning */
	uint64_t count;  /* messages in it */
};

/*
 * How a side kept to a schedule (--rate), over the window. Beside it the latency is that of the
 * service: from the post on.
 */
struct pace_measure {
	bool active;      /* there was a schedule; else nothing here means anything */
	uint64_t backlog; /* the most messages that were due and had not left */
	/* How fast the schedule went by: 1 when it was kept, less as lateness grew. */
	double kept;
	struct histogram response; /* ns from the intended time on, waiting included */
	struct histogram lateness; /* ns from the intended time to the post */
};

/*
 * What one side measured in one row: filled by session/ from the lanes, sent to the other side,
 * read by report/. Plain data without pointers: it may be copied, and nothing has to be freed.
 * It is large (histogram and series), so allocate it.
 */
struct measure {
	bool active;         /* this side moved messages itself (a write's target does not) */
	bool opened, closed; /* the window was opened, was closed */
	bool receiver;       /* counts are of arrivals, not of completions of own posts */
	uint64_t started_ns; /* what the window's times count from, by CLOCK_MONOTONIC_RAW */
	struct window window;

	/* Messages over the whole run: warm-up, window and drain. */
	uint64_t posted, completed, received;
	uint64_t warmup; /* messages before the window */

	/* Messages in its thread's window of the queue pair that had fewest, and most. */
	uint64_t qp_least, qp_most;
	uint64_t missed; /* compare-and-swaps that did not find what they expected, whole run */

	struct histogram latency; /* ns: stamped requests (bw) or samples (lat) */
	struct histogram undo;    /* ns: second halves of what needs no peer */
	unsigned divisor;         /* what a sample is divided by to be shown: 2 for a round trip */
	struct series series;     /* messages over ns, within the window */
	struct cpu_use cpu;
	struct counter_moves counters;
	int32_t thread_node; /* NUMA node that all data threads ran on at their end, or -1 */
	uint32_t threads;    /* data threads; 0: not told, or none */
	struct measure_thread thread[MEASURE_THREADS];
	uint64_t data_errors; /* slots whose content was not what was sent */
	char data_fault[112]; /* where the first one is */

	char clock[24];               /* name of the time source */
	uint32_t clock_read_ns;       /* cost of one read */
	uint32_t clock_resolution_ns; /* smallest step seen */

	struct pace_measure pace;
};

#endif
