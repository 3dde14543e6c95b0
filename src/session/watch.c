/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "session/watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/fail.h"
#include "session/dialog.h"

#define SAME_BLOW_NS 500000000
#define TURN_AWAY_NS 100000000 /* a client that does not read gets no more than this */

int watch_open(struct watch *w)
{
	sigset_t set;

	*w = (struct watch){
		.signal_fd = -1, .listen_fd = -1, .lane_fd = -1, .async_fd = -1,
		.connection_fd = -1,
	};
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	signal(SIGPIPE, SIG_IGN);
	w->signal_fd = signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC);
	if (w->signal_fd < 0)
		return fail(FAIL_SETUP, errno, "signalfd: %s", strerror(errno));
	return 0;
}

void watch_close(struct watch *w)
{
	if (w->signal_fd >= 0)
		close(w->signal_fd);
	w->signal_fd = -1;
}

uint64_t watch_now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

/* Whether there was one that counts. */
static bool read_signals(struct watch *w)
{
	struct signalfd_siginfo info;
	unsigned int before = w->signals;

	while (read(w->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (!w->signal)
			w->signal = (int)info.ssi_signo;
		/* timeout(1) and shells signal the process and its group: that is one interrupt. */
		if (w->signals && watch_now() - w->signal_at < SAME_BLOW_NS)
			continue;
		w->signal_at = watch_now();
		w->signals++;
	}
	return w->signals > before;
}

static void turn_away(struct watch *w)
{
	struct channel stranger;
	int fd = accept4(w->listen_fd, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	if (!channel_open(&stranger, fd, TURN_AWAY_NS))
		dialog_greet(&stranger, true);
	channel_close(&stranger);
}

static void fill_channel(struct watch *w)
{
	int rc = channel_fill(w->channel);

	if (rc) {
		w->peer_gone = true;
		w->error = -rc;
	}
}

static void drain_lane(struct watch *w)
{
	uint64_t count;

	if (read(w->lane_fd, &count, sizeof(count)) < 0)
		return; /* nothing there: it was taken with an earlier wake-up */
}

static int timeout_ms(uint64_t deadline)
{
	uint64_t now = watch_now(), left = deadline > now ? deadline - now : 0;

	left = (left + 999999) / 1000000;
	return left > 3600000 ? 3600000 : (int)left;
}

unsigned int watch_wait(struct watch *w, uint64_t deadline)
{
	enum { SIGNAL, LISTEN, LANE, ASYNC, CONNECTION, CHANNEL, FDS };
	struct pollfd fds[FDS] = {
		[SIGNAL] = { .fd = w->signal_fd, .events = POLLIN },
		[LISTEN] = { .fd = w->listen_fd, .events = POLLIN },
		[LANE] = { .fd = w->lane_fd, .events = POLLIN },
		[ASYNC] = { .fd = w->async_fd, .events = POLLIN },
		[CONNECTION] = { .fd = w->connection_fd, .events = POLLIN },
		[CHANNEL] = { .fd = w->channel && !w->peer_gone ? w->channel->fd : -1,
			      .events = POLLIN },
	};
	unsigned int what = 0;

	if (poll(fds, FDS, timeout_ms(deadline)) < 0)
		return 0;
	if (fds[SIGNAL].revents && read_signals(w))
		what |= WATCH_SIGNAL;
	if (fds[LISTEN].revents && w->channel)
		turn_away(w);
	else if (fds[LISTEN].revents)
		what |= WATCH_LISTEN;
	if (fds[LANE].revents) {
		drain_lane(w);
		what |= WATCH_LANE;
	}
	if (fds[ASYNC].revents)
		what |= WATCH_ASYNC;
	if (fds[CONNECTION].revents)
		what |= WATCH_CONNECTION;
	if (fds[CHANNEL].revents) {
		fill_channel(w);
		what |= WATCH_CHANNEL;
	}
	if (watch_now() >= deadline)
		what |= WATCH_TIMEOUT;
	return what;
}
