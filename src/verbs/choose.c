/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/choose.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fail.h"
#include "host/numa.h"
#include "verbs/gid.h"

/* One device that does not work must not keep the others from being used: it is kept in mind. */
static void note_problem(struct candidates *c, const char *what, const char *name, int rc)
{
	if (!c->problem[0])
		snprintf(c->problem, sizeof(c->problem), "%s %s: %s", what, name,
			 strerror(rc == -1 ? errno : abs(rc)));
}

static int add_ports(struct candidates *c, struct ibv_context *context)
{
	const char *name = ibv_get_device_name(context->device);
	struct ibv_device_attr attr;
	int rc = ibv_query_device(context, &attr);

	if (rc) {
		note_problem(c, "asking for the limits of", name, rc);
		return 0;
	}
	for (uint32_t port = 1; port <= attr.phys_port_cnt; port++) {
		struct candidate *grown, *new;
		struct ibv_port_attr port_attr;
		ssize_t n;

		rc = ibv_query_port(context, (uint8_t)port, &port_attr);
		if (rc) {
			note_problem(c, "asking for a port of", name, rc);
			continue;
		}
		grown = realloc(c->list, (c->count + 1) * sizeof(*grown));
		if (!grown)
			return -ENOMEM;
		c->list = grown;
		new = &grown[c->count++];
		*new = (struct candidate){
			.context = context, .name = name, .port = port,
			.state = port_attr.state, .numa_node = numa_device_node(name),
		};
		n = ibv_query_gid_table(context, new->gid, CHOOSE_GIDS, 0);
		new->gids = n > 0 ? (size_t)n : 0;
		new->gids_error = n < 0 ? (int)-n : 0;
	}
	return 0;
}

int candidates_get(struct candidates *c)
{
	int n, rc = 0;

	*c = (struct candidates){ 0 };
	errno = 0;
	c->devices = ibv_get_device_list(&n);
	if (!c->devices)
		return errno == ENOSYS || !errno ? 0 : -errno;
	for (int i = 0; i < n && !rc; i++) {
		struct ibv_context *context = ibv_open_device(c->devices[i]);
		size_t before = c->count;

		if (!context) {
			note_problem(c, "opening", ibv_get_device_name(c->devices[i]), errno);
			continue;
		}
		rc = add_ports(c, context);
		if (c->count == before)
			ibv_close_device(context);
	}
	return rc;
}

void candidates_put(struct candidates *c, const struct ibv_context *keep)
{
	struct ibv_context *last = NULL;

	for (size_t i = 0; i < c->count; i++) {
		struct ibv_context *context = c->list[i].context;

		if (context != last && context != keep)
			ibv_close_device(context);
		last = context;
	}
	free(c->list);
	if (c->devices)
		ibv_free_device_list(c->devices);
	*c = (struct candidates){ 0 };
}

/* "rxe0 port 1 ACTIVE 10.0.0.1, ...; opening rxe1: ..." */
static void describe(const struct candidates *c, char *out, size_t size)
{
	snprintf(out, size, "%s", c->count ? "" : "none");
	for (size_t i = 0; i < c->count; i++) {
		const struct candidate *k = &c->list[i];
		char gid[INET6_ADDRSTRLEN] = "";
		size_t used = strlen(out);

		for (size_t j = 0; j < k->gids; j++)
			if (k->gid[j].port_num == k->port && !gid_is_link_local(&k->gid[j].gid)) {
				gid_text(&k->gid[j].gid, gid, sizeof(gid));
				break;
			}
		snprintf(out + used, size - used, "%s%s port %u %s %s", i ? ", " : "", k->name,
			 k->port, port_state_name(k->state), gid);
	}
	if (c->problem[0])
		snprintf(out + strlen(out), size - strlen(out), "; %s", c->problem);
}

static bool is_allowed(const struct candidate *k, const struct device_request *r)
{
	return (!r->name || !strcmp(r->name, k->name)) && (!r->port || r->port == k->port) &&
	       k->state == IBV_PORT_ACTIVE;
}

static bool is_named(const struct candidate *k, const struct device_request *r)
{
	return r->name && !strcmp(r->name, k->name);
}

static bool is_asked(const struct candidate *k, const struct device_request *r)
{
	return r->asked && !strcmp(r->asked, k->name);
}

