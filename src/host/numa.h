/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where in the machine things are. */
#ifndef RDMETER_HOST_NUMA_H
#define RDMETER_HOST_NUMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The NUMA node of an RDMA device by sysfs; -1 when it has none or none is known. */
int numa_device_node(const char *device);

/* Nodes that this machine has; 0 when unknown. */
uint32_t numa_node_count(void);

/* The CPU that runs this; -1 when unknown. */
int numa_this_cpu(void);

/* A CPU's node; -1 when unknown. Of one thread at a time: libnuma keeps what it reads of this. */
int numa_node_of(int cpu);

/* Where buffers and data threads go: a node, or -1 for anywhere; and why. */
struct numa_place {
	int node;
	char why[64];
};

struct numa_facts {
	int device_node; /* -1: none or unknown */
	int nodes;       /* of the host; 0: it has none */
	bool bound;      /* this process may not use every CPU: somebody has placed it */
	bool policy;     /* its memory has been placed */
};

/* The device's node, unless somebody has placed this process already. */
void numa_decide(const struct numa_facts *f, struct numa_place *out);
void numa_choose(int device_node, struct numa_place *out);

/* Pages of a mapping that are touched later come from the node, if it has them. 0 or -errno. */
int numa_place_memory(void *at, size_t size, int node);

/* Lets the calling thread run on the node's CPUs only. 0 or -errno. */
int numa_place_thread(int node);

/*
 * The CPUs that data threads are pinned to: those of the node that this thread may run on, in
 * their order; all that it may run on where the node is -1 or has none of them. At most `room`;
 * returns how many, 0 when it cannot be known.
 */
uint32_t numa_cpus(int node, int *cpu, uint32_t room);

/* The same of given sets. */
struct cpu_choice {
	bool (*allowed)(const void *sets, int cpu);
	bool (*near)(const void *sets, int cpu); /* on the node */
	const void *sets;
	int cpus; /* they are below this */
};
uint32_t numa_choose_cpus(const struct cpu_choice *c, int *cpu, uint32_t room);

/* Has the calling thread run on that CPU only. 0 or -errno. */
int numa_pin_thread(int cpu);

#endif
