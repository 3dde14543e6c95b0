/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "verbs/connect.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/fail.h"
#include "verbs/gid.h"

#define PSN_MASK 0xffffff
#define PKEY_BASE 0x7fff /* of a key; the other bit is its membership */
#define HOP_LIMIT_DEFAULT 64

int endpoints_alloc(struct endpoints *e, uint32_t count)
{
	*e = (struct endpoints){
		.count = count,
		.qpn = calloc(count, sizeof(*e->qpn)),
		.psn = calloc(count, sizeof(*e->psn)),
		.rkey = calloc(count, sizeof(*e->rkey)),
	};
	if (e->qpn && e->psn && e->rkey)
		return 0;
	endpoints_free(e);
	return fail(FAIL_SETUP, ENOMEM, "out of memory for %u endpoints", count);
}

void endpoints_free(struct endpoints *e)
{
	free(e->qpn);
	free(e->psn);
	free(e->rkey);
	*e = (struct endpoints){ 0 };
}

static enum ibv_mtu mtu_enum(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && (128U << (mtu + 1)) <= bytes)
		mtu++;
	return mtu;
}

struct connect_path connect_path_of(const struct point *p)
{
	return (struct connect_path){
		.mtu = (uint32_t)p->mtu.value, .sl = (uint32_t)p->sl.value,
		.tclass = (uint32_t)p->tclass.value, .flow_label = (uint32_t)p->flow_label.value,
		.hop_limit = (uint32_t)p->hop_limit.value,
		.pkey_index = (uint32_t)p->pkey_index.value,
		.timeout = (uint32_t)p->qp_timeout.value, .retry = (uint32_t)p->retry.value,
		.rnr_retry = (uint32_t)p->rnr_retry.value, .min_rnr = (uint32_t)p->min_rnr.value,
		.tos = (uint32_t)p->tos.value,
	};
}

/* The first entry is always there, and the default: it is not asked for. */
static int check_pkey(const struct device *d, uint32_t index)
{
	uint16_t pkey = 0;

	if (!index || (!ibv_query_pkey(d->context, (uint8_t)d->facts.port, (int)index, &pkey) &&
		       pkey & htons(PKEY_BASE)))
		return 0;
	return fail(FAIL_SETUP, EINVAL, "--pkey-index %u: port %u of %s has no key there; see "
		    "/sys/class/infiniband/%s/ports/%u/pkeys", index, d->facts.port, d->facts.name,
		    d->facts.name, d->facts.port);
}

int connect_check(const struct device *d, const struct connect_path *path)
{
	const char *needs_grh = path->tclass ? "tclass" : path->flow_label ? "flow-label" :
				path->hop_limit != HOP_LIMIT_DEFAULT ? "hop-limit" : NULL;

	if (needs_grh && d->facts.gid_kind == GID_NONE)
		return fail(FAIL_SETUP, EINVAL, "--%s: port %u of %s is reached by LID, without a "
			    "GRH; drop --%s or choose a GID with --gid-index and --peer-gid-index",
			    needs_grh, d->facts.port, d->facts.name, needs_grh);
	if (path->dlid && d->facts.link_layer != LINK_LAYER_INFINIBAND)
		return fail(FAIL_SETUP, EINVAL, "--dlid %u: port %u of %s is Ethernet, which has "
			    "no LIDs; drop --dlid", path->dlid, d->facts.port, d->facts.name);
	return check_pkey(d, path->pkey_index);
}

int connect_init(const struct queues *q, const struct device *d, const struct connect_path *path)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = (uint16_t)path->pkey_index,
		.port_num = (uint8_t)d->facts.port,
		.qkey = TRANSPORT_QKEY,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   (d->facts.caps.atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0) |
				   (path->windows ? IBV_ACCESS_MW_BIND : 0),
	};
	int mask = IBV_QP_STATE | q->transport->init;

	for (uint32_t i = 0; i < q->count; i++) {
		int rc = ibv_modify_qp(q->qp[i], &attr, mask);

		if (rc)
			return fail(FAIL_SETUP, abs(rc), "queue pair %u to INIT on %s: %s; "
				    "see the kernel log", i, d->facts.name, strerror(abs(rc)));
	}
	return 0;
}

void connect_describe(const struct queues *q, const struct device *d, struct endpoints *ours)
{
	ours->lid = d->facts.lid;
	ours->gid = d->gid;
	for (uint32_t i = 0; i < q->count; i++) {
		ours->qpn[i] = q->qp[i]->qp_num;
		if (getrandom(&ours->psn[i], sizeof(ours->psn[i]), 0) < 0)
			ours->psn[i] = q->qp[i]->qp_num;
		ours->psn[i] &= PSN_MASK;
	}
}

/* What failing to find a way to the peer means depends on errno more than on anything else. */
static int told_no_path(const struct connection *c, const char *what, int error)
{
	const struct device *d = c->device;
	char peer[INET6_ADDRSTRLEN];

	gid_text(&c->theirs->gid, peer, sizeof(peer));
	return fail(FAIL_SETUP, error, "%s on %s, from %s to %s: %s; %s", what,
		    d->facts.name, d->facts.gid, peer, strerror(error),
		    error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH ?
			    "the peer's address cannot be reached from there: check routes and "
			    "neighbours, or choose another --gid-index" :
			    "check --gid-index and --mtu on both sides");
}

/* One for all queue pairs: they go to the same port. */
int connect_address(const struct connection *c, struct ibv_ah_attr *av)
{
	struct queues *q = c->queues;

	if (!q->transport->address)
		return 0;
	q->address = q->transport->address(c->device->pd, av);
	return q->address ? 0 : told_no_path(c, "creating an address handle", errno ? errno : EIO);
}

