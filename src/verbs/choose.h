/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Which of this host's RDMA ports to use, and why. */
#ifndef RDMETER_VERBS_CHOOSE_H
#define RDMETER_VERBS_CHOOSE_H

#include "verbs/device.h"

#define CHOOSE_GIDS 64 /* entries kept of a port's table */

/* What to say where there is no device at all. */
#define CHOOSE_NO_DEVICE                                                                   \
	"no RDMA device: none is known to libibverbs; load the driver (for software: modprobe " \
	"rdma_rxe; rdma link add rxe0 type rxe netdev DEV)"

/* One port of one device of this host. */
struct candidate {
	struct ibv_context *context; /* opened; the list owns it */
	const char *name;
	uint32_t port;
	enum ibv_port_state state;
	int numa_node;
	size_t gids;
	int gids_error; /* why there are none: a positive errno, or 0 when the table is empty */
	struct ibv_gid_entry gid[CHOOSE_GIDS];
};

struct candidates {
	struct ibv_device **devices;
	struct candidate *list;
	size_t count;
	char problem[160]; /* with the first device that is there and cannot be used; or empty */
};

/* Opens every device that can be and asks its ports. Returns 0 or -errno (not told). */
int candidates_get(struct candidates *c);

/* Closes every context but keep's (NULL: all). */
void candidates_put(struct candidates *c, const struct ibv_context *keep);

/*
 * The port that suits the request, and why; NULL after having told what there is instead. The
 * rules in their order are a table in choose.c.
 */
const struct candidate *candidates_choose(const struct candidates *c,
					  const struct device_request *request, const char **why);

#endif
