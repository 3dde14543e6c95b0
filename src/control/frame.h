/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Frames on the control connection: a magic word once in each direction, then frames of a 4-byte
 * big-endian length and that many bytes of JSON. The socket is non-blocking; waiting is the
 * session's business (session/watch.c), except for sending, which has a deadline of its own.
 */
#ifndef RDMETER_CONTROL_FRAME_H
#define RDMETER_CONTROL_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <jansson.h>

#define FRAME_MAX (1U << 20) /* bytes of JSON; a longer frame is refused */
#define FRAME_MAGIC "RDMETER\n"
#define FRAME_MAGIC_SIZE 8

struct channel {
	int fd;
	bool greeted;       /* the peer's magic has been seen */
	bool broken;        /* a frame was sent in part: nothing can follow it */
	unsigned char *in;  /* bytes received and not yet taken */
	size_t used, room;
	uint64_t send_timeout_ns;
	char stranger[48];  /* printable beginning of what a peer sent that is not rdmeter */
};

/* Takes over fd: sets it non-blocking and TCP_NODELAY. 0 or -errno (not told). */
int channel_open(struct channel *c, int fd, uint64_t send_timeout_ns);
void channel_close(struct channel *c);

/*
 * Reads what has arrived. Returns 0 (also when nothing has), -ECONNRESET when the peer has gone
 * away (what arrived before can still be taken), or another -errno.
 */
int channel_fill(struct channel *c);

/*
 * Takes the next whole message out of what has arrived. Returns 1 with *message to be released by
 * json_decref(), 0 when none is whole yet, -EPROTO when the peer is not rdmeter (stranger says what
 * it sent), -EBADMSG for a frame that is too long or no JSON object.
 */
int channel_next(struct channel *c, json_t **message);

/* Sends the magic word. Both senders: 0, -ETIMEDOUT, or -errno (not told). */
int channel_send_magic(struct channel *c);

/* Sends message as a frame. Borrows it. */
int channel_send(struct channel *c, const json_t *message);

#endif
