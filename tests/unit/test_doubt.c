/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Every doubt once with reason and once, by a hair, without. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/doubt.h"

#include <cmocka.h>

#include "text_fixture.h"

static struct warnings seen;

static const struct warning *find(const struct fixture *f, const char *key)
{
	doubt_collect(&f->result, &seen);
	for (size_t i = 0; i < seen.count; i++)
		if (!strcmp(seen.list[i].key, key))
			return &seen.list[i];
	return NULL;
}

/* There is this doubt, in these words, and no other. */
static void only(const struct fixture *f, const char *key, const char *words)
{
	const struct warning *w = find(f, key);

	if (!w)
		fail_msg("no %s", key);
	if (strcmp(w->seen, words))
		fail_msg("%s: %s", key, w->seen);
	assert_true(w->advice && strlen(w->advice) > 5);
	for (size_t i = 0; i < seen.count; i++)
		if (&seen.list[i] != w)
			fail_msg("%s too: %s", seen.list[i].key, seen.list[i].seen);
}

static void none(const struct fixture *f)
{
	doubt_collect(&f->result, &seen);
	if (seen.count)
		fail_msg("%s: %s", seen.list[0].key, seen.list[0].seen);
}

/* 20,000 writes of 64 KiB in 2 s, 20 even intervals; nothing to doubt. */
static void fill_bw(struct fixture *f)
{
	plan(f, "--op write --test bw -s 64K");
	fill_measure(&f->client, 20000, 2 * SECOND);
	fill_measure(&f->server, 0, 2 * SECOND);
	f->server.active = f->server.opened = false;
	f->client.thread_node = f->server.thread_node = -1;
	series_start(&f->client.series, 5 * SECOND, 20);
	for (uint64_t i = 1; i <= 20; i++)
		series_add(&f->client.series, 5 * SECOND + i * (SECOND / 10), 20 + i * 1000);
	histogram_reset(&f->client.latency);
	for (int i = 0; i < 1000; i++)
		histogram_record(&f->client.latency, 100000);
}

/* 100,000 ping-pongs of 20 us there and back. */
static void fill_lat(struct fixture *f)
{
	fill_bw(f);
	plan(f, "--op write --test lat -s 8");
	f->client.window.count = 100000;
	f->client.divisor = 2;
	histogram_reset(&f->client.latency);
	for (int i = 0; i < 100000; i++)
		histogram_record(&f->client.latency, 20000);
}

static void nothing_to_doubt(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	none(f);
	fill_lat(f);
	none(f);
	f->result.side[SIDE_SERVER].measure = NULL;
	none(f);
	f->result.side[SIDE_CLIENT].measure = NULL;
	none(f);
}

static void governor(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	TEXT(f->result.side[SIDE_CLIENT].host.governor, "performance");
	none(f);
	TEXT(f->result.side[SIDE_SERVER].host.governor, "schedutil");
	only(f, "governor", "the CPU frequency governor of the server is schedutil");
	TEXT(f->result.side[SIDE_CLIENT].host.governor, "powersave");
	only(f, "governor", "the CPU frequency governor of the client is powersave; "
	     "the CPU frequency governor of the server is schedutil");
	TEXT(f->result.side[SIDE_CLIENT].host.governor, "schedutil");
	only(f, "governor", "the CPU frequency governor of both ends is schedutil");
	TEXT(f->result.side[SIDE_CLIENT].host.governor, "performance");
	TEXT(f->result.side[SIDE_SERVER].host.governor, "performance");
	none(f);
}

static void numa_node(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	f->client.thread_node = 0;
	none(f); /* the device has none */
	f->result.side[SIDE_CLIENT].device.numa_node = 0;
	f->result.side[SIDE_SERVER].device.numa_node = 1;
	none(f);
	f->server.thread_node = 0;
	none(f); /* the target of writes has no data thread */
	f->client.thread_node = 1;
	only(f, "numa", "the client's data thread ran on NUMA node 1, its device rxe0 is on node 0");
}

static void several_threads(void **state)
{
	struct fixture *f = *state;
	struct measure *m = &f->client;

	fill_bw(f);
	m->threads = 3;
	for (int i = 0; i < 3; i++)
		m->thread[i] = (struct measure_thread){ i, 0, 1000, 2000, 5 };
	none(f);
	m->thread[2].cpu = 0;
	only(f, "threads_share", "the client's 3 data threads share 2 CPUs");
	m->thread[1].cpu = 0;
	only(f, "threads_share", "the client's 3 data threads share 1 CPU");
	m->thread[1].cpu = -1; /* not pinned */
	none(f);
	m->thread[0].t0 = 1100;
	none(f); /* 900 of 1,000 */
	m->thread[0].t0 = 1101;
	only(f, "threads_apart", "the windows of the client's 3 data threads were all open for only "
	     "90 % of their time");
	m->thread[0].t0 = 1000;
	f->result.side[SIDE_CLIENT].device.numa_node = 1;
	m->thread_node = -1; /* not on the same */
	m->thread[0].node = 1;
	only(f, "numa", "the client's data thread ran on NUMA node 0, its device rxe0 is on node 1");
}

