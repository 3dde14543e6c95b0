/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "host/numa.h"

#include <numa.h>
#include <sched.h>
#include <stdio.h>

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

int numa_this_node(void)
{
	int cpu = sched_getcpu();

	if (numa_available() < 0 || cpu < 0)
		return -1;
	return numa_node_of_cpu(cpu);
}

uint32_t numa_node_count(void)
{
	int nodes = numa_available() < 0 ? 0 : numa_num_configured_nodes();

	return nodes > 0 ? (uint32_t)nodes : 0;
}
