/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "control/frame.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define HEADER 4
#define READ_SIZE 65536

int channel_open(struct channel *c, int fd, uint64_t send_timeout_ns)
{
	int one = 1;

	*c = (struct channel){ .fd = fd, .send_timeout_ns = send_timeout_ns };
	if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
		return -errno;
	/* Not every stream is TCP: tests talk over a socket pair. */
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	return 0;
}

void channel_close(struct channel *c)
{
	if (c->fd >= 0)
		close(c->fd);
	free(c->in);
	*c = (struct channel){ .fd = -1 };
}

static int make_room(struct channel *c)
{
	size_t room = c->room ? c->room * 2 : READ_SIZE;
	unsigned char *grown;

	if (c->room - c->used >= READ_SIZE / 2)
		return 0;
	grown = realloc(c->in, room);
	if (!grown)
		return -ENOMEM;
	c->in = grown;
	c->room = room;
	return 0;
}

int channel_fill(struct channel *c)
{
	/* No more than a frame and its header is kept: a peer cannot make us grow. */
	while (c->used < FRAME_MAX + HEADER + FRAME_MAGIC_SIZE) {
		ssize_t n;
		int rc = make_room(c);

		if (rc)
			return rc;
		n = recv(c->fd, c->in + c->used, c->room - c->used, 0);
		if (n == 0)
			return -ECONNRESET;
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno == EAGAIN || errno == EWOULDBLOCK ? 0 :
			       errno == EPIPE ? -ECONNRESET : -errno;
		c->used += (size_t)n;
	}
	return 0;
}

static void take(struct channel *c, size_t n)
{
	c->used -= n;
	memmove(c->in, c->in + n, c->used);
}

static void remember_stranger(struct channel *c)
{
	size_t n = c->used < sizeof(c->stranger) - 1 ? c->used : sizeof(c->stranger) - 1;
	size_t i;

	for (i = 0; i < n && c->in[i] != '\r' && c->in[i] != '\n'; i++)
		c->stranger[i] = isprint(c->in[i]) ? (char)c->in[i] : '.';
	c->stranger[i] = '\0';
}

/* 1: seen and taken, 0: not whole yet, -EPROTO: something else. */
static int check_magic(struct channel *c)
{
	size_t n = c->used < FRAME_MAGIC_SIZE ? c->used : FRAME_MAGIC_SIZE;

	if (c->greeted)
		return 1;
	if (n && memcmp(c->in, FRAME_MAGIC, n)) {
		remember_stranger(c);
		return -EPROTO;
	}
	if (n < FRAME_MAGIC_SIZE)
		return 0;
	take(c, FRAME_MAGIC_SIZE);
	c->greeted = true;
	return 1;
}

static uint32_t get_length(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

int channel_next(struct channel *c, json_t **message)
{
	uint32_t length;
	int rc = check_magic(c);

	if (rc <= 0)
		return rc;
	if (c->used < HEADER)
		return 0;
	length = get_length(c->in);
	if (length > FRAME_MAX || length < 2)
		return -EBADMSG;
	if (c->used < HEADER + length)
		return 0;
	*message = json_loadb((const char *)c->in + HEADER, length, 0, NULL);
	take(c, HEADER + length);
	if (*message && json_is_object(*message))
		return 1;
	json_decref(*message);
	*message = NULL;
	return -EBADMSG;
}

static uint64_t monotonic_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int send_all(struct channel *c, const void *data, size_t size)
{
	uint64_t deadline = monotonic_ns() + c->send_timeout_ns;
	const unsigned char *p = data;

	while (size) {
		struct pollfd ready = { .fd = c->fd, .events = POLLOUT };
		ssize_t n = send(c->fd, p, size, MSG_NOSIGNAL);
		uint64_t now;

		if (n > 0) {
			p += n;
			size -= (size_t)n;
			continue;
		}
		if (n < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR)
			return errno == EPIPE ? -ECONNRESET : -errno;
		now = monotonic_ns();
		if (now >= deadline)
			return -ETIMEDOUT;
		poll(&ready, 1, (int)((deadline - now) / 1000000 + 1));
	}
	return 0;
}

int channel_send_magic(struct channel *c)
{
	return send_all(c, FRAME_MAGIC, FRAME_MAGIC_SIZE);
}

int channel_send(struct channel *c, const json_t *message)
{
	size_t length = json_dumpb(message, NULL, 0, JSON_COMPACT);
	unsigned char *frame;
	int rc;

	if (!length || length > FRAME_MAX)
		return -EMSGSIZE;
	frame = malloc(HEADER + length);
	if (!frame)
		return -ENOMEM;
	frame[0] = (unsigned char)(length >> 24);
	frame[1] = (unsigned char)(length >> 16);
	frame[2] = (unsigned char)(length >> 8);
	frame[3] = (unsigned char)length;
	json_dumpb(message, (char *)frame + HEADER, length, JSON_COMPACT);
	rc = send_all(c, frame, HEADER + length);
	c->broken = rc != 0;
	free(frame);
	return rc;
}
