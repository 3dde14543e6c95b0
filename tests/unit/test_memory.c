/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What is in buffers, without a device: struct buffer is set up by hand on plain memory. The
 * pattern's first words were worked out by python3 with splitmix64 as published: its state after
 * one step from (slot << 40) + word, finalized.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/pattern.h"
#include "verbs/memory.h"

#include <cmocka.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))
#define NO_MARKER (-1)

static uint64_t copied; /* bytes */

/* As memory that the CPU does not see would be reached: nothing else touches it. */
static void copy(void *to, const void *from, size_t n)
{
	memcpy(to, from, n);
	copied += n;
}

static struct buffer make(size_t size, size_t stride, uint32_t slots)
{
	struct buffer b = { .size = size, .stride = stride, .slots = slots, .copy = copy };

	b.base = malloc(stride * slots);
	assert_non_null(b.base);
	memset(b.base, 0, stride * slots);
	return b;
}

/* As if the messages of src had arrived in those slots. */
static void arrive(struct buffer *into, const struct buffer *from, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++)
		memcpy(into->base + i * into->stride, from->base + i * from->stride, from->size);
}

static uint64_t check(const struct buffer *b, uint32_t first, uint32_t count, uint64_t written,
		      int marker, struct buffer_fault *fault)
{
	struct buffer_claim claim = {
		.first = first, .count = count, .written = written, .marker = marker,
	};

	*fault = (struct buffer_fault){ 0 };
	return buffer_check(b, &claim, fault);
}

static void known_pattern(void **state)
{
	static const uint64_t words[2][2] = {
		{ 0xe220a8397b1dcdaf, 0x910a2dec89025cc1 },
		{ 0x1fdd7128f310c389, 0x6d65027660c4cdc5 },
	};
	struct buffer b = make(16, 64, 2);
	uint64_t got;

	(void)state;
	buffer_fill(&b);
	for (size_t slot = 0; slot < 2; slot++) {
		for (size_t i = 0; i < 2; i++) {
			memcpy(&got, b.base + slot * 64 + i * 8, 8);
			assert_true(got == words[slot][i]);
		}
	}
	buffer_reset(&b);
	memcpy(&got, b.base + 64, 8);
	assert_true(got == ~words[1][0]);
	memcpy(&got, b.base + 64 + 8, 8);
	assert_true(got == (~words[1][1] & 0x00ffffffffffffff)); /* the last byte is 0 */
	free(b.base);
}

static void nowhere(void *to, const void *from, size_t n)
{
	(void)to;
	(void)from;
	copied += n;
}

/* Nothing but the type's copy reaches the memory: a device's may be out of the CPU's reach. */
static void only_by_copy(void **state)
{
	struct buffer b = make(5000, 5056, 3);
	struct buffer_fault fault;

	(void)state;
	b.copy = nowhere;
	copied = 0;
	buffer_fill(&b);
	assert_int_equal(copied, 3 * 5000);
	for (size_t i = 0; i < 3 * 5056; i++)
		assert_int_equal(b.base[i], 0);
	b.copy = copy;
	buffer_fill(&b);
	copied = 0;
	assert_int_equal(check(&b, 0, 3, 3, NO_MARKER, &fault), 0);
	assert_int_equal(copied, 3 * 5056);
	free(b.base);
}

/* Messages 0 to 6 through three places: the last ones there are 6, 4 and 5. */
static void rounds(void **state)
{
	struct buffer b = make(100, 128, 6), one = make(100, 128, 1);
	struct buffer_claim claim = {
		.first = 3, .count = 3, .written = 7, .marker = NO_MARKER, .all = 6,
	};
	struct buffer_fault fault = { 0 };

	(void)state;
	buffer_reset(&b);
	for (uint32_t n = 0; n < 7; n++)
		buffer_put(&b, 3 + n % 3, 3 + n % 3 + n / 3 * 6);
	assert_int_equal(buffer_check(&b, &claim, &fault), 0);
	assert_true(buffer_holds(&b, 3, 15, NO_MARKER, &fault)); /* 3 + 2 x 6 */
	assert_true(buffer_holds(&b, 4, 10, NO_MARKER, &fault));
	assert_false(buffer_holds(&b, 4, 4, NO_MARKER, &fault));
	assert_int_equal(fault.byte, 0);
	buffer_put(&b, 4, 4); /* as if message 4 had not come */
	fault = (struct buffer_fault){ 0 };
	assert_int_equal(buffer_check(&b, &claim, &fault), 1);
	assert_int_equal(fault.slot, 4);
	claim.written = 2; /* the first round only */
	buffer_put(&b, 3, 3);
	buffer_wipe(&b, 5);
	fault = (struct buffer_fault){ 0 };
	assert_int_equal(buffer_check(&b, &claim, &fault), 0);
	b.base[5 * 128 - 28] = 1; /* behind the message in slot 4 */
	assert_false(buffer_holds(&b, 4, 4, NO_MARKER, &fault));
	assert_int_equal(fault.byte, 100);
	buffer_put(&one, 0, 0);
	one.base[99] = 7;
	assert_true(buffer_holds(&one, 0, 0, 7, &fault));
	assert_false(buffer_holds(&one, 0, 0, 8, &fault));
	free(b.base);
	free(one.base);
}

