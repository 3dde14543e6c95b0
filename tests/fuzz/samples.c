/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "samples.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "control/messages.h"
#include "plan/plan.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define TEXT(field, text) snprintf(field, sizeof(field), "%s", text)
#define HUGE_NUMBER UINT64_C(0xfedcba9876543210) /* travels as a string */

bool sample_greeting(void *at, unsigned int number)
{
	struct message_greeting *m = at;

	m->major = PROTOCOL_MAJOR;
	m->minor = number ? UINT32_MAX : PROTOCOL_MINOR;
	m->busy = number;
	TEXT(m->version, number ? "1.22.333-with-all-letter" : "0.1.0");
	TEXT(m->auth, "none");
	return number < 2;
}

bool sample_facts(void *at, unsigned int number)
{
	struct message_facts *m = at;
	struct device_facts *d = &m->device;

	TEXT(m->host.hostname, "node-1.example");
	TEXT(m->host.kernel, "6.1.0-18-amd64");
	TEXT(m->host.cpu, number ? "" : "CPU \"X\" @ 2.4GHz \xc2\xae");
	m->host.cpus = 256;
	TEXT(m->host.governor, number ? "" : "powersave");
	TEXT(m->host.virtual_machine, number ? "KVM" : "");
	TEXT(d->name, "rxe0");
	TEXT(d->netdev, number ? "" : "v0");
	TEXT(d->gid, number ? "" : "::ffff:10.77.0.1");
	TEXT(d->gid_why, "the local address");
	TEXT(d->why, "owns the local address");
	d->port = 1;
	d->gid_kind = number ? GID_NONE : GID_ROCE_V2;
	d->lid = number;
	d->numa_node = -(int)number;
	d->software_device = number;
	d->pcie_speed = d->pcie_max_speed = number ? 0 : 16;
	d->pcie_width = number ? 0 : 8;
	d->pcie_max_width = number ? 0 : 16;
	d->link_gbit_per_s = number ? 2.5 : 400;
	d->caps = (struct caps){
		.max_msg_sz = 1ULL << 31, .max_mr_size = UINT64_MAX, .max_qp = 65536,
		.max_qp_wr = 16384, .max_sge = 30, .max_cqe = 32767, .max_rd_init = 16,
		.max_rd_res = 128, .atomics = 1, .active_mtu = 4096,
	};
	TEXT(m->asked_device, number ? "mlx5_0" : "");
	m->asked_port = number;
	m->asked_gid_index = number ? 3 : -1;
	return number < 2;
}

/* Room that lasts: a sample is written and forgotten. */
bool sample_devices(void *at, unsigned int number)
{
	static struct inventory_gid gids[] = {
		{ .address = "fe80::1", .netdev = "v0", .kind = GID_ROCE_V1 },
		{ .address = "::ffff:10.77.0.1", .netdev = "v0", .index = 1, .kind = GID_ROCE_V2 },
	};
	static struct inventory_port ports[] = {
		{ .netdev = "v0", .number = 1, .state = 4, .link_layer = LINK_LAYER_ETHERNET,
		  .active_mtu = 1024, .max_mtu = 4096, .netdev_mtu = 1500,
		  .max_msg_sz = 1ULL << 31, .gids = gids, .gid_count = COUNT(gids) },
		{ .number = 2, .state = 1, .link_layer = LINK_LAYER_INFINIBAND },
	};
	static struct inventory_device devices[] = {
		{ .name = "rxe0", .driver = "rdma_rxe", .node_guid = "5054:00ff:fe12:3456",
		  .numa_node = -1, .max_mr_size = UINT64_MAX, .max_qp = 65536, .max_qp_wr = 16384,
		  .max_sge = 30, .max_cqe = 32767, .max_rd_init = 16, .max_rd_res = 128,
		  .atomics = 1, .ports = ports, .port_count = COUNT(ports) },
		{ .name = "siw0", .problem = "libibverbs does not know it: no provider" },
	};
	static const size_t counts[] = { 2, 1, 0 };

	*(struct inventory *)at = (struct inventory){ .devices = devices };
	if (number < COUNT(counts))
		((struct inventory *)at)->count = counts[number];
	return number < COUNT(counts);
}

bool sample_point(void *at, unsigned int number)
{
	static char *const words[][8] = {
		{ "rdmeter", "h", "--op=read", "-s1M", "-n7", "-q5", "-o255", "-b" },
		{ "rdmeter", "h", "--op=send", "--test=lat", "-D0", "-s64", "-I64", "-r4" },
		{ "rdmeter", "h", "--op=cas", "--atomic-target=shared", "-q2", "-t16", "-Q4",
		  "--direction=in" },
		{ "rdmeter", "h", "--op=write_imm", "-s8M", "-l2", "-t2", "--stamp=off",
		  "--align=8K" },
	};
	struct message_point *m = at;
	char copy[8][32], *argv[9] = { NULL };
	struct options opt;

	if (number >= COUNT(words))
		return false;
	for (int i = 0; i < 8; i++) {
		TEXT(copy[i], words[number][i]);
		argv[i] = copy[i];
	}
	if (options_parse(&opt, 8, argv) || plan_resolve(&opt, &m->point))
		return false;
	m->point.mtu.value = 1024;
	m->plan_only = number == 1;
	m->sends = number != 2;
	m->takes = number != 3;
	return true;
}

