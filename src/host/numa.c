/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "host/numa.h"

#include <numa.h>
#include <sched.h>
#include <stdio.h>

int numa_device_node(const char *device)
{
	char path[256];
	int node = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/infiniband/%s/device/numa_node", device);
	f = fopen(path, "re");
	if (!f)
		return -1;
	if (fscanf(f, "%d", &node) != 1)
		node = -1;
	fclose(f);
	return node;
}

int numa_this_node(void)
{
	int cpu = sched_getcpu();

	if (numa_available() < 0 || cpu < 0)
		return -1;
	return numa_node_of_cpu(cpu);
}
