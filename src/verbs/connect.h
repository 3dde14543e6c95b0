/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bringing queue pairs from RESET to RTS towards the peer's, and proving that they are there. */
#ifndef RDMETER_VERBS_CONNECT_H
#define RDMETER_VERBS_CONNECT_H

#include <stdint.h>

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

/*
 * INIT to RTS over the exchanged endpoints; then the attributes are read back and compared. What a
 * device keeps differently fails; what it tells differently of the address is said. 0 or -errno
 * (told, FAIL_SETUP).
 */
int connect_tcp(const struct queues *q, const struct device *d, const struct endpoints *ours,
		const struct endpoints *theirs, const struct connect_path *path);

#endif