static int to_rtr(const struct connection *c, uint32_t i, const struct connect_peer *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_enum(c->path.mtu),
		.dest_qp_num = peer->qpn,
		.rq_psn = peer->rq_psn,
		.max_dest_rd_atomic = (uint8_t)c->path.accepts,
		.min_rnr_timer = (uint8_t)c->path.min_rnr,
		.ah_attr = peer->av,
	};
	int rc = ibv_modify_qp(c->queues->qp[i], &attr, IBV_QP_STATE | c->queues->transport->rtr);

	return rc ? told_no_path(c, "queue pair to RTR", abs(rc)) : 0;
}

static int to_rts(const struct connection *c, uint32_t i, const struct connect_peer *peer)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = (uint8_t)c->path.timeout,
		.retry_cnt = (uint8_t)c->path.retry,
		.rnr_retry = (uint8_t)c->path.rnr_retry,
		.sq_psn = peer->sq_psn,
		.max_rd_atomic = (uint8_t)c->path.begins,
	};
	int rc = ibv_modify_qp(c->queues->qp[i], &attr, IBV_QP_STATE | c->queues->transport->rts);

	if (!rc)
		return 0;
	return fail(FAIL_SETUP, abs(rc), "queue pair %u to RTS on %s: %s; see the kernel log", i,
		    c->device->facts.name, strerror(abs(rc)));
}

int connect_pair(struct connection *c, uint32_t i, const struct connect_peer *peer)
{
	int rc = to_rtr(c, i, peer);

	if (!i)
		c->first = peer->av;
	return rc ? rc : to_rts(c, i, peer);
}

/* The first queue pair's address as the device tells it; the kernel and drivers change some. */
static void compare_address(const struct connection *c, const struct ibv_ah_attr *ah)
{
	const struct ibv_ah_attr *given = &c->first;
	const struct {
		const char *name;
		uint32_t asked, got;
		bool told;
	} parts[] = {
		{ "sl", given->sl, ah->sl, true },
		{ c->path.tos == TOS_DEFAULT ? "tclass" : "tos", given->grh.traffic_class,
		  ah->grh.traffic_class, ah->is_global },
		{ "flow-label", given->grh.flow_label, ah->grh.flow_label, ah->is_global },
		{ "hop-limit", given->grh.hop_limit, ah->grh.hop_limit,
		  ah->is_global && given->grh.hop_limit != HOP_LIMIT_DEFAULT },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (parts[i].told && parts[i].asked != parts[i].got)
			note("--%s %u -> %u (as %s tells it)", parts[i].name, parts[i].asked,
			     parts[i].got, c->device->facts.name);
}

/* Whether the queue pair has what it was given, of what its transport keeps. */
static bool as_given(const struct ibv_qp_attr *attr, int kept, const struct connect_path *path)
{
	const struct {
		int bit;
		bool good;
	} checks[] = {
		{ IBV_QP_STATE, attr->qp_state == IBV_QPS_RTS },
		{ IBV_QP_PATH_MTU, attr->path_mtu == mtu_enum(path->mtu) },
		{ IBV_QP_PKEY_INDEX, attr->pkey_index == path->pkey_index },
		{ IBV_QP_QKEY, attr->qkey == TRANSPORT_QKEY },
		{ IBV_QP_TIMEOUT, attr->timeout == path->timeout },
		{ IBV_QP_RETRY_CNT, attr->retry_cnt == path->retry },
		{ IBV_QP_RNR_RETRY, attr->rnr_retry == path->rnr_retry },
		{ IBV_QP_MIN_RNR_TIMER, attr->min_rnr_timer == path->min_rnr },
		{ IBV_QP_MAX_QP_RD_ATOMIC, attr->max_rd_atomic >= path->begins },
		{ IBV_QP_MAX_DEST_RD_ATOMIC, attr->max_dest_rd_atomic >= path->accepts },
	};

	for (size_t i = 0; i < sizeof(checks) / sizeof(checks[0]); i++)
		if (kept & checks[i].bit && !checks[i].good)
			return false;
	return true;
}

/* A device may take other values than it was given; a measurement must not rest on them unseen. */
int connect_verify(const struct connection *c)
{
	const struct connect_path *path = &c->path;
	const struct device *d = c->device;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr = { 0 };
	int mask = IBV_QP_STATE | c->queues->transport->kept;
	int rc = ibv_query_qp(c->queues->qp[0], &attr, mask, &init);

	if (rc) {
		note("reading back the queue pair of %s: %s", d->facts.name, strerror(abs(rc)));
		return 0;
	}
	if (mask & IBV_QP_AV)
		compare_address(c, &attr.ah_attr);
	if (as_given(&attr, mask, path))
		return 0;
	return fail(FAIL_SETUP, EPROTO,
		    "%s did not keep the queue pair's attributes: state %d, MTU %u, timeout %d, "
		    "retry %d, rnr_retry %d, min_rnr_timer %d, P_Key index %d, outstanding %d and "
		    "%d, Q_Key 0x%x; its driver is at fault",
		    d->facts.name, attr.qp_state, 128U << attr.path_mtu, attr.timeout,
		    attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer, attr.pkey_index,
		    attr.max_rd_atomic, attr.max_dest_rd_atomic, attr.qkey);
}

void connection_end(struct connection *c)
{
	if (c->how && c->how->end)
		c->how->end(c);
	c->how = NULL;
}

const struct connector connectors[] = {
	{ .name = "TCP", .begin = connect_tcp_begin },
	{ .name = "rdma_cm", .begin = connect_cm_begin, .advance = connect_cm_advance,
	  .end = connect_cm_end },
};
