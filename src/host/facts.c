/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "host/facts.h"

#include <limits.h>
#include <link.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "host/numa.h"
#include "host/sysfs.h"

#define GOVERNOR "../devices/system/cpu/cpu%ld/cpufreq/scaling_governor"
#define BUS "infiniband/%s/device/"

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

/* One CPU in a slow gear is enough to be told of: the data thread may run on it. */
static void read_governor(char *out, size_t size)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	char text[24];

	out[0] = '\0';
	for (long i = 0; i < cpus; i++) {
		if (!sysfs_text(text, sizeof(text), GOVERNOR, i))
			continue;
		snprintf(out, size, "%s", text);
		if (strcmp(text, "performance"))
			break;
	}
}

/* What the firmware calls the machine when it is a hypervisor's. */
static const struct {
	const char *file, *begins, *name;
} machines[] = {
	{ "dmi/id/sys_vendor", "QEMU", "QEMU" },
	{ "dmi/id/product_name", "KVM", "KVM" },
	{ "dmi/id/product_name", "Standard PC", "QEMU" },
	{ "dmi/id/product_name", "VirtualBox", "VirtualBox" },
	{ "dmi/id/product_name", "VMware", "VMware" },
	{ "dmi/id/product_name", "Virtual Machine", "Hyper-V" },
	{ "dmi/id/product_name", "HVM domU", "Xen" },
	{ "dmi/id/product_name", "Google Compute Engine", "Google Compute Engine" },
	{ "../hypervisor/type", "xen", "Xen" },
};

/* x86 says so itself: under a hypervisor the CPU has a flag of that name. */
static bool has_hypervisor_flag(void)
{
	FILE *f = fopen("/proc/cpuinfo", "re");
	static char line[8192];
	bool found = false;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, "flags", 5))
			continue;
		found = strstr(line, " hypervisor") != NULL;
		break;
	}
	if (f)
		fclose(f);
	return found;
}

static void read_virtual_machine(char *out, size_t size)
{
	char text[64];

	out[0] = '\0';
	for (size_t i = 0; !out[0] && i < sizeof(machines) / sizeof(machines[0]); i++)
		if (sysfs_text(text, sizeof(text), "%s", machines[i].file) &&
		    !strncmp(text, machines[i].begins, strlen(machines[i].begins)))
			snprintf(out, size, "%s", machines[i].name);
	if (!out[0] && has_hypervisor_flag())
		snprintf(out, size, "unnamed hypervisor");
}

/* "16.0 GT/s PCIe", "100 Gb/sec (4X EDR)"; 0 for "Unknown". */
static double leading_number(const char *text)
{
	double value = strtod(text, NULL);

	return value > 0 && value < 1e9 ? value : 0;
}

static double bus_number(const char *device, const char *file)
{
	char text[48];

	return sysfs_text(text, sizeof(text), BUS "%s", device, file) ? leading_number(text) : 0;
}

/* Virtual functions say 0 or 255 lanes. */
static uint32_t bus_width(const char *device, const char *file)
{
	double lanes = bus_number(device, file);

	return lanes <= 64 ? (uint32_t)lanes : 0;
}

/*
 * A software device has no bus device, or before Linux 5.11 that of its netdev; rxe alone names
 * its netdev in "parent".
 */
static bool is_software(const char *device)
{
	char text[64];

	if (!sysfs_text(text, sizeof(text), "infiniband/%s/node_guid", device))
		return false; /* sysfs does not know it at all */
	return sysfs_text(text, sizeof(text), "infiniband/%s/parent", device) ||
	       !sysfs_link(text, sizeof(text), "infiniband/%s/device", device);
}

void facts_device(struct device_bus *b, const char *device, uint32_t port)
{
	char text[64];

	*b = (struct device_bus){ .software_device = is_software(device) };
	if (sysfs_text(text, sizeof(text), "infiniband/%s/ports/%u/rate", device, port))
		b->link_gbit_per_s = leading_number(text);
	if (b->software_device)
		return;
	b->pcie_speed = bus_number(device, "current_link_speed");
	b->pcie_max_speed = bus_number(device, "max_link_speed");
	b->pcie_width = bus_width(device, "current_link_width");
	b->pcie_max_width = bus_width(device, "max_link_width");
}

/*
 * The library is called libibverbs.so.ABI.PABI.VERSION by rdma-core, and the loader knows a link
 * to it; no call gives the version.
 */
static int find_rdma_core(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct host_facts *f = arg;
	char path[PATH_MAX];
	const char *name;
	int skip = 0;

	(void)size;
	if (!strstr(info->dlpi_name, "libibverbs.so") || !realpath(info->dlpi_name, path))
		return 0;
	name = strrchr(path, '/') + 1;
	if (sscanf(name, "libibverbs.so.%*u.%*u.%n", &skip) == 0 && skip)
		snprintf(f->rdma_core, sizeof(f->rdma_core), "%.*s",
			 (int)sizeof(f->rdma_core) - 1, name + skip);
	return 1;
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
	read_governor(f->governor, sizeof(f->governor));
	read_virtual_machine(f->virtual_machine, sizeof(f->virtual_machine));
	sysfs_text(f->clocksource, sizeof(f->clocksource),
		   "../devices/system/clocksource/clocksource0/current_clocksource");
	f->numa_nodes = numa_node_count();
	dl_iterate_phdr(find_rdma_core, f);
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
