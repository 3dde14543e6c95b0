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

int endpoints_alloc(struct endpoints *e, uint32_t count)
{
	*e = (struct endpoints){
		.count = count,
		.qpn = calloc(count, sizeof(*e->qpn)),
		.psn = calloc(count, sizeof(*e->psn)),
	};
	if (e->qpn && e->psn)
		return 0;
	endpoints_free(e);
	return fail(FAIL_SETUP, ENOMEM, "out of memory for %u endpoints", count);
}

void endpoints_free(struct endpoints *e)
{
	free(e->qpn);
	free(e->psn);
	*e = (struct endpoints){ 0 };
}

static enum ibv_mtu mtu_enum(uint32_t bytes)
{
	enum ibv_mtu mtu = IBV_MTU_256;

	while (mtu < IBV_MTU_4096 && (128U << (mtu + 1)) <= bytes)
		mtu++;
	return mtu;
}

int connect_init(const struct queues *q, const struct device *d)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = 0,
		.port_num = (uint8_t)d->facts.port,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   (d->facts.caps.atomics ? IBV_ACCESS_REMOTE_ATOMIC : 0),
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;

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

/* What a failing RTR means depends on errno more than on anything else. */
static int told_rtr(const struct device *d, const struct endpoints *theirs, int error)
{
	char peer[INET6_ADDRSTRLEN];

	gid_text(&theirs->gid, peer, sizeof(peer));
	return fail(FAIL_SETUP, error, "queue pair to RTR on %s, from %s to %s: %s; %s",
		    d->facts.name, d->facts.gid, peer, strerror(error),
		    error == ETIMEDOUT || error == EHOSTUNREACH || error == ENETUNREACH ?
			    "the peer's address cannot be reached from there: check routes and "
			    "neighbours, or choose another --gid-index" :
			    "check --gid-index and --mtu on both sides");
}

static int to_rtr(const struct queues *q, uint32_t i, const struct device *d,
		  const struct endpoints *theirs, const struct connect_path *path)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = mtu_enum(path->mtu),
		.dest_qp_num = theirs->qpn[i],
		.rq_psn = theirs->psn[i],
		.max_dest_rd_atomic = (uint8_t)path->accepts,
		.min_rnr_timer = CONNECT_MIN_RNR_TIMER,
		.ah_attr = {
			.dlid = (uint16_t)theirs->lid,
			.port_num = (uint8_t)d->facts.port,
			.is_global = d->facts.gid_kind != GID_NONE,
		},
	};
	int rc;

	if (attr.ah_attr.is_global) {
		attr.ah_attr.grh.dgid = theirs->gid;
		attr.ah_attr.grh.sgid_index = (uint8_t)d->facts.gid_index;
		attr.ah_attr.grh.hop_limit = CONNECT_HOP_LIMIT;
	}
	rc = ibv_modify_qp(q->qp[i], &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	return rc ? told_rtr(d, theirs, abs(rc)) : 0;
}

static int to_rts(const struct queues *q, uint32_t i, const struct device *d,
		  const struct endpoints *ours, const struct connect_path *path)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.timeout = CONNECT_TIMEOUT,
		.retry_cnt = CONNECT_RETRY,
		.rnr_retry = CONNECT_RNR_RETRY,
		.sq_psn = ours->psn[i],
		.max_rd_atomic = (uint8_t)path->begins,
	};
	int rc = ibv_modify_qp(q->qp[i], &attr,
			       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);

	if (!rc)
		return 0;
	return fail(FAIL_SETUP, abs(rc), "queue pair %u to RTS on %s: %s; see the kernel log", i,
		    d->facts.name, strerror(abs(rc)));
}

/* A device may take other values than it was given; a measurement must not rest on them unseen. */
static int verify(const struct queues *q, const struct device *d, const struct connect_path *path)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	int mask = IBV_QP_STATE | IBV_QP_PATH_MTU | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
		   IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER | IBV_QP_MAX_QP_RD_ATOMIC |
		   IBV_QP_MAX_DEST_RD_ATOMIC;
	int rc = ibv_query_qp(q->qp[0], &attr, mask, &init);

	if (rc) {
		note("reading back the queue pair of %s: %s", d->facts.name, strerror(abs(rc)));
		return 0;
	}
	if (attr.qp_state == IBV_QPS_RTS && attr.path_mtu == mtu_enum(path->mtu) &&
	    attr.timeout == CONNECT_TIMEOUT && attr.retry_cnt == CONNECT_RETRY &&
	    attr.rnr_retry == CONNECT_RNR_RETRY && attr.min_rnr_timer == CONNECT_MIN_RNR_TIMER &&
	    attr.max_rd_atomic >= path->begins && attr.max_dest_rd_atomic >= path->accepts)
		return 0;
	return fail(FAIL_SETUP, EPROTO,
		    "%s did not keep the queue pair's attributes: state %d, MTU %u, timeout %d, "
		    "retry %d, rnr_retry %d, min_rnr_timer %d, outstanding %d and %d; its driver "
		    "is at fault",
		    d->facts.name, attr.qp_state, 128U << attr.path_mtu, attr.timeout,
		    attr.retry_cnt, attr.rnr_retry, attr.min_rnr_timer, attr.max_rd_atomic,
		    attr.max_dest_rd_atomic);
}

int connect_tcp(const struct queues *q, const struct device *d, const struct endpoints *ours,
		const struct endpoints *theirs, const struct connect_path *path)
{
	for (uint32_t i = 0; i < q->count; i++) {
		int rc = to_rtr(q, i, d, theirs, path);

		if (!rc)
			rc = to_rts(q, i, d, ours, path);
		if (rc)
			return rc;
	}
	return verify(q, d, path);
}
