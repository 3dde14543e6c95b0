/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a session keeps of a row for the next one, so that a row of a sweep costs little beyond its
 * own window: buffers, and queue pairs that could be connected no differently.
 *
 * Queue pairs are gone on with when both sides can: the client asks (POINT, keep), the server says
 * whether (ACCEPT, kept), and a side that cannot makes new ones, which the other then does too.
 * They are never brought back to RESET. Those of an operation that consumes receives are not kept,
 * since the receives that are left in them describe the last row's buffer; nor are those that
 * rdma_cm connects, since their connection ends with the row, and those of an unreliable transport,
 * on which a message may come late.
 */
#ifndef RDMETER_SESSION_KEEP_H
#define RDMETER_SESSION_KEEP_H

#include <stdbool.h>

#include "verbs/connect.h"
#include "verbs/memory.h"
#include "verbs/queues.h"

struct kept {
	struct buffer local, target; /* without a region: none */
	struct queues queues;        /* connected and idle; none: count is 0 */
	struct queues_shape shape;   /* what they were made for */
	struct connect_path path;
};

/*
 * A buffer of that shape: the kept one where it will do, else a new one after the kept one is
 * gone. 0, or -errno told.
 */
int keep_take_buffer(struct buffer *kept, struct buffer *b, struct ibv_pd *pd,
		     const struct buffer_shape *shape);

/* Keeps b; a row that needs no such buffer leaves the one that there is for a later one. */
void keep_buffer(struct buffer *kept, struct buffer *b);

/*
 * Moves the kept queue pairs to q if they are what a row needs, nothing is left in their
 * completion queues, and they are wanted; else destroys them and returns false.
 */
bool keep_take_queues(struct kept *k, struct queues *q, const struct queues_shape *shape,
		      const struct connect_path *path, bool wanted);

void keep_free(struct kept *k);

#endif
