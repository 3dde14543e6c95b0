/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Connecting by librdmacm. It finds the path and makes the two sides meet; the queue pairs are
 * rdmeter's own, and what they become is what they become by the control connection: only the
 * address vector and the numbers of the two ends are taken from librdmacm.
 *
 * All of it is asynchronous: many queue pairs are on their way at once, and nothing here waits.
 */
#include "verbs/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "base/fail.h"
#include "verbs/gid.h"

#define RESOLVE_MS 2000 /* for an address, and for a path */

/*
 * Each is some datagrams to a queue of 512 at either end, and one that is lost there is sent again
 * after four seconds.
 */
#define ON_THEIR_WAY 128

struct cm {
	struct rdma_event_channel *channel;
	struct rdma_cm_id *listener;
	struct rdma_cm_id **id;      /* of each queue pair; NULL: none yet */
	struct rdma_cm_id *stranger; /* turned away; to be destroyed once its event is given back */
	uint32_t begun;
	struct sockaddr_storage from, to;
};

/*
 * What a request says of itself. The number was told over the control connection, so who knows it
 * belongs to this session.
 */
struct request {
	uint32_t index, psn; /* big-endian */
};

static void address_text(const struct sockaddr_storage *a, char *out, size_t size)
{
	const struct sockaddr_in6 *in6 = (const struct sockaddr_in6 *)a;
	const struct sockaddr_in *in = (const struct sockaddr_in *)a;
	const void *address = &in->sin_addr;

	if (a->ss_family == AF_INET6)
		address = &in6->sin6_addr;
	if (!inet_ntop(a->ss_family, address, out, (socklen_t)size))
		snprintf(out, size, "?");
}

/* One failure of librdmacm's, in words. */
static int told(const struct connection *c, const char *what, int error, const char *cause,
		const char *advice)
{
	const struct cm *cm = c->state;
	char from[INET6_ADDRSTRLEN], to[INET6_ADDRSTRLEN + 24] = "";

	address_text(&cm->from, from, sizeof(from));
	if (c->asks) {
		memcpy(to, " to ", 4);
		address_text(&cm->to, to + 4, INET6_ADDRSTRLEN);
		snprintf(to + strlen(to), 16, " port %u", c->theirs->cm_port);
	}
	return fail(connection_stands(c) ? FAIL_RUN : FAIL_SETUP, error,
		    "rdma_cm: %s from %s of %s%s: %s; %s", what, from, c->device->facts.name, to,
		    cause, advice);
}

static const char *errno_advice(int error)
{
	static const struct {
		int error;
		const char *advice;
	} rows[] = {
		{ ENODEV, "rdma_cm knows no RDMA device there, and 127.0.0.1 never is one: use an "
			  "address of a netdev, or drop --rdma-cm" },
		{ EADDRNOTAVAIL, "that is no address of this host: choose another --gid-index, or "
				 "drop --rdma-cm" },
		{ EADDRINUSE, "end what uses the port, or try again" },
		{ EACCES, "see the permissions of /dev/infiniband/rdma_cm" },
		{ ENOENT, "load the module rdma_ucm, or drop --rdma-cm" },
		{ ETIMEDOUT, "nobody answers at that address: check routes, neighbours and the "
			     "server's netdev" },
		{ EHOSTUNREACH, "check routes and neighbours" },
		{ ENETUNREACH, "check routes" },
		{ ENOMEM, "lower --qp" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].error == error)
			return rows[i].advice;
	return "see the kernel log, or drop --rdma-cm";
}

static int told_errno(const struct connection *c, const char *what, int error)
{
	return told(c, what, error, strerror(error), errno_advice(error));
}

/* librdmacm's calls return -1 with errno; some of its versions -errno. */
static int errno_of(int rc)
{
	return rc == -1 ? errno : abs(rc);
}

/* ---- addresses ---- */

static void set_port(struct sockaddr_storage *a, uint16_t port)
{
	/* In the same place in both families. */
	((struct sockaddr_in *)a)->sin_port = htons(port);
}

/*
 * The address that stands for a side's GID, so that librdmacm takes the same one. InfiniBand has
 * no such: there it is that of the control connection, which has to be the port's IPoIB.
 */
static void address_of(const struct connection *c, const union ibv_gid *gid,
		       const struct sockaddr_storage *control, struct sockaddr_storage *out)
{
	struct sockaddr_in6 *in6 = (struct sockaddr_in6 *)out;

	if (c->device->facts.gid_kind == GID_NONE || c->device->facts.gid_kind == GID_IB) {
		*out = *control;
		return;
	}
	gid_address(gid, out);
	if (out->ss_family == AF_INET6 && gid_is_link_local(gid))
		in6->sin6_scope_id = if_nametoindex(c->device->facts.netdev);
}

