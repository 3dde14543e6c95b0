/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Fuzzing of what arrives on the control connection. One program has every target: the stream of
 * frames, and each message; --target=NAME chooses. A target does not only have to survive: what it
 * checks beside that is said where it is checked, and a check that does not hold aborts.
 */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

/* Says what does not hold, and ends as a crash does, so that libFuzzer keeps the input. */
void broken(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#define MUST(condition, ...)                 \
	do {                                 \
		if (!(condition))            \
			broken(__VA_ARGS__); \
	} while (0)

/* A message of the protocol. */
struct kind {
	const char *name;
	size_t size; /* of the struct that it is read into */
	json_t *(*encode)(const void *m);
	int (*decode)(const json_t *json, void *m, const char **key);
	/* A valid message; false when there is none of that number. */
	bool (*sample)(void *m, unsigned int number);
	/* Room for arrays before decoding, and its release; NULL when the struct is all. */
	void (*prepare)(void *m);
	void (*release)(void *m);
	/* What else holds for a message that was taken; may be NULL. */
	void (*check)(const void *m);
};

extern const struct kind kinds[];
extern const size_t kind_count;

/* kinds.c: the message of a sample, to be released; NULL when there is none of that number. */
json_t *kind_sample(const struct kind *k, unsigned int number);

/* message.c: one input, whether it was taken. Before the first one, what has to be known of k. */
void message_begin(const struct kind *k);
bool message_try(const struct kind *k, const uint8_t *data, size_t size);

/* frame.c: the same for a stream; whether at least one message came out of it. */
#define FRAME_LARGE 255 /* as first byte: a frame of the largest size comes before the stream */
bool frame_try(const uint8_t *data, size_t size);
json_t *frame_sample(unsigned int number);

/* mutate.c: changes the JSON in data as JSON; 0 when there is no room for it. */
size_t mutate_json(const struct kind *k, uint8_t *data, size_t size, size_t max,
		   unsigned int seed);

/* heap.c: what is allocated between begin and end, or so far. */
struct heap_use {
	size_t bytes; /* all that was asked for, freed again or not */
	long blocks;  /* not freed yet */
};

void heap_begin(void);
struct heap_use heap_now(void);
struct heap_use heap_end(void);

#endif
