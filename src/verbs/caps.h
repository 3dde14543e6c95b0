/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a device and its port are and can do, asked of the device: the limits that plans depend
 * on, and the facts that both ends tell each other.
 */
#ifndef RDMETER_VERBS_CAPS_H
#define RDMETER_VERBS_CAPS_H

#include <stdint.h>

struct caps {
	uint64_t max_msg_sz;  /* bytes, of the port */
	uint64_t max_mr_size; /* bytes */
	uint32_t max_qp;
	uint32_t max_qp_wr; /* work requests of one queue */
	uint32_t max_sge;
	uint32_t max_srq_wr;  /* work requests of a shared receive queue; 0: it has none */
	uint32_t max_srq_sge;
	uint32_t max_cqe;    /* entries of one completion queue */
	uint32_t max_rd_init; /* reads and atomics that an initiator may have outstanding */
	uint32_t max_rd_res;  /* and that a responder accepts, of one queue pair */
	uint32_t atomics;     /* 0: none */
	uint32_t odp_rc, odp_uc, odp_ud; /* IBV_ODP_SUPPORT_*: by transport; 0: no such paging */
	uint32_t active_mtu; /* bytes */
	uint32_t windows;    /* types of memory windows, CAPS_WINDOW_*; known of this side alone */
};

enum { CAPS_WINDOW_1 = 1, CAPS_WINDOW_2 = 2 };

/* The GID types that can talk to each other are equal ones. */
enum gid_kind {
	GID_NONE, /* InfiniBand, routed by LID */
	GID_IB,
	GID_ROCE_V1,
	GID_ROCE_V2,
};

static inline const char *gid_kind_name(uint32_t kind)
{
	static const char *const names[] = { "LID", "IB", "RoCE v1", "RoCE v2" };

	return kind < sizeof(names) / sizeof(names[0]) ? names[kind] : "unknown";
}

enum { LINK_LAYER_UNKNOWN, LINK_LAYER_INFINIBAND, LINK_LAYER_ETHERNET }; /* as in verbs.h */

/* A port's state as InfiniBand numbers and names it. */
static inline const char *port_state_name(uint32_t state)
{
	static const char *const names[] = {
		"in no state", "DOWN", "INIT", "ARMED", "ACTIVE", "ACTIVE_DEFER",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : "unknown";
}

struct device_facts {
	char name[64];
	char netdev[16];  /* of the GID; empty where there is none */
	char gid[48];     /* textual; empty with GID_NONE */
	char gid_why[64]; /* why this entry of the table */
	char why[96];     /* why this device */
	char placed[64];  /* where buffers and the data thread are, and why */
	uint32_t port;
	uint32_t gid_index;
	uint32_t gid_kind; /* enum gid_kind */
	uint32_t lid;
	int32_t numa_node; /* -1: none or unknown */
	uint32_t software_device; /* these as in struct device_bus */
	double pcie_speed, pcie_max_speed;
	uint32_t pcie_width, pcie_max_width;
	double link_gbit_per_s;
	struct caps caps;
	char driver[64]; /* of the kernel; empty where not known, as the next ones */
	char firmware[64];
	char pcie_address[24];
	uint32_t link_layer; /* LINK_LAYER_... */
	uint32_t link_lanes; /* 0: not known */
};

#endif
