/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/gid.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

static const unsigned char mapped_prefix[12] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff };

bool gid_is_ipv4(const union ibv_gid *gid)
{
	return !memcmp(gid->raw, mapped_prefix, sizeof(mapped_prefix));
}

bool gid_is_link_local(const union ibv_gid *gid)
{
	if (gid_is_ipv4(gid))
		return gid->raw[12] == 169 && gid->raw[13] == 254;
	return gid->raw[0] == 0xfe && (gid->raw[1] & 0xc0) == 0x80;
}

void gid_address(const union ibv_gid *gid, struct sockaddr_storage *out)
{
	struct sockaddr_in *in = (struct sockaddr_in *)out;
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	memset(out, 0, sizeof(*out));
	if (gid_is_ipv4(gid)) {
		in->sin_family = AF_INET;
		memcpy(&in->sin_addr, gid->raw + 12, 4);
	} else {
		in6->sin6_family = AF_INET6;
		memcpy(&in6->sin6_addr, gid->raw, 16);
	}
}

/* An IPv4 address that a dual-stack socket reports is mapped, as in a GID. */
static bool address_gid(const struct sockaddr_storage *address, union ibv_gid *gid)
{
	const struct sockaddr_in *in = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)address;

	if (address->ss_family == AF_INET) {
		memcpy(gid->raw, mapped_prefix, sizeof(mapped_prefix));
		memcpy(gid->raw + 12, &in->sin_addr, 4);
		return true;
	}
	if (address->ss_family == AF_INET6)
		memcpy(gid->raw, &in6->sin6_addr, 16);
	return address->ss_family == AF_INET6;
}

bool gid_is_address(const union ibv_gid *gid, const struct sockaddr_storage *address)
{
	union ibv_gid other;

	return address_gid(address, &other) && !memcmp(gid->raw, other.raw, sizeof(other.raw));
}

/* An IPv4 mask is the last four bytes of the mapped form; the prefix before always counts. */
static bool within(const union ibv_gid *a, const union ibv_gid *b, const struct sockaddr *mask)
{
	unsigned char m[16];

	memset(m, 0xff, sizeof(m));
	if (mask->sa_family == AF_INET)
		memcpy(m + 12, &((const struct sockaddr_in *)mask)->sin_addr, 4);
	else
		memcpy(m, &((const struct sockaddr_in6 *)mask)->sin6_addr, 16);
	for (size_t i = 0; i < sizeof(m); i++)
		if ((a->raw[i] ^ b->raw[i]) & m[i])
			return false;
	return true;
}

bool gid_same_subnet(const union ibv_gid *ours, const union ibv_gid *theirs)
{
	struct ifaddrs *list, *i;
	bool same = false;

	if (getifaddrs(&list))
		return false;
	for (i = list; i && !same; i = i->ifa_next) {
		if (!i->ifa_addr || !i->ifa_netmask || i->ifa_addr->sa_family == AF_PACKET)
			continue;
		if (gid_is_address(ours, (const struct sockaddr_storage *)i->ifa_addr))
			same = within(ours, theirs, i->ifa_netmask);
	}
	freeifaddrs(list);
	return same;
}

void gid_text(const union ibv_gid *gid, char *out, size_t size)
{
	if (!inet_ntop(AF_INET6, gid->raw, out, (socklen_t)size))
		out[0] = '\0';
}

enum gid_kind gid_kind_of(const struct ibv_gid_entry *entry)
{
	switch (entry->gid_type) {
	case IBV_GID_TYPE_ROCE_V2:
		return GID_ROCE_V2;
	case IBV_GID_TYPE_ROCE_V1:
		return GID_ROCE_V1;
	default:
		return GID_IB;
	}
}

enum { SCORE_KIND = 16, SCORE_FAMILY = 8, SCORE_ADDRESS = 4, SCORE_GLOBAL = 2, SCORE_V2 = 1 };

static int score(const struct ibv_gid_entry *e, const struct gid_wish *wish)
{
	int s = gid_kind_of(e) == GID_ROCE_V2 ? SCORE_V2 : 0;

	if (wish->kind == GID_NONE || wish->kind == gid_kind_of(e))
		s += SCORE_KIND;
	if (wish->family == AF_UNSPEC || (wish->family == AF_INET) == gid_is_ipv4(&e->gid))
		s += SCORE_FAMILY;
	if (wish->local && gid_is_address(&e->gid, wish->local))
		s += SCORE_ADDRESS;
	if (!gid_is_link_local(&e->gid))
		s += SCORE_GLOBAL;
	return s;
}

const struct ibv_gid_entry *gid_choose(const struct ibv_gid_entry *entries, size_t count,
				       uint32_t port, const struct gid_wish *wish,
				       const char **why)
{
	const struct ibv_gid_entry *best = NULL;
	int best_score = -1;

	for (size_t i = 0; i < count; i++) {
		int s = score(&entries[i], wish);

		if (entries[i].port_num == port && s > best_score) {
			best = &entries[i];
			best_score = s;
		}
	}
	*why = best && wish->local && gid_is_address(&best->gid, wish->local) ?
		       "the control connection's address" :
		       "by version, family and scope";
	return best;
}
