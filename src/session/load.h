/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A row's resources -> the lane that its loop sees. */
#ifndef RDMETER_SESSION_LOAD_H
#define RDMETER_SESSION_LOAD_H

#include "session/row.h"

/*
 * Builds r->threads, each with its lane and loop, and sets r->lane, which stays NULL when this side
 * has nothing to do. The receives are not posted yet. 0, or -ENOMEM told.
 */
int load_build(struct row *r);

/* The same for what r->cycle says, on one queue pair or none. */
int load_build_local(struct row *r);
/*
 * Receives, linked in a ring, whose places are `slots` of the target's buffer from `first` on, in
 * turn. NULL when there is no memory.
 */
struct ibv_recv_wr *load_receives(const struct row *r, uint32_t count, uint32_t first,
				  uint32_t slots);

/* Datagrams: once the peer has an address here, every request names it. */
void load_address(struct row *r);

void load_free(struct row *r);

#endif
