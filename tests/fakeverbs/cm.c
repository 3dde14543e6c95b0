/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Enough of librdmacm to connect queue pairs that a program has made itself. An event channel is
 * a pipe in the fabric's directory: whoever has something to say to an identifier writes it
 * there, the own process too, and rdma_get_cm_event() takes it out.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <rdma/rdma_cma.h>

#define IDS 8192
#define ID_BITS 13
#define PIPE_BYTES (1 << 20)
#define FIRST_PORT 20000
#define DATA 56 /* private data of a request; what comes is always as long */
#define NOBODY_LISTENS 8
#define NOT_WANTED 28
/* What a program has to put right itself. */
#define OWN_HOP_LIMIT 1
#define OWN_FLOW_LABEL 0x12345
#define OWN_RATE 5
#define OWN_TIMEOUT 19

struct fake_channel {
	struct rdma_event_channel verbs;
	uint32_t number;
};

/* Where something is said, and what the other end is to know of it. */
struct cm_end {
	uint32_t node, channel;
	uint64_t handle;
	uint32_t qpn, psn, lid, tos;
	union ibv_gid gid;
};

struct cm_message {
	uint32_t event;
	int32_t status;
	uint64_t to; /* the receiver's identifier */
	struct cm_end from;
	uint8_t data[DATA];
};

enum id_state { IDLE, ASKED, REQUESTED, CONNECTED, OVER };

struct fake_id {
	struct rdma_cm_id verbs;
	enum id_state state;
	struct cm_end own, peer;
	uint32_t gid_index, events;
	struct shared_listener *listener;
};

struct fake_event {
	struct rdma_cm_event verbs;
	struct fake_id *owner;
	uint8_t data[DATA];
};

static struct fake_id *ids[IDS];
static uint64_t generation;
static uint32_t next_channel, next_slot, alive;
static struct ibv_context contexts[FAKE_DEVICES];

static int result(int error)
{
	errno = error;
	return error ? -1 : 0;
}

static struct fake_id *of(struct rdma_cm_id *id)
{
	return (struct fake_id *)id;
}

/* ---- messages ---- */

static void channel_path(char *out, size_t size, uint32_t node, uint32_t channel)
{
	fabric_path(out, size, "/cm.%u.%llu.%u", node,
		    (unsigned long long)fabric->node[node].serial, channel);
}

/* Opened to read as well, so that it can be written to when the other end has just been closed. */
static void say(const struct cm_end *to, const struct cm_message *m)
{
	char path[300];
	int fd;

	channel_path(path, sizeof(path), to->node, to->channel);
	fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return; /* nobody is there any more */
	if (write(fd, m, sizeof(*m)) != sizeof(*m))
		report_violation("an event channel that nobody reads");
	close(fd);
}

static void say_own(struct fake_id *id, enum rdma_cm_event_type event, int status)
{
	struct cm_message m = { .event = event, .status = status, .to = id->own.handle };

	say(&id->own, &m);
}

static void say_peer(struct fake_id *id, enum rdma_cm_event_type event, int status)
{
	struct cm_message m = {
		.event = event, .status = status, .to = id->peer.handle, .from = id->own,
	};

	say(&id->peer, &m);
}

/* ---- channels and identifiers ---- */

struct rdma_event_channel *rdma_create_event_channel(void)
{
	int error = fault_call(CALL_rdma_create_event_channel);
	struct fake_channel *c;
	char path[300];

	if (!error)
		error = fabric_attach();
	c = error ? NULL : calloc(1, sizeof(*c));
	if (!c) {
		errno = error ? error : ENOMEM;
		return NULL;
	}
	c->number = ++next_channel;
	channel_path(path, sizeof(path), own->number, c->number);
	c->verbs.fd = mkfifo(path, 0600) ? -1 : open(path, O_RDWR | O_CLOEXEC);
	if (c->verbs.fd < 0) {
		free(c);
		return NULL;
	}
	fcntl(c->verbs.fd, F_SETPIPE_SZ, PIPE_BYTES);
	return &c->verbs;
}

