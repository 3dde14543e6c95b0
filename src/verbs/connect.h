/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Bringing queue pairs from RESET to RTS towards the peer's, and proving that they are there. How
 * the two sides find each other is a row of a table; the attributes are the same either way.
 */
#ifndef RDMETER_VERBS_CONNECT_H
#define RDMETER_VERBS_CONNECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

#include "plan/point.h"
#include "verbs/device.h"
#include "verbs/queues.h"

/* What one side has to tell of its queue pairs; columns have one entry for each. */
struct endpoints {
	uint32_t count;
	uint32_t *qpn, *psn;
	uint32_t *rkey;   /* of each one's part of the buffer, for one-sided operations */
	uint64_t address; /* of the buffer */
	uint32_t lid;
	uint32_t cm_port; /* where a server's rdma_cm listens; 0: nowhere */
	union ibv_gid gid;
};

/* Room for count queue pairs; to be given to endpoints_free(). 0 or -ENOMEM (told). */
int endpoints_alloc(struct endpoints *e, uint32_t count);
void endpoints_free(struct endpoints *e);

/* What differs from row to row; either way of connecting gives the same (design section 4). */
struct connect_path {
	uint32_t mtu;        /* bytes */
	uint32_t begins;     /* reads and atomics that this side may have outstanding */
	uint32_t accepts;    /* and that it answers */
	uint32_t sl, tclass, flow_label, hop_limit;
	uint32_t pkey_index;
	uint32_t timeout;    /* 4.096 us * 2^timeout; 0: for ever */
	uint32_t retry;      /* 7 is for ever on rxe */
	uint32_t rnr_retry;  /* 7 is for ever: the stall deadline bounds it */
	uint32_t min_rnr;    /* a code: 12 is 0.64 ms, 0 is 655 ms */
	uint32_t dlid;       /* 0: the one that the peer tells */
	uint32_t tos;        /* type of service, or TOS_DEFAULT: rdma_cm's */
	bool windows;        /* memory windows are bound on it */
};

/* The part of a path that is the point's; begins and accepts stay 0. */
struct connect_path connect_path_of(const struct point *p);

/*
 * Refuses what the device's port cannot do of a path, before anything is made. 0 or -errno (told,
 * FAIL_SETUP).
 */
int connect_check(const struct device *d, const struct connect_path *path);

/* RESET to INIT, after which receives may be posted. 0 or -errno (told, FAIL_SETUP). */
int connect_init(const struct queues *q, const struct device *d, const struct connect_path *path);

/* Fills what this side tells: numbers of the queue pairs and random first PSNs. */
void connect_describe(const struct queues *q, const struct device *d, struct endpoints *ours);

struct connection;

/* A way to connect. Functions return 0, or -errno told with FAIL_SETUP. */
struct connector {
	const char *name;
	/*
	 * Once the queue pairs are ready for what may arrive. Who asks has the peer's endpoints
	 * then; who is asked tells its own, which may get more by this, only afterwards.
	 */
	int (*begin)(struct connection *c);
	/* Takes what has made c->fd readable; NULL for one that has no descriptor. */
	int (*advance)(struct connection *c);
	/* Also after a begin() that failed. NULL: there is nothing to end. */
	void (*end)(struct connection *c);
};

/* By the value of --rdma-cm. */
extern const struct connector connectors[];

/* The connecting of one row on one side. */
struct connection {
	const struct connector *how;
	struct queues *queues;
	const struct device *device;
	struct endpoints *ours;
	const struct endpoints *theirs;
	struct connect_path path;
	struct ibv_ah_attr first; /* the address that the first queue pair was given */
	bool asks; /* the client's side; the other one is asked */
	const struct sockaddr_storage *local, *remote; /* ends of the control connection */
	int fd;            /* to be polled as long as the connection is there; -1: none */
	uint32_t standing; /* queue pairs that are connected */
	uint64_t steps;    /* taken on the way there */
	/*
	 * What the peer has done to one of them, and what to try: "rejected a queue pair: ..."; or
	 * empty. Mostly it has given up, and says itself why: that is better told.
	 */
	char lost[160];
	void *state;       /* the connector's own */
};

static inline bool connection_stands(const struct connection *c)
{
	return c->standing == c->queues->count;
}

/* NULL and connections that have not begun are nothing to end. */
void connection_end(struct connection *c);

/* ---- for connectors ---- */

/* What each way finds out by itself about the peer of a queue pair. */
struct connect_peer {
	struct ibv_ah_attr av;
	uint32_t qpn, rq_psn, sq_psn;
};

/* How to say in messages where they go, where the transport wants that. 0 or -errno (told). */
int connect_address(const struct connection *c, struct ibv_ah_attr *av);

/* INIT to RTS of one queue pair. 0 or -errno (told, FAIL_SETUP). */
int connect_pair(struct connection *c, uint32_t i, const struct connect_peer *peer);

/*
 * Reads the attributes back and compares them. What a device keeps differently fails; what it tells
 * differently of the address is said. 0 or -errno (told, FAIL_SETUP).
 */
int connect_verify(const struct connection *c);

/* connect_tcp.c: everything is in the endpoints, which the control connection carries. */
int connect_tcp_begin(struct connection *c);

/* connect_cm.c: librdmacm. */
int connect_cm_begin(struct connection *c);
int connect_cm_advance(struct connection *c);
void connect_cm_end(struct connection *c);

#endif
