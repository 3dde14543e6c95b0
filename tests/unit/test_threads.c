/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Several data threads of a side: what is made of what they measure, where they go, how they end. */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fail.h"
#include "control/messages.h"
#include "host/numa.h"
#include "session/threads.h"
#include "stats/merge.h"
#include "verbs/queues.h"

#include <cmocka.h>

#define PARTS 3

struct fixture {
	struct measure into, m[PARTS];
	struct merge_part part[PARTS];
	struct threads threads;
	int event_fd;
};

static uint32_t refuse_thread, created; /* the number of the one that cannot be created */

int __real_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg);

/* In place of pthread_create() for all that is linked here. */
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *a, void *(*f)(void *), void *arg)
{
	return ++created == refuse_thread ? EAGAIN : __real_pthread_create(t, a, f, arg);
}

/* Counts evenly, from `warmup` on in [t0, t1]. */
static void count_evenly(struct fixture *f, int i, uint64_t ahead, const struct window *w,
			 uint64_t warmup)
{
	struct measure *m = &f->m[i];

	f->part[i] = (struct merge_part){ .m = m, .ahead = ahead, .cpu = i + 1 };
	m->opened = m->closed = true;
	m->window = *w;
	m->warmup = warmup;
	m->posted = m->completed = warmup + w->count + 5;
	m->qp_least = m->qp_most = w->count;
	m->started_ns = 1000000 + ahead + 3;
	series_start(&m->series, w->t0, warmup);
	series_close(&m->series, w->t1, warmup + w->count);
}

/* One message a ns in [100, 1100] by the first one's clock, two in [200, 1200]. */
static int open_parts(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	histogram_reset(&f->into.latency);
	histogram_reset(&f->into.undo);
	for (int i = 0; i < PARTS; i++)
		histogram_reset(&f->m[i].latency), histogram_reset(&f->m[i].undo);
	count_evenly(f, 0, 0, &(struct window){ 100, 1100, 1000 }, 10);
	count_evenly(f, 1, 50, &(struct window){ 150, 1150, 2000 }, 20);
	*state = f;
	return 0;
}

static int close_parts(void **state)
{
	free(*state);
	return 0;
}

/* At 200 they had 110 and 20, at 1100 1,010 and 1,820. */
static void windows_by_time_intersect(void **state)
{
	struct fixture *f = *state;
	const struct series *s = &f->into.series;

	f->m[1].received = 7;
	f->m[0].missed = 2;
	measure_merge(&f->into, f->part, 2, false, 100);
	assert_true(f->into.opened && f->into.closed);
	assert_int_equal(f->into.window.t0, 200);
	assert_int_equal(f->into.window.t1, 1100);
	assert_int_equal(f->into.warmup, 130);
	assert_int_equal(f->into.window.count, 2700);
	assert_int_equal(f->into.posted, 10 + 1005 + 20 + 2005);
	assert_int_equal(f->into.completed, 3040);
	assert_int_equal(f->into.received, 7);
	assert_int_equal(f->into.missed, 2);
	assert_int_equal(f->into.qp_least, 1000);
	assert_int_equal(f->into.qp_most, 2000);
	assert_int_equal(f->into.started_ns, 1000003);
	/* Three messages a ns: 300 in each of nine intervals. */
	assert_int_equal(s->n, 10);
	for (uint32_t i = 0; i < s->n; i++) {
		assert_int_equal(s->point[i].t, 200 + 100 * i);
		assert_int_equal(s->point[i].count, 130 + 300 * i);
	}
	assert_int_equal(f->into.threads, 2);
	assert_int_equal(f->into.thread[1].cpu, 2);
	assert_int_equal(f->into.thread[1].t0, 200);
	assert_int_equal(f->into.thread[1].t1, 1200);
	assert_int_equal(f->into.thread[1].count, 2000);
	assert_true(measure_overlap(&f->into) > 0.818 && measure_overlap(&f->into) < 0.8182);
}

