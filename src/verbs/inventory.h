/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Every RDMA device of one host as plain data: taken here or told by a server, it is the same
 * struct. A text is empty and a number 0 where nothing is known, unless said otherwise.
 */
#ifndef RDMETER_VERBS_INVENTORY_H
#define RDMETER_VERBS_INVENTORY_H

#include <stddef.h>
#include <stdint.h>

#include "verbs/caps.h"

struct inventory_gid {
	char address[48]; /* textual */
	char netdev[16];
	uint32_t index;
	uint32_t kind; /* enum gid_kind */
};

struct inventory_port {
	char netdev[16];
	uint32_t number; /* from 1 */
	uint32_t state;  /* enum ibv_port_state; port_state_name() has the words */
	uint32_t link_layer;
	uint32_t active_mtu, max_mtu; /* of the path, in bytes */
	uint32_t netdev_mtu;          /* bytes */
	uint64_t max_msg_sz;          /* bytes */
	struct inventory_gid *gids;
	size_t gid_count;
};

struct inventory_device {
	char name[64];
	char driver[64]; /* of the kernel */
	char firmware[64];
	char node_guid[20];
	char problem[128]; /* why not everything could be asked; empty when it could */
	int32_t numa_node; /* -1: none or unknown */
	uint64_t max_mr_size; /* bytes */
	uint32_t max_qp;
	uint32_t max_qp_wr; /* of one queue */
	uint32_t max_sge;
	uint32_t max_cqe;     /* of one completion queue */
	uint32_t max_rd_init; /* reads and atomics outstanding, of one queue pair: as initiator */
	uint32_t max_rd_res;  /* and as responder */
	uint32_t atomics;     /* 0: none */
	struct inventory_port *ports;
	size_t port_count;
};

struct inventory {
	struct inventory_device *devices;
	size_t count;
};

/*
 * Asks every device of this host, in the order of their names. One that cannot be opened, or that
 * the kernel has and libibverbs does not, is in it with the reason. Returns 0 or -errno (not
 * told); to be given to inventory_free() in either case.
 */
int inventory_take(struct inventory *inventory);
void inventory_free(struct inventory *inventory);

/* The kernel's driver of a device, "" when not known; vendor_id is 0 when that is not either. */
void inventory_driver(const char *device, uint32_t vendor_id, char *out, size_t size);

#endif
