/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "verbs/inventory.h"

#include <dirent.h>
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/verbs.h>

#include "host/numa.h"
#include "host/sysfs.h"
#include "verbs/caps.h"
#include "verbs/gid.h"

#define IB "infiniband/%s"
#define SIW_VENDOR_ID 0x626d74 /* as in the kernel's siw.h */

static uint32_t mtu_bytes(enum ibv_mtu mtu)
{
	return mtu >= IBV_MTU_256 && mtu <= IBV_MTU_4096 ? 128U << mtu : 0;
}

/*
 * A hardware device links to its bus device, and that to its driver. A software device has no bus
 * device of its own, and in kernels before 5.11 links to its netdev's: so these are told apart
 * first. Only rxe has the attribute that names its netdev; siw is known by its vendor number.
 */
void inventory_driver(const char *device, uint32_t vendor_id, char *out, size_t size)
{
	char parent[32];

	if (sysfs_text(parent, sizeof(parent), IB "/parent", device))
		snprintf(out, size, "rdma_rxe");
	else if (vendor_id == SIW_VENDOR_ID)
		snprintf(out, size, "siw");
	else
		sysfs_link(out, size, IB "/device/driver", device);
}

static void find_driver(struct inventory_device *d, uint32_t vendor_id)
{
	inventory_driver(d->name, vendor_id, d->driver, sizeof(d->driver));
}

/* The netdev of the bus device whose port this is; the kernel counts those from 0. */
static void find_bus_netdev(const char *device, uint32_t port, char *out, size_t size)
{
	char path[256];
	struct dirent *e;
	DIR *dir;

	out[0] = '\0';
	snprintf(path, sizeof(path), "/sys/class/" IB "/device/net", device);
	dir = opendir(path);
	if (!dir)
		return;
	while (!out[0] && (e = readdir(dir)))
		if (e->d_name[0] != '.' && sysfs_number("net/%s/dev_port", e->d_name) == port - 1)
			snprintf(out, size, "%.*s", (int)size - 1, e->d_name);
	closedir(dir);
}

/* The one that its GIDs name comes first: under a bond that is the bond. */
static void find_netdev(const char *device, struct inventory_port *p)
{
	for (size_t i = 0; i < p->gid_count && !p->netdev[0]; i++)
		snprintf(p->netdev, sizeof(p->netdev), "%s", p->gids[i].netdev);
	if (!p->netdev[0] && p->link_layer != LINK_LAYER_INFINIBAND &&
	    !sysfs_text(p->netdev, sizeof(p->netdev), IB "/parent", device))
		find_bus_netdev(device, p->number, p->netdev, sizeof(p->netdev));
	if (p->netdev[0])
		p->netdev_mtu = sysfs_number("net/%s/mtu", p->netdev);
}

static int take_gids(struct inventory_port *p, const struct ibv_gid_entry *entries, size_t count)
{
	p->gids = count ? calloc(count, sizeof(*p->gids)) : NULL;
	if (count && !p->gids)
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		const struct ibv_gid_entry *e = &entries[i];
		struct inventory_gid *g = &p->gids[p->gid_count];

		if (e->port_num != p->number)
			continue;
		g->index = e->gid_index;
		g->kind = gid_kind_of(e);
		gid_text(&e->gid, g->address, sizeof(g->address));
		if (!e->ndev_ifindex || !if_indextoname(e->ndev_ifindex, g->netdev))
			g->netdev[0] = '\0';
		p->gid_count++;
	}
	return 0;
}

static void note_problem(struct inventory_device *d, const char *what, int error)
{
	if (!d->problem[0])
		snprintf(d->problem, sizeof(d->problem), "%s: %s", what, strerror(error));
}

/* Returns how many entries the port's GID table has room for. */
static size_t take_port(struct inventory_device *d, struct ibv_context *context, uint32_t number)
{
	struct inventory_port *p = &d->ports[d->port_count++];
	struct ibv_port_attr attr;
	int error;

	p->number = number;
	error = ibv_query_port(context, (uint8_t)number, &attr);
	if (error) {
		note_problem(d, "asking for a port's state", error < 0 ? errno : error);
		return 0;
	}
	p->state = attr.state;
	p->link_layer = attr.link_layer;
	p->active_mtu = mtu_bytes(attr.active_mtu);
	p->max_mtu = mtu_bytes(attr.max_mtu);
	p->max_msg_sz = attr.max_msg_sz;
	return attr.gid_tbl_len > 0 ? (size_t)attr.gid_tbl_len : 0;
}

static int take_ports(struct inventory_device *d, struct ibv_context *context, uint32_t ports)
{
	struct ibv_gid_entry *entries;
	size_t room = 0;
	ssize_t n = 0;
	int rc = 0;

	d->ports = ports ? calloc(ports, sizeof(*d->ports)) : NULL;
	if (ports && !d->ports)
		return -ENOMEM;
	for (uint32_t number = 1; number <= ports; number++)
		room += take_port(d, context, number);
	entries = calloc(room ? room : 1, sizeof(*entries));
	if (!entries)
		return -ENOMEM;
	if (room)
		n = ibv_query_gid_table(context, entries, room, 0);
	if (n < 0)
		note_problem(d, "asking for its GIDs", (int)-n);
	for (size_t i = 0; i < d->port_count && !rc; i++) {
		rc = take_gids(&d->ports[i], entries, n > 0 ? (size_t)n : 0);
		if (!rc)
			find_netdev(d->name, &d->ports[i]);
	}
	free(entries);
	return rc;
}

