/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The stream of frames. An input is a byte that says into which pieces the stream is cut, then the
 * stream. However it is cut, the same comes out of it: what a second reader, which has all of it at
 * once, finds there.
 */
#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/frame.h"
#include "control/messages.h"
#include "fuzz.h"

#define PIECE_MAX 16384 /* a socket takes it without being read */

struct reader {
	struct channel c;
	int far;
	/* The second reader: what is not consumed yet, and what it says next. */
	const uint8_t *data;
	size_t size;
	bool greeted;
	size_t taken;
};

static void take(struct reader *r, size_t n)
{
	r->data += n;
	r->size -= n;
}

static int expect_magic(struct reader *r)
{
	for (size_t i = 0; i < FRAME_MAGIC_SIZE; i++) {
		if (i == r->size)
			return 0;
		if (r->data[i] != (uint8_t)FRAME_MAGIC[i])
			return -EPROTO;
	}
	take(r, FRAME_MAGIC_SIZE);
	r->greeted = true;
	return 1;
}

/* What channel_next() has to answer once all of the stream has arrived. */
static int expect_next(struct reader *r, json_t **message)
{
	uint64_t length = 0;
	int rc = r->greeted ? 1 : expect_magic(r);

	if (rc <= 0)
		return rc;
	if (r->size < 4)
		return 0;
	for (int i = 0; i < 4; i++)
		length = length * 256 + r->data[i];
	if (length < 2 || length > 1048576)
		return -EBADMSG;
	if (r->size - 4 < length)
		return 0;
	*message = json_loadb((const char *)r->data + 4, length, 0, NULL);
	take(r, 4 + length);
	if (json_is_object(*message))
		return 1;
	json_decref(*message);
	*message = NULL;
	return -EBADMSG;
}

/* A message that came can be sent, and comes again. */
static void check_again(const json_t *message)
{
	struct reader r = { .far = -1 };
	size_t length = json_dumpb(message, NULL, 0, JSON_COMPACT);
	json_t *again = NULL;
	int fds[2];

	if (length > PIECE_MAX)
		return;
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair: %s", strerror(errno));
	MUST(!channel_open(&r.c, fds[0], 1000000000), "channel_open");
	r.far = fds[1];
	r.c.greeted = true;
	MUST(!channel_send(&r.c, message), "a message cannot be sent on");
	/* It goes back the way it came. */
	char buffer[PIECE_MAX + 4];
	ssize_t n = read(r.far, buffer, sizeof(buffer));

	MUST(n == (ssize_t)length + 4, "%zd bytes were sent instead of %zu", n, length + 4);
	MUST(write(r.far, buffer, (size_t)n) == n, "write: %s", strerror(errno));
	MUST(!channel_fill(&r.c), "channel_fill");
	MUST(channel_next(&r.c, &again) == 1, "what was sent cannot be read");
	MUST(json_equal(message, again), "what was sent came back different");
	json_decref(again);
	close(r.far);
	channel_close(&r.c);
}

static void check_stranger(const struct channel *c)
{
	size_t n = strnlen(c->stranger, sizeof(c->stranger));

	MUST(n < sizeof(c->stranger), "the stranger's words do not end");
	for (size_t i = 0; i < n; i++)
		MUST(isprint((unsigned char)c->stranger[i]), "the stranger's words steer");
}

/* Takes what is whole. Returns what channel_next() said last, 0 or an error. */
static int drain(struct reader *r, bool last)
{
	for (;;) {
		json_t *message = NULL, *expected = NULL;
		int rc = channel_next(&r->c, &message), wanted = rc;

		/* Before the end, "not whole yet" is right whatever follows. */
		if (rc || last)
			wanted = expect_next(r, &expected);
		MUST(rc == wanted, "frame %zu: %d instead of %d", r->taken, rc, wanted);
		MUST((rc == 1) == (message != NULL), "%d with message %p", rc, (void *)message);
		if (rc <= 0) {
			if (rc == -EPROTO)
				check_stranger(&r->c);
			return rc;
		}
		MUST(json_is_object(message), "a message is no object");
		MUST(json_equal(message, expected), "frame %zu is not what was sent", r->taken);
		r->taken++;
		message_type(message);
		if (last || r->taken == 1)
			check_again(message);
		json_decref(message);
		json_decref(expected);
	}
}

/* 0: all at once, 1: byte by byte, else pseudo-random pieces. */
static size_t piece_of(uint8_t how, uint32_t *state, size_t size)
{
	size_t n;

	*state = *state * 1664525 + 1013904223;
	n = how == 0 ? size : how == 1 ? 1 : 1 + (*state >> 16) % (how % 64 + 1);
	if (how == FRAME_LARGE)
		n = PIECE_MAX;
	n = n < size ? n : size;
	return n < PIECE_MAX ? n : PIECE_MAX;
}

static int feed(struct reader *r, uint8_t how, const uint8_t *data, size_t size)
{
	uint32_t state = how;
	int rc = 0;

	while (size && !rc) {
		size_t n = piece_of(how, &state, size);

		MUST(write(r->far, data, n) == (ssize_t)n, "write: %s", strerror(errno));
		rc = channel_fill(&r->c);
		MUST(!rc, "channel_fill: %d", rc);
		MUST(r->c.used <= r->c.room && r->c.room <= 4 * FRAME_MAX, "%zu bytes are kept",
		     r->c.room);
		data += n;
		size -= n;
		rc = drain(r, false);
	}
	return rc;
}

/* The magic word, then {"a":"xx..."} of exactly the largest size, then data. */
static const uint8_t *after_a_large_one(const uint8_t *data, size_t *size)
{
	static uint8_t stream[FRAME_MAGIC_SIZE + 4 + FRAME_MAX + 65536];
	size_t before = FRAME_MAGIC_SIZE + 4 + FRAME_MAX;

	*size = *size < 65536 ? *size : 65536;
	memset(stream, 'x', before);
	memcpy(stream, FRAME_MAGIC "\0\x10\0\0{\"a\":\"", FRAME_MAGIC_SIZE + 4 + 6);
	memcpy(stream + before - 2, "\"}", 2);
	memcpy(stream + before, data, *size);
	*size += before;
	return stream;
}

bool frame_try(const uint8_t *data, size_t size)
{
	struct reader r = { .far = -1 };
	uint8_t how = size ? *data++ : 0;
	int fds[2], rc;

	size -= size ? 1 : 0;
	if (how == FRAME_LARGE)
		data = after_a_large_one(data, &size);
	r.data = data;
	r.size = size;
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, fds), "socketpair: %s", strerror(errno));
	MUST(!channel_open(&r.c, fds[0], 1000000000), "channel_open");
	r.far = fds[1];
	rc = feed(&r, how, data, size);
	close(r.far);
	if (!rc) {
		drain(&r, true);
		MUST(channel_fill(&r.c) == -ECONNRESET, "the end of the stream was not seen");
	}
	channel_close(&r.c);
	MUST(r.c.fd < 0 && !r.c.in, "closed, and still something is there");
	return r.taken > (how == FRAME_LARGE);
}

json_t *frame_sample(unsigned int number)
{
	switch (number) {
	case 0:
		return message_simple("BYE");
	case 1:
		return message_ready(UINT64_C(1) << 60);
	case 2:
		return message_beat(&(struct message_beat){ .phase = "RUN", .posted = 1 });
	default:
		return NULL;
	}
}
