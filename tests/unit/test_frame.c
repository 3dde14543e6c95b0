/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Frames of the control connection, over a socket pair whose far end is written by hand. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/frame.h"

#include <cmocka.h>

#define COUNT_OF(a) (sizeof(a) / sizeof((a)[0]))

struct wire {
	struct channel c;
	int far;
};

static void wire_open(struct wire *w)
{
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	assert_int_equal(channel_open(&w->c, fds[0], 50000000), 0);
	assert_true(fcntl(fds[0], F_GETFL) & O_NONBLOCK);
	w->far = fds[1];
	assert_int_equal(fcntl(w->far, F_SETFL, O_NONBLOCK), 0);
}

static void wire_close(struct wire *w)
{
	channel_close(&w->c);
	assert_int_equal(w->c.fd, -1);
	channel_close(&w->c); /* again: nothing happens */
	if (w->far >= 0)
		close(w->far);
}

/* All of it, with what has arrived read meanwhile. */
static void feed(struct wire *w, const void *data, size_t size)
{
	const char *p = data;

	while (size) {
		ssize_t n = write(w->far, p, size < 32768 ? size : 32768);

		assert_true(n > 0 || errno == EAGAIN);
		p += n > 0 ? n : 0;
		size -= n > 0 ? (size_t)n : 0;
		assert_int_equal(channel_fill(&w->c), 0);
	}
}

static void feed_frame(struct wire *w, const char *json, size_t size)
{
	unsigned char head[4] = { (unsigned char)(size >> 24), (unsigned char)(size >> 16),
				  (unsigned char)(size >> 8), (unsigned char)size };

	feed(w, head, sizeof(head));
	feed(w, json, size);
}

static void open_greeted(struct wire *w)
{
	wire_open(w);
	feed(w, "RDMETER\n", 8);
}

static void expect_key(struct wire *w, const char *key, int value)
{
	json_t *m = NULL;

	assert_int_equal(channel_next(&w->c, &m), 1);
	assert_int_equal(json_integer_value(json_object_get(m, key)), value);
	json_decref(m);
}

static void expect_nothing(struct wire *w)
{
	json_t *m = NULL;

	assert_int_equal(channel_next(&w->c, &m), 0);
	assert_null(m);
}

static void whole(void **state)
{
	struct wire w;

	(void)state;
	wire_open(&w);
	expect_nothing(&w);
	assert_false(w.c.greeted);
	feed(&w, "RDMETER\n", 8);
	expect_nothing(&w);
	assert_true(w.c.greeted);
	feed_frame(&w, "{\"a\":1}", 7);
	expect_key(&w, "a", 1);
	expect_nothing(&w);
	feed_frame(&w, "{}", 2);
	expect_key(&w, "a", 0);
	wire_close(&w);
}

static void byte_by_byte(void **state)
{
	static const char bytes[] = "RDMETER\n\0\0\0\007{\"a\":1}\0\0\0\010{\"a\":23}";
	struct wire w;
	size_t n = sizeof(bytes) - 1;

	(void)state;
	assert_int_equal(n, 8 + 4 + 7 + 4 + 8);
	wire_open(&w);
	for (size_t i = 0; i < n; i++) {
		feed(&w, &bytes[i], 1);
		if (i == 18)
			expect_key(&w, "a", 1);
		else if (i == n - 1)
			expect_key(&w, "a", 23);
		else
			expect_nothing(&w);
	}
	wire_close(&w);
}

static void several_at_once(void **state)
{
	static const char bytes[] =
		"RDMETER\n\0\0\0\007{\"a\":1}\0\0\0\007{\"a\":2}\0\0\0\007{\"a\"";
	struct wire w;

	(void)state;
	wire_open(&w);
	feed(&w, bytes, sizeof(bytes) - 1);
	expect_key(&w, "a", 1);
	expect_key(&w, "a", 2);
	expect_nothing(&w);
	feed(&w, ":3}", 3);
	expect_key(&w, "a", 3);
	wire_close(&w);
}

/* An object of exactly size bytes: {"a":"xx...x"} */
static char *object_of(size_t size)
{
	char *text = malloc(size + 1);

	assert_non_null(text);
	memset(text, 'x', size);
	memcpy(text, "{\"a\":\"", 6);
	memcpy(text + size - 2, "\"}", 3);
	return text;
}

static void largest(void **state)
{
	static const unsigned char beyond[] = { 0x00, 0x10, 0x00, 0x01 };
	char *text = object_of(1048576);
	json_t *m = NULL;
	struct wire w;

	(void)state;
	open_greeted(&w);
	feed_frame(&w, text, 1048576);
	assert_int_equal(channel_next(&w.c, &m), 1);
	assert_int_equal(json_string_length(json_object_get(m, "a")), 1048576 - 8);
	json_decref(m);
	feed_frame(&w, "{\"a\":9}", 7);
	expect_key(&w, "a", 9);
	/* One byte more is refused by the length alone: nothing is waited for, nor kept. */
	feed(&w, beyond, sizeof(beyond));
	assert_int_equal(channel_next(&w.c, &m), -EBADMSG);
	wire_close(&w);
	free(text);
}

/* A peer that sends on and on makes nobody keep more than a frame. */
static void flood(void **state)
{
	char *text = object_of(1048576);
	struct wire w;

	(void)state;
	open_greeted(&w);
	for (int i = 0; i < 100; i++) {
		if (write(w.far, text, 65536) < 0)
			assert_int_equal(errno, EAGAIN);
		assert_int_equal(channel_fill(&w.c), 0);
	}
	assert_true(w.c.used < 2 * FRAME_MAX);
	assert_true(w.c.room <= 4 * FRAME_MAX);
	wire_close(&w);
	free(text);
}

