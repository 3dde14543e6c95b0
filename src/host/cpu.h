/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPU time. On a software device the work is done by kernel threads and interrupts, so beside the
 * process's own time the whole host's busy time is taken.
 */
#ifndef RDMETER_HOST_CPU_H
#define RDMETER_HOST_CPU_H

#include <stdint.h>

struct cpu_sample {
	uint64_t wall_ns;
	uint64_t process_ns; /* user and system of this process */
	uint64_t host_ns;    /* all CPUs, everything but idle and iowait; 0 when not known */
	uint64_t softirq_ns; /* the part of host_ns spent in hard and soft interrupts */
};

void cpu_sample(struct cpu_sample *s);

#endif