/* No two slots hold the same, or a message in a wrong slot would pass. */
static void slots_differ(void **state)
{
	struct buffer b = make(8, 8, 1024);

	(void)state;
	buffer_fill(&b);
	for (uint32_t i = 0; i < b.slots; i++)
		for (uint32_t j = 0; j < i; j++)
			assert_memory_not_equal(b.base + i * 8, b.base + j * 8, 8);
	free(b.base);
}

/* What lies between slots stays as it was, of any size. */
static void check_gaps(const struct buffer *b)
{
	for (uint32_t slot = 0; slot < b->slots; slot++)
		for (size_t i = b->size; i < b->stride; i++)
			assert_int_equal(b->base[slot * b->stride + i], 0);
}

/* All slots written, some of them, none; of any size, words broken off included. */
static void right_content_passes(void **state)
{
	static const size_t sizes[] = { 1, 2, 7, 8, 9, 63, 64, 65, 1000, 4097 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		size_t stride = (sizes[i] + 63) / 64 * 64;
		struct buffer from = make(sizes[i], stride, 5), into = make(sizes[i], stride, 5);
		struct buffer_fault fault;

		buffer_fill(&from);
		check_gaps(&from);
		for (uint32_t written = 0; written <= 5; written++) {
			buffer_reset(&into);
			check_gaps(&into);
			arrive(&into, &from, 0, written);
			if (check(&into, 0, 5, written, NO_MARKER, &fault))
				fail_msg("size %zu, %u written: slot %u byte %zu", sizes[i],
					 written, fault.slot, fault.byte);
			assert_int_equal(fault.slots, 0);
		}
		/* More messages than slots: they went round. */
		assert_int_equal(check(&into, 0, 5, UINT64_C(1) << 40, NO_MARKER, &fault), 0);
		free(from.base);
		free(into.base);
	}
}

/* Flips one bit at a time, of each byte of each slot, whether that is written or as reset. */
static void check_each_byte(struct buffer *b, uint32_t written)
{
	for (uint32_t slot = 0; slot < b->slots; slot++) {
		for (size_t byte = 0; byte < b->size; byte++) {
			unsigned char *at = b->base + slot * b->stride + byte, was = *at;
			struct buffer_fault fault;

			*at ^= (unsigned char)(1 << (byte % 8));
			assert_int_equal(check(b, 0, b->slots, written, NO_MARKER, &fault), 1);
			assert_int_equal(fault.slots, 1);
			assert_int_equal(fault.slot, slot);
			assert_int_equal(fault.byte, byte);
			assert_int_equal(fault.want, was);
			assert_int_equal(fault.got, *at);
			*at = was;
		}
	}
}

static void each_wrong_byte_is_found(void **state)
{
	static const size_t sizes[] = { 1, 8, 13, 65 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct buffer from = make(sizes[i], 128, 3), into = make(sizes[i], 128, 3);

		buffer_fill(&from);
		for (uint32_t written = 0; written <= 3; written++) {
			buffer_reset(&into);
			arrive(&into, &from, 0, written);
			check_each_byte(&into, written);
		}
		free(from.base);
		free(into.base);
	}
}