/* All that was asked for is in it. */
static void windows_by_number_span(void **state)
{
	struct fixture *f = *state;

	measure_merge(&f->into, f->part, 2, true, 100);
	assert_int_equal(f->into.window.t0, 100);
	assert_int_equal(f->into.window.t1, 1200);
	assert_int_equal(f->into.warmup, 30);
	assert_int_equal(f->into.window.count, 3000);
	assert_int_equal(f->into.series.point[0].count, 30);
	assert_int_equal(f->into.series.point[f->into.series.n - 1].count, 3030);
	/* A window of one poll has no length, and its messages count. */
	f->m[0].window = (struct window){ 100, 100, 1000 };
	f->m[0].series.n = 1;
	measure_merge(&f->into, f->part, 2, true, 100);
	assert_int_equal(f->into.window.count, 3000);
}

static void windows_that_do_not_meet(void **state)
{
	struct fixture *f = *state;

	count_evenly(f, 1, 50, &(struct window){ 2050, 3050, 2000 }, 20);
	measure_merge(&f->into, f->part, 2, false, 100);
	assert_int_equal(f->into.window.t0, 100);
	assert_int_equal(f->into.window.t1, 3100);
	assert_int_equal(f->into.window.count, 3000);
	assert_true(measure_overlap(&f->into) == 0);
	f->m[1].opened = false;
	measure_merge(&f->into, f->part, 2, false, 100);
	assert_false(f->into.opened);
	assert_int_equal(f->into.posted, 3040);
}

static void one_is_itself(void **state)
{
	struct fixture *f = *state;

	measure_merge(&f->into, f->part, 1, false, 100);
	assert_memory_equal(&f->into.window, &f->m[0].window, sizeof(f->into.window));
	assert_memory_equal(&f->into.series, &f->m[0].series, sizeof(f->into.series));
	assert_int_equal(f->into.warmup, 10);
	assert_true(measure_overlap(&f->into) == 1);
}

/* Bucket by bucket, and every moment, as if one had seen all samples. */
static void samples_merge_exactly(void **state)
{
	struct fixture *f = *state;
	struct histogram *one = malloc(sizeof(*one));
	uint64_t x = 1;

	assert_non_null(one);
	histogram_reset(one);
	count_evenly(f, 2, 0, &(struct window){ 100, 1100, 1000 }, 10);
	for (int i = 0; i < 30000; i++) {
		x = x * UINT64_C(6364136223846793005) + 1442695040888963407;
		histogram_record(one, x >> (i % 60));
		histogram_record(&f->m[x >> 33 & 1 ? 0 : i % PARTS].latency, x >> (i % 60));
	}
	measure_merge(&f->into, f->part, PARTS, false, 100);
	assert_memory_equal(&f->into.latency, one, sizeof(*one));
	free(one);
}

static void faults_and_nodes(void **state)
{
	struct fixture *f = *state;

	f->m[0].thread_node = f->m[1].thread_node = 1;
	measure_merge(&f->into, f->part, 2, false, 100);
	assert_int_equal(f->into.thread_node, 1);
	f->m[1].thread_node = 0;
	f->m[0].data_errors = 2;
	f->m[1].data_errors = 3;
	snprintf(f->m[0].data_fault, sizeof(f->m[0].data_fault), "first");
	snprintf(f->m[1].data_fault, sizeof(f->m[1].data_fault), "second");
	measure_merge(&f->into, f->part, 2, false, 100);
	assert_int_equal(f->into.thread_node, -1);
	assert_int_equal(f->into.data_errors, 5);
	assert_string_equal(f->into.data_fault, "first");
}

/* What a peer tells of its threads is held to what they can have. */
static void threads_of_a_peer(void **state)
{
	static const char *const bad[][2] = {
		{ "{}", "threads" }, { "null", "threads" }, { "[{}]", "begin_ns" },
		{ "[3]", "begin_ns" },
		{ "[{\"cpu\": 1.5, \"numa_node\": 0, \"begin_ns\": 1, \"end_ns\": 2, "
		  "\"messages\": 1}]", "cpu" },
		{ "[{\"cpu\": 1, \"numa_node\": 0, \"begin_ns\": 3, \"end_ns\": 2, "
		  "\"messages\": 1}]", "end_ns" },
		{ "[{\"cpu\": 1, \"numa_node\": 0, \"begin_ns\": 3, "
		  "\"end_ns\": 2305843009213693952, \"messages\": 1}]", "end_ns" },
	};
	struct fixture *f = *state;
	const char *key = "?";
	json_t *json, *list;

	measure_merge(&f->into, f->part, 2, false, 100);
	f->into.divisor = 1;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		json = message_result(&f->into);
		json_object_set_new(json, "threads", json_loads(bad[i][0], JSON_DECODE_ANY, NULL));
		assert_int_equal(message_get_result(json, &f->m[2], &key), -EBADMSG);
		assert_string_equal(key, bad[i][1]);
		json_decref(json);
	}
	json = message_result(&f->into);
	list = json_object_get(json, "threads");
	while (json_array_size(list) < MEASURE_THREADS)
		json_array_append(list, json_array_get(list, 1));
	assert_int_equal(message_get_result(json, &f->m[2], &key), 0);
	assert_int_equal(f->m[2].threads, MEASURE_THREADS);
	assert_int_equal(f->m[2].thread[255].count, 2000);
	json_array_append(list, json_array_get(list, 1));
	assert_int_equal(message_get_result(json, &f->m[2], &key), -EBADMSG);
	json_decref(json);
}