bool sample_accept(void *at, unsigned int number)
{
	static const struct message_accept known[] = {
		{ 0, 1, false }, { 96, 10000000000, true }, { UINT32_MAX, UINT64_MAX, false },
	};

	*(struct message_accept *)at = known[number % COUNT(known)];
	return number < COUNT(known);
}

bool sample_endpoints(void *at, unsigned int number)
{
	struct message_endpoints *m = at;

	for (uint32_t i = 0; i < m->count; i++) {
		m->qpn_out[i] = 17 + i;
		m->psn_out[i] = UINT32_MAX - i;
		m->rkey_out[i] = number ? UINT32_MAX : 4711 + i;
	}
	m->address = number ? HUGE_NUMBER : 0x7f0000001000;
	m->lid = number ? 0xbfff : 0;
	m->cm_port = number ? UINT16_MAX : 0;
	TEXT(m->gid, number ? "::" : "::ffff:10.77.0.1");
	return number < 2;
}

bool sample_ready(void *at, unsigned int number)
{
	static const uint64_t clocks[] = { 0, 1234567890123, (1ULL << 53) + 1 };

	*(uint64_t *)at = clocks[number % COUNT(clocks)];
	return number < COUNT(clocks);
}

bool sample_beat(void *at, unsigned int number)
{
	struct message_beat *m = at;

	TEXT(m->phase, number ? "a phase of 15 B" : "OPEN");
	m->posted = number ? HUGE_NUMBER : 1000;
	m->completed = number ? HUGE_NUMBER - 1 : 872;
	m->received = number ? UINT64_MAX : 0;
	return number < 2;
}

bool sample_sent(void *at, unsigned int number)
{
	struct message_sent *m = at;

	m->count = number == 1 ? 0 : m->count;
	for (uint32_t i = 0; i < m->count; i++)
		m->total[i] = number ? (1ULL << 60) + i : 1000 + i;
	m->missed = number ? HUGE_NUMBER : 0;
	return number < 3;
}

bool sample_abort(void *at, unsigned int number)
{
	struct message_abort *m = at;

	m->class = number ? FAIL_SETUP : FAIL_RUN;
	TEXT(m->text, number ? "--size 1: the server allows none; lower --size" :
			       "completion error: \"12\"\n\xe2\x96\x88");
	return number < 2;
}

/* A side with a schedule that it did not keep. */
static void sample_pace(struct pace_measure *p)
{
	*p = (struct pace_measure){ .active = true, .backlog = HUGE_NUMBER, .kept = 0.5 };
	histogram_reset(&p->response);
	histogram_reset(&p->lateness);
	for (uint64_t i = 0; i < 30; i++) {
		histogram_record(&p->response, 10000 * i + 20000);
		histogram_record(&p->lateness, 10000 * i);
	}
}

/* 0: nothing was measured here, 1: a few samples, 2: many, and numbers that are strings. */
bool sample_result(void *at, unsigned int number)
{
	struct measure *m = at;

	m->divisor = 1 + number % 2;
	TEXT(m->clock, "tsc");
	m->clock_read_ns = 10;
	m->clock_resolution_ns = 1;
	histogram_reset(&m->latency);
	if (!number)
		return true;
	m->active = m->opened = m->closed = true;
	m->receiver = number == 2;
	m->started_ns = number == 2 ? (1ULL << 60) + 1 : 1000000;
	m->posted = m->completed = m->received = 4000;
	m->warmup = 100;
	m->qp_least = 1900;
	m->qp_most = 2000;
	for (uint64_t i = 0; i < (number == 2 ? 40 : 3); i++)
		histogram_record(&m->latency, 1500 + i * i);
	if (number == 2)
		histogram_record(&m->latency, 1ULL << 62);
	series_start(&m->series, 5, 100);
	series_add(&m->series, 100000005, 2000);
	series_add(&m->series, 200000005, 3000);
	series_close(&m->series, 300000005, 4000);
	m->window = (struct window){ 5, 300000005, 3900 };
	m->cpu = (struct cpu_use){ 0.1, 1.0 / 3, 1e-9, true };
	m->thread_node = (int32_t)number - 1;
	m->threads = number;
	for (unsigned int i = 0; i < number; i++)
		m->thread[i] = (struct measure_thread){
			.cpu = (int32_t)i - 1, .node = (int32_t)i - 1, .t0 = 5, .t1 = 300000005 + i,
			.count = 3900 / number,
		};
	m->counters.valid = true;
	m->counters.more = number - 1;
	m->counters.count = number;
	for (unsigned int i = 0; i < number; i++) {
		TEXT(m->counters.move[i].name, i ? "RNR sent" : "rcvd_seq_err");
		m->counters.move[i].before = i ? HUGE_NUMBER : 0;
		m->counters.move[i].after = number;
	}
	m->data_errors = number == 2 ? HUGE_NUMBER : 0;
	TEXT(m->data_fault, number == 2 ? "slot 3, byte 17" : "");
	if (number == 2)
		sample_pace(&m->pace);
	return number < 3;
}
