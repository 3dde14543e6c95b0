/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is in buffers. Memory may be out of the CPU's reach, so that a slot is made up and looked
 * at in a copy, which the memory's type moves.
 */
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "verbs/memory.h"

#define CHUNK 4096 /* bytes that are moved at once; a multiple of a word */

static unsigned char *slot_at(const struct buffer *b, uint32_t slot)
{
	return b->base + slot * b->stride;
}

/* A part of a slot as it is to be: its pattern or, if it is not to be written, that flipped. */
static void make_part(unsigned char *out, size_t from, size_t n, uint64_t number, uint64_t flip)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t word = pattern_word(number, (from + i) / 8) ^ flip;

		memcpy(out + i, &word, n - i < 8 ? n - i : 8);
	}
}

static void put_slot(struct buffer *b, uint32_t slot, uint64_t number, uint64_t flip)
{
	unsigned char part[CHUNK];

	for (size_t done = 0; done < b->size; done += CHUNK) {
		size_t n = b->size - done < CHUNK ? b->size - done : CHUNK;

		make_part(part, done, n, number, flip);
		if (flip && done + n == b->size)
			part[n - 1] = 0; /* no marker */
		b->copy(slot_at(b, slot) + done, part, n);
	}
}

void buffer_put(struct buffer *b, uint32_t slot, uint64_t number)
{
	put_slot(b, slot, number, 0);
}

void buffer_wipe(struct buffer *b, uint32_t slot)
{
	put_slot(b, slot, slot, UINT64_MAX);
}

void buffer_fill(struct buffer *b)
{
	for (uint32_t slot = 0; slot < b->slots; slot++)
		put_slot(b, slot, slot, 0);
}

void buffer_reset(struct buffer *b)
{
	for (uint32_t slot = 0; slot < b->slots; slot++)
		buffer_wipe(b, slot);
}

/* What a slot is to hold: its message's pattern or its own reset, a last byte, and then zeros. */
struct wanted {
	uint64_t number, flip;
	int last; /* -1: the pattern's */
};

static bool part_differs(const struct buffer *b, const unsigned char *got, size_t from, size_t n,
			 const struct wanted *w, struct buffer_fault *fault)
{
	unsigned char want[CHUNK];

	memset(want, 0, sizeof(want)); /* nothing is ever put between slots */
	if (from < b->size) {
		size_t filled = b->size - from < n ? b->size - from : n;

		make_part(want, from, filled, w->number, w->flip);
		if (from + filled == b->size && w->last >= 0)
			want[filled - 1] = (unsigned char)w->last;
	}
	if (!memcmp(want, got, n))
		return false;
	for (size_t i = 0; i < n; i++)
		if (want[i] != got[i]) {
			fault->byte = from + i;
			fault->want = want[i];
			fault->got = got[i];
			return true;
		}
	return false;
}

static bool slot_differs(const struct buffer *b, uint32_t slot, const struct wanted *w,
			 struct buffer_fault *fault)
{
	unsigned char part[CHUNK];

	*fault = (struct buffer_fault){ .slot = slot };
	for (size_t done = 0; done < b->stride; done += CHUNK) {
		size_t n = b->stride - done < CHUNK ? b->stride - done : CHUNK;

		b->copy(part, slot_at(b, slot) + done, n);
		if (part_differs(b, part, done, n, w, fault))
			return true;
	}
	return false;
}

bool buffer_holds(const struct buffer *b, uint32_t slot, uint64_t number, int last,
		  struct buffer_fault *fault)
{
	struct wanted w = { .number = number, .last = last };

	return !slot_differs(b, slot, &w, fault);
}

uint64_t buffer_check(const struct buffer *b, const struct buffer_claim *claim,
		      struct buffer_fault *fault)
{
	uint64_t wrong = 0, before = fault->slots;

	for (uint32_t i = 0; i < claim->count; i++) {
		bool written = i < claim->written;
		struct wanted w = {
			.number = claim->first + i, .flip = written ? 0 : UINT64_MAX,
			.last = written ? claim->marker : 0,
		};
		struct buffer_fault here;

		if (written)
			w.number += (claim->written - 1 - i) / claim->count * claim->all;
		if (slot_differs(b, claim->first + i, &w, &here) && !wrong++ && !before)
			*fault = here;
	}
	fault->slots = before + wrong;
	return wrong;
}
