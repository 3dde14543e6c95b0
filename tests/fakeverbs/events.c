/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Completion channels. A channel is a named pipe of the fabric's directory, so that whoever
 * completes something in a queue can wake the process that sleeps on it. As nothing runs in this
 * process while it sleeps, the device's work is done inside its poll(2) on a channel's descriptor.
 * Who goes to sleep with completions in a queue that it has asked to be woken by, and no event on
 * its way, would never see them, and has broken a rule.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SLICE_NS 2000000 /* what the peer does to this one's queue pairs is noticed after that */

struct fake_channel {
	struct ibv_comp_channel verbs;
	uint32_t number; /* never again in this process */
	struct fake_channel *next;
};

static struct fake_channel *channels;
static struct fake_cq *notified; /* all that have a channel */
static uint32_t last_number;
static _Atomic uint32_t open_channels;
static int (*real_poll)(struct pollfd *fds, nfds_t count, int timeout);

static void channel_path(char *out, size_t size, const struct node *n, uint32_t number)
{
	fabric_path(out, size, "/channel.%u.%llu.%u", n->number, (unsigned long long)n->serial,
		    number);
}

static int open_pipe(struct fake_channel *c)
{
	char path[300];
	int error;

	channel_path(path, sizeof(path), own, c->number);
	if (mkfifo(path, 0600))
		return errno;
	c->verbs.fd = open(path, O_RDWR | O_CLOEXEC);
	error = c->verbs.fd < 0 ? errno : 0;
	if (error)
		unlink(path);
	return error;
}

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
	int error = fault_call(CALL_create_comp_channel);
	struct fake_channel *c = NULL;

	if (!error && script.null)
		error = EOPNOTSUPP; /* nothing moves there */
	if (!error) {
		c = calloc(1, sizeof(*c));
		error = c ? 0 : ENOMEM;
	}
	if (!error) {
		c->verbs.context = context;
		c->number = ++last_number;
		error = open_pipe(c);
	}
	if (error) {
		free(c);
		errno = error;
		return NULL;
	}
	fabric_lock();
	c->next = channels;
	channels = c;
	fabric_unlock();
	atomic_fetch_add(&open_channels, 1);
	fake_context_of(context)->channels++;
	return &c->verbs;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *verbs)
{
	struct fake_channel *c = (struct fake_channel *)verbs, **at = &channels;
	int error = fault_call(CALL_destroy_comp_channel);
	char path[300];

	if (!error && verbs->refcnt)
		error = EBUSY;
	if (error) {
		errno = error;
		return error;
	}
	fabric_lock();
	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	fabric_unlock();
	atomic_fetch_sub(&open_channels, 1);
	fake_context_of(verbs->context)->channels--;
	channel_path(path, sizeof(path), own, c->number);
	unlink(path);
	close(verbs->fd);
	free(c);
	return 0;
}

void events_attach(struct fake_cq *cq, struct ibv_comp_channel *channel)
{
	cq->verbs.channel = channel;
	if (!channel)
		return;
	channel->refcnt++;
	cq->shared->channel = ((struct fake_channel *)channel)->number;
	fabric_lock();
	cq->next = notified;
	notified = cq;
	fabric_unlock();
}

void events_detach(struct fake_cq *cq)
{
	struct fake_cq **at = &notified;

	if (!cq->verbs.channel)
		return;
	if (cq->unacked)
		report_violation("a completion queue goes with %u events not acknowledged",
				 cq->unacked);
	report_line("events cqe=%u notified=%llu taken=%llu", cq->shared->cqe,
		    (unsigned long long)cq->shared->notified, (unsigned long long)cq->taken);
	fabric_lock();
	while (*at != cq)
		at = &(*at)->next;
	*at = cq->next;
	fabric_unlock();
	cq->verbs.channel->refcnt--;
}

/* Opened when first needed; a number that has gone makes room for one that is used. */
static int pipe_of(struct node *n, uint32_t number)
{
	struct node_channel *c = &n->channel[number % FAKE_CHANNELS];
	char path[300];

	if (c->number == number)
		return c->fd;
	if (c->number)
		close(c->fd);
	channel_path(path, sizeof(path), n, number);
	c->fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	c->number = c->fd < 0 ? 0 : number;
	return c->fd;
}

void events_notify(struct node *n, struct shared_cq *cq)
{
	uint64_t cookie = cq->cookie;

	if (!cq->armed)
		return;
	cq->armed = false;
	cq->notified++;
	if (write(pipe_of(n, cq->channel), &cookie, sizeof(cookie)) < 0)
		return; /* its owner is gone */
}