/* Another device would measure something else than what the header says. */
static int check_device(const struct connection *c, const struct rdma_cm_id *id)
{
	const struct device_facts *ours = &c->device->facts;
	char cause[160];

	if (!id->verbs || (!strcmp(ibv_get_device_name(id->verbs->device), ours->name) &&
			   id->port_num == ours->port))
		return 0;
	snprintf(cause, sizeof(cause), "the path goes by %s port %u, not by %s port %u",
		 ibv_get_device_name(id->verbs->device), id->port_num, ours->name, ours->port);
	return told(c, "finding the device", ENODEV, cause, "choose that one with --ib-dev, or "
		    "mend the routes");
}

/* ---- queue pairs ---- */

static int check_gid(const struct connection *c, const struct ibv_ah_attr *av)
{
	const struct device_facts *ours = &c->device->facts;
	bool wanted = ours->gid_kind != GID_NONE;
	char cause[96];

	if (av->is_global == wanted && (!wanted || av->grh.sgid_index == ours->gid_index))
		return 0;
	snprintf(cause, sizeof(cause), "it takes %s %u, not %s %u",
		 av->is_global ? "GID" : "LID",
		 av->is_global ? av->grh.sgid_index : ours->lid, wanted ? "GID" : "LID",
		 wanted ? ours->gid_index : ours->lid);
	return told(c, "finding the GID", EADDRNOTAVAIL, cause,
		    "choose that one with --gid-index or --peer-gid-index, or drop --rdma-cm");
}

/*
 * The type of service is in the address vector, as traffic class or service level, and so is what a
 * subnet asks for: they stay unless another is asked for. The rest of it becomes that of the other
 * way to connect.
 */
static int bring_up(struct connection *c, uint32_t i, struct rdma_cm_id *id)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR }, rts = { .qp_state = IBV_QPS_RTS };
	struct connect_peer peer;
	int mask, rc = rdma_init_qp_attr(id, &rtr, &mask);

	if (!rc)
		rc = rdma_init_qp_attr(id, &rts, &mask);
	if (rc)
		return told_errno(c, "asking for the attributes of a queue pair", errno_of(rc));
	if (rtr.dest_qp_num != c->theirs->qpn[i])
		return told(c, "asking for the attributes of a queue pair", EPROTO,
			    "they are not of the pair that the peer told of",
			    "see that no address is in use twice");
	peer = (struct connect_peer){
		.av = rtr.ah_attr, .qpn = rtr.dest_qp_num, .rq_psn = rtr.rq_psn,
		.sq_psn = rts.sq_psn,
	};
	peer.av.static_rate = 0;
	if (c->path.sl)
		peer.av.sl = (uint8_t)c->path.sl;
	if (peer.av.is_global) {
		peer.av.grh.hop_limit = (uint8_t)c->path.hop_limit;
		peer.av.grh.flow_label = c->path.flow_label;
		if (c->path.tclass)
			peer.av.grh.traffic_class = (uint8_t)c->path.tclass;
	}
	rc = check_gid(c, &peer.av);
	return rc ? rc : connect_pair(c, i, &peer);
}

static struct rdma_conn_param parameters(const struct connection *c, uint32_t i)
{
	return (struct rdma_conn_param){
		/* Reads and atomics are set by hand: these are never beyond what it allows. */
		.responder_resources = RDMA_MAX_RESP_RES, .initiator_depth = RDMA_MAX_INIT_DEPTH,
		.retry_count = (uint8_t)c->path.retry,
		.rnr_retry_count = (uint8_t)c->path.rnr_retry,
		.qp_num = c->queues->qp[i]->qp_num,
	};
}

static int set_tos(const struct connection *c, struct rdma_cm_id *id)
{
	uint8_t tos = (uint8_t)c->path.tos;
	int rc;

	if (c->path.tos == TOS_DEFAULT)
		return 0;
	rc = rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof(tos));
	return rc ? told_errno(c, "setting the type of service", errno_of(rc)) : 0;
}

/* Begins the next queue pair, if there is one. */
static int ask_next(struct connection *c)
{
	struct cm *cm = c->state;
	uint32_t i = cm->begun;
	int rc;

	if (i == c->queues->count)
		return 0;
	cm->begun++;
	rc = rdma_create_id(cm->channel, &cm->id[i], (void *)(uintptr_t)i, RDMA_PS_TCP);
	if (rc)
		return told_errno(c, "making an identifier", errno_of(rc));
	rc = set_tos(c, cm->id[i]);
	if (rc)
		return rc;
	rc = rdma_resolve_addr(cm->id[i], (struct sockaddr *)&cm->from,
			       (struct sockaddr *)&cm->to, RESOLVE_MS);
	return rc ? told_errno(c, "resolving the address", errno_of(rc)) : 0;
}