static bool even(const void *sets, int cpu)
{
	return sets && cpu % 2 == 0;
}

static bool from_four(const void *sets, int cpu)
{
	return sets && cpu >= 4;
}

static bool from_eight(const void *sets, int cpu)
{
	return sets && cpu >= 8;
}

static void cpus_of_the_node(void **state)
{
	struct cpu_choice c = { even, from_four, "", 8 };
	int cpu[8];

	(void)state;
	assert_int_equal(numa_choose_cpus(&c, cpu, 8), 2);
	assert_int_equal(cpu[0], 4);
	assert_int_equal(cpu[1], 6);
	assert_int_equal(numa_choose_cpus(&c, cpu, 1), 1);
	/* None of the node's is allowed: those that are. */
	c.near = from_eight;
	assert_int_equal(numa_choose_cpus(&c, cpu, 8), 4);
	assert_int_equal(cpu[3], 6);
}

static void queue_pairs_are_shared_out(void **state)
{
	(void)state;
	for (uint32_t count = 1; count <= 40; count++)
		for (uint32_t threads = 1; threads <= count; threads++) {
			uint32_t least = count / threads;

			assert_int_equal(queues_first(count, threads, 0), 0);
			assert_int_equal(queues_first(count, threads, threads), count);
			for (uint32_t i = 0; i < threads; i++) {
				uint32_t n = queues_first(count, threads, i + 1) -
					     queues_first(count, threads, i);

				assert_true(n == least || n == least + 1);
			}
		}
	assert_int_equal(queues_first(4096, 256, 255), 4080);
}

#define THREADS 3

static atomic_uint begun;

/* Says where it runs, and keeps on until it is told not to. */
static void loop(struct lane *l)
{
	l->count = (uint64_t)sched_getcpu();
	atomic_fetch_add(&begun, 1);
	while (lane_stop(l) == LANE_RUN)
		sched_yield();
	lane_end(l);
}

static int open_threads(void **state)
{
	struct fixture *f = *state;

	created = refuse_thread = 0;
	atomic_store(&begun, 0);
	f->event_fd = eventfd(0, EFD_NONBLOCK);
	if (threads_alloc(&f->threads, THREADS))
		return -1;
	f->threads.qp = alloc_lines(THREADS * sizeof(*f->threads.qp));
	for (uint32_t i = 0; i < THREADS; i++) {
		struct worker *w = &f->threads.worker[i];
		struct lane *l = w->lane = alloc_lines(sizeof(*l));

		if (!l)
			return -1;
		clock_begin(&l->clock);
		clock_calibrate(&l->clock);
		l->control = &w->control;
		l->report = &w->report;
		l->measure = w->measure;
		l->event_fd = f->event_fd;
		l->qp = &f->threads.qp[i];
		l->qps = 1;
		w->first = i;
		w->loop = loop;
	}
	return 0;
}

static void close_threads(struct fixture *f)
{
	for (uint32_t i = 0; i < THREADS; i++)
		free(f->threads.worker[i].lane);
	free(f->threads.qp);
	threads_free(&f->threads);
	close(f->event_fd);
}