static void machines(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	TEXT(f->result.side[SIDE_SERVER].host.virtual_machine, "KVM");
	only(f, "virtual_machine", "the server is a virtual machine (KVM)");
	TEXT(f->result.side[SIDE_CLIENT].host.virtual_machine, "KVM");
	only(f, "virtual_machine", "both ends are virtual machines (KVM)");
	TEXT(f->result.side[SIDE_CLIENT].host.virtual_machine, "Xen");
	only(f, "virtual_machine", "the client is a virtual machine (Xen); the server is a virtual "
	     "machine (KVM)");
	f->result.side[SIDE_CLIENT].host.virtual_machine[0] = '\0';
	f->result.side[SIDE_SERVER].host.virtual_machine[0] = '\0';
	f->result.side[SIDE_CLIENT].device.software_device = 1;
	only(f, "software_device", "the client's rxe0 is a software device");
	f->result.side[SIDE_SERVER].device.software_device = 1;
	only(f, "software_device", "rxe0 and rxe1 are software devices");
}

static void pcie(void **state)
{
	struct fixture *f = *state;
	struct device_facts *d = &f->result.side[SIDE_SERVER].device;

	fill_bw(f);
	d->pcie_speed = d->pcie_max_speed = 16;
	d->pcie_width = d->pcie_max_width = 16;
	none(f);
	d->pcie_width = 8;
	only(f, "pcie_link", "the server's rxe1 has a PCIe link of 8 lanes at 16 GT/s and can do "
	     "16 at 16");
	d->pcie_width = 16;
	d->pcie_speed = 2.5;
	only(f, "pcie_link", "the server's rxe1 has a PCIe link of 16 lanes at 2.5 GT/s and can "
	     "do 16 at 16");
	d->pcie_speed = 0; /* not known */
	none(f);
	d->pcie_speed = 32; /* the most it can do is not known */
	d->pcie_max_speed = 0;
	none(f);
}

static void few_messages(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	f->client.series.n = 0;
	f->client.window.count = 100;
	none(f);
	f->client.window.count = 99;
	only(f, "few_messages", "99 messages in the window are too few for a verdict");
}

/* Ten must lie beyond: p99.99 wants 100,000, p99.9 10,000, the median 20. */
static void few_samples(void **state)
{
	struct fixture *f = *state;

	fill_lat(f);
	histogram_reset(&f->client.latency);
	for (int i = 0; i < 99999; i++)
		histogram_record(&f->client.latency, 20000);
	only(f, "few_samples", "99,999 samples are too few for p99.99");
	histogram_reset(&f->client.latency);
	for (int i = 0; i < 999; i++)
		histogram_record(&f->client.latency, 20000);
	only(f, "few_samples", "999 samples are too few for p99, p99.9, p99.99");
	plan(f, "--op write --test bw -s 64K"); /* there only some are stamped */
	none(f);
}

static void short_window(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	f->client.window.t1 = f->client.window.t0 + SECOND / 10;
	none(f);
	f->client.window.t1--;
	only(f, "short_window", "the window lasted only 100 ms");
	f->client.window.t1 = f->client.window.t0 + 2500000;
	only(f, "short_window", "the window lasted only 2.5 ms");
}

static void burst(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	plan(f, "--op write --test bw -s 64K -n 129 -t 128");
	none(f);
	plan(f, "--op write --test bw -s 64K -n 128 -t 128");
	only(f, "burst", "the queue holds all 128 messages at once, so that their rate is that of a "
	     "burst");
}

static void intervals(struct fixture *f, const unsigned int *counts, size_t n)
{
	uint64_t total = 20;

	series_start(&f->client.series, 5 * SECOND, total);
	for (size_t i = 0; i < n; i++) {
		total += counts[i];
		series_add(&f->client.series, 5 * SECOND + (i + 1) * (SECOND / 10), total);
	}
	f->client.window.count = total - 20;
}

/* Median 1,010, median deviation 10: 860 is 15 of them below, 14.9 %, and 862 is 14.8. */
static void first_interval(void **state)
{
	static const unsigned int fine[] = { 862, 1000, 1020, 1000, 1020, 1010, 1020, 1010, 1000 };
	static const unsigned int slow[] = { 860, 1000, 1020, 1000, 1020, 1010, 1020, 1010, 1000 };
	struct fixture *f = *state;

	fill_bw(f);
	intervals(f, fine, 9);
	none(f);
	intervals(f, slow, 9);
	only(f, "first_interval", "the rate of the first interval was 15 % below that of the "
	     "median one");
}

