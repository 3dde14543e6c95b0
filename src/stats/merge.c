/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "stats/merge.h"

#include <string.h>

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t most(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

/* What all threads had counted at t; before and after its window a thread counts nothing. */
static uint64_t counted(const struct merge_part *part, uint32_t n, uint64_t t)
{
	double sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct measure *m = part[i].m;

		if (t <= part[i].ahead + m->window.t0)
			sum += (double)m->warmup;
		else if (t >= part[i].ahead + m->window.t1)
			sum += (double)(m->warmup + m->window.count);
		else
			sum += series_count_at(&m->series, t - part[i].ahead);
	}
	return (uint64_t)(sum + 0.5);
}

static void merge_counts(struct measure *into, const struct merge_part *part, uint32_t n)
{
	into->opened = into->closed = true;
	into->posted = into->completed = into->received = into->missed = into->data_errors = 0;
	into->qp_least = UINT64_MAX;
	into->qp_most = 0;
	into->thread_node = part[0].m->thread_node;
	for (uint32_t i = 0; i < n; i++) {
		const struct measure *m = part[i].m;

		into->opened &= m->opened;
		into->closed &= m->closed;
		into->posted += m->posted;
		into->completed += m->completed;
		into->received += m->received;
		into->missed += m->missed;
		if (m->data_errors && !into->data_errors)
			memcpy(into->data_fault, m->data_fault, sizeof(into->data_fault));
		into->data_errors += m->data_errors;
		into->qp_least = least(into->qp_least, m->qp_least);
		into->qp_most = most(into->qp_most, m->qp_most);
		if (!part[i].ahead)
			into->started_ns = m->started_ns;
		if (m->thread_node != into->thread_node)
			into->thread_node = -1;
		histogram_merge(&into->latency, &m->latency);
		histogram_merge(&into->undo, &m->undo);
	}
}

static void list_threads(struct measure *into, const struct merge_part *part, uint32_t n)
{
	into->threads = n;
	for (uint32_t i = 0; i < n; i++)
		into->thread[i] = (struct measure_thread){
			.cpu = part[i].cpu, .node = part[i].m->thread_node,
			.t0 = part[i].ahead + part[i].m->window.t0,
			.t1 = part[i].ahead + part[i].m->window.t1,
			.count = part[i].m->window.count,
		};
}

static struct window span_of(const struct measure *m, bool common)
{
	struct window w = { .t0 = m->thread[0].t0, .t1 = m->thread[0].t1 };

	for (uint32_t i = 1; i < m->threads; i++) {
		const struct measure_thread *t = &m->thread[i];

		w.t0 = common ? most(w.t0, t->t0) : least(w.t0, t->t0);
		w.t1 = common ? least(w.t1, t->t1) : most(w.t1, t->t1);
	}
	return w;
}

/* Points on a grid of the widest intervals that a thread has. */
static void merge_series(struct measure *into, const struct merge_part *part, uint32_t n,
			 uint64_t interval)
{
	const struct window *w = &into->window;
	uint32_t stride = 1;

	for (uint32_t i = 0; i < n; i++)
		stride = stride > part[i].m->series.merge ? stride : part[i].m->series.merge;
	series_start(&into->series, w->t0, into->warmup);
	into->series.merge = stride;
	for (uint64_t t = w->t0 + interval * stride; t < w->t1;
	     t += interval * series_stride(&into->series))
		series_add(&into->series, t, counted(part, n, t));
	series_close(&into->series, w->t1, into->warmup + w->count);
}

void measure_merge(struct measure *into, const struct merge_part *part, uint32_t n, bool counts,
		   uint64_t interval)
{
	merge_counts(into, part, n);
	list_threads(into, part, n);
	if (n == 1) {
		into->window = part[0].m->window;
		into->warmup = part[0].m->warmup;
		into->series = part[0].m->series;
		into->pace = part[0].m->pace; /* a schedule is one thread's */
		return;
	}
	if (!into->opened)
		return;
	into->window = span_of(into, !counts);
	if (into->window.t1 <= into->window.t0)
		into->window = span_of(into, false);
	into->warmup = counted(part, n, into->window.t0);
	into->window.count = counted(part, n, into->window.t1) - into->warmup;
	merge_series(into, part, n, interval);
}

double measure_overlap(const struct measure *m)
{
	struct window all = span_of(m, false), common = span_of(m, true);

	if (common.t1 <= common.t0)
		return all.t1 > all.t0 ? 0 : 1;
	return (double)(common.t1 - common.t0) / (double)(all.t1 - all.t0);
}