void rdma_destroy_event_channel(struct rdma_event_channel *verbs)
{
	struct fake_channel *c = (struct fake_channel *)verbs;
	char path[300];

	channel_path(path, sizeof(path), own->number, c->number);
	unlink(path);
	close(verbs->fd);
	free(c);
}

static struct fake_id *make_id(struct rdma_event_channel *channel, void *context,
			       enum rdma_port_space ps)
{
	struct fake_id *id = calloc(1, sizeof(*id));

	while (id && ids[next_slot % IDS])
		next_slot++;
	if (!id)
		return NULL;
	id->verbs.channel = channel;
	id->verbs.context = context;
	id->verbs.ps = ps;
	id->own = (struct cm_end){
		.node = own->number, .channel = ((struct fake_channel *)channel)->number,
		.handle = ++generation << ID_BITS | next_slot % IDS,
		.psn = (uint32_t)script_draw(1 << 24), .tos = UINT32_MAX,
	};
	ids[next_slot++ % IDS] = id;
	alive++;
	return id;
}

int rdma_create_id(struct rdma_event_channel *channel, struct rdma_cm_id **id, void *context,
		   enum rdma_port_space ps)
{
	int error = fault_call(CALL_rdma_create_id);
	struct fake_id *new;

	if (!error && (ps != RDMA_PS_TCP || alive + 1 >= IDS))
		error = EINVAL;
	new = error ? NULL : make_id(channel, context, ps);
	if (!new)
		return result(error ? error : ENOMEM);
	*id = &new->verbs;
	return 0;
}

int rdma_destroy_id(struct rdma_cm_id *verbs)
{
	struct fake_id *id = of(verbs);
	int error = fault_call(CALL_rdma_destroy_id);

	if (error)
		return result(error);
	if (id->events)
		report_violation("an identifier destroyed before its events were given back");
	if (id->state == CONNECTED)
		say_peer(id, RDMA_CM_EVENT_DISCONNECTED, 0);
	else if (id->state == REQUESTED)
		say_peer(id, RDMA_CM_EVENT_REJECTED, NOT_WANTED);
	if (id->listener)
		id->listener->used = false;
	ids[id->own.handle % IDS] = NULL;
	alive--;
	free(id);
	return 0;
}

static void __attribute__((destructor)) count_left(void)
{
	if (alive)
		report_violation("closed with %u identifiers", alive);
}

int rdma_set_option(struct rdma_cm_id *id, int level, int name, void *value, size_t length)
{
	int error = fault_call(CALL_rdma_set_option);

	if (!error && (level != RDMA_OPTION_ID || name != RDMA_OPTION_ID_TOS || length != 1))
		error = ENOSYS;
	if (!error)
		of(id)->own.tos = *(uint8_t *)value;
	return result(error);
}

/* ---- addresses ---- */

static bool address_gid(const struct sockaddr *a, union ibv_gid *gid)
{
	memset(gid, 0, sizeof(*gid));
	if (a->sa_family == AF_INET6) {
		memcpy(gid->raw, &((const struct sockaddr_in6 *)(const void *)a)->sin6_addr, 16);
	} else {
		gid->raw[10] = gid->raw[11] = 0xff;
		memcpy(gid->raw + 12, &((const struct sockaddr_in *)(const void *)a)->sin_addr, 4);
	}
	return a->sa_family == AF_INET6 || a->sa_family == AF_INET;
}

