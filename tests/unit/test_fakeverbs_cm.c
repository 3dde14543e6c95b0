/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The part of librdmacm that the fake device has: both ends of a connection in one process. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>

#include <rdma/rdma_cma.h>

#include "fake_rig.h"

#define LINE "a line of private data"

struct meeting {
	struct rdma_event_channel *ask, *answer;
	struct rdma_cm_id *listener, *asks, *answers;
	struct sockaddr_in at;
};

static struct rdma_cm_event *event_of(struct rdma_event_channel *channel,
				      enum rdma_cm_event_type type, int status)
{
	struct pollfd fd = { .fd = channel->fd, .events = POLLIN };
	struct rdma_cm_event *e;

	CHECK(poll(&fd, 1, 5000), 1);
	CHECK(rdma_get_cm_event(channel, &e), 0);
	CHECK(e->event, type);
	CHECK(e->status, status);
	return e;
}

static void expect_cm(struct rdma_event_channel *channel, enum rdma_cm_event_type type, int status)
{
	CHECK(rdma_ack_cm_event(event_of(channel, type, status)), 0);
}

static void expect_silence(struct rdma_event_channel *channel)
{
	struct rdma_cm_event *e;

	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	CHECK(rdma_get_cm_event(channel, &e), -1);
	CHECK(errno, EAGAIN);
}

static void meet(struct meeting *m)
{
	memset(m, 0, sizeof(*m));
	m->ask = rdma_create_event_channel();
	m->answer = rdma_create_event_channel();
	CHECK(m->ask && m->answer, true);
	m->at.sin_family = AF_INET;
	m->at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(rdma_create_id(m->answer, &m->listener, NULL, RDMA_PS_TCP), 0);
	CHECK(rdma_bind_addr(m->listener, (struct sockaddr *)&m->at), 0);
	CHECK(strcmp(ibv_get_device_name(m->listener->verbs->device), "fake0"), 0);
	CHECK(rdma_listen(m->listener, 8), 0);
	CHECK(rdma_create_id(m->ask, &m->asks, m, RDMA_PS_TCP), 0);
}

static void ask(struct meeting *m, uint32_t qpn)
{
	struct rdma_conn_param param = {
		.qp_num = qpn, .private_data = LINE, .private_data_len = sizeof(LINE),
	};
	struct sockaddr_in from = m->at, to = m->at;

	to.sin_port = rdma_get_src_port(m->listener);
	CHECK(to.sin_port != 0, true);
	CHECK(rdma_resolve_addr(m->asks, (struct sockaddr *)&from, (struct sockaddr *)&to, 1000),
	      0);
	expect_cm(m->ask, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	CHECK(m->asks->port_num, 1);
	CHECK(rdma_resolve_route(m->asks, 1000), 0);
	expect_cm(m->ask, RDMA_CM_EVENT_ROUTE_RESOLVED, 0);
	CHECK(rdma_connect(m->asks, &param), 0);
}

static void be_asked(struct meeting *m, uint32_t qpn)
{
	struct rdma_cm_event *e = event_of(m->answer, RDMA_CM_EVENT_CONNECT_REQUEST, 0);

	CHECK(e->listen_id == m->listener, true);
	CHECK(e->id != m->listener, true);
	CHECK(e->param.conn.qp_num, qpn);
	CHECK(e->param.conn.private_data_len, 56); /* as long as what the wire carries */
	CHECK(strcmp(e->param.conn.private_data, LINE), 0);
	m->answers = e->id;
	rdma_ack_cm_event(e);
}

static void part(struct meeting *m)
{
	if (m->answers)
		CHECK(rdma_destroy_id(m->answers), 0);
	CHECK(rdma_destroy_id(m->asks), 0);
	CHECK(rdma_destroy_id(m->listener), 0);
	rdma_destroy_event_channel(m->ask);
	rdma_destroy_event_channel(m->answer);
}

static struct ibv_qp_attr attributes(struct rdma_cm_id *id, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };
	int mask;

	CHECK(rdma_init_qp_attr(id, &attr, &mask), 0);
	CHECK(attr.qp_state, state);
	return attr;
}

static void accept_it(struct meeting *m, uint32_t qpn)
{
	struct rdma_conn_param param = { .qp_num = qpn };

	CHECK(rdma_accept(m->answers, &param), 0);
	expect_cm(m->ask, RDMA_CM_EVENT_CONNECT_RESPONSE, 0);
	CHECK(rdma_establish(m->asks), 0);
	expect_cm(m->answer, RDMA_CM_EVENT_ESTABLISHED, 0);
}

static void connects(void)
{
	struct ibv_qp_attr ours, theirs;
	struct meeting m;
	uint8_t tos = 40;
	struct rig r;

	rig_open(&r);
	meet(&m);
	CHECK(rdma_set_option(m.asks, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 1), 0);
	ask(&m, 17);
	be_asked(&m, 17);
	theirs = attributes(m.answers, IBV_QPS_RTR); /* before it accepts */
	accept_it(&m, 18);
	ours = attributes(m.asks, IBV_QPS_RTR);
	CHECK(ours.dest_qp_num, 18);
	CHECK(theirs.dest_qp_num, 17);
	CHECK(ours.rq_psn, attributes(m.answers, IBV_QPS_RTS).sq_psn);
	CHECK(theirs.rq_psn, attributes(m.asks, IBV_QPS_RTS).sq_psn);
	CHECK(ours.rq_psn != theirs.rq_psn, true);
	CHECK(ours.ah_attr.grh.traffic_class, 40);
	CHECK(theirs.ah_attr.grh.traffic_class, 40);
	CHECK(ours.ah_attr.grh.sgid_index, 1);
	CHECK(memcmp(&ours.ah_attr.grh.dgid, &r.gid, sizeof(r.gid)), 0);
	expect_silence(m.ask);
	expect_silence(m.answer);
	CHECK(rdma_disconnect(m.asks), 0);
	expect_cm(m.answer, RDMA_CM_EVENT_DISCONNECTED, 0);
	part(&m);
	rig_close(&r);
}

