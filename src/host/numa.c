/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "host/numa.h"

#include <errno.h>
#include <numa.h>
#include <numaif.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

#include "host/sysfs.h"

int numa_device_node(const char *device)
{
	char text[16];
	int node;

	if (!sysfs_text(text, sizeof(text), "infiniband/%s/device/numa_node", device) ||
	    sscanf(text, "%d", &node) != 1)
		return -1;
	return node;
}

void numa_decide(const struct numa_facts *f, struct numa_place *out)
{
	*out = (struct numa_place){ .node = -1 };
	if (f->bound || f->policy)
		snprintf(out->why, sizeof(out->why), "kept: rdmeter was started %s",
			 f->bound ? "on some CPUs only" : "with its memory bound");
	else if (f->nodes < 2)
		snprintf(out->why, sizeof(out->why), "anywhere: the host has one NUMA node");
	else if (f->device_node < 0 || f->device_node >= f->nodes)
		snprintf(out->why, sizeof(out->why), "anywhere: the device's node is unknown");
	else
		out->node = f->device_node;
	if (out->node >= 0)
		snprintf(out->why, sizeof(out->why), "node %d, the device's", out->node);
}

void numa_choose(int device_node, struct numa_place *out)
{
	struct numa_facts f = { .device_node = device_node };
	int mode = MPOL_DEFAULT;
	cpu_set_t cpus;

	if (numa_available() >= 0)
		f.nodes = numa_max_node() + 1;
	if (!sched_getaffinity(0, sizeof(cpus), &cpus))
		f.bound = CPU_COUNT(&cpus) < sysconf(_SC_NPROCESSORS_ONLN);
	if (!get_mempolicy(&mode, NULL, 0, NULL, 0))
		f.policy = mode != MPOL_DEFAULT && mode != MPOL_LOCAL;
	numa_decide(&f, out);
}

int numa_place_memory(void *at, size_t size, int node)
{
	unsigned long mask[16] = { 0 };
	const unsigned long bits = 8 * sizeof(mask[0]);

	if (node < 0 || (size_t)node >= 8 * sizeof(mask))
		return 0;
	mask[(unsigned int)node / bits] = 1UL << (unsigned int)node % bits;
	return mbind(at, size, MPOL_PREFERRED, mask, 8 * sizeof(mask), 0) ? -errno : 0;
}

int numa_place_thread(int node)
{
	if (node < 0)
		return 0;
	return numa_run_on_node(node) ? -errno : 0;
}

uint32_t numa_choose_cpus(const struct cpu_choice *c, int *cpu, uint32_t room)
{
	uint32_t n = 0;

	for (int pass = 0; pass < 2 && !n; pass++)
		for (int i = 0; i < c->cpus && n < room; i++)
			if (c->allowed(c->sets, i) && (pass || c->near(c->sets, i)))
				cpu[n++] = i;
	return n;
}

struct sets {
	cpu_set_t allowed;
	int node;
};

static bool is_allowed(const void *sets, int cpu)
{
	return CPU_ISSET(cpu, &((const struct sets *)sets)->allowed);
}

static bool is_near(const void *sets, int cpu)
{
	int node = ((const struct sets *)sets)->node;

	return node >= 0 && numa_node_of_cpu(cpu) == node;
}

uint32_t numa_cpus(int node, int *cpu, uint32_t room)
{
	struct sets sets = { .node = numa_available() < 0 ? -1 : node };
	const struct cpu_choice c = { is_allowed, is_near, &sets, CPU_SETSIZE };

	/* More CPUs than the set has room for: the kernel refuses, and nothing is pinned. */
	if (sched_getaffinity(0, sizeof(sets.allowed), &sets.allowed))
		return 0;
	return numa_choose_cpus(&c, cpu, room);
}

int numa_pin_thread(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	return sched_setaffinity(0, sizeof(set), &set) ? -errno : 0;
}

int numa_this_cpu(void)
{
	return sched_getcpu();
}

int numa_node_of(int cpu)
{
	return numa_available() < 0 || cpu < 0 ? -1 : numa_node_of_cpu(cpu);
}

uint32_t numa_node_count(void)
{
	int nodes = numa_available() < 0 ? 0 : numa_num_configured_nodes();

	return nodes > 0 ? (uint32_t)nodes : 0;
}
