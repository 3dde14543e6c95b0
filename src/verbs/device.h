/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The RDMA device of one side: found, chosen with a reason, opened, asked what it can do. */
#ifndef RDMETER_VERBS_DEVICE_H
#define RDMETER_VERBS_DEVICE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

#include "host/numa.h"
#include "verbs/caps.h"

struct device {
	struct ibv_context *context;
	struct ibv_pd *pd;
	union ibv_gid gid;
	struct numa_place place; /* of what uses it */
	struct device_facts facts;
};

/* What is known when a device is to be chosen; zero and NULL mean "not said". */
struct device_request {
	const char *name;      /* --ib-dev: on a server the only one allowed */
	const char *asked;     /* --peer-dev of the client; wins within what is allowed */
	uint32_t port;         /* 0: the first active one */
	int32_t gid_index;     /* -1: chosen */
	const struct sockaddr_storage *local; /* of the control connection */
	const struct device_facts *peer;      /* the client's device, on a server */
};

/*
 * Chooses by design section 4 (Device and GID), opens, allocates a protection domain. d is filled
 * on success and is to be given to device_close(). Returns 0, or -errno after having told why
 * with FAIL_SETUP; the candidates are in the message.
 */
int device_open(struct device *d, const struct device_request *request);
void device_close(struct device *d);

/*
 * An address of the named device in that family, so that the control connection can take the
 * same path. Returns 0, -ENOENT when it has none there, or -errno told with FAIL_SETUP.
 */
int device_address(const char *name, uint32_t port, int family, struct sockaddr_storage *out);

#endif
