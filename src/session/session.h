/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* One session: what both sides know of each other while they talk. */
#ifndef RDMETER_SESSION_SESSION_H
#define RDMETER_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cli/options.h"
#include "control/frame.h"
#include "engine/clock.h"
#include "host/counters.h"
#include "host/facts.h"
#include "report/result.h"
#include "session/keep.h"
#include "session/watch.h"
#include "verbs/connect.h"
#include "verbs/device.h"

struct session {
	const struct options *opt;
	struct watch *watch;
	struct channel channel;
	bool client;
	bool met;   /* the peer has shown that it is rdmeter */
	bool running; /* a row's traffic has begun, and its results are not told yet */
	bool stuck; /* a data thread did not leave the provider: the process has to end */
	bool in_row;   /* both sides are at work on a row */
	bool rejected; /* the peer refused the row, and waits for the next */
	bool row_over; /* the peer has ended the row, and waits for this side to */
	bool left;     /* this side has told the peer that it ends the row... */
	bool gave_up;  /* ...and the session with it */
	bool alone;    /* a client's only row: when it fails the session is over */
	const char *peer_is; /* "server" or "client": what the other side is */
	char peer[80];       /* its address, as text */
	struct sockaddr_storage local, remote; /* ends of the control connection */
	struct connection *connection; /* of the row that is being run, or NULL */
	uint64_t stall_ns;   /* the longest wait for the other side */
	struct device device;
	struct kept kept;
	struct clock clock;
	struct counters_port counters; /* of the device here */
	struct host_facts host, peer_host;
	struct device_facts peer_device;
};

/* The whole of `rdmeter HOST` and of `rdmeter serve`. 0, or -errno told; -EINTR for a signal. */
int client_run(const struct options *opt, struct watch *watch, const struct reporter *reporter);
int server_run(const struct options *opt, struct watch *watch);

#endif