/* Lines: 1,000 to 1,048 gain 48 of a mean of 1,024, 4.7 %; to 1,056 it is 56 of 1,028, 5.4 %. */
static void drift(void **state)
{
	static const unsigned int less[] = { 1000, 1012, 1024, 1036, 1048 };
	static const unsigned int more[] = { 1000, 1014, 1028, 1042, 1056 };
	static const unsigned int falls[] = { 1500, 1400, 1300, 1200, 1100 };
	struct fixture *f = *state;

	fill_bw(f);
	intervals(f, less, 5);
	none(f);
	intervals(f, more, 5);
	only(f, "drift", "the rate rose by 5 % over the window");
	intervals(f, falls, 5);
	only(f, "drift", "the rate fell by 31 % over the window"); /* 400 of 1,300 */
}

/*
 * 64 KiB are signalled one by one, so that lumps are a thousandth: the limit is 10.1 %. Half d
 * above and half below 1,000, six of them: the CV is d / 1,000 x sqrt(6 / 5).
 */
static void varying(void **state)
{
	static const unsigned int fine[] = { 1092, 908, 908, 1092, 1092, 908 };
	static const unsigned int much[] = { 1093, 907, 907, 1093, 1093, 907 };
	struct fixture *f = *state;

	fill_bw(f);
	assert_int_equal(f->result.point.signal.value, 1);
	intervals(f, fine, 6); /* .1008 */
	none(f);
	intervals(f, much, 6); /* .1019 */
	only(f, "varying", "the rates of the intervals vary by 10 % (standard deviation over mean)");
	f->result.point.signal.value = 2; /* the limit is 10.2 % then */
	none(f);
}

/* Stored as round trips, in bins with middles 19,456 and 43,008. */
static void bimodal(void **state)
{
	struct fixture *f = *state;

	fill_lat(f);
	for (int i = 0; i < 11111; i++)
		histogram_record(&f->client.latency, 42000);
	none(f); /* 11,111 of 111,111 are less than a tenth */
	histogram_record(&f->client.latency, 42000);
	histogram_record(&f->client.latency, 42000);
	only(f, "bimodal", "the latency has two modes: about 9.73 us (90 % of the samples) and "
	     "21.5 us");
}

/* 20 steps of 1,000 ns are 20 us; a median of 20,000 lies in [19968, 20096): it is 20,000. */
static void coarse_clock(void **state)
{
	struct fixture *f = *state;

	fill_lat(f);
	f->client.clock_resolution_ns = 1000;
	none(f);
	f->client.clock_resolution_ns = 1001;
	only(f, "clock", "the median sample is 20000 ns, and the clock takes 10 ns to read and has "
	     "steps of 1001 ns");
	f->client.clock_resolution_ns = 1;
	f->client.clock_read_ns = 1001;
	assert_non_null(find(f, "clock"));
}

/*
 * 64 KiB x depth 16 = 1 MiB in flight. 100 Gb/s are 12.5 bytes/ns; in 80 us 10^6 of them, in 84
 * us 1,050,000, more than the 1,048,576 in flight. The rate is 10,000/s x 65,536 B: 5.2 Gb/s.
 */
static void bandwidth_delay(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	plan(f, "--op write --test bw -s 64K -t 16");
	f->result.side[SIDE_CLIENT].device.link_gbit_per_s = 100;
	f->result.side[SIDE_SERVER].device.link_gbit_per_s = 200;
	f->client.latency.m.min = 80000;
	none(f);
	f->client.latency.m.min = 84000;
	only(f, "bandwidth_delay", "1 MiB are in flight at most, but the link of 100 Gb/s carries "
	     "1050000 B in the 84 us that a message takes at least");
	/* At 80 % of the link, 6.5 Gb/s, it is the link that limits. */
	f->result.side[SIDE_CLIENT].device.link_gbit_per_s = 6.5;
	f->client.latency.m.min = 100000000;
	none(f);
	f->result.side[SIDE_CLIENT].device.link_gbit_per_s = 6.6;
	assert_non_null(find(f, "bandwidth_delay"));
	plan(f, "--op write --test bw -s 2K -t 16"); /* below the MTU: its number limits */
	none(f);
	plan(f, "--op write --test bw -s 64K -t 16");
	f->result.side[SIDE_CLIENT].device.software_device = 1;
	assert_null(find(f, "bandwidth_delay"));
}

