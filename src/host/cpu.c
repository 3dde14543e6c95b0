/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "host/cpu.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static uint64_t timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000000 + (uint64_t)tv.tv_usec * 1000;
}

/* The first line of /proc/stat: user nice system idle iowait irq softirq steal, in USER_HZ. */
static void read_host(struct cpu_sample *s)
{
	uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);
	uint64_t user, nice, system, idle, iowait, irq, softirq;
	FILE *f = fopen("/proc/stat", "re");

	if (!f)
		return;
	if (fscanf(f, "cpu %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64
		   " %" SCNu64, &user, &nice, &system, &idle, &iowait, &irq, &softirq) == 7) {
		s->host_ns = (user + nice + system + irq + softirq) * tick_ns;
		s->softirq_ns = (irq + softirq) * tick_ns;
	}
	fclose(f);
}

void cpu_sample(struct cpu_sample *s)
{
	struct timespec now;
	struct rusage usage;

	memset(s, 0, sizeof(*s));
	clock_gettime(CLOCK_MONOTONIC, &now);
	s->wall_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	if (!getrusage(RUSAGE_SELF, &usage))
		s->process_ns = timeval_ns(usage.ru_utime) + timeval_ns(usage.ru_stime);
	read_host(s);
}