/* By GID, of the same type: another RoCE version cannot be talked to. */
static bool is_in_subnet(const struct candidate *k, const struct device_request *r)
{
	union ibv_gid theirs;

	if (!r->peer || inet_pton(AF_INET6, r->peer->gid, theirs.raw) != 1)
		return false;
	for (size_t i = 0; i < k->gids; i++)
		if (k->gid[i].port_num == k->port && gid_kind_of(&k->gid[i]) == r->peer->gid_kind &&
		    !gid_is_link_local(&k->gid[i].gid) &&
		    gid_same_subnet(&k->gid[i].gid, &theirs))
			return true;
	return false;
}

static bool owns_local(const struct candidate *k, const struct device_request *r)
{
	for (size_t i = 0; r->local && i < k->gids; i++)
		if (k->gid[i].port_num == k->port && gid_is_address(&k->gid[i].gid, r->local))
			return true;
	return false;
}

static bool is_near(const struct candidate *k, const struct device_request *r)
{
	return r->peer && k->numa_node >= 0 && k->numa_node == numa_node_of(numa_this_cpu());
}

static bool is_any(const struct candidate *k, const struct device_request *r)
{
	(void)k;
	(void)r;
	return true;
}

/*
 * In this order; a rule that must be alone counts only when one candidate meets it. The address
 * that the client connected to comes before its subnet: it is what the user named, and where both
 * ends are one host the client's own device is in that subnet too.
 */
static const struct {
	bool (*suits)(const struct candidate *k, const struct device_request *r);
	bool alone;
	const char *why;
} choices[] = {
	{ is_asked, false, "asked for by the client" },
	{ is_named, false, "given" },
	{ owns_local, false, "owns the control connection's address" },
	{ is_in_subnet, false, "in the client's subnet" },
	{ is_any, true, "the only active port" },
	{ is_near, true, "the only one on this NUMA node" },
};

/* The request names something that is not there, or not usable: say which of the two. */
static int told_unusable(const struct candidates *c, const struct device_request *r,
			 const char *name, const char *option)
{
	char list[300];

	describe(c, list, sizeof(list));
	for (size_t i = 0; i < c->count; i++) {
		const struct candidate *k = &c->list[i];

		if (strcmp(k->name, name) || (r->port && r->port != k->port) ||
		    k->state == IBV_PORT_ACTIVE)
			continue;
		return fail(FAIL_SETUP, ENETDOWN,
			    "port %u of %s is %s: bring its link up, or choose another; there are: "
			    "%s", k->port, name, port_state_name(k->state), list);
	}
	return fail(FAIL_SETUP, ENODEV, "%s '%s'%s: no such device or port; there are: %s", option,
		    name, r->name && r->asked ? " (not allowed by the server's --ib-dev)" : "",
		    list);
}

static bool any_active(const struct candidates *c)
{
	for (size_t i = 0; i < c->count; i++)
		if (c->list[i].state == IBV_PORT_ACTIVE)
			return true;
	return false;
}

static int told_none(const struct candidates *c, const struct device_request *r)
{
	char list[300];

	describe(c, list, sizeof(list));
	if (!c->count && c->problem[0])
		return fail(FAIL_SETUP, ENODEV, "no RDMA device can be used: %s; see rdmeter "
			    "devices, /dev/infiniband and the kernel log", c->problem);
	if (!c->count)
		return fail(FAIL_SETUP, ENODEV, CHOOSE_NO_DEVICE);
	if (!any_active(c))
		return fail(FAIL_SETUP, ENETDOWN, "no RDMA device can be used: no port is active; "
			    "bring the link of one up; there are: %s", list);
	return fail(FAIL_SETUP, ENODEV, "no RDMA device could be chosen: name one with %s; there "
		    "are: %s", r->peer ? "--peer-dev" : "--ib-dev", list);
}

const struct candidate *candidates_choose(const struct candidates *c,
					  const struct device_request *r, const char **why)
{
	for (size_t rule = 0; rule < sizeof(choices) / sizeof(choices[0]); rule++) {
		const struct candidate *found = NULL;
		size_t matches = 0;

		for (size_t i = 0; i < c->count; i++) {
			if (!is_allowed(&c->list[i], r) || !choices[rule].suits(&c->list[i], r))
				continue;
			if (!matches++)
				found = &c->list[i];
		}
		if (found && (matches == 1 || !choices[rule].alone)) {
			*why = choices[rule].why;
			return found;
		}
		if (choices[rule].suits == is_asked && r->asked) {
			told_unusable(c, r, r->asked, "--peer-dev");
			return NULL;
		}
	}
	if (r->name)
		told_unusable(c, r, r->name, "--ib-dev");
	else
		told_none(c, r);
	return NULL;
}