static void read_limited(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	plan(f, "--op read --test bw -s 64K -t 64");
	f->result.side[SIDE_CLIENT].outstanding = 64;
	none(f);
	f->result.side[SIDE_CLIENT].outstanding = 16;
	only(f, "read_limited", "the one queue pair may have 16 of its 64 requests outstanding at "
	     "the responder");
	plan(f, "--op write --test bw -s 64K -t 64");
	none(f);
	plan(f, "--op read --test bw -s 64K -t 64 -q 2");
	none(f);
	plan(f, "--op read --test bw -s 64K -t 64"); /* 5.2 of 6 Gb/s: the link is busy */
	f->result.side[SIDE_CLIENT].device.link_gbit_per_s = 6;
	f->result.side[SIDE_SERVER].device.link_gbit_per_s = 6;
	none(f);
}

static void counters(void **state)
{
	static const struct {
		const char *name, *key;
	} known[] = {
		{ "send_rnr_err", "receiver_limited" }, { "completer_retry_err", "retransmits" },
		{ "rcvd_seq_err", "out_of_sequence" },	{ "np_cnp_sent", "congestion" },
		{ "port_xmit_discards", "discards" },	{ "port_xmit_wait", "pause" },
		{ "symbol_error", "link_errors" },
	};
	struct fixture *f = *state;
	char words[100];

	fill_bw(f);
	move(&f->client, "ack_deferred", 0, 80933);
	move(&f->client, "sent_pkts", 0, 161870);
	none(f);
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		f->server.counters.count = 0;
		move(&f->server, known[i].name, 7, 1241);
		snprintf(words, sizeof(words), "server: %s +1,234", known[i].name);
		only(f, known[i].key, words);
	}
	f->server.counters.move[0].after = 0; /* it was reset */
	none(f);
	f->server.counters.move[0].after = 8;
	f->server.counters.valid = false;
	none(f);
}

static void several_counters(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	move(&f->client, "completer_retry_err", 0, 103);
	move(&f->client, "retry_exceeded_err", 1, 2);
	move(&f->server, "duplicate_request", 0, 35);
	only(f, "retransmits", "client: completer_retry_err +103, retry_exceeded_err +1; "
	     "server: duplicate_request +35");
}

/* In both directions each flow is spoken of by name. */
static void both_directions(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	plan(f, "--op write --test bw -s 64K -b");
	fill_measure(&f->server, 99, 2 * SECOND);
	f->server.thread_node = -1;
	only(f, "few_messages", "server to client: 99 messages in the window are too few for a "
	     "verdict");
}

/* What is by schedule is judged by it; of what a full queue is judged by nothing is said. */
static void by_schedule(void **state)
{
	struct fixture *f = *state;

	fill_bw(f);
	plan(f, "--op write --test bw -s 64K --rate 10101"); /* 10,000 are 99.00 % */
	f->client.pace.active = true;
	f->client.pace.kept = 0.5;
	none(f);
	plan(f, "--op write --test bw -s 64K --rate 10102"); /* 98.99 % */
	only(f, "backlog", "backlog: 99.0 % of the schedule was kept, so that messages waited for "
	     "each other and the response times grew with the length of the run");
	plan(f, "--op write --test bw -s 64K --rate 10102 --arrival poisson");
	f->client.pace.kept = 0.99;
	none(f);
	f->client.pace.kept = 0.25;
	only(f, "backlog", "backlog: 25.0 % of the schedule was kept, so that messages waited for "
	     "each other and the response times grew with the length of the run");
	f->client.pace.active = false;
	none(f);
	/* As many as the queue holds leave one by one; random arrivals vary; so do bursts. */
	plan(f, "--op write --test bw -n 20000 -t 20000 --rate 10k");
	none(f);
	for (uint64_t i = 1; i <= 20; i++)
		f->client.series.point[i].count = 20 + i * 1000 + (i & 1) * 200;
	assert_non_null(find(f, "varying"));
	plan(f, "--op write --test bw --rate 10k --burst 200");
	none(f);
	plan(f, "--op write --test bw --rate 10k --arrival poisson");
	none(f);
}

static void list_is_closed(void **state)
{
	(void)state;
	assert_int_equal(doubt_count(), 26);
	for (size_t i = 0; i < doubt_count(); i++)
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(doubt_key(i), doubt_key(j));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(nothing_to_doubt),	 TEST(governor),	 TEST(numa_node),
		TEST(several_threads),	 TEST(machines),		 TEST(pcie),		 TEST(few_messages),
		TEST(few_samples),	 TEST(short_window),	 TEST(burst),
		TEST(first_interval),	 TEST(drift),		 TEST(varying),
		TEST(bimodal),		 TEST(coarse_clock),	 TEST(bandwidth_delay),
		TEST(read_limited),	 TEST(counters),	 TEST(several_counters),
		TEST(both_directions),	 TEST(by_schedule),
		cmocka_unit_test(list_is_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
