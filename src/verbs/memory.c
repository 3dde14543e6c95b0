/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "base/fail.h"
#include "cli/units.h"
#include "host/facts.h"

/* The most common cause first: a limit on locked memory is what containers and users have. */
static int told_unregistered(size_t size, int error)
{
	char want[UNITS_TEXT_SIZE], have[UNITS_TEXT_SIZE];
	struct rlimit limit;

	units_size(want, sizeof(want), size);
	if (error == ENOMEM && !getrlimit(RLIMIT_MEMLOCK, &limit) &&
	    limit.rlim_cur != RLIM_INFINITY) {
		units_size(have, sizeof(have), limit.rlim_cur);
		return fail(FAIL_SETUP, error,
			    "registering a buffer of %s: %s; the limit of locked memory is %s: "
			    "raise it with ulimit -l, or lower --size", want, strerror(error),
			    have);
	}
	return fail(FAIL_SETUP, error, "registering a buffer of %s: %s; lower --size", want,
		    strerror(error));
}

int buffer_alloc(struct buffer *b, struct ibv_pd *pd, const struct buffer_shape *shape)
{
	size_t length = shape->stride * shape->slots;
	uintptr_t start;

	*b = (struct buffer){
		.stride = shape->stride, .size = shape->size, .slots = shape->slots,
		.align = shape->align, .offset = shape->offset, .access = shape->access,
		.mapping_size = length + shape->align + shape->offset,
	};
	if (b->mapping_size > facts_available_memory() / 2) {
		char want[UNITS_TEXT_SIZE], have[UNITS_TEXT_SIZE];

		units_size(want, sizeof(want), length);
		units_size(have, sizeof(have), facts_available_memory() >> 20 << 20);
		*b = (struct buffer){ 0 };
		return fail(FAIL_SETUP, ENOMEM, "a buffer of %s would take more than half of the "
			    "memory that is available (%s); lower --size or --qp", want, have);
	}
	b->mapping = mmap(NULL, b->mapping_size, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	if (b->mapping == MAP_FAILED) {
		int error = errno;

		*b = (struct buffer){ 0 };
		return fail(FAIL_SETUP, error, "allocating %zu bytes: %s; lower --size",
			    length, strerror(error));
	}
	start = ((uintptr_t)b->mapping + shape->align - 1) / shape->align * shape->align;
	b->base = (unsigned char *)start + shape->offset;
	b->mr = ibv_reg_mr(pd, b->base, length, shape->access);
	if (!b->mr) {
		int error = errno;

		buffer_free(b);
		return told_unregistered(length, error);
	}
	return 0;
}

bool buffer_reuse(struct buffer *b, const struct buffer_shape *shape)
{
	size_t length = shape->stride * shape->slots;

	if (!b->mr || b->mr->length < length || b->align != shape->align ||
	    b->offset != shape->offset || b->access != shape->access)
		return false;
	b->stride = shape->stride;
	b->size = shape->size;
	b->slots = shape->slots;
	memset(b->base, 0, length);
	return true;
}

void buffer_free(struct buffer *b)
{
	if (b->mr && ibv_dereg_mr(b->mr))
		note("deregistering a buffer: %s", strerror(errno));
	if (b->mapping)
		munmap(b->mapping, b->mapping_size);
	*b = (struct buffer){ 0 };
}

/* The finalizer of splitmix64: eight bytes that differ with the slot and the place in it. */
static uint64_t pattern_word(uint32_t slot, size_t word)
{
	uint64_t z = ((uint64_t)slot << 40) + word + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

static void put_pattern(unsigned char *at, size_t size, uint32_t slot, uint64_t flip)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = pattern_word(slot, i / 8) ^ flip;

		memcpy(at + i, &word, size - i < 8 ? size - i : 8);
	}
}

void buffer_fill(struct buffer *b)
{
	for (uint32_t slot = 0; slot < b->slots; slot++)
		put_pattern(b->base + slot * b->stride, b->size, slot, 0);
}

void buffer_reset(struct buffer *b)
{
	for (uint32_t slot = 0; slot < b->slots; slot++) {
		put_pattern(b->base + slot * b->stride, b->size, slot, UINT64_MAX);
		b->base[slot * b->stride + b->size - 1] = 0;
	}
}

/* How many bytes, whole words of those before the last, are the pattern's: most of a slot. */
static size_t same_words(const unsigned char *at, size_t size, uint32_t slot, uint64_t flip)
{
	size_t i = 0;

	for (; i + 8 < size; i += 8) {
		uint64_t want = pattern_word(slot, i / 8) ^ flip;

		if (memcmp(at + i, &want, sizeof(want)))
			break;
	}
	return i;
}

static bool slot_differs(const struct buffer *b, uint32_t slot, bool written, int marker,
			 struct buffer_fault *fault)
{
	const unsigned char *at = b->base + slot * b->stride;
	uint64_t flip = written ? 0 : UINT64_MAX;
	int last = written ? marker : 0;

	for (size_t i = same_words(at, b->size, slot, flip); i < b->stride; i++) {
		uint64_t word = pattern_word(slot, i / 8) ^ flip;
		unsigned char want = ((unsigned char *)&word)[i % 8];

		if (i == b->size - 1 && last >= 0)
			want = (unsigned char)last;
		else if (i >= b->size)
			want = 0; /* nothing is ever put between slots */
		if (at[i] == want)
			continue;
		*fault = (struct buffer_fault){
			.slot = slot, .byte = i, .want = want, .got = at[i],
		};
		return true;
	}
	return false;
}

uint64_t buffer_check(const struct buffer *b, const struct buffer_claim *claim,
		      struct buffer_fault *fault)
{
	uint64_t wrong = 0, before = fault->slots;

	for (uint32_t i = 0; i < claim->count; i++) {
		struct buffer_fault here;

		if (slot_differs(b, claim->first + i, i < claim->written, claim->marker, &here) &&
		    !wrong++ && !before)
			*fault = here;
	}
	fault->slots = before + wrong;
	return wrong;
}