static void destroying_disconnects(void)
{
	struct meeting m;

	meet(&m);
	ask(&m, 1);
	be_asked(&m, 1);
	accept_it(&m, 2);
	CHECK(rdma_destroy_id(m.answers), 0);
	m.answers = NULL;
	expect_cm(m.ask, RDMA_CM_EVENT_DISCONNECTED, 0);
	part(&m);
}

/* By the program, by letting go of it, and because nobody is there. */
static void rejects(void)
{
	for (int way = 0; way < 3; way++) {
		struct meeting m;

		meet(&m);
		if (way == 2) {
			rdma_destroy_id(m.listener);
			ask(&m, 1);
			CHECK(rdma_create_id(m.answer, &m.listener, NULL, RDMA_PS_TCP), 0);
		} else {
			ask(&m, 1);
			be_asked(&m, 1);
		}
		if (way == 0)
			CHECK(rdma_reject(m.answers, NULL, 0), 0);
		if (way == 1) {
			CHECK(rdma_destroy_id(m.answers), 0);
			m.answers = NULL;
		}
		expect_cm(m.ask, RDMA_CM_EVENT_REJECTED, way == 2 ? 8 : 28);
		part(&m);
	}
}

static void rejects_the_second(void)
{
	struct meeting m;

	meet(&m);
	ask(&m, 1);
	be_asked(&m, 1);
	rdma_destroy_id(m.asks);
	CHECK(rdma_create_id(m.ask, &m.asks, NULL, RDMA_PS_TCP), 0);
	ask(&m, 2);
	expect_cm(m.ask, RDMA_CM_EVENT_REJECTED, 3);
	part(&m);
}

static void unreachable(void)
{
	struct meeting m;

	meet(&m);
	ask(&m, 1);
	expect_cm(m.ask, RDMA_CM_EVENT_UNREACHABLE, -ETIMEDOUT);
	expect_silence(m.answer);
	part(&m);
}

static void loses(void)
{
	struct meeting m;

	meet(&m);
	ask(&m, 1);
	expect_silence(m.ask);
	expect_silence(m.answer);
	part(&m);
}

/* 10.1.2.3 is no device's; an address and a route that the settings make fail. */
static void resolves_nothing(void)
{
	struct sockaddr_in bad = { .sin_family = AF_INET };
	struct meeting m;

	inet_pton(AF_INET, "10.1.2.3", &bad.sin_addr);
	meet(&m);
	CHECK(rdma_bind_addr(m.asks, (struct sockaddr *)&bad), -1);
	CHECK(errno, ENODEV);
	CHECK(rdma_resolve_addr(m.asks, (struct sockaddr *)&m.at, (struct sockaddr *)&bad, 1), 0);
	expect_cm(m.ask, RDMA_CM_EVENT_ADDR_ERROR, -ETIMEDOUT);
	CHECK(rdma_resolve_addr(m.asks, (struct sockaddr *)&m.at, (struct sockaddr *)&bad, 1), 0);
	expect_cm(m.ask, RDMA_CM_EVENT_ADDR_RESOLVED, 0);
	CHECK(rdma_resolve_route(m.asks, 1), 0);
	expect_cm(m.ask, RDMA_CM_EVENT_ROUTE_ERROR, -EHOSTUNREACH);
	part(&m);
}

static void takes_another(void)
{
	struct rdma_cm_id *id;
	struct meeting m;

	meet(&m);
	CHECK(rdma_create_id(m.ask, &id, NULL, RDMA_PS_TCP), 0);
	m.at.sin_addr.s_addr = htonl(INADDR_LOOPBACK + 1); /* fake1's */
	CHECK(rdma_bind_addr(id, (struct sockaddr *)&m.at), 0);
	CHECK(strcmp(ibv_get_device_name(id->verbs->device), "fake1"), 0);
	CHECK(rdma_destroy_id(id), 0);
	part(&m);
}

static void fails_on_demand(void)
{
	struct meeting m;
	struct rdma_cm_id *id;

	meet(&m);
	CHECK(rdma_create_id(m.ask, &id, NULL, RDMA_PS_TCP), -1); /* the third */
	CHECK(errno, ENOMEM);
	part(&m);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "connects", "", connects },
		{ "destroying_disconnects", "", destroying_disconnects },
		{ "rejects", "", rejects },
		{ "rejects_the_second", "cm_reject=3:2", rejects_the_second },
		{ "unreachable", "cm_unreachable=1", unreachable },
		{ "loses", "cm_lose=1", loses },
		{ "resolves_nothing", "cm_address=110:1 cm_route=113:1", resolves_nothing },
		{ "takes_another", "devices=2", takes_another },
		{ "fails_on_demand", "fail=rdma_create_id:3:12", fails_on_demand },
	};

	return scenes_main(argc, argv, scenes, sizeof(scenes) / sizeof(scenes[0]));
}