static void bad_frames(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = {
		{ "\0\0\0\0", 4 },
		{ "\0\0\0\1{", 5 },
		{ "\xff\xff\xff\xff", 4 },
		{ "\x7b\"a\"", 4 },		/* JSON without a length: 0x7b226122 */
		{ "\0\0\0\7garbage", 11 },
		{ "\0\0\0\7{\"a\":1 ", 11 },	/* cut short */
		{ "\0\0\0\7{\"a\":}}", 11 },
		{ "\0\0\0\10{\"a\":1}x", 12 },	/* something behind it */
		{ "\0\0\0\7[\"a\",1]", 11 },	/* JSON, but no object */
		{ "\0\0\0\2[]", 6 },
		{ "\0\0\0\2\"\"", 6 },
		{ "\0\0\0\4null", 8 },
		{ "\0\0\0\2 1", 6 },
		{ "\0\0\0\3\0\0\0", 7 },
		{ "\0\0\0\6{\"\xff\":1}", 10 }, /* not UTF-8 */
	};
	json_t *m = NULL;
	struct wire w;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		open_greeted(&w);
		feed(&w, bad[i].bytes, bad[i].size);
		if (channel_next(&w.c, &m) != -EBADMSG)
			fail_msg("bad frame %zu was taken", i);
		assert_null(m);
		wire_close(&w);
	}
}

static void strangers(void **state)
{
	static const struct {
		const char *bytes, *told;
	} known[] = {
		{ "HTTP/1.1 400 Bad Request\r\nServer: x\r\n\r\n", "HTTP/1.1 400 Bad Request" },
		{ "GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1" },
		{ "SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n", "SSH-2.0-OpenSSH_9.2p1 Debian-2" },
		{ "S", "S" },
		{ "RFB 003.008\n", "RFB 003.008" },
		{ "RDMETER 2\n", "RDMETER 2" },
		{ "RDMETER\r\n", "RDMETER" },
		{ "\x16\x03\x01\x02", "...." },
		{ "\n", "" },
		{ "0123456789012345678901234567890123456789012345678901234567890",
		  "01234567890123456789012345678901234567890123456" },
	};
	json_t *m = NULL;
	struct wire w;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(known); i++) {
		wire_open(&w);
		feed(&w, known[i].bytes, strlen(known[i].bytes));
		assert_int_equal(channel_next(&w.c, &m), -EPROTO);
		assert_string_equal(w.c.stranger, known[i].told);
		assert_false(w.c.greeted);
		wire_close(&w);
	}
	/* What may become the magic word is waited for, up to the first byte that differs. */
	wire_open(&w);
	feed(&w, "RDM", 3);
	expect_nothing(&w);
	feed(&w, "A", 1);
	assert_int_equal(channel_next(&w.c, &m), -EPROTO);
	wire_close(&w);
}

static void end_of_stream(void **state)
{
	struct wire w;

	(void)state;
	open_greeted(&w);
	feed(&w, "\0\0\0\7{\"a\":1}\0\0\0\7{\"a\"", 19);
	close(w.far);
	w.far = -1;
	assert_int_equal(channel_fill(&w.c), -ECONNRESET);
	expect_key(&w, "a", 1); /* what arrived whole before the end is not lost */
	expect_nothing(&w);
	assert_int_equal(channel_fill(&w.c), -ECONNRESET);
	wire_close(&w);

	wire_open(&w);
	close(w.far);
	w.far = -1;
	assert_int_equal(channel_fill(&w.c), -ECONNRESET);
	expect_nothing(&w);
	wire_close(&w);
}

/* The bytes on the wire, whatever the machine: 4 bytes big-endian, then compact JSON. */
static void golden_bytes(void **state)
{
	static const char golden[] = "RDMETER\n\0\0\0\016{\"type\":\"BYE\"}";
	json_t *m = json_pack("{s:s}", "type", "BYE");
	char seen[64], *text = object_of(300);
	struct wire w;

	(void)state;
	wire_open(&w);
	assert_int_equal(channel_send_magic(&w.c), 0);
	assert_int_equal(channel_send(&w.c, m), 0);
	assert_int_equal(read(w.far, seen, sizeof(seen)), sizeof(golden) - 1);
	assert_memory_equal(seen, golden, sizeof(golden) - 1);
	json_decref(m);
	m = json_loads(text, 0, NULL); /* 300 is 0x012c */
	assert_int_equal(channel_send(&w.c, m), 0);
	assert_int_equal(read(w.far, seen, 4), 4);
	assert_memory_equal(seen, "\0\0\1\x2c", 4);
	json_decref(m);
	free(text);
	wire_close(&w);
}

static void sending_fails(void **state)
{
	char *text = object_of(1048577);
	json_t *m = json_loads(text, 0, NULL);
	struct wire w;
	int rc = 0;

	(void)state;
	wire_open(&w);
	assert_int_equal(channel_send(&w.c, m), -EMSGSIZE);
	json_decref(m);
	m = json_pack("{s:s}", "type", "BYE");
	for (int i = 0; !rc && i < 1000000; i++)
		rc = channel_send(&w.c, m);
	assert_int_equal(rc, -ETIMEDOUT); /* nobody reads; 50 ms */
	close(w.far);
	w.far = -1;
	assert_int_equal(channel_send(&w.c, m), -ECONNRESET); /* and no SIGPIPE */
	json_decref(m);
	free(text);
	wire_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(whole),
		cmocka_unit_test(byte_by_byte),
		cmocka_unit_test(several_at_once),
		cmocka_unit_test(largest),
		cmocka_unit_test(flood),
		cmocka_unit_test(bad_frames),
		cmocka_unit_test(strangers),
		cmocka_unit_test(end_of_stream),
		cmocka_unit_test(golden_bytes),
		cmocka_unit_test(sending_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