static int listen_for(struct connection *c)
{
	struct cm *cm = c->state;
	int rc = rdma_create_id(cm->channel, &cm->listener, NULL, RDMA_PS_TCP);

	if (rc)
		return told_errno(c, "making an identifier", errno_of(rc));
	rc = set_tos(c, cm->listener);
	if (rc)
		return rc;
	rc = rdma_bind_addr(cm->listener, (struct sockaddr *)&cm->from);
	if (!rc)
		rc = rdma_listen(cm->listener, 2 * ON_THEIR_WAY);
	if (rc)
		return told_errno(c, "listening", errno_of(rc));
	c->ours->cm_port = ntohs(rdma_get_src_port(cm->listener));
	return check_device(c, cm->listener);
}

int connect_cm_begin(struct connection *c)
{
	struct cm *cm = c->state = calloc(1, sizeof(*cm));
	int rc = 0;

	if (cm)
		cm->id = calloc(c->queues->count, sizeof(struct rdma_cm_id *));
	if (!cm || !cm->id)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for %u connections",
			    c->queues->count);
	address_of(c, &c->device->gid, c->local, &cm->from);
	address_of(c, &c->theirs->gid, c->remote, &cm->to);
	set_port(&cm->from, 0);
	set_port(&cm->to, (uint16_t)c->theirs->cm_port);
	cm->channel = rdma_create_event_channel();
	if (!cm->channel)
		return told(c, "opening an event channel", errno, strerror(errno),
			    "load the module rdma_ucm, see /dev/infiniband/rdma_cm, or drop "
			    "--rdma-cm");
	c->fd = cm->channel->fd;
	fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) | O_NONBLOCK);
	if (!c->asks)
		return listen_for(c);
	for (uint32_t i = 0; !rc && i < ON_THEIR_WAY; i++)
		rc = ask_next(c);
	return rc;
}

/* ---- events ---- */

static uint32_t index_of(const struct rdma_cm_event *e)
{
	return (uint32_t)(uintptr_t)e->id->context;
}

static int take_address(struct connection *c, struct rdma_cm_event *e)
{
	int rc = check_device(c, e->id);

	if (rc)
		return rc;
	rc = rdma_resolve_route(e->id, RESOLVE_MS);
	return rc ? told_errno(c, "resolving the route", errno_of(rc)) : 0;
}

static int take_route(struct connection *c, struct rdma_cm_event *e)
{
	uint32_t i = index_of(e);
	struct request request = { .index = htonl(i), .psn = htonl(c->ours->psn[i]) };
	struct rdma_conn_param param = parameters(c, i);
	int rc;

	param.private_data = &request;
	param.private_data_len = sizeof(request);
	rc = rdma_connect(e->id, &param);
	return rc ? told_errno(c, "asking for a connection", errno_of(rc)) : 0;
}

static int stands(struct connection *c)
{
	c->standing++;
	return connection_stands(c) ? connect_verify(c) : 0;
}

static int take_response(struct connection *c, struct rdma_cm_event *e)
{
	int rc = bring_up(c, index_of(e), e->id);

	if (rc)
		return rc;
	rc = rdma_establish(e->id);
	if (rc)
		return told_errno(c, "establishing a connection", errno_of(rc));
	rc = stands(c);
	return rc ? rc : ask_next(c);
}

/* The queue pair that a request is for; the number of them when it is nobody's of this session. */
static uint32_t asked_for(const struct connection *c, const struct rdma_cm_event *e)
{
	const struct cm *cm = c->state;
	struct request request = { .index = UINT32_MAX };
	uint32_t i;

	if (e->param.conn.private_data_len >= sizeof(request))
		memcpy(&request, e->param.conn.private_data, sizeof(request));
	i = ntohl(request.index);
	if (i >= c->queues->count || cm->id[i] || ntohl(request.psn) != c->theirs->psn[i] ||
	    e->param.conn.qp_num != c->theirs->qpn[i])
		return c->queues->count;
	return i;
}

static int take_request(struct connection *c, struct rdma_cm_event *e)
{
	uint32_t i = asked_for(c, e);
	struct rdma_conn_param param;
	struct cm *cm = c->state;
	int rc;

	if (i == c->queues->count) {
		rdma_reject(e->id, NULL, 0);
		cm->stranger = e->id;
		return 0;
	}
	cm->id[i] = e->id;
	e->id->context = (void *)(uintptr_t)i;
	rc = check_device(c, e->id);
	if (!rc)
		rc = bring_up(c, i, e->id);
	if (rc)
		return rc;
	param = parameters(c, i);
	rc = rdma_accept(e->id, &param);
	return rc ? told_errno(c, "accepting a connection", errno_of(rc)) : 0;
}