/* Completions that are there already make no event: who asks has to look once more. */
int events_request(struct ibv_cq *verbs, int solicited_only)
{
	struct fake_cq *cq = (struct fake_cq *)verbs;
	int error = fault_call(CALL_req_notify_cq);

	if (!error && (!verbs->channel || solicited_only))
		error = EOPNOTSUPP;
	if (error)
		return error;
	fabric_lock();
	cq->shared->armed = true;
	cq->asked = true;
	fabric_unlock();
	return 0;
}

static int poll_really(struct pollfd *fds, nfds_t count, int timeout)
{
	if (!real_poll)
		*(void **)&real_poll = dlsym(RTLD_NEXT, "poll");
	return real_poll(fds, count, timeout);
}

static bool readable(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll_really(&p, 1, 0) == 1;
}

/* Under the lock. */
static bool is_channel(int fd)
{
	for (const struct fake_channel *c = channels; c; c = c->next)
		if (c->verbs.fd == fd)
			return true;
	return false;
}

static void check_asleep(const struct pollfd *fds, nfds_t count)
{
	for (const struct fake_cq *cq = notified; cq; cq = cq->next) {
		uint64_t there = atomic_load(&cq->shared->tail) - atomic_load(&cq->shared->head);

		for (nfds_t i = 0; cq->asked && there && i < count; i++)
			if (fds[i].fd == cq->verbs.channel->fd && !readable(fds[i].fd))
				report_violation("asleep with %llu completions queued",
						 (unsigned long long)there);
	}
}

/* How long nothing happens here: until the device has something to do, or somebody looks. */
static uint64_t quiet_ns(uint64_t end)
{
	uint64_t now = fake_real_now(), next = atomic_load(&own->shared->next_event), quiet;

	quiet = end <= now ? 0 : end - now < SLICE_NS ? end - now : SLICE_NS;
	if (!script.virtual_clock && next != FAKE_NEVER)
		quiet = next <= now ? 0 : next - now < quiet ? next - now : quiet;
	return quiet;
}

/* The device works; with a clock that stands, time passes as nobody has anything to do. */
static void work_asleep(struct pollfd *fds, nfds_t count)
{
	fabric_lock();
	work_progress();
	while (script.virtual_clock && !poll_really(fds, count, 0) && work_pass_time())
		work_progress();
	fabric_unlock();
}

static int sleep_on(struct pollfd *fds, nfds_t count, int timeout)
{
	uint64_t end = timeout < 0 ? FAKE_NEVER :
				     fake_real_now() + (uint64_t)timeout * 1000000;

	for (;;) {
		uint64_t quiet;
		struct timespec ts;
		int rc;

		work_asleep(fds, count);
		quiet = quiet_ns(end);
		ts = (struct timespec){ .tv_nsec = (long)quiet };
		rc = ppoll(fds, count, &ts, NULL);
		if (rc || fake_real_now() >= end)
			return rc;
	}
}

int poll(struct pollfd *fds, nfds_t count, int timeout)
{
	bool channel = false;

	if (!timeout || !atomic_load(&open_channels))
		return poll_really(fds, count, timeout);
	fabric_lock();
	for (nfds_t i = 0; i < count; i++)
		channel |= is_channel(fds[i].fd);
	if (channel)
		check_asleep(fds, count);
	fabric_unlock();
	return channel ? sleep_on(fds, count, timeout) : poll_really(fds, count, timeout);
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **verbs, void **context)
{
	struct pollfd p = { .fd = channel->fd, .events = POLLIN };
	int error = fault_call(CALL_get_cq_event);
	struct fake_cq *cq;
	uint64_t cookie;

	if (!error && !(fcntl(channel->fd, F_GETFL) & O_NONBLOCK))
		poll(&p, 1, -1);
	if (!error && read(channel->fd, &cookie, sizeof(cookie)) != sizeof(cookie))
		error = errno;
	if (error) {
		errno = error;
		return -1;
	}
	cq = (struct fake_cq *)(uintptr_t)cookie;
	cq->unacked++;
	cq->taken++;
	*verbs = &cq->verbs;
	*context = cq->verbs.cq_context;
	return 0;
}

void ibv_ack_cq_events(struct ibv_cq *verbs, unsigned int count)
{
	struct fake_cq *cq = (struct fake_cq *)verbs;

	if (count > cq->unacked)
		report_violation("%u events acknowledged, of %u", count, cq->unacked);
	cq->unacked -= count < cq->unacked ? count : cq->unacked;
}