static size_t address_size(const struct sockaddr *a)
{
	return a->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

/* To the device that has the address; on InfiniBand, where addresses are IPoIB's, to the first. */
static int bind_to(struct fake_id *id, struct sockaddr *address)
{
	struct ibv_device *device = device_at(0);
	union ibv_gid gid;

	if (!address_gid(address, &gid))
		return EAFNOSUPPORT;
	if (!script.infiniband)
		device = device_of_gid(&gid, &id->gid_index);
	if (script.cm_device < FAKE_DEVICES)
		device = device_at((uint32_t)script.cm_device);
	if (script.cm_gid < FAKE_GIDS)
		id->gid_index = (uint32_t)script.cm_gid;
	if (!device)
		return ENODEV;
	id->verbs.verbs = &contexts[ibv_get_device_index(device)];
	id->verbs.verbs->device = device;
	id->verbs.port_num = 1;
	id->own.gid = gid;
	id->own.lid = device_lid(id->verbs.verbs);
	memcpy(&id->verbs.route.addr.src_storage, address, address_size(address));
	return 0;
}

int rdma_bind_addr(struct rdma_cm_id *id, struct sockaddr *address)
{
	int error = fault_call(CALL_rdma_bind_addr);

	return result(error ? error : bind_to(of(id), address));
}

/* Whether this is the one that "ERRNO:N" or N of the script means. */
static bool is_nth(uint64_t *count, uint64_t n)
{
	return ++*count == n;
}

int rdma_resolve_addr(struct rdma_cm_id *verbs, struct sockaddr *from, struct sockaddr *to,
		      int timeout_ms)
{
	int error = fault_call(CALL_rdma_resolve_addr);
	static uint64_t count;

	(void)timeout_ms;
	if (!error)
		error = bind_to(of(verbs), from);
	if (error)
		return result(error);
	memcpy(&verbs->route.addr.dst_storage, to, address_size(to));
	if (is_nth(&count, script.cm_address_at))
		say_own(of(verbs), RDMA_CM_EVENT_ADDR_ERROR, -(int)script.cm_address);
	else
		say_own(of(verbs), RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	return 0;
}

int rdma_resolve_route(struct rdma_cm_id *id, int timeout_ms)
{
	int error = fault_call(CALL_rdma_resolve_route);
	static uint64_t count;

	(void)timeout_ms;
	if (error)
		return result(error);
	if (is_nth(&count, script.cm_route_at))
		say_own(of(id), RDMA_CM_EVENT_ROUTE_ERROR, -(int)script.cm_route);
	else
		say_own(of(id), RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	return 0;
}

/* ---- connecting ---- */

int rdma_listen(struct rdma_cm_id *verbs, int backlog)
{
	int error = fault_call(CALL_rdma_listen);
	struct fake_id *id = of(verbs);

	(void)backlog;
	if (error)
		return result(error);
	fabric_lock();
	for (uint32_t i = 0; i < FAKE_LISTENERS && !id->listener; i++)
		if (!own->shared->listener[i].used) {
			id->listener = &own->shared->listener[i];
			*id->listener = (struct shared_listener){
				.used = true, .channel = id->own.channel,
				.port = FIRST_PORT + own->number * FAKE_LISTENERS + i,
				.handle = id->own.handle, .gid = id->own.gid,
			};
			verbs->route.addr.src_sin.sin_port = htons((uint16_t)id->listener->port);
		}
	fabric_unlock();
	return result(id->listener ? 0 : EADDRINUSE);
}

static bool find_listener(const struct sockaddr *address, struct cm_end *found)
{
	uint32_t port = ntohs(((const struct sockaddr_in *)(const void *)address)->sin_port);
	union ibv_gid gid;
	bool is_there = false;

	address_gid(address, &gid);
	fabric_lock();
	for (uint32_t n = 1; n <= FAKE_NODES && !is_there; n++) {
		const struct node *node = fabric_node(n);

		for (uint32_t i = 0; node && i < FAKE_LISTENERS && !is_there; i++) {
			const struct shared_listener *l = &node->shared->listener[i];

			is_there = l->used && l->port == port && !memcmp(&l->gid, &gid, 16);
			*found = (struct cm_end){ .node = n, .channel = l->channel,
						  .handle = l->handle };
		}
	}
	fabric_unlock();
	return is_there;
}

int rdma_connect(struct rdma_cm_id *verbs, struct rdma_conn_param *param)
{
	int error = fault_call(CALL_rdma_connect);
	struct cm_message m = { .event = RDMA_CM_EVENT_CONNECT_REQUEST };
	struct fake_id *id = of(verbs);
	static uint64_t count;

	if (!error && (!param->private_data_len || param->private_data_len > DATA))
		error = EINVAL;
	if (error)
		return result(error);
	count++;
	id->own.qpn = param->qp_num;
	if (count == script.cm_lose)
		return 0;
	if (count == script.cm_reject_at || count == script.cm_unreachable) {
		bool rejected = count == script.cm_reject_at;

		say_own(id, rejected ? RDMA_CM_EVENT_REJECTED : RDMA_CM_EVENT_UNREACHABLE,
			rejected ? (int)script.cm_reject : -ETIMEDOUT);
	} else if (!find_listener(&verbs->route.addr.dst_addr, &id->peer)) {
		say_own(id, RDMA_CM_EVENT_REJECTED, NOBODY_LISTENS);
	} else {
		id->state = ASKED;
		m.to = id->peer.handle;
		m.from = id->own;
		memcpy(m.data, param->private_data, param->private_data_len);
		if (count == script.cm_garble)
			m.data[param->private_data_len - 1] ^= 1;
		say(&id->peer, &m);
	}
	return 0;
}

int rdma_accept(struct rdma_cm_id *verbs, struct rdma_conn_param *param)
{
	int error = fault_call(CALL_rdma_accept);
	struct fake_id *id = of(verbs);

	if (!error && id->state != REQUESTED)
		error = EINVAL;
	if (error)
		return result(error);
	id->own.qpn = param->qp_num;
	id->state = CONNECTED;
	say_peer(id, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	return 0;
}

int rdma_reject(struct rdma_cm_id *verbs, const void *data, uint8_t length)
{
	int error = fault_call(CALL_rdma_reject);

	(void)data;
	(void)length;
	if (error)
		return result(error);
	say_peer(of(verbs), RDMA_CM_EVENT_REJECTED, NOT_WANTED);
	of(verbs)->state = OVER;
	return 0;
}

int rdma_establish(struct rdma_cm_id *verbs)
{
	int error = fault_call(CALL_rdma_establish);

	if (!error && of(verbs)->state != CONNECTED)
		error = EINVAL;
	if (error)
		return result(error);
	say_peer(of(verbs), RDMA_CM_EVENT_ESTABLISHED, 0);
	return 0;
}

int rdma_disconnect(struct rdma_cm_id *verbs)
{
	int error = fault_call(CALL_rdma_disconnect);

	if (error)
		return result(error);
	say_peer(of(verbs), RDMA_CM_EVENT_DISCONNECTED, 0);
	say_own(of(verbs), RDMA_CM_EVENT_DISCONNECTED, 0);
	of(verbs)->state = OVER;
	return 0;
}

void cm_disconnect_all(void)
{
	for (uint32_t i = 0; i < IDS; i++)
		if (ids[i] && ids[i]->state == CONNECTED)
			say_peer(ids[i], RDMA_CM_EVENT_DISCONNECTED, 0);
}

/* As a kernel does: the least path MTU and a long timeout, which a program may not want. */
int rdma_init_qp_attr(struct rdma_cm_id *verbs, struct ibv_qp_attr *attr, int *mask)
{
	int error = fault_call(CALL_rdma_init_qp_attr);
	const struct fake_id *id = of(verbs);
	enum ibv_qp_state state = attr->qp_state;
	uint32_t tos = id->own.tos == UINT32_MAX ? id->peer.tos : id->own.tos;

	if (!error && id->state != CONNECTED && id->state != REQUESTED)
		error = EINVAL;
	if (error)
		return result(error);
	*attr = (struct ibv_qp_attr){
		.qp_state = state, .path_mtu = IBV_MTU_256, .dest_qp_num = id->peer.qpn,
		.rq_psn = id->own.psn, .sq_psn = id->peer.psn, .timeout = OWN_TIMEOUT,
		.port_num = 1,
		.ah_attr = {
			.is_global = !script.infiniband, .port_num = 1,
			.dlid = (uint16_t)id->peer.lid, .static_rate = OWN_RATE,
			.grh = {
				.dgid = id->peer.gid, .sgid_index = (uint8_t)id->gid_index,
				.hop_limit = OWN_HOP_LIMIT, .flow_label = OWN_FLOW_LABEL,
				.traffic_class = tos == UINT32_MAX ? 0 : (uint8_t)tos,
			},
		},
	};
	if (script.infiniband)
		attr->ah_attr.grh = (struct ibv_global_route){ .hop_limit = 0 };
	*mask = IBV_QP_STATE;
	return 0;
}

/* ---- events ---- */

static struct fake_id *receiver(const struct cm_message *m)
{
	struct fake_id *id = ids[m->to % IDS];

	return id && id->own.handle == m->to ? id : NULL;
}

/* A request makes an identifier for itself, as its listener is. */
static struct fake_id *requested(struct fake_id *listener, const struct cm_message *m)
{
	struct fake_id *id = make_id(listener->verbs.channel, listener->verbs.context,
				     listener->verbs.ps);

	if (!id)
		return NULL;
	id->verbs.verbs = listener->verbs.verbs;
	id->verbs.port_num = 1;
	id->own.gid = listener->own.gid;
	id->own.lid = listener->own.lid;
	id->own.tos = listener->own.tos;
	id->gid_index = listener->gid_index;
	id->peer = m->from;
	id->state = REQUESTED;
	return id;
}

static void take(struct fake_event *e, struct fake_id *id, const struct cm_message *m)
{
	e->verbs = (struct rdma_cm_event){
		.id = &id->verbs, .event = (enum rdma_cm_event_type)m->event, .status = m->status,
	};
	memcpy(e->data, m->data, DATA);
	e->owner = id;
	e->verbs.param.conn.private_data = e->data;
	e->verbs.param.conn.private_data_len = DATA;
	e->verbs.param.conn.qp_num = m->from.qpn;
	if (m->event == RDMA_CM_EVENT_CONNECT_RESPONSE) {
		id->peer = m->from;
		id->state = CONNECTED;
	} else if (m->event == RDMA_CM_EVENT_DISCONNECTED ||
		   m->event == RDMA_CM_EVENT_REJECTED) {
		id->state = OVER;
	}
}

static int take_request(struct fake_event *e, struct fake_id *listener, const struct cm_message *m)
{
	struct fake_id *id = requested(listener, m);

	if (!id)
		return ENOMEM;
	take(e, id, m);
	e->verbs.listen_id = &listener->verbs;
	e->owner = listener;
	return 0;
}

int rdma_get_cm_event(struct rdma_event_channel *channel, struct rdma_cm_event **event)
{
	struct fake_id *id = NULL;
	struct cm_message m;
	struct fake_event *e;
	int error;

	/* What is for one that is gone is for nobody. */
	while (!id) {
		if (read(channel->fd, &m, sizeof(m)) != sizeof(m))
			return -1;
		id = receiver(&m);
	}
	error = fault_call(CALL_rdma_get_cm_event);
	e = error ? NULL : calloc(1, sizeof(*e));
	if (!e)
		return result(error ? error : ENOMEM);
	if (m.event == RDMA_CM_EVENT_CONNECT_REQUEST)
		error = take_request(e, id, &m);
	else
		take(e, id, &m);
	if (error) {
		free(e);
		return result(error);
	}
	e->owner->events++;
	*event = &e->verbs;
	return 0;
}

int rdma_ack_cm_event(struct rdma_cm_event *event)
{
	struct fake_event *e = (struct fake_event *)event;

	e->owner->events--;
	free(e);
	return 0;
}