static int take_established(struct connection *c, struct rdma_cm_event *e)
{
	(void)e;
	return stands(c);
}

static int take_disconnected(struct connection *c, struct rdma_cm_event *e)
{
	(void)e;
	if (!c->lost[0])
		snprintf(c->lost, sizeof(c->lost), "disconnected a queue pair; see what it says");
	return 0;
}

/* Reasons by their numbers in the InfiniBand specification, which RoCE shares. */
static int take_rejected(struct connection *c, struct rdma_cm_event *e)
{
	static const struct {
		int reason;
		const char *words;
	} rows[] = {
		{ 1, ": it has none left for it; lower --qp" },
		{ 3, ": it has no resources left; lower --qp" },
		{ 4, ": it has waited too long for this side; see the load of both hosts" },
		{ 5, ": it does not know this kind of request; see its kernel log" },
		{ 8, ": nobody listens there; see that its address is not in use twice" },
		{ 10, ": it still knows an older connection of it; try again in a minute" },
		{ 12, ": it does not know the GID; check --gid-index on both sides" },
		{ 28, ": it does not want it; see what it says" },
	};
	const char *words = "; see its kernel log";

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].reason == e->status)
			words = rows[i].words;
	if (!c->lost[0])
		snprintf(c->lost, sizeof(c->lost), "rejected a queue pair (reason %d)%s",
			 e->status, words);
	return 0;
}

static int take_unreachable(struct connection *c, struct rdma_cm_event *e)
{
	(void)e;
	return told(c, "connecting", EHOSTUNREACH, "unreachable: no answer to the request",
		    "check that UDP port 4791 is open both ways, and both ends' GIDs");
}

static int take_address_error(struct connection *c, struct rdma_cm_event *e)
{
	return told_errno(c, "resolving the address", abs(e->status));
}

static int take_route_error(struct connection *c, struct rdma_cm_event *e)
{
	return told_errno(c, "resolving the route", abs(e->status));
}

static int take_error(struct connection *c, struct rdma_cm_event *e)
{
	return told_errno(c, "connecting", abs(e->status));
}

static int take_removal(struct connection *c, struct rdma_cm_event *e)
{
	(void)e;
	return told(c, "connecting", ENODEV, "the device has been removed", "see the kernel log");
}

typedef int (*take_function)(struct connection *c, struct rdma_cm_event *e);

/* Events that are not here mean nothing to a connection: it goes on without. */
static const take_function takes[] = {
	[RDMA_CM_EVENT_ADDR_RESOLVED] = take_address,
	[RDMA_CM_EVENT_ADDR_ERROR] = take_address_error,
	[RDMA_CM_EVENT_ROUTE_RESOLVED] = take_route,
	[RDMA_CM_EVENT_ROUTE_ERROR] = take_route_error,
	[RDMA_CM_EVENT_CONNECT_REQUEST] = take_request,
	[RDMA_CM_EVENT_CONNECT_RESPONSE] = take_response,
	[RDMA_CM_EVENT_CONNECT_ERROR] = take_error,
	[RDMA_CM_EVENT_UNREACHABLE] = take_unreachable,
	[RDMA_CM_EVENT_REJECTED] = take_rejected,
	[RDMA_CM_EVENT_ESTABLISHED] = take_established,
	[RDMA_CM_EVENT_DISCONNECTED] = take_disconnected,
	[RDMA_CM_EVENT_DEVICE_REMOVAL] = take_removal,
};

static void destroy(struct rdma_cm_id **id)
{
	if (*id && rdma_destroy_id(*id))
		note("destroying an identifier of rdma_cm: %s", strerror(errno));
	*id = NULL;
}

int connect_cm_advance(struct connection *c)
{
	struct cm *cm = c->state;
	struct rdma_cm_event *e;
	int rc = 0;

	while (!rc) {
		size_t type;

		if (rdma_get_cm_event(cm->channel, &e))
			return errno == EAGAIN || errno == EINTR ? 0 :
				told_errno(c, "waiting for an event", errno);
		type = e->event;
		if (type < sizeof(takes) / sizeof(takes[0]) && takes[type])
			rc = takes[type](c, e);
		c->steps += !cm->stranger;
		rdma_ack_cm_event(e);
		destroy(&cm->stranger); /* an identifier waits for its events to be given back */
	}
	return rc;
}

void connect_cm_end(struct connection *c)
{
	struct cm *cm = c->state;

	if (!cm)
		return;
	for (uint32_t i = 0; cm->id && i < c->queues->count; i++)
		destroy(&cm->id[i]);
	destroy(&cm->listener);
	if (cm->channel)
		rdma_destroy_event_channel(cm->channel);
	free(cm->id);
	free(cm);
	c->state = NULL;
	c->fd = -1;
}
