/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/device.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "host/facts.h"
#include "verbs/about.h"
#include "verbs/choose.h"
#include "verbs/gid.h"

static uint32_t mtu_bytes(enum ibv_mtu mtu)
{
	return 128U << mtu; /* IBV_MTU_256 is 1, and each step doubles */
}

/* Type 2 comes in two kinds, bound to a queue pair (B) or to its protection domain (A). */
static uint32_t windows_of(const struct ibv_device_attr *attr)
{
	unsigned int flags = attr->device_cap_flags;

	return (flags & IBV_DEVICE_MEM_WINDOW ? CAPS_WINDOW_1 : 0) |
	       (flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B) ?
			CAPS_WINDOW_2 : 0);
}

/* Older providers do not know the call, and have none. */
static void query_paging(struct ibv_context *context, struct caps *caps)
{
	struct ibv_device_attr_ex attr = { .comp_mask = 0 };

	if (ibv_query_device_ex(context, NULL, &attr) ||
	    !(attr.odp_caps.general_caps & IBV_ODP_SUPPORT))
		return;
	caps->odp_rc = attr.odp_caps.per_transport_caps.rc_odp_caps;
	caps->odp_uc = attr.odp_caps.per_transport_caps.uc_odp_caps;
	caps->odp_ud = attr.odp_caps.per_transport_caps.ud_odp_caps;
}

static int query_caps(struct ibv_context *context, uint32_t port, struct device_facts *facts,
		      struct ibv_port_attr *port_attr)
{
	struct ibv_device_attr attr;
	int rc = ibv_query_device(context, &attr);

	if (!rc)
		rc = ibv_query_port(context, (uint8_t)port, port_attr);
	if (rc)
		return fail(FAIL_SETUP, abs(rc), "asking %s for its limits: %s; see ibv_devinfo -v",
			    ibv_get_device_name(context->device), strerror(abs(rc)));
	facts->caps = (struct caps){
		.max_msg_sz = port_attr->max_msg_sz,
		.max_mr_size = attr.max_mr_size,
		.max_qp = (uint32_t)attr.max_qp,
		.max_qp_wr = (uint32_t)attr.max_qp_wr,
		.max_sge = (uint32_t)attr.max_sge,
		.max_srq_wr = attr.max_srq > 0 ? (uint32_t)attr.max_srq_wr : 0,
		.max_srq_sge = (uint32_t)attr.max_srq_sge,
		.max_cqe = (uint32_t)attr.max_cqe,
		.max_rd_init = (uint32_t)attr.max_qp_init_rd_atom,
		.max_rd_res = (uint32_t)attr.max_qp_rd_atom,
		.atomics = attr.atomic_cap != IBV_ATOMIC_NONE,
		.active_mtu = mtu_bytes(port_attr->active_mtu),
		.windows = windows_of(&attr),
	};
	query_paging(context, &facts->caps);
	about_device(facts, &attr, port_attr);
	return 0;
}

static int told_no_gid(const struct candidate *k, const struct device_request *r)
{
	if (k->gids_error)
		return fail(FAIL_SETUP, k->gids_error, "reading the GID table of %s: %s; see the "
			    "kernel log", k->name, strerror(k->gids_error));
	if (r->gid_index >= 0)
		return fail(FAIL_SETUP, ENOENT,
			    "--gid-index %d: port %u of %s has no such entry (%zu are in use); "
			    "see ibv_devinfo -v", r->gid_index, k->port, k->name, k->gids);
	return fail(FAIL_SETUP, ENOENT,
		    "port %u of %s has no GID: its table is empty; give its netdev an address and "
		    "bring it up", k->port, k->name);
}

static const struct ibv_gid_entry *find_gid(const struct candidate *k,
					    const struct device_request *r, const char **why)
{
	struct gid_wish wish = {
		.local = r->local, .family = r->local ? r->local->ss_family : AF_UNSPEC,
	};
	union ibv_gid theirs;

	if (r->peer && inet_pton(AF_INET6, r->peer->gid, theirs.raw) == 1) {
		wish.family = gid_is_ipv4(&theirs) ? AF_INET : AF_INET6;
		wish.kind = r->peer->gid_kind;
	}
	if (r->gid_index < 0)
		return gid_choose(k->gid, k->gids, k->port, &wish, why);
	*why = "given";
	for (size_t i = 0; i < k->gids; i++)
		if (k->gid[i].port_num == k->port && (int)k->gid[i].gid_index == r->gid_index)
			return &k->gid[i];
	return NULL;
}

