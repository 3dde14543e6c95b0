/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The one place where a session waits: for its control connection, signals, asynchronous device
 * events, its data thread and the clock, all at once. On a server it turns further clients away
 * meanwhile.
 */
#ifndef RDMETER_SESSION_WATCH_H
#define RDMETER_SESSION_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#include "control/frame.h"

/* What watch_wait() may report; several at once. */
enum {
	WATCH_CHANNEL = 1, /* something arrived, or the peer has gone (watch.peer_gone) */
	WATCH_SIGNAL = 2,
	WATCH_LANE = 4,
	WATCH_ASYNC = 8,
	WATCH_LISTEN = 16, /* only without a channel: somebody connects */
	WATCH_TIMEOUT = 32,
	WATCH_CONNECTION = 64, /* the connecting of queue pairs has something to do */
};

struct watch {
	struct channel *channel; /* NULL: none yet */
	int signal_fd, listen_fd, lane_fd, async_fd, connection_fd; /* -1: none */
	int signal;              /* SIGINT or SIGTERM once one has come, else 0 */
	unsigned int signals;    /* how many have, those of one blow counted once */
	uint64_t signal_at;      /* when the last one counted came */
	bool peer_gone;
	int error; /* of the channel, when peer_gone */
};

/*
 * Blocks SIGINT and SIGTERM for this thread and those it starts, and takes them from a
 * descriptor; ignores SIGPIPE. Returns 0 or -errno (told).
 */
int watch_open(struct watch *w);
void watch_close(struct watch *w);

/* CLOCK_MONOTONIC in nanoseconds: what deadlines are given in. */
uint64_t watch_now(void);

/* Waits until something happens, at most until the deadline. */
unsigned int watch_wait(struct watch *w, uint64_t deadline);

#endif