static void take_limits(struct inventory_device *d, const struct ibv_device_attr *attr)
{
	snprintf(d->firmware, sizeof(d->firmware), "%s", attr->fw_ver);
	d->max_mr_size = attr->max_mr_size;
	d->max_qp = (uint32_t)attr->max_qp;
	d->max_qp_wr = (uint32_t)attr->max_qp_wr;
	d->max_sge = (uint32_t)attr->max_sge;
	d->max_cqe = (uint32_t)attr->max_cqe;
	d->max_rd_init = (uint32_t)attr->max_qp_init_rd_atom;
	d->max_rd_res = (uint32_t)attr->max_qp_rd_atom;
	d->atomics = attr->atomic_cap != IBV_ATOMIC_NONE;
}

static int take_device(struct inventory_device *d, struct ibv_device *device)
{
	uint64_t guid = be64toh(ibv_get_device_guid(device));
	struct ibv_device_attr attr = { 0 };
	struct ibv_context *context;
	int error, rc = 0;

	snprintf(d->name, sizeof(d->name), "%s", ibv_get_device_name(device));
	snprintf(d->node_guid, sizeof(d->node_guid), "%04x:%04x:%04x:%04x",
		 (unsigned int)(guid >> 48 & 0xffff), (unsigned int)(guid >> 32 & 0xffff),
		 (unsigned int)(guid >> 16 & 0xffff), (unsigned int)(guid & 0xffff));
	d->numa_node = numa_device_node(d->name);
	context = ibv_open_device(device);
	if (!context) {
		note_problem(d, "opening it", errno);
		find_driver(d, 0);
		return 0;
	}
	error = ibv_query_device(context, &attr);
	if (error) {
		note_problem(d, "asking for its limits", error < 0 ? errno : error);
	} else {
		take_limits(d, &attr);
		rc = take_ports(d, context, attr.phys_port_cnt);
	}
	find_driver(d, attr.vendor_id);
	ibv_close_device(context);
	return rc;
}

static bool has(const struct inventory *inventory, const char *name)
{
	for (size_t i = 0; i < inventory->count; i++)
		if (!strcmp(inventory->devices[i].name, name))
			return true;
	return false;
}

static int add_hidden(struct inventory *inventory, const char *name)
{
	struct inventory_device *grown, *d;

	grown = reallocarray(inventory->devices, inventory->count + 1, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	inventory->devices = grown;
	d = &grown[inventory->count++];
	*d = (struct inventory_device){ .numa_node = numa_device_node(name) };
	snprintf(d->name, sizeof(d->name), "%.*s", (int)sizeof(d->name) - 1, name);
	sysfs_text(d->node_guid, sizeof(d->node_guid), IB "/node_guid", name);
	sysfs_text(d->firmware, sizeof(d->firmware), IB "/fw_ver", name);
	snprintf(d->problem, sizeof(d->problem), "unknown to libibverbs; check "
		 "ibverbs-providers, ib_uverbs and /dev/infiniband");
	find_driver(d, 0);
	return 0;
}

/* What the kernel has and libibverbs does not: a device without a provider library. */
static int take_hidden(struct inventory *inventory)
{
	DIR *dir = opendir("/sys/class/infiniband");
	struct dirent *e;
	int rc = 0;

	while (dir && !rc && (e = readdir(dir)))
		if (e->d_name[0] != '.' && !has(inventory, e->d_name))
			rc = add_hidden(inventory, e->d_name);
	if (dir)
		closedir(dir);
	return rc;
}

/* "mlx5_10" after "mlx5_9". */
static int by_name(const void *a, const void *b)
{
	const struct inventory_device *x = a, *y = b;

	return strverscmp(x->name, y->name);
}

static int take_known(struct inventory *inventory)
{
	struct ibv_device **list;
	int n, rc = 0;

	errno = 0;
	list = ibv_get_device_list(&n);
	if (!list)
		return errno == ENOSYS || !errno ? 0 : -errno; /* ENOSYS: no ib_uverbs */
	if (n > 0)
		inventory->devices = calloc((size_t)n, sizeof(*inventory->devices));
	if (n > 0 && !inventory->devices)
		rc = -ENOMEM;
	for (int i = 0; i < n && !rc; i++)
		rc = take_device(&inventory->devices[inventory->count++], list[i]);
	ibv_free_device_list(list);
	return rc;
}

int inventory_take(struct inventory *inventory)
{
	int rc;

	*inventory = (struct inventory){ 0 };
	rc = take_known(inventory);
	if (!rc)
		rc = take_hidden(inventory);
	if (inventory->count)
		qsort(inventory->devices, inventory->count, sizeof(*inventory->devices), by_name);
	return rc;
}

void inventory_free(struct inventory *inventory)
{
	for (size_t i = 0; i < inventory->count; i++) {
		struct inventory_device *d = &inventory->devices[i];

		for (size_t j = 0; j < d->port_count; j++)
			free(d->ports[j].gids);
		free(d->ports);
	}
	free(inventory->devices);
	*inventory = (struct inventory){ 0 };
}
