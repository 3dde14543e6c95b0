/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Registered buffers, and what is in them. A buffer is slots of one message each, a stride apart.
 * Every slot has a pattern of its own; the receiving side resets its buffer to something else and
 * checks after the run that each slot holds what was sent there, and that nothing else was hit.
 */
#ifndef RDMETER_VERBS_MEMORY_H
#define RDMETER_VERBS_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct buffer {
	struct ibv_mr *mr;
	unsigned char *base; /* first slot; at the asked alignment and offset */
	size_t stride;       /* bytes from slot to slot */
	size_t size;         /* bytes of a message */
	uint32_t slots;
	size_t align, offset; /* where base lies */
	int access;
	void *mapping; /* what base lies in */
	size_t mapping_size;
};

struct buffer_shape {
	size_t size, stride;
	uint32_t slots;
	size_t align, offset;
	int access; /* IBV_ACCESS_* */
};

/*
 * Maps, touches and registers a buffer. b is to be given to buffer_free() on success. Returns 0
 * or -errno after having told why, with what to try, as FAIL_SETUP.
 */
int buffer_alloc(struct buffer *b, struct ibv_pd *pd, const struct buffer_shape *shape);
void buffer_free(struct buffer *b);

/*
 * Gives b another shape, zeroed, where what is registered has the room, the place and the access
 * for it; else leaves it alone and returns false.
 */
bool buffer_reuse(struct buffer *b, const struct buffer_shape *shape);

/* Fills every slot with its pattern, as the sender does. */
void buffer_fill(struct buffer *b);

/* Makes every byte differ from the pattern's, and the last of each slot 0. */
void buffer_reset(struct buffer *b);

/* Where the content of a buffer is wrong first. */
struct buffer_fault {
	uint64_t slots; /* wrong ones */
	uint32_t slot;
	size_t byte;
	unsigned char want, got;
};

/* What a run of slots is to hold. */
struct buffer_claim {
	uint32_t first, count; /* slots */
	uint64_t written; /* the first so many hold their pattern, the others are as reset */
	int marker;       /* the last byte of what is written, if not the pattern's; else -1 */
};

/*
 * Checks a claim. Returns the number of wrong slots, 0 when all is well; where there are some,
 * fault is the first of them, unless it has one already (fault->slots counts them).
 */
uint64_t buffer_check(const struct buffer *b, const struct buffer_claim *claim,
		      struct buffer_fault *fault);

#endif