/* A message that was counted and did not come, and one that came and was not counted. */
static void missing_and_stray_messages(void **state)
{
	struct buffer from = make(64, 64, 4), into = make(64, 64, 4);
	struct buffer_fault fault;

	(void)state;
	buffer_fill(&from);
	buffer_reset(&into);
	arrive(&into, &from, 0, 2);
	assert_int_equal(check(&into, 0, 4, 3, NO_MARKER, &fault), 1);
	assert_int_equal(fault.slot, 2);
	assert_int_equal(fault.byte, 0);
	assert_int_equal(fault.want, from.base[2 * 64]);
	assert_int_equal(fault.got, (unsigned char)~from.base[2 * 64]);
	assert_int_equal(check(&into, 0, 4, 1, NO_MARKER, &fault), 1);
	assert_int_equal(fault.slot, 1);
	assert_int_equal(fault.got, from.base[64]);
	/* In the wrong slot: one is missing, one is hit. */
	memcpy(into.base + 3 * 64, from.base + 2 * 64, 64);
	assert_int_equal(check(&into, 0, 4, 3, NO_MARKER, &fault), 2);
	assert_int_equal(fault.slot, 2);
	assert_int_equal(check(&into, 0, 4, 4, NO_MARKER, &fault), 2);
	free(from.base);
	free(into.base);
}

/* A write's last byte counts up, and what was never written still ends in 0. */
static void markers(void **state)
{
	struct buffer from = make(8, 64, 2), into = make(8, 64, 2);
	struct buffer_fault fault;

	(void)state;
	buffer_fill(&from);
	buffer_reset(&into);
	arrive(&into, &from, 0, 1);
	into.base[7] = 200;
	assert_int_equal(check(&into, 0, 2, 1, 200, &fault), 0);
	assert_int_equal(check(&into, 0, 2, 1, 201, &fault), 1);
	assert_int_equal(fault.slot, 0);
	assert_int_equal(fault.byte, 7);
	assert_int_equal(fault.want, 201);
	assert_int_equal(fault.got, 200);
	assert_int_equal(check(&into, 0, 2, 1, NO_MARKER, &fault), 1);
	assert_int_equal(fault.want, from.base[7]);
	into.base[6] ^= 1;
	assert_int_equal(check(&into, 0, 2, 1, 200, &fault), 1);
	assert_int_equal(fault.byte, 6);
	into.base[6] ^= 1;
	into.base[64 + 7] = 200; /* a marker where nothing was written */
	assert_int_equal(check(&into, 0, 2, 1, 200, &fault), 1);
	assert_int_equal(fault.slot, 1);
	assert_int_equal(fault.want, 0);
	free(from.base);
	free(into.base);
	/* Of one byte there is nothing but the marker. */
	into = make(1, 64, 1);
	buffer_reset(&into);
	assert_int_equal(into.base[0], 0);
	assert_int_equal(check(&into, 0, 1, 0, 5, &fault), 0);
	assert_int_equal(check(&into, 0, 1, 1, 5, &fault), 1);
	into.base[0] = 5;
	assert_int_equal(check(&into, 0, 1, 9, 5, &fault), 0);
	free(into.base);
}

/* Three queue pairs with four slots each, 2, 0 and 4 of them written: each claim sees its own. */
static void several_regions(void **state)
{
	static const uint64_t written[3] = { 2, 0, 1000 };
	struct buffer from = make(100, 128, 12), into = make(100, 128, 12);
	struct buffer_fault fault;

	(void)state;
	buffer_fill(&from);
	buffer_reset(&into);
	arrive(&into, &from, 0, 2);
	arrive(&into, &from, 8, 4);
	for (uint32_t qp = 0; qp < 3; qp++)
		assert_int_equal(check(&into, qp * 4, 4, written[qp], NO_MARKER, &fault), 0);
	into.base[4 * 128 + 50] ^= 0x80;
	into.base[11 * 128 + 99] ^= 0x80;
	assert_int_equal(check(&into, 0, 4, 2, NO_MARKER, &fault), 0);
	assert_int_equal(check(&into, 4, 4, 0, NO_MARKER, &fault), 1);
	assert_int_equal(fault.slot, 4); /* of the buffer, not of the region */
	assert_int_equal(fault.byte, 50);
	assert_int_equal(check(&into, 8, 4, 4, NO_MARKER, &fault), 1);
	assert_int_equal(fault.slot, 11);
	assert_int_equal(fault.byte, 99);
	free(from.base);
	free(into.base);
}

