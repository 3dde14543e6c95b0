/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Preloaded into rdmeter, it asks the device for the attributes of each queue pair that is ready
 * to send, when it is destroyed, and appends them to the file that ATTRIBUTES names: a line each,
 * without what differs from one queue pair to the next.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <endian.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <infiniband/verbs.h>

typedef int (*destroy_qp_function)(struct ibv_qp *);

static void append(const struct ibv_qp_attr *a)
{
	const struct ibv_global_route *grh = &a->ah_attr.grh;
	int fd = open(getenv("ATTRIBUTES"), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		return;
	dprintf(fd, "mtu %d access %u timeout %u retry %u rnr_retry %u min_rnr %u reads %u %u "
		"port %u pkey %u global %u sgid %u dgid %016llx%016llx hops %u flow %u class %u "
		"sl %u rate %u\n",
		128 << a->path_mtu, a->qp_access_flags, a->timeout, a->retry_cnt, a->rnr_retry,
		a->min_rnr_timer, a->max_rd_atomic, a->max_dest_rd_atomic, a->port_num,
		a->pkey_index, a->ah_attr.is_global, grh->sgid_index,
		(unsigned long long)be64toh(grh->dgid.global.subnet_prefix),
		(unsigned long long)be64toh(grh->dgid.global.interface_id), grh->hop_limit,
		grh->flow_label, grh->traffic_class, a->ah_attr.sl, a->ah_attr.static_rate);
	close(fd);
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
	destroy_qp_function next = (destroy_qp_function)dlsym(RTLD_NEXT, "ibv_destroy_qp");
	int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_ACCESS_FLAGS |
		   IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MIN_RNR_TIMER |
		   IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PORT |
		   IBV_QP_PKEY_INDEX;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	if (!ibv_query_qp(qp, &attr, mask, &init) && attr.qp_state == IBV_QPS_RTS)
		append(&attr);
	return next(qp);
}
