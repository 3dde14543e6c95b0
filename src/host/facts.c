/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "host/facts.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

static void read_cpu_model(char *out, size_t size)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	char line[256], *model;
	char *colon;

	out[0] = '\0';
	while (f && fgets(line, sizeof(line), f)) {
		colon = strchr(line, ':');
		if (strncmp(line, "model name", 10) || !colon)
			continue;
		model = colon + 1 + strspn(colon + 1, " ");
		model[strcspn(model, "\n")] = '\0';
		snprintf(out, size, "%.*s", (int)size - 1, model);
		break;
	}
	if (f)
		fclose(f);
}

void facts_get(struct host_facts *f)
{
	struct utsname u;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	memset(f, 0, sizeof(*f));
	if (!uname(&u)) {
		snprintf(f->hostname, sizeof(f->hostname), "%s", u.nodename);
		snprintf(f->kernel, sizeof(f->kernel), "%s", u.release);
	}
	f->cpus = cpus > 0 ? (uint32_t)cpus : 0;
	read_cpu_model(f->cpu, sizeof(f->cpu));
}

uint64_t facts_available_memory(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (f && !kib && fgets(line, sizeof(line), f))
		if (sscanf(line, "MemAvailable: %llu kB", &kib) != 1)
			kib = 0;
	if (f)
		fclose(f);
	return kib ? (uint64_t)kib << 10 : UINT64_MAX;
}
