/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bringing queue pairs from RESET to RTS towards the peer's, and proving that they are there. */
#ifndef RDMETER_VERBS_CONNECT_H
#define RDMETER_VERBS_CONNECT_H

#include <stdint.h>

#include <infiniband/verbs.h>

#include "verbs/device.h"
#include "verbs/queues.h"

/* What one side has to tell of its queue pairs; columns have one entry for each. */
struct endpoints {
	uint32_t count;
	uint32_t *qpn, *psn;
	uint64_t address; /* of the peer's buffer, for one-sided operations */
	uint32_t rkey;
	uint32_t lid;
	union ibv_gid gid;
};

/* Room for count queue pairs; to be given to endpoints_free(). 0 or -ENOMEM (told). */
int endpoints_alloc(struct endpoints *e, uint32_t count);
void endpoints_free(struct endpoints *e);

/* The attributes that either way of connecting gives (design section 4). */
enum {
	CONNECT_TIMEOUT = 14,       /* 4.096 us * 2^14 = 67 ms */
	CONNECT_RETRY = 6,          /* 7 is for ever on rxe */
	CONNECT_RNR_RETRY = 7,      /* for ever: the stall deadline bounds it */
	CONNECT_MIN_RNR_TIMER = 12, /* 0.64 ms; 0 would be 655 ms */
	CONNECT_HOP_LIMIT = 64,
};

/* RESET to INIT, after which receives may be posted. 0 or -errno (told, FAIL_SETUP). */
int connect_init(const struct queues *q, const struct device *d);

/* Fills what this side tells: numbers of the queue pairs and random first PSNs. */
void connect_describe(const struct queues *q, const struct device *d, struct endpoints *ours);

/* What differs from row to row. */
struct connect_path {
	uint32_t mtu;        /* bytes */
	uint32_t begins;     /* reads and atomics that this side may have outstanding */
	uint32_t accepts;    /* and that it answers */
};

/*
 * INIT to RTS over the exchanged endpoints; then the attributes are read back
 * and compared. 0 or -errno (told, FAIL_SETUP).
 */
int connect_tcp(const struct queues *q, const struct device *d, const struct endpoints *ours,
		const struct endpoints *theirs, const struct connect_path *path);

#endif
