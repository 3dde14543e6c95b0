/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "session/threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fail.h"
#include "base/round.h"
#include "host/numa.h"
#include "stats/merge.h"

#define ABORT_SECONDS 2 /* for data threads to leave, flushes included */
#define CPUS_MOST 4096

void *alloc_lines(size_t size)
{
	size_t rounded = round_up(size, LANE_LINE);
	void *p = aligned_alloc(LANE_LINE, rounded);

	return p ? memset(p, 0, rounded) : NULL;
}

int threads_alloc(struct threads *t, uint32_t count)
{
	pthread_mutex_init(&t->mutex, NULL);
	pthread_cond_init(&t->moved, NULL);
	t->worker = alloc_lines(count * sizeof(*t->worker));
	if (!t->worker)
		return -ENOMEM;
	t->count = count;
	t->node = -1;
	for (uint32_t i = 0; i < count; i++) {
		struct worker *w = &t->worker[i];

		w->all = t;
		w->cpu = w->ran_on = -1;
		w->measure = alloc_lines(sizeof(*w->measure));
		if (!w->measure)
			return -ENOMEM;
		histogram_reset(&w->measure->latency);
		histogram_reset(&w->measure->undo);
		histogram_reset(&w->measure->pace.response);
		histogram_reset(&w->measure->pace.lateness);
		w->measure->thread_node = -1;
		atomic_store(&w->control.expected, LANE_UNKNOWN);
	}
	return 0;
}

void threads_free(struct threads *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		free(t->worker[i].measure);
	free(t->worker);
	*t = (struct threads){ 0 };
}

void threads_pin(struct threads *t, int node, bool from_last)
{
	int cpu[CPUS_MOST];
	uint32_t n = t->count > 1 ? numa_cpus(node, cpu, CPUS_MOST) : 0;

	for (uint32_t i = 0; n && i < t->count; i++)
		t->worker[i].cpu = cpu[from_last ? n - 1 - i % n : i % n];
}

static void place(const struct worker *w)
{
	int rc = w->cpu < 0 ? numa_place_thread(w->all->node) : numa_pin_thread(w->cpu);

	if (rc && w->cpu < 0)
		note("placing the data thread on NUMA node %d: %s", w->all->node, strerror(-rc));
	else if (rc)
		note("pinning a data thread to CPU %d: %s", w->cpu, strerror(-rc));
}

static enum gate wait_at_gate(struct threads *t)
{
	enum gate gate;

	pthread_mutex_lock(&t->mutex);
	while (t->gate == GATE_CLOSED)
		pthread_cond_wait(&t->moved, &t->mutex);
	gate = t->gate;
	pthread_mutex_unlock(&t->mutex);
	return gate;
}

static void move_gate(struct threads *t, enum gate gate)
{
	pthread_mutex_lock(&t->mutex);
	if (t->gate == GATE_CLOSED)
		t->gate = gate;
	pthread_cond_broadcast(&t->moved);
	pthread_mutex_unlock(&t->mutex);
}

static void *data_thread(void *arg)
{
	struct worker *w = arg;

	place(w);
	if (wait_at_gate(w->all) == GATE_NEVER)
		return NULL;
	lane_begin(w->lane);
	w->loop(w->lane);
	w->ran_on = numa_this_cpu();
	return NULL;
}

int threads_start(struct threads *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct worker *w = &t->worker[i];
		int rc = pthread_create(&w->thread, NULL, data_thread, w);

		if (rc && t->count > 1)
			return fail(FAIL_SETUP, rc, "starting data thread %u of %u: %s; lower "
				    "--threads, or raise the limit of processes (ulimit -u)",
				    i + 1, t->count, strerror(rc));
		if (rc)
			return fail(FAIL_SETUP, rc, "starting the data thread: %s; raise the limit "
				    "of processes (ulimit -u)", strerror(rc));
		w->running = true;
	}
	if (t->count)
		move_gate(t, GATE_OPEN);
	return 0;
}

bool threads_running(const struct threads *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		if (t->worker[i].running)
			return true;
	return false;
}

