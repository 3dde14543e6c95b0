/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* GID table entries: what address each one is, and which one suits. */
#ifndef RDMETER_VERBS_GID_H
#define RDMETER_VERBS_GID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include <infiniband/verbs.h>

#include "verbs/caps.h"

/* The IP address that a RoCE GID is (port 0); IPv4 comes mapped into the GID. */
void gid_address(const union ibv_gid *gid, struct sockaddr_storage *out);

bool gid_is_address(const union ibv_gid *gid, const struct sockaddr_storage *address);
bool gid_is_ipv4(const union ibv_gid *gid);
bool gid_is_link_local(const union ibv_gid *gid);

/* Within a network that an interface of this host is in, by the interface's own prefix. */
bool gid_same_subnet(const union ibv_gid *ours, const union ibv_gid *theirs);

/* "::ffff:10.0.0.1" */
void gid_text(const union ibv_gid *gid, char *out, size_t size);

enum gid_kind gid_kind_of(const struct ibv_gid_entry *entry);

/* What an entry is to suit; NULL, AF_UNSPEC and GID_NONE: anything does. */
struct gid_wish {
	const struct sockaddr_storage *local; /* the address of the control connection here */
	int family;                           /* AF_INET or AF_INET6, as the other side's GID */
	enum gid_kind kind;                   /* as the other side's GID */
};

/*
 * The best of count entries on port: one of the kind and family that can talk to the other side,
 * then the local address itself, then by scope, then RoCE v2 before v1. why says which it was.
 * NULL when the port has none.
 */
const struct ibv_gid_entry *gid_choose(const struct ibv_gid_entry *entries, size_t count,
				       uint32_t port, const struct gid_wish *wish,
				       const char **why);

#endif
