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
#define TELLING 16 /* so many bytes tell which message they are of, its last one left out */

static unsigned char *slot_at(const struct buffer *b, uint32_t slot)
{
	return buffer_payload(b, slot);
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
	int last; /* or MARKER_NONE: the pattern's, MARKER_ANY */
};

static bool part_differs(const struct buffer *b, const unsigned char *got, size_t from, size_t n,
			 const struct wanted *w, struct buffer_fault *fault)
{
	unsigned char want[CHUNK];

	memset(want, 0, sizeof(want)); /* nothing is ever put between slots */
	if (from < b->size) {
		size_t filled = b->size - from < n ? b->size - from : n;

		make_part(want, from, filled, w->number, w->flip);
		if (from + filled == b->size && w->last != MARKER_NONE)
			want[filled - 1] = w->last == MARKER_ANY ? got[filled - 1] :
								   (unsigned char)w->last;
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

/* A piece of a slot, which begins at a word. */
struct piece {
	uint32_t slot;
	size_t from, to;
};

static bool piece_differs(const struct buffer *b, const struct piece *p, const struct wanted *w,
			  struct buffer_fault *fault)
{
	unsigned char part[CHUNK];

	*fault = (struct buffer_fault){ .slot = p->slot };
	for (size_t done = p->from; done < p->to; done += CHUNK) {
		size_t n = p->to - done < CHUNK ? p->to - done : CHUNK;

		b->copy(part, slot_at(b, p->slot) + done, n);
		if (part_differs(b, part, done, n, w, fault))
			return true;
	}
	return false;
}

/* Which message a piece is of, by what it begins with. */
static bool find_number(const struct buffer *b, const struct piece *p, uint64_t *number)
{
	uint64_t word;

	if (p->to - p->from < TELLING || p->from + TELLING > b->size)
		return false;
	b->copy((unsigned char *)&word, slot_at(b, p->slot) + p->from, sizeof(word));
	return pattern_number(word, p->from / 8, number);
}

bool buffer_holds(const struct buffer *b, uint32_t slot, uint64_t number, int last,
		  struct buffer_fault *fault)
{
	struct piece all = { .slot = slot, .to = b->stride - b->header };
	struct wanted w = { .number = number, .last = last };

	if (number == BUFFER_ANY && !find_number(b, &all, &w.number))
		w.number = slot; /* to be shown as what it is not */
	return !piece_differs(b, &all, &w, fault);
}

/* A piece of a message that is one of several, but too short to tell which. */
static bool is_of_another(const struct buffer *b, const struct buffer_claim *claim,
			  const struct piece *p, struct wanted w)
{
	struct buffer_fault here;

	if (p->from >= b->size || b->size - p->from >= TELLING)
		return false;
	if (claim->all)
		return true;
	for (uint32_t i = 0; claim->shuffled && i < claim->count; i++) {
		w.number = claim->first + i;
		if (!piece_differs(b, p, &w, &here))
			return true;
	}
	return false;
}

static bool may_hold(const struct buffer_claim *claim, uint32_t slot, uint64_t number)
{
	return claim->all || number == slot ||
	       (claim->shuffled && number - claim->first < claim->count);
}

/* Whether it is nothing that the claim allows; fault: how it differs from the likeliest. */
static bool piece_is_wrong(const struct buffer *b, const struct buffer_claim *claim,
			   const struct piece *p, struct buffer_fault *fault)
{
	uint32_t i = p->slot - claim->first;
	bool must = i < claim->written, may = must || i < claim->perhaps;
	struct wanted reset = { .number = p->slot, .flip = UINT64_MAX, .last = 0 };
	struct wanted w = { .number = p->slot, .last = claim->marker };
	struct buffer_fault other;
	uint64_t number;

	if (!may)
		return piece_differs(b, p, &reset, fault);
	if (must)
		w.number += (claim->written - 1 - i) / claim->count * claim->all;
	if (claim->perhaps && find_number(b, p, &number) && may_hold(claim, p->slot, number))
		w.number = number;
	if (!piece_differs(b, p, &w, fault))
		return false;
	if (claim->perhaps && is_of_another(b, claim, p, w))
		return false;
	return must || piece_differs(b, p, &reset, &other);
}

static bool slot_is_wrong(const struct buffer *b, const struct buffer_claim *claim, uint32_t slot,
			  struct buffer_fault *fault)
{
	size_t end = b->stride - b->header, piece = claim->piece ? claim->piece : end;

	for (size_t from = 0; from < end; from += piece) {
		struct piece p = {
			.slot = slot, .from = from, .to = from + piece < end ? from + piece : end,
		};

		if (piece_is_wrong(b, claim, &p, fault))
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

		if (slot_is_wrong(b, claim, claim->first + i, &here) && !wrong++ && !before)
			*fault = here;
	}
	fault->slots = before + wrong;
	return wrong;
}
