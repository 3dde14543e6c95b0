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
};

void facts_get(struct host_facts *f);

/* Bytes that can be allocated without swapping, as the kernel estimates; all there are if not. */
uint64_t facts_available_memory(void);

#endif