int threads_abort(struct threads *t)
{
	struct timespec deadline;
	int rc = 0;

	threads_stop(t, LANE_ABORT);
	if (t->count)
		move_gate(t, GATE_NEVER);
	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += ABORT_SECONDS;
	for (uint32_t i = 0; i < t->count; i++) {
		struct worker *w = &t->worker[i];

		if (w->running && pthread_timedjoin_np(w->thread, NULL, &deadline))
			rc = -ETIMEDOUT;
		else
			w->running = false;
	}
	return rc;
}

void threads_join(struct threads *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		if (t->worker[i].running)
			pthread_join(t->worker[i].thread, NULL);
		t->worker[i].running = false;
	}
}

void threads_open(struct threads *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		atomic_store_explicit(&t->worker[i].control.open, true, memory_order_release);
}

void threads_finish(struct threads *t)
{
	for (uint32_t i = 0; i < t->count; i++)
		atomic_store_explicit(&t->worker[i].control.finished, true, memory_order_release);
}

void threads_stop(struct threads *t, unsigned int word)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct worker *w = &t->worker[i];

		atomic_store(&w->control.stop, word);
		if (w->lane && w->lane->rest)
			lane_rest_wake(w->lane->rest);
	}
}

void threads_expect(struct threads *t, const uint64_t *total)
{
	for (uint32_t i = 0; i < t->count; i++) {
		struct worker *w = &t->worker[i];
		uint64_t sum = 0;

		for (uint32_t qp = 0; qp < w->lane->qps; qp++)
			sum += total[w->first + qp];
		atomic_store(&w->control.expected, sum);
	}
}

static unsigned int reached_by(const struct worker *w)
{
	return atomic_load_explicit(&w->report.reached, memory_order_acquire);
}

unsigned int threads_reached(const struct threads *t)
{
	unsigned int all = t->count ? UINT32_MAX : 0;

	for (uint32_t i = 0; i < t->count; i++)
		all &= reached_by(&t->worker[i]);
	return all;
}

struct threads_counts threads_told(const struct threads *t)
{
	struct threads_counts sum = { 0 };

	for (uint32_t i = 0; i < t->count; i++) {
		const struct lane_report *r = &t->worker[i].report;

		sum.posted += atomic_load_explicit(&r->posted, memory_order_relaxed);
		sum.completed += atomic_load_explicit(&r->completed, memory_order_relaxed);
		sum.received += atomic_load_explicit(&r->received, memory_order_relaxed);
	}
	return sum;
}

uint64_t threads_missed(const struct threads *t)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < t->count; i++)
		sum += t->worker[i].lane->missed;
	return sum;
}

bool threads_mark(const struct threads *t, struct lane_mark *m)
{
	*m = (struct lane_mark){ .ns = UINT64_MAX };
	for (uint32_t i = 0; i < t->count; i++) {
		struct lane_mark one;

		if (!lane_read_mark(&t->worker[i].report, &one))
			return false;
		m->ns = one.ns < m->ns ? one.ns : m->ns;
		m->last_ns = one.ns > m->last_ns ? one.ns : m->last_ns;
		m->count += one.count;
		m->in_flight += one.in_flight;
	}
	return t->count > 0;
}

const struct lane_error *threads_error(const struct threads *t)
{
	for (uint32_t i = 0; i < t->count; i++) {
		const struct worker *w = &t->worker[i];

		/* What failed is told once the data thread is done with it. */
		if (reached_by(w) & LANE_LEFT && w->lane->error.kind != LANE_FINE)
			return &w->lane->error;
	}
	return NULL;
}

void threads_measure(const struct threads *t, struct measure *into)
{
	struct merge_part part[MEASURE_THREADS];
	const struct lane *l;
	uint64_t first = UINT64_MAX;

	if (!t->count)
		return;
	for (uint32_t i = 0; i < t->count; i++) {
		l = t->worker[i].lane;
		first = l->started < first ? l->started : first;
	}
	for (uint32_t i = 0; i < t->count; i++) {
		const struct worker *w = &t->worker[i];

		l = w->lane;
		w->measure->thread_node = numa_node_of(w->ran_on);
		part[i] = (struct merge_part){
			.m = w->measure, .cpu = w->cpu,
			.ahead = clock_ns(&l->clock, l->started - first),
		};
	}
	l = t->worker->lane;
	measure_merge(into, part, t->count, l->counts, clock_ns(&l->clock, l->interval));
}
