/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Bytes that tell by themselves which message they are of, and where in it they lie. */
#ifndef RDMETER_BASE_PATTERN_H
#define RDMETER_BASE_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Where bytes are not what they should be first. */
struct pattern_fault {
	size_t byte;
	unsigned char want, got;
};

/*
 * Eight bytes that differ with the number of the message and the place in it: the finalizer of
 * splitmix64. Numbers that differ by a multiple of 2^24 look alike.
 */
static inline uint64_t pattern_word(uint64_t number, size_t word)
{
	uint64_t z = (number << 40) + word + 0x9e3779b97f4a7c15ULL;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
	return z ^ (z >> 31);
}

/* The other way: the number, below 2^24, whose word at that place this is. False: nobody's. */
static inline bool pattern_number(uint64_t word, size_t place, uint64_t *number)
{
	uint64_t z = word;

	z = (z ^ z >> 31 ^ z >> 62) * 0x319642b2d24d8ec3ULL;
	z = (z ^ z >> 27 ^ z >> 54) * 0x96de1b173f119089ULL;
	z = (z ^ z >> 30 ^ z >> 60) - place - 0x9e3779b97f4a7c15ULL;
	*number = z >> 40;
	return !(z << 24);
}

static inline unsigned char pattern_byte(uint64_t number, size_t byte, uint64_t flip)
{
	uint64_t word = pattern_word(number, byte / 8) ^ flip;
	unsigned char bytes[8];

	memcpy(bytes, &word, 8);
	return bytes[byte % 8];
}

/* With flip UINT64_MAX every byte differs from what it is with 0. */
static inline void pattern_put(unsigned char *at, size_t size, uint64_t number, uint64_t flip)
{
	for (size_t i = 0; i < size; i += 8) {
		uint64_t word = pattern_word(number, i / 8) ^ flip;

		memcpy(at + i, &word, size - i < 8 ? size - i : 8);
	}
}

/* How many bytes from the beginning on, whole words of those before the last, are right. */
static inline size_t pattern_same(const unsigned char *at, size_t size, uint64_t number,
				  uint64_t flip)
{
	size_t i = 0;

	for (; i + 8 < size; i += 8) {
		uint64_t want = pattern_word(number, i / 8) ^ flip;

		if (memcmp(at + i, &want, sizeof(want)))
			break;
	}
	return i;
}

#endif
