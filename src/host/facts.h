/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What this machine is. */
#ifndef RDMETER_HOST_FACTS_H
#define RDMETER_HOST_FACTS_H

#include <stdint.h>

struct host_facts {
	char hostname[72];
	char kernel[72];
	char cpu[80]; /* model; empty when /proc/cpuinfo names none */
	uint32_t cpus; /* online */
	char governor[24]; /* of CPU frequency; one that is not "performance" wins; empty: none */
	char virtual_machine[48]; /* what it is one of; empty when it looks like none */
	char clocksource[24]; /* of the kernel; empty when not known, as the next two */
	char rdma_core[24];   /* version of the libibverbs in use */
	uint32_t numa_nodes;  /* 0: not known */
};

void facts_get(struct host_facts *f);

/* Where in the machine an RDMA device is, and how it is attached; 0 where nothing is known. */
struct device_bus {
	uint32_t software_device; /* 1: the kernel plays it, as rdma_rxe */
	double pcie_speed, pcie_max_speed;   /* GT/s a lane: what was agreed on, what it can */
	uint32_t pcie_width, pcie_max_width; /* lanes */
	double link_gbit_per_s; /* of the port; of a software device it is fiction */
};

void facts_device(struct device_bus *b, const char *device, uint32_t port);

/* Bytes that can be allocated without swapping, as the kernel estimates; all there are if not. */
uint64_t facts_available_memory(void);

#endif
