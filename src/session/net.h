/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* TCP for the control connection: IPv4 and IPv6 alike, every wait bounded. */
#ifndef RDMETER_SESSION_NET_H
#define RDMETER_SESSION_NET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "cli/options.h"
#include "session/watch.h"

/* "10.0.0.1" or "[fe80::1%eth0]", with ":PORT" behind it; an IPv4-mapped address as IPv4. */
void net_text(const struct sockaddr_storage *address, char *out, size_t size);

/* An IPv4 address mapped into IPv6, as a dual-stack socket reports it, becomes IPv4. */
void net_unmap(struct sockaddr_storage *address);

/* How long one attempt may take: --connect-timeout, or --stall-timeout when that is 0. */
uint64_t net_patience(const struct options *opt);

/*
 * Connects to opt's host until the deadline, again and again while nobody listens; once at least,
 * for as long as net_patience() says, when the deadline is now. Returns a
 * descriptor, -EINTR when a signal came, or -errno told as FAIL_SETUP.
 */
int net_connect(const struct options *opt, struct watch *watch, uint64_t deadline);

/*
 * Listens as opt says, on IPv6 and IPv4 at once where the host has both; text becomes the
 * address. Returns a descriptor or -errno told as FAIL_SETUP.
 */
int net_listen(const struct options *opt, char *text, size_t size);

#endif
