/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Connecting by what the control connection has carried: there is nothing to wait for. */
#include "verbs/connect.h"

static struct connect_peer peer_of(const struct connection *c, uint32_t i)
{
	const struct device_facts *facts = &c->device->facts;
	struct connect_peer peer = {
		.av = {
			.dlid = (uint16_t)(c->path.dlid ? c->path.dlid : c->theirs->lid),
			.sl = (uint8_t)c->path.sl,
			.port_num = (uint8_t)facts->port,
			.is_global = facts->gid_kind != GID_NONE,
		},
		.qpn = c->theirs->qpn[i], .rq_psn = c->theirs->psn[i], .sq_psn = c->ours->psn[i],
	};

	if (peer.av.is_global) {
		peer.av.grh.dgid = c->theirs->gid;
		peer.av.grh.sgid_index = (uint8_t)facts->gid_index;
		peer.av.grh.hop_limit = (uint8_t)c->path.hop_limit;
		peer.av.grh.traffic_class = (uint8_t)c->path.tclass;
		peer.av.grh.flow_label = c->path.flow_label;
	}
	return peer;
}

int connect_tcp_begin(struct connection *c)
{
	struct connect_peer peer = peer_of(c, 0);
	int rc = connect_address(c, &peer.av);

	for (uint32_t i = 0; !rc && i < c->queues->count; i++) {
		peer = peer_of(c, i);
		rc = connect_pair(c, i, &peer);
	}
	if (rc)
		return rc;
	c->standing = c->queues->count;
	return connect_verify(c);
}
