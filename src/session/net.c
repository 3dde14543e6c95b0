/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "session/net.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "cli/units.h"
#include "verbs/device.h"

#define RETRY_NS 100000000
#define LOOKUP_NS 5000000 /* between looks whether a name has been found */
#define BACKLOG 64

void net_unmap(struct sockaddr_storage *address)
{
	struct sockaddr_in6 in6;
	struct sockaddr_in *in = (struct sockaddr_in *)address;

	memcpy(&in6, address, sizeof(in6));
	if (address->ss_family != AF_INET6 || !IN6_IS_ADDR_V4MAPPED(&in6.sin6_addr))
		return;
	memset(address, 0, sizeof(*address));
	in->sin_family = AF_INET;
	in->sin_port = in6.sin6_port;
	memcpy(&in->sin_addr, &in6.sin6_addr.s6_addr[12], 4);
}

void net_text(const struct sockaddr_storage *address, char *out, size_t size)
{
	struct sockaddr_storage a = *address;
	char host[NI_MAXHOST] = "?", port[NI_MAXSERV] = "?";

	net_unmap(&a);
	getnameinfo((struct sockaddr *)&a, sizeof(a), host, sizeof(host), port, sizeof(port),
		    NI_NUMERICHOST | NI_NUMERICSERV);
	snprintf(out, size, a.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
}

static int look_up(const char *host, const char *port, int flags, struct addrinfo **list)
{
	struct addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM,
				  .ai_flags = flags | AI_NUMERICSERV };

	return getaddrinfo(host, port, &hints, list);
}

static int told_unknown(const char *host, int rc)
{
	return fail(FAIL_SETUP, ENOENT, "'%s': %s; check the name, or give an address", host,
		    rc == EAI_SYSTEM ? strerror(errno) : gai_strerror(rc));
}

static int resolve(const char *host, const char *port, int flags, struct addrinfo **list)
{
	int rc = look_up(host, port, flags, list);

	return rc ? told_unknown(host, rc) : 0;
}

/*
 * getaddrinfo() knows no deadline, so a name is looked up by a thread that can be left behind. Who
 * comes last, the thread or the one that waits for it, clears up.
 */
struct name_lookup {
	char host[NI_MAXHOST], port[8];
	struct addrinfo *list;
	int rc, error;
	atomic_bool one_is_done;
};

static void free_lookup(struct name_lookup *l)
{
	if (l->list)
		freeaddrinfo(l->list);
	free(l);
}

static void *name_thread(void *arg)
{
	struct name_lookup *l = arg;

	l->rc = look_up(l->host, l->port, 0, &l->list);
	l->error = errno; /* a thread's own: EAI_SYSTEM is told where it is not seen */
	if (atomic_exchange(&l->one_is_done, true))
		free_lookup(l);
	return NULL;
}

static void leave_behind(struct name_lookup *l, pthread_t thread)
{
	pthread_detach(thread);
	if (atomic_exchange(&l->one_is_done, true))
		free_lookup(l);
}

/* Until the thread has an answer; -EINTR or -ETIMEDOUT, told, when it is left behind. */
static int await_lookup(struct name_lookup *l, pthread_t thread, struct watch *watch,
			uint64_t deadline)
{
	while (pthread_tryjoin_np(thread, NULL)) {
		bool interrupted = watch_wait(watch, watch_now() + LOOKUP_NS) & WATCH_SIGNAL;
		char host[NI_MAXHOST];

		if (!interrupted && watch_now() <= deadline)
			continue;
		snprintf(host, sizeof(host), "%s", l->host);
		leave_behind(l, thread);
		return interrupted ? -EINTR :
			fail(FAIL_SETUP, ETIMEDOUT, "'%s': no answer from the name service; "
			     "give an address, or raise --connect-timeout", host);
	}
	return 0;
}

