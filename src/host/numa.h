/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Where in the machine things are. */
#ifndef RDMETER_HOST_NUMA_H
#define RDMETER_HOST_NUMA_H

#include <stdint.h>

/* The NUMA node of an RDMA device by sysfs; -1 when it has none or none is known. */
int numa_device_node(const char *device);

/* Nodes that this machine has; 0 when unknown. */
uint32_t numa_node_count(void);

/* The node of the CPU that runs this; -1 when unknown. */
int numa_this_node(void);

#endif
