/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The receives that a thread's queue pairs share: their requests, and what has come to them. */
#ifndef RDMETER_SESSION_SHARED_H
#define RDMETER_SESSION_SHARED_H

#include "session/row.h"
#include "verbs/memory.h"

/* Builds a worker's for its lane; 0 or -ENOMEM. Does nothing for a row that shares none. */
int shared_build(struct row *r, struct worker *w);
void shared_free(struct worker *w);

/*
 * Messages of a bandwidth test may come to any place of the buffer, so that without --verify all
 * of them have the same content: whether that holds for the row.
 */
bool shared_anywhere(const struct row *r);

/* Fills all slots with it. */
void shared_fill(struct buffer *b);

/* Wrong slots of what has come to this side; fault as of buffer_check(). */
uint64_t shared_check(const struct row *r, struct buffer_fault *fault);

#endif