static void all_begin_and_end(void **state)
{
	struct fixture *f = *state;
	struct threads *t = &f->threads;

	assert_int_equal(open_threads(state), 0);
	threads_pin(t, -1, false);
	assert_int_equal(threads_start(t), 0);
	assert_true(threads_running(t));
	while (atomic_load(&begun) < THREADS)
		sched_yield();
	for (uint32_t i = 0; i < THREADS; i++)
		assert_int_equal(t->worker[i].lane->count, t->worker[i].cpu);
	/* One that has left does not stand for all, but is heard when it has failed. */
	t->worker[1].lane->error.kind = LANE_POST;
	assert_null(threads_error(t));
	atomic_store(&t->worker[1].control.stop, LANE_DRAIN);
	while (!threads_error(t))
		sched_yield();
	assert_ptr_equal(threads_error(t), &t->worker[1].lane->error);
	assert_int_equal(threads_reached(t), 0);
	threads_stop(t, LANE_DRAIN);
	while (!(threads_reached(t) & LANE_LEFT))
		sched_yield();
	threads_join(t);
	assert_false(threads_running(t));
	close_threads(f);
}

static void one_cannot_be_created(void **state)
{
	struct fixture *f = *state;

	for (uint32_t i = 1; i <= THREADS; i++) {
		assert_int_equal(open_threads(state), 0);
		refuse_thread = i;
		fail_hold(true);
		assert_int_equal(threads_start(&f->threads), -EAGAIN);
		fail_hold(false);
		assert_non_null(strstr(fail_last()->text, "of 3: Resource temporarily unavailable; "
				       "lower --threads"));
		assert_int_equal(fail_last()->class, FAIL_SETUP);
		assert_int_equal(threads_abort(&f->threads), 0);
		assert_int_equal(atomic_load(&begun), 0);
		assert_false(threads_running(&f->threads));
		close_threads(f);
	}
}

static void told_of_all(void **state)
{
	const uint64_t total[THREADS] = { 5, 0, 7 };
	struct fixture *f = *state;
	struct threads *t = &f->threads;
	struct lane_mark mark;

	assert_int_equal(open_threads(state), 0);
	assert_int_equal(atomic_load(&t->worker[2].control.expected), LANE_UNKNOWN);
	threads_expect(t, total);
	assert_int_equal(atomic_load(&t->worker[1].control.expected), 0);
	assert_int_equal(atomic_load(&t->worker[2].control.expected), 7);
	for (uint32_t i = 0; i < THREADS; i++) {
		struct lane_report *r = &t->worker[i].report;

		assert_false(threads_mark(t, &mark));
		atomic_store(&r->posted, 10 + i);
		atomic_store(&r->completed, 5);
		atomic_store(&r->mark_ns, 100 - i);
		atomic_store(&r->mark_count, 1 + i);
		atomic_store(&r->mark_in_flight, 2);
		atomic_store(&r->marks, 2);
		t->worker[i].lane->missed = i;
	}
	assert_true(threads_mark(t, &mark));
	assert_int_equal(mark.ns, 98);
	assert_int_equal(mark.last_ns, 100);
	assert_int_equal(mark.count, 6);
	assert_int_equal(mark.in_flight, 6);
	assert_int_equal(threads_told(t).posted, 33);
	assert_int_equal(threads_told(t).completed, 15);
	assert_int_equal(threads_missed(t), 3);
	close_threads(f);
}

/* What one writes in its loop lies on lines that no other one touches. */
static void lines_of_their_own(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(open_threads(state), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		const struct worker *w = &f->threads.worker[i];
		const void *const written[] = {
			&w->control, &w->report, &w->lane, w->lane, w->measure, w->lane->qp,
		};

		for (size_t k = 0; k < sizeof(written) / sizeof(written[0]); k++)
			assert_int_equal((uintptr_t)written[k] % LANE_LINE, 0);
	}
	close_threads(f);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_parts, close_parts)
	const struct CMUnitTest tests[] = {
		TEST(windows_by_time_intersect), TEST(windows_by_number_span),
		TEST(windows_that_do_not_meet),	 TEST(one_is_itself),
		TEST(samples_merge_exactly),	 TEST(faults_and_nodes),
		TEST(threads_of_a_peer),	 TEST(cpus_of_the_node),
		TEST(queue_pairs_are_shared_out), TEST(all_begin_and_end),
		TEST(one_cannot_be_created),	 TEST(told_of_all),
		TEST(lines_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