/* Of several wrong slots, over several claims, the first is told and all are counted. */
static void the_first_fault_stays(void **state)
{
	struct buffer_claim claim = { .first = 0, .count = 4, .marker = NO_MARKER };
	struct buffer_fault fault = { 0 };
	struct buffer b = make(32, 64, 8);

	(void)state;
	buffer_reset(&b);
	b.base[1 * 64 + 9] ^= 1;
	b.base[1 * 64 + 20] ^= 1;
	b.base[3 * 64 + 0] ^= 1;
	b.base[5 * 64 + 3] ^= 1;
	assert_int_equal(buffer_check(&b, &claim, &fault), 2);
	assert_int_equal(fault.slots, 2);
	claim.first = 4;
	assert_int_equal(buffer_check(&b, &claim, &fault), 1);
	assert_int_equal(fault.slots, 3);
	assert_int_equal(fault.slot, 1);
	assert_int_equal(fault.byte, 9);
	claim.first = 6;
	claim.count = 2;
	assert_int_equal(buffer_check(&b, &claim, &fault), 0);
	assert_int_equal(fault.slots, 3);
	assert_int_equal(fault.slot, 1);
	free(b.base);
}

/* Nothing is ever put between two slots, so whatever is there has strayed. */
static void gaps_are_watched(void **state)
{
	struct buffer_claim claim = { .first = 0, .count = 4, .written = 4, .marker = NO_MARKER };
	struct buffer_fault fault = { 0 };
	struct buffer b = make(40, 64, 4);

	(void)state;
	buffer_fill(&b);
	assert_int_equal(buffer_check(&b, &claim, &fault), 0);
	b.base[2 * 64 + 63] = 7;
	assert_int_equal(buffer_check(&b, &claim, &fault), 1);
	assert_int_equal(fault.slot, 2);
	assert_int_equal(fault.byte, 63);
	assert_int_equal(fault.want, 0);
	assert_int_equal(fault.got, 7);
	free(b.base);
}

/* 4 KiB registered at alignment 4096, offset 8, to be written by the peer. */
static void reuse(void **state)
{
	static const struct buffer_shape fits = {
		.size = 60, .stride = 64, .slots = 64, .align = 4096, .offset = 8, .access = 3,
		.regions = 1,
	};
	struct buffer_shape other[] = { fits, fits, fits, fits, fits, fits, fits };
	struct ibv_mr mr = { .length = 4096 }, *mrs = &mr;
	struct buffer b = make(4096, 4096, 1), none = { 0 };

	(void)state;
	b.mr = &mrs;
	b.regions = 1;
	b.align = 4096;
	b.offset = 8;
	b.access = 3;
	memset(b.base, 0xff, 4096);
	other[0].slots = 65;
	other[1].align = 2048;
	other[2].offset = 0;
	other[3].access = 1;
	other[4].memory = 4; /* shm */
	other[5].regions = 2;
	other[6].node = 1;
	for (size_t i = 0; i < COUNT_OF(other); i++)
		assert_false(buffer_reuse(&b, &other[i]));
	assert_int_equal(b.size, 4096);
	assert_int_equal(b.base[0], 0xff);
	assert_true(buffer_reuse(&b, &fits));
	assert_int_equal(b.size, 60);
	assert_int_equal(b.stride, 64);
	assert_int_equal(b.slots, 64);
	for (size_t i = 0; i < 4096; i++)
		assert_int_equal(b.base[i], 0);
	assert_false(buffer_reuse(&none, &fits));
	free(b.base);
}

static uint64_t check_lossy(const struct buffer *b, struct buffer_claim claim)
{
	struct buffer_fault fault = { 0 };

	claim.count = b->slots;
	return buffer_check(b, &claim, &fault);
}

/* Messages of a target's slots may have come, in pieces or not at all; further slots not. */
static void perhaps_there(void **state)
{
	struct buffer_claim claim = { .perhaps = 2, .piece = 256, .marker = MARKER_NONE };
	struct buffer from = make(600, 640, 3), b = make(600, 640, 3);

	(void)state;
	buffer_fill(&from);
	buffer_reset(&b);
	assert_int_equal(check_lossy(&b, claim), 0);
	arrive(&b, &from, 0, 1);
	assert_int_equal(check_lossy(&b, claim), 0);
	memcpy(b.base + 640 + 256, from.base + 640 + 256, 256); /* the middle of three packets */
	assert_int_equal(check_lossy(&b, claim), 0);
	b.base[640 + 300] ^= 1;
	assert_int_equal(check_lossy(&b, claim), 1);
	b.base[640 + 300] ^= 1;
	b.base[640 + 255] = from.base[640 + 255]; /* no packet has a single byte of it */
	assert_int_equal(check_lossy(&b, claim), 1);
	memcpy(b.base + 640, from.base + 640, 256);
	assert_int_equal(check_lossy(&b, claim), 0);
	claim.written = 2; /* as nothing is lost, all of it has to be there */
	assert_int_equal(check_lossy(&b, claim), 1);
	claim.written = 0;
	arrive(&b, &from, 2, 1);
	assert_int_equal(check_lossy(&b, claim), 1);
	free(from.base);
	free(b.base);
}

