/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The data threads of a row on one side. Each is a worker with a share of the queue pairs, and a
 * lane and a measure of its own; the session's thread sees to them as to one.
 */
#ifndef RDMETER_SESSION_THREADS_H
#define RDMETER_SESSION_THREADS_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/lane.h"
#include "engine/rest.h"
#include "stats/measure.h"

struct threads;

struct worker {
	struct lane_control control;
	struct lane_report report;
	/* Not written while the load is on. */
	_Alignas(LANE_LINE) struct lane *lane;
	lane_loop loop;
	struct lane_content content;
	struct lane_rest rest;     /* with --events; its descriptor is there while lane->rest is */
	struct lane_shared shared; /* with --srq */
	struct measure *measure;
	struct threads *all;
	uint32_t first; /* of the row's queue pairs */
	int cpu;        /* that it is pinned to; -1: to none */
	int ran_on;     /* the CPU that ran its end; -1: not known */
	pthread_t thread;
	bool running;
};

/* What the session's thread writes, or reads again and again, is not where a loop writes. */
LANE_FILLS_LINES(struct worker);
_Static_assert(offsetof(struct worker, report) % LANE_LINE == 0 &&
	       offsetof(struct worker, lane) % LANE_LINE == 0, "parts of a worker share lines");

/* All of them begin at once: none has a load on while others are still being made. */
enum gate { GATE_CLOSED, GATE_OPEN, GATE_NEVER };

struct threads {
	uint32_t count; /* 0: this side has nothing to do */
	struct worker *worker;
	struct lane_qp *qp; /* of all, in their order */
	int node;           /* where one that is not pinned runs; -1: anywhere */
	enum gate gate;
	pthread_mutex_t mutex; /* of the gate */
	pthread_cond_t moved;
};

/* Zeroed, on cache lines of its own. NULL: there is no memory. */
void *alloc_lines(size_t size);

/* Room for so many, with measures. t is zeroed, and to be given to threads_free() in any case. */
int threads_alloc(struct threads *t, uint32_t count);
void threads_free(struct threads *t);

/*
 * Pins each of several to a CPU that the session may run on: of that node, -1 or where it has none
 * of all, from the first or from the last one on. When there are fewer they share them.
 */
void threads_pin(struct threads *t, int node, bool from_last);

/*
 * Starts all. When one cannot be: -errno told, and threads_abort() ends the others, whose loops
 * have not begun.
 */
int threads_start(struct threads *t);
bool threads_running(const struct threads *t);

/* Has all leave at once, and waits a little. -ETIMEDOUT: one is stuck inside the provider. */
int threads_abort(struct threads *t);

/* Waits for threads all of which have said LANE_LEFT. */
void threads_join(struct threads *t);

/*
 * For all of them: the windows may open; the peer posts no more; the stop word; what the peer sent
 * on each queue pair.
 */
void threads_open(struct threads *t);
void threads_finish(struct threads *t);
void threads_stop(struct threads *t, unsigned int word);
void threads_expect(struct threads *t, const uint64_t *total);

/* What all have reached. */
unsigned int threads_reached(const struct threads *t);

struct threads_counts {
	uint64_t posted, completed, received;
};

/* What they have told so far, in all. */
struct threads_counts threads_told(const struct threads *t);

/* Compare-and-swaps that missed; only once all have sent. */
uint64_t threads_missed(const struct threads *t);

/*
 * The marks of all as one: of the time that each has got to. False while a window has not opened.
 */
bool threads_mark(const struct threads *t, struct lane_mark *m);

/* The first failure of a thread that has left; NULL: none has failed. */
const struct lane_error *threads_error(const struct threads *t);

/* What they measured, once they are gone. */
void threads_measure(const struct threads *t, struct measure *into);

#endif
