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
	unsigned char *base; /* first slot; at the asked alignment and offset; NULL: no buffer */
	size_t stride;       /* bytes from slot to slot */
	size_t size;         /* bytes of a message */
	uint32_t header;     /* bytes of a slot before the message, which are anybody's */
	uint32_t slots;
	size_t align, offset; /* where base lies */
	int access, node;
	uint32_t memory; /* MEMORY_* */
	struct ibv_mr **mr; /* one, or one for each part of the slots */
	uint32_t regions;
	const struct memory_type *type;
	void (*copy)(void *to, const void *from, size_t n); /* the type's */
	void *mapping; /* what base lies in */
	size_t mapping_size;
	int dmabuf; /* its descriptor, or -1 */
	struct ibv_pd *pd;
};

struct buffer_shape {
	size_t size, stride;
	uint32_t header;
	uint32_t slots;
	uint32_t regions; /* memory regions, each of as many slots; 0: nothing is registered */
	size_t align, offset;
	int access;       /* IBV_ACCESS_* */
	uint32_t memory;  /* MEMORY_* */
	const char *path; /* of MEMORY_FILE; NULL: none was given on this side */
	int node;         /* where its pages are to be; -1: anywhere */
};

/*
 * Maps, touches and registers a buffer. b is to be given to buffer_free() on success. Returns 0
 * or -errno after having told why, with what to try, as FAIL_SETUP.
 */
int buffer_alloc(struct buffer *b, struct ibv_pd *pd, const struct buffer_shape *shape);
void buffer_free(struct buffer *b);

/*
 * Registers one slot of a buffer that is only mapped, as its regions would be. NULL: errno. What it
 * returns is to be given to ibv_dereg_mr() before the buffer goes.
 */
struct ibv_mr *buffer_register(struct buffer *b, uint32_t slot);

/* Says why that has failed. Returns -errno. */
int buffer_told_unregistered(const struct buffer *b, int error);

/*
 * Gives b another shape, zeroed, where what is registered has the room, the place and the access
 * for it; else leaves it alone and returns false.
 */
bool buffer_reuse(struct buffer *b, const struct buffer_shape *shape);

/* The memory region of a part of the buffer, as of a queue pair. */
static inline const struct ibv_mr *buffer_mr(const struct buffer *b, uint32_t part)
{
	return b->mr[b->regions == 1 ? 0 : part];
}

/* Where a slot's message is. */
static inline unsigned char *buffer_payload(const struct buffer *b, uint32_t slot)
{
	return b->base + slot * b->stride + b->header;
}

/* Whether the CPU can look into memory of that kind, so that a marker in it can be polled. */
bool memory_is_visible(uint32_t memory);

/* Fills every slot with its pattern, as the sender does. */
void buffer_fill(struct buffer *b);

/* Makes every byte differ from the pattern's, and the last of each slot 0. */
void buffer_reset(struct buffer *b);

/* Fills one slot with the content of a message, or as buffer_reset() does. */
void buffer_put(struct buffer *b, uint32_t slot, uint64_t number);
void buffer_wipe(struct buffer *b, uint32_t slot);

/* Where the content of a buffer is wrong first. */
struct buffer_fault {
	uint64_t slots; /* wrong ones */
	uint32_t slot;
	size_t byte;
	unsigned char want, got;
};

enum { MARKER_NONE = -1, MARKER_ANY = -2 }; /* as a last byte: the pattern's, whichever */
#define BUFFER_ANY UINT64_MAX /* as a message: the one that it says it is; of 16 bytes at least */

/* Whether a slot holds that message, with that last byte. */
bool buffer_holds(const struct buffer *b, uint32_t slot, uint64_t number, int last,
		  struct buffer_fault *fault);

/* What a run of slots is to hold. */
struct buffer_claim {
	uint32_t first, count; /* slots */
	uint64_t written; /* the first so many hold their pattern, the others are as reset... */
	uint64_t perhaps; /* ...but so many may hold it, or pieces of it, where messages are lost */
	size_t piece;     /* bytes that arrive together or not at all; 0: all of a message */
	bool shuffled;    /* a pattern may be that of any slot of the claim */
	int marker;       /* the last byte of what is written, if not the pattern's */
	uint32_t all;     /* with content of its own in each message: the slots of all; else 0 */
};

/*
 * Checks a claim. Returns the number of wrong slots, 0 when all is well; where there are some,
 * fault is the first of them, unless it has one already (fault->slots counts them).
 */
uint64_t buffer_check(const struct buffer *b, const struct buffer_claim *claim,
		      struct buffer_fault *fault);

#endif