static int resolve_name(const char *host, const char *port, struct watch *watch,
			uint64_t deadline, struct addrinfo **list)
{
	struct name_lookup *l;
	pthread_t thread;
	int rc;

	if (!look_up(host, port, AI_NUMERICHOST, list))
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return fail(FAIL_SETUP, ENOMEM, "out of memory");
	snprintf(l->host, sizeof(l->host), "%s", host);
	snprintf(l->port, sizeof(l->port), "%s", port);
	rc = pthread_create(&thread, NULL, name_thread, l);
	if (rc) {
		free(l);
		return fail(FAIL_SETUP, rc, "starting a thread: %s", strerror(rc));
	}
	rc = await_lookup(l, thread, watch, deadline);
	if (rc)
		return rc;
	rc = l->rc;
	*list = l->list;
	errno = l->error;
	free(l);
	return rc ? told_unknown(host, rc) : 0;
}

/* --bind, or else an address of --ib-dev, so that the control connection takes its path. */
static int bind_local(int fd, const struct options *opt, int family)
{
	struct sockaddr_storage local;
	struct addrinfo *list;
	int rc;

	if (opt->bind.given) {
		rc = resolve(opt->bind.text, "0", AI_NUMERICHOST | AI_PASSIVE, &list);
		if (rc)
			return rc;
		rc = bind(fd, list->ai_addr, list->ai_addrlen) ? errno : 0;
		freeaddrinfo(list);
		return rc ? fail(FAIL_SETUP, rc, "--bind '%s': %s; give an address of this host "
				 "in the family of '%s'", opt->bind.text, strerror(rc), opt->host) :
			    0;
	}
	if (!opt->device.given)
		return 0;
	rc = device_address(opt->device.text, (uint32_t)opt->ib_port.num, family, &local);
	if (rc)
		return rc == -ENOENT ? 0 : rc;
	rc = bind(fd, (struct sockaddr *)&local, sizeof(local)) ? errno : 0;
	if (rc)
		note("binding to the address of %s: %s; the control connection is left unbound",
		     opt->device.text, strerror(rc));
	return 0;
}

/* 0 when connected; -EINTR for a signal; else -errno. */
static int finish_connect(int fd, struct watch *watch, uint64_t deadline)
{
	struct pollfd fds[2] = {
		{ .fd = fd, .events = POLLOUT },
		{ .fd = watch->signal_fd, .events = POLLIN },
	};
	uint64_t now = watch_now();
	socklen_t size = sizeof(int);
	int error = 0;

	poll(fds, 2, deadline > now ? (int)((deadline - now) / 1000000 + 1) : 0);
	if (fds[1].revents) {
		watch_wait(watch, 0);
		return -EINTR;
	}
	if (!fds[0].revents)
		return -ETIMEDOUT;
	getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
	return -error;
}

