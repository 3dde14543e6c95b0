/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/about.h"

#include <stdio.h>

#include "host/sysfs.h"
#include "verbs/inventory.h"

/* The codes of a port's width are those of the InfiniBand specification. */
static const struct {
	uint32_t code, value;
} lanes[] = {
	{ 1, 1 }, { 16, 2 }, { 2, 4 }, { 4, 8 }, { 8, 12 },
};

static uint32_t lanes_of(uint32_t code)
{
	for (size_t i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
		if (lanes[i].code == code)
			return lanes[i].value;
	return 0;
}

static void find_slot(struct device_facts *f)
{
	unsigned int domain, bus, slot, function;
	char address[24];

	if (sysfs_link(address, sizeof(address), "infiniband/%s/device", f->name) &&
	    sscanf(address, "%x:%x:%x.%x", &domain, &bus, &slot, &function) == 4)
		snprintf(f->pcie_address, sizeof(f->pcie_address), "%s", address);
}

void about_device(struct device_facts *f, const struct ibv_device_attr *attr,
		  const struct ibv_port_attr *port)
{
	snprintf(f->firmware, sizeof(f->firmware), "%.*s", (int)sizeof(f->firmware) - 1,
		 attr->fw_ver);
	f->link_layer = port->link_layer;
	f->link_lanes = lanes_of(port->active_width);
	inventory_driver(f->name, attr->vendor_id, f->driver, sizeof(f->driver));
	/* Before Linux 5.11 a software device links to its netdev's slot. */
	if (!f->software_device)
		find_slot(f);
}