/* InfiniBand routes by LID unless a GID is asked for; Ethernet cannot do without. */
static int set_gid(struct device *d, const struct candidate *k, const struct device_request *r,
		   const struct ibv_port_attr *port_attr)
{
	const struct ibv_gid_entry *gid;
	const char *why;

	d->facts.lid = port_attr->lid;
	if (port_attr->link_layer == IBV_LINK_LAYER_INFINIBAND && r->gid_index < 0) {
		snprintf(d->facts.gid_why, sizeof(d->facts.gid_why), "LID routing");
		return 0;
	}
	gid = find_gid(k, r, &why);
	if (!gid)
		return told_no_gid(k, r);
	d->gid = gid->gid;
	d->facts.gid_index = gid->gid_index;
	d->facts.gid_kind = gid_kind_of(gid);
	gid_text(&gid->gid, d->facts.gid, sizeof(d->facts.gid));
	snprintf(d->facts.gid_why, sizeof(d->facts.gid_why), "%s", why);
	if (!gid->ndev_ifindex || !if_indextoname(gid->ndev_ifindex, d->facts.netdev))
		d->facts.netdev[0] = '\0';
	return 0;
}

static void set_bus(struct device_facts *f)
{
	struct device_bus bus;

	facts_device(&bus, f->name, f->port);
	f->software_device = bus.software_device;
	f->pcie_speed = bus.pcie_speed;
	f->pcie_max_speed = bus.pcie_max_speed;
	f->pcie_width = bus.pcie_width;
	f->pcie_max_width = bus.pcie_max_width;
	f->link_gbit_per_s = bus.link_gbit_per_s;
}

static int fill(struct device *d, const struct candidate *k, const struct device_request *r,
		const char *why)
{
	struct ibv_port_attr port_attr;
	int rc;

	*d = (struct device){ .facts = { .port = k->port, .numa_node = k->numa_node } };
	snprintf(d->facts.name, sizeof(d->facts.name), "%s", k->name);
	snprintf(d->facts.why, sizeof(d->facts.why), "%s", why);
	numa_choose(k->numa_node, &d->place);
	snprintf(d->facts.placed, sizeof(d->facts.placed), "%s", d->place.why);
	set_bus(&d->facts);
	rc = query_caps(k->context, k->port, &d->facts, &port_attr);
	if (!rc)
		rc = set_gid(d, k, r, &port_attr);
	if (rc)
		return rc;
	d->pd = ibv_alloc_pd(k->context);
	if (!d->pd)
		return fail(FAIL_SETUP, errno, "allocating a protection domain on %s: %s; "
			    "see the kernel log", k->name, strerror(errno));
	d->context = k->context;
	/* The session waits for its events with poll(2). */
	fcntl(d->context->async_fd, F_SETFL,
	      fcntl(d->context->async_fd, F_GETFL) | O_NONBLOCK);
	return 0;
}

int device_open(struct device *d, const struct device_request *request)
{
	const struct candidate *k;
	struct candidates c;
	const char *why;
	int rc;

	*d = (struct device){ 0 };
	rc = candidates_get(&c);
	if (rc) {
		candidates_put(&c, NULL);
		return fail(FAIL_SETUP, -rc, "listing RDMA devices: %s; see ibv_devices",
			    strerror(-rc));
	}
	k = candidates_choose(&c, request, &why);
	rc = k ? fill(d, k, request, why) : -ENODEV;
	candidates_put(&c, rc ? NULL : d->context);
	return rc;
}

void device_close(struct device *d)
{
	if (!d->context)
		return;
	if (ibv_dealloc_pd(d->pd))
		note("freeing the protection domain of %s: %s", d->facts.name, strerror(errno));
	if (ibv_close_device(d->context))
		note("closing %s: %s", d->facts.name, strerror(errno));
	*d = (struct device){ 0 };
}

int device_address(const char *name, uint32_t port, int family, struct sockaddr_storage *out)
{
	const struct device_request request = { .name = name, .port = port, .gid_index = -1 };
	const struct candidate *k;
	struct candidates c;
	const char *why;
	int rc = candidates_get(&c);

	if (!rc) {
		k = candidates_choose(&c, &request, &why);
		rc = k ? -ENOENT : -ENODEV;
		for (size_t i = 0; k && i < k->gids; i++) {
			if (k->gid[i].port_num != k->port ||
			    gid_is_link_local(&k->gid[i].gid) ||
			    gid_is_ipv4(&k->gid[i].gid) != (family == AF_INET))
				continue;
			gid_address(&k->gid[i].gid, out);
			rc = 0;
			break;
		}
	}
	candidates_put(&c, NULL);
	return rc;
}