/* A connected descriptor, or -errno; what cannot be mended by trying again has been told. */
static int connect_one(const struct addrinfo *a, const struct options *opt, struct watch *watch,
		       uint64_t deadline)
{
	int fd = socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int rc;

	if (fd < 0)
		return -errno;
	rc = bind_local(fd, opt, a->ai_family);
	if (!rc && connect(fd, a->ai_addr, a->ai_addrlen))
		rc = errno == EINPROGRESS ? finish_connect(fd, watch, deadline) : -errno;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* "for 500 ms", or that it was tried once only. */
static void tell_patience(const struct options *opt, char *text, size_t size)
{
	char timeout[UNITS_TEXT_SIZE];

	units_time(timeout, sizeof(timeout), opt->connect_timeout.num);
	if (opt->connect_timeout.num)
		snprintf(text, size, "for %s", timeout);
	else
		snprintf(text, size, "tried once");
}

static int told_unreachable(const struct options *opt, const struct addrinfo *list, int error)
{
	char tried[160] = "", patience[UNITS_TEXT_SIZE + 8];

	for (const struct addrinfo *a = list; a; a = a->ai_next) {
		struct sockaddr_storage address = { 0 };
		size_t used = strlen(tried);

		memcpy(&address, a->ai_addr, a->ai_addrlen);
		if (used)
			used += (size_t)snprintf(tried + used, sizeof(tried) - used, ", ");
		if (used < sizeof(tried))
			net_text(&address, tried + used, sizeof(tried) - used);
	}
	tell_patience(opt, patience, sizeof(patience));
	return fail(FAIL_SETUP, error, "connecting to %s (%s): %s, %s; start rdmeter there, "
		    "check --port and firewalls, or raise --connect-timeout", opt->host, tried,
		    strerror(error), patience);
}

/* Each attempt is given up at the limit; none begins after the deadline but the first. */
static int try_all(const struct addrinfo *list, const struct options *opt, struct watch *watch,
		   uint64_t deadline, uint64_t limit)
{
	for (;;) {
		uint64_t again = watch_now() + RETRY_NS;
		int rc = -EHOSTUNREACH;

		for (const struct addrinfo *a = list; a; a = a->ai_next) {
			int error = connect_one(a, opt, watch, limit);

			if (error >= 0 || error == -EINTR || fail_last()->class != FAIL_NONE)
				return error;
			/* Of several addresses the one that refuses says most: it is there. */
			if (rc != -ECONNREFUSED)
				rc = error;
		}
		if (again >= deadline)
			return rc;
		if (watch_wait(watch, again) & WATCH_SIGNAL)
			return -EINTR;
	}
}

uint64_t net_patience(const struct options *opt)
{
	return opt->connect_timeout.num ? opt->connect_timeout.num : opt->stall_timeout.num;
}

int net_connect(const struct options *opt, struct watch *watch, uint64_t deadline)
{
	char port[8], host[NI_MAXHOST];
	struct addrinfo *list;
	size_t n = strlen(opt->host);
	uint64_t limit = opt->connect_timeout.num ? deadline : watch_now() + net_patience(opt);
	int rc;

	/* [ADDRESS] is how IPv6 addresses are often written. */
	snprintf(host, sizeof(host), "%s", opt->host);
	if (n > 2 && n < sizeof(host) && host[0] == '[' && host[n - 1] == ']') {
		host[n - 1] = '\0';
		memmove(host, host + 1, n - 1);
	}
	snprintf(port, sizeof(port), "%u", (unsigned int)opt->port.num);
	rc = resolve_name(host, port, watch, limit, &list);
	if (rc)
		return rc;
	rc = try_all(list, opt, watch, deadline, limit);
	if (rc < 0 && rc != -EINTR && fail_last()->class == FAIL_NONE)
		told_unreachable(opt, list, -rc);
	freeaddrinfo(list);
	return rc;
}

static int listen_on(const struct sockaddr *address, socklen_t size)
{
	int fd = socket(address->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int one = 1, zero = 0, error;

	if (fd < 0)
		return -errno;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (address->sa_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &zero, sizeof(zero));
	if (!bind(fd, address, size) && !listen(fd, BACKLOG))
		return fd;
	error = errno;
	close(fd);
	return -error;
}

/* Every address of both families; IPv4 alone where the host has no IPv6. */
static int listen_everywhere(uint16_t port)
{
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(port),
				    .sin6_addr = IN6ADDR_ANY_INIT };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(port) };
	int fd = listen_on((struct sockaddr *)&in6, sizeof(in6));

	if (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL)
		fd = listen_on((struct sockaddr *)&in, sizeof(in));
	return fd;
}

int net_listen(const struct options *opt, char *text, size_t size)
{
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof(address);
	uint16_t port = (uint16_t)opt->port.num;
	struct addrinfo *list;
	char service[8];
	int fd;

	snprintf(service, sizeof(service), "%u", port);
	if (opt->bind.given) {
		fd = resolve(opt->bind.text, service, AI_NUMERICHOST | AI_PASSIVE, &list);
		if (fd)
			return fd;
		fd = listen_on(list->ai_addr, list->ai_addrlen);
		freeaddrinfo(list);
	} else {
		fd = listen_everywhere(port);
	}
	if (fd < 0)
		return fail(FAIL_SETUP, -fd, "listening on %s port %u: %s; %s",
			    opt->bind.given ? opt->bind.text : "every address", port, strerror(-fd),
			    fd == -EADDRINUSE ? "another server has it: choose another --port" :
						"check --bind and --port");
	getsockname(fd, (struct sockaddr *)&address, &length);
	net_text(&address, text, size);
	return fd;
}