/* Receives are filled in turn, by whichever messages came; each by a whole one. */
static void shuffled(void **state)
{
	struct buffer_claim claim = {
		.written = 2, .perhaps = 2, .piece = 256, .shuffled = true, .marker = MARKER_NONE,
	};
	struct buffer from = make(100, 128, 4), b = make(100, 128, 4);

	(void)state;
	buffer_fill(&from);
	buffer_reset(&b);
	memcpy(b.base, from.base + 3 * 128, 100);
	assert_int_equal(check_lossy(&b, claim), 1); /* the second is missing */
	memcpy(b.base + 128, from.base + 128, 100);
	assert_int_equal(check_lossy(&b, claim), 0);
	memcpy(b.base + 128 + 50, from.base + 50, 50); /* two halves of different messages */
	assert_int_equal(check_lossy(&b, claim), 1);
	claim.shuffled = false;
	assert_int_equal(check_lossy(&b, claim), 2);
	free(from.base);
	free(b.base);
}

/* What lies before a message is anybody's, and the last byte of a ping-pong's is any number. */
/* A message says itself which it is, at any word of it, and nothing else is one. */
static void numbers(void **state)
{
	static const uint64_t known[] = { 0, 1, 77, 65535, (1 << 24) - 1 };
	struct buffer b = make(16, 64, 2);
	struct buffer_fault fault;
	uint64_t number = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		assert_true(pattern_number(pattern_word(known[i], 3), 3, &number));
		assert_int_equal(number, known[i]);
		assert_false(pattern_number(pattern_word(known[i], 3), 4, &number));
		assert_false(pattern_number(~pattern_word(known[i], 3), 3, &number));
		buffer_put(&b, 1, known[i]);
		assert_true(buffer_holds(&b, 1, BUFFER_ANY, MARKER_NONE, &fault));
		b.base[64 + 13] ^= 4;
		assert_false(buffer_holds(&b, 1, BUFFER_ANY, MARKER_NONE, &fault));
		assert_int_equal(fault.byte, 13);
	}
	buffer_wipe(&b, 1);
	assert_false(buffer_holds(&b, 1, BUFFER_ANY, MARKER_NONE, &fault));
	free(b.base);
}

static void headers_and_numbers(void **state)
{
	struct buffer_claim claim = { .written = 1, .perhaps = 1, .marker = MARKER_ANY };
	struct buffer b = make(20, 64, 1);

	(void)state;
	b.header = 40;
	buffer_fill(&b);
	assert_int_equal(b.base[0] | b.base[39], 0);
	assert_int_equal(b.base[40], 0xaf); /* of the first word of slot 0 */
	memset(b.base, 0x6b, 40);
	b.base[59] = 200;
	assert_int_equal(check_lossy(&b, claim), 0);
	b.base[58] ^= 1;
	assert_int_equal(check_lossy(&b, claim), 1);
	b.base[58] ^= 1;
	b.base[60] = 1; /* behind it */
	assert_int_equal(check_lossy(&b, claim), 1);
	free(b.base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_pattern),
		cmocka_unit_test(only_by_copy), cmocka_unit_test(rounds),
		cmocka_unit_test(slots_differ),
		cmocka_unit_test(right_content_passes),
		cmocka_unit_test(each_wrong_byte_is_found),
		cmocka_unit_test(missing_and_stray_messages),
		cmocka_unit_test(markers),
		cmocka_unit_test(several_regions),
		cmocka_unit_test(the_first_fault_stays),
		cmocka_unit_test(gaps_are_watched), cmocka_unit_test(reuse),
		cmocka_unit_test(perhaps_there),
		cmocka_unit_test(shuffled),
		cmocka_unit_test(headers_and_numbers),
		cmocka_unit_test(numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
