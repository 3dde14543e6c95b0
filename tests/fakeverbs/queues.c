/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Completion queues and queue pairs: made, led through their states, unmade. */
#define _GNU_SOURCE
#include "fake.h"

#include <endian.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#define CQ_BYTES(cqe) (sizeof(struct shared_cq) + (cqe) * sizeof(struct shared_cqe))

static struct fake_qp *by_index[FAKE_QPS + 1];
static uint32_t next_qp, qps;

struct fake_qp *qp_by_index(uint32_t index)
{
	return by_index[index];
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
			     struct ibv_comp_channel *channel, int vector)
{
	int error = fault_call(CALL_create_cq);
	struct fake_cq *cq;

	if (!error && (cqe < 1 || (uint64_t)cqe > script.max_cqe || vector < 0 ||
		       vector >= context->num_comp_vectors))
		error = EINVAL;
	cq = error ? NULL : calloc(1, sizeof(*cq));
	if (!cq) {
		errno = error ? error : ENOMEM;
		return NULL;
	}
	fabric_lock();
	cq->offset = heap_alloc(CQ_BYTES((uint32_t)cqe));
	fabric_unlock();
	if (!cq->offset || (script.null && !null_create_cq(cq))) {
		free(cq);
		errno = ENOMEM;
		return NULL;
	}
	cq->shared = node_at(own, cq->offset);
	cq->shared->cqe = (uint32_t)cqe;
	cq->shared->cookie = (uintptr_t)&cq->verbs;
	cq->verbs.context = context;
	cq->verbs.cq_context = cq_context;
	cq->verbs.cqe = cqe;
	events_attach(cq, channel);
	fake_context_of(context)->cqs++;
	return &cq->verbs;
}

int ibv_destroy_cq(struct ibv_cq *verbs)
{
	struct fake_cq *cq = (struct fake_cq *)verbs;
	int error = fault_call(CALL_destroy_cq);

	if (error) {
		errno = error;
		return error;
	}
	report_line("cq cqe=%u most=%llu overruns=%llu asked=%d", cq->shared->cqe,
		    (unsigned long long)cq->shared->most,
		    (unsigned long long)cq->shared->overruns, cq->asked_most);
	events_detach(cq);
	fabric_lock();
	heap_free(cq->offset, CQ_BYTES(cq->shared->cqe));
	fabric_unlock();
	null_destroy_cq(cq);
	fake_context_of(verbs->context)->cqs--;
	free(cq);
	return 0;
}

static int check_caps(const struct ibv_qp_init_attr *attr)
{
	const struct ibv_qp_cap *cap = &attr->cap;

	if (attr->qp_type != IBV_QPT_RC && attr->qp_type != IBV_QPT_UC &&
	    attr->qp_type != IBV_QPT_UD)
		return EOPNOTSUPP;
	if (!attr->send_cq || !attr->recv_cq || cap->max_send_wr > script.max_qp_wr ||
	    cap->max_recv_wr > script.max_qp_wr || cap->max_send_sge > script.max_sge ||
	    cap->max_recv_sge > script.max_sge || cap->max_inline_data > script.max_inline)
		return EINVAL;
	return qps >= script.max_qp ? ENOMEM : 0;
}

/* Numbers are not used again soon: whoever talks to an old one is to be found out. */
static uint32_t free_index(void)
{
	for (uint32_t i = 0; i < FAKE_QPS; i++) {
		uint32_t index = next_qp++ % FAKE_QPS + 1;

		if (!own->shared->qp[index].used)
			return index;
	}
	return 0;
}

static bool share_qp(struct fake_qp *q, const struct ibv_qp_init_attr *attr)
{
	uint32_t size = attr->cap.max_recv_wr ? attr->cap.max_recv_wr : 1;
	struct shared_qp *s;

	q->index = free_index();
	if (!q->index)
		return false;
	s = &own->shared->qp[q->index];
	memset(s, 0, sizeof(*s));
	s->rq = heap_alloc(size * sizeof(struct shared_recv));
	if (!s->rq)
		return false;
	s->used = true;
	s->type = attr->qp_type;
	s->device = (uint32_t)ibv_get_device_index(q->verbs.context->device);
	s->qpn = own->number << FAKE_QP_BITS | q->index;
	s->lid = device_lid(q->verbs.context);
	s->rq_size = attr->cap.max_recv_wr;
	s->recv_cq = ((struct fake_cq *)attr->recv_cq)->offset;
	s->cookie = (uintptr_t)&q->verbs;
	s->pd = ((struct fake_pd *)q->verbs.pd)->number;
	s->srq = srq_share(attr->srq);
	atomic_store(&s->state, IBV_QPS_RESET);
	q->shared = s;
	by_index[q->index] = q;
	qps++;
	return true;
}

static void unshare_qp(struct fake_qp *q)
{
	uint32_t size = q->shared->rq_size ? q->shared->rq_size : 1;

	heap_free(q->shared->rq, size * sizeof(struct shared_recv));
	q->shared->used = false;
	srq_leave(q->verbs.srq);
	by_index[q->index] = NULL;
	if (!--qps)
		memory_forget();
}

static void free_qp(struct fake_qp *q)
{
	null_destroy_qp(q);
	calls_destroy(q);
	free(q->sq);
	free(q->inline_data);
	free(q);
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
	int error = fault_call(CALL_create_qp);
	struct fake_qp *q;
	bool shared;

	if (!error)
		error = check_caps(attr);
	q = error ? NULL : aligned_alloc(64, sizeof(*q));
	if (!q) {
		errno = error ? error : ENOMEM;
		return NULL;
	}
	memset(q, 0, sizeof(*q));
	q->verbs = (struct ibv_qp){
		.context = pd->context, .qp_context = attr->qp_context, .pd = pd,
		.send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .qp_type = attr->qp_type,
		.srq = attr->srq,
		.state = IBV_QPS_RESET,
	};
	q->sq_size = attr->cap.max_send_wr;
	q->max_inline = attr->cap.max_inline_data;
	q->max_sge = attr->cap.max_send_sge;
	q->max_recv_sge = attr->cap.max_recv_sge;
	q->sq_sig_all = attr->sq_sig_all;
	q->retry_at = FAKE_NEVER;
	q->sq = calloc(q->sq_size ? q->sq_size : 1, sizeof(*q->sq));
	q->inline_data = calloc(q->sq_size ? q->sq_size : 1, q->max_inline ? q->max_inline : 1);
	fabric_lock();
	shared = q->sq && q->inline_data && share_qp(q, attr);
	fabric_unlock();
	if (!shared || (script.null && !null_create_qp(q))) {
		if (shared)
			unshare_qp(q);
		free_qp(q);
		errno = ENOMEM;
		return NULL;
	}
	q->verbs.qp_num = q->shared->qpn;
	q->verbs.handle = q->index;
	fake_context_of(pd->context)->qps++;
	return &q->verbs;
}

/* What a queue pair was connected with, but for what differs from one to the next. */
static void report_attributes(const struct fake_qp *q)
{
	const struct ibv_global_route *grh = &q->ah.grh;
	const struct shared_qp *s = q->shared;

	report_line("attributes mtu=%u access=%u timeout=%u retry_cnt=%u rnr_retry=%u min_rnr=%u "
		    "rd_atomic=%u dest_rd_atomic=%u global=%u sgid_index=%u dgid=%016llx%016llx "
		    "hop_limit=%u flow_label=%u traffic_class=%u sl=%u path_bits=%u rate=%u "
		    "port=%u", s->path_mtu, s->access, q->timeout, q->retry_cnt, q->rnr_retry,
		    s->min_rnr, q->max_rd_atomic, s->max_dest_rd, q->ah.is_global,
		    grh->sgid_index, (unsigned long long)be64toh(grh->dgid.global.subnet_prefix),
		    (unsigned long long)be64toh(grh->dgid.global.interface_id), grh->hop_limit,
		    grh->flow_label, grh->traffic_class, q->ah.sl, q->ah.src_path_bits,
		    q->ah.static_rate, q->ah.port_num);
}

int ibv_destroy_qp(struct ibv_qp *verbs)
{
	struct fake_qp *q = (struct fake_qp *)verbs;
	int error = fault_call(CALL_destroy_qp);

	if (error) {
		errno = error;
		return error;
	}
	report_line("qp %u messages=%llu posted=%llu signalled=%llu retired=%llu freed=%llu "
		    "completions=%llu received=%llu sq_most=%llu sq_size=%u rq_most=%llu "
		    "rq_size=%u state=%u sl=%u tclass=%u flow=%u hops=%u pkey=%u timeout=%u "
		    "retry=%u rnr_retry=%u min_rnr=%u sge_most=%u "
		    "by_calls=%llu rq_least=%llu", q->shared->qpn, (unsigned long long)q->messages,
		    (unsigned long long)q->posted, (unsigned long long)q->signalled,
		    (unsigned long long)q->retired, (unsigned long long)q->freed,
		    (unsigned long long)q->completions,
		    (unsigned long long)q->shared->received, (unsigned long long)q->sq_most,
		    q->sq_size, (unsigned long long)q->shared->rq_most, q->shared->rq_size,
		    atomic_load(&q->shared->state), q->ah.sl, q->ah.grh.traffic_class,
		    q->ah.grh.flow_label, q->ah.grh.hop_limit, q->pkey_index, q->timeout,
		    q->retry_cnt, q->rnr_retry, q->shared->min_rnr, q->sge_most,
		    (unsigned long long)q->by_calls,
		    (unsigned long long)q->shared->rq_least);
	report_attributes(q);
	fabric_lock();
	work_forget(q);
	unshare_qp(q);
	fabric_unlock();
	fake_context_of(verbs->context)->qps--;
	free_qp(q);
	return 0;
}

void qp_fail(struct node *n, struct shared_qp *q)
{
	if (atomic_load(&q->state) == IBV_QPS_ERR)
		return;
	atomic_store(&q->state, IBV_QPS_ERR);
	while (!q->srq && q->rq_head < q->rq_tail) {
		struct ibv_wc wc = { .status = IBV_WC_WR_FLUSH_ERR };

		recv_complete(n, q, &wc);
	}
}

/* Each step of a queue pair, and what it cannot do without; more than that it refuses as well. */
static const struct step {
	enum ibv_qp_type type;
	enum ibv_qp_state from, to;
	int mask;
} steps[] = {
	{ IBV_QPT_RC, IBV_QPS_RESET, IBV_QPS_INIT,
	  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPT_RC, IBV_QPS_INIT, IBV_QPS_RTR,
	  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	  IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER },
	{ IBV_QPT_RC, IBV_QPS_RTR, IBV_QPS_RTS,
	  IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
	  IBV_QP_MAX_QP_RD_ATOMIC },
	{ IBV_QPT_UC, IBV_QPS_RESET, IBV_QPS_INIT,
	  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS },
	{ IBV_QPT_UC, IBV_QPS_INIT, IBV_QPS_RTR,
	  IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN },
	{ IBV_QPT_UC, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN },
	{ IBV_QPT_UD, IBV_QPS_RESET, IBV_QPS_INIT,
	  IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY },
	{ IBV_QPT_UD, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QP_STATE },
	{ IBV_QPT_UD, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QP_STATE | IBV_QP_SQ_PSN },
};

static bool path_is_good(const struct fake_qp *q, const struct ibv_qp_attr *attr)
{
	if (attr->path_mtu < IBV_MTU_256 || (128ULL << attr->path_mtu) > script.mtu)
		return false;
	if (q->verbs.qp_type == IBV_QPT_RC &&
	    (attr->min_rnr_timer > 31 || attr->max_dest_rd_atomic > script.max_dest_rd_atomic))
		return false;
	return device_has_path(q->verbs.context, &attr->ah_attr);
}

static int to_rtr(struct fake_qp *q, const struct ibv_qp_attr *attr)
{
	struct shared_qp *s = q->shared;

	if (s->type == IBV_QPT_UD)
		return 0;
	if (!path_is_good(q, attr))
		return EINVAL;
	if (attr->ah_attr.is_global) {
		s->sgid = device_gid(q->verbs.context, attr->ah_attr.grh.sgid_index)->gid;
		s->dgid = attr->ah_attr.grh.dgid;
	}
	q->ah = attr->ah_attr;
	s->dest_qpn = attr->dest_qp_num;
	s->dlid = script.infiniband ? attr->ah_attr.dlid : 0;
	s->rq_psn = attr->rq_psn;
	s->path_mtu = attr->path_mtu;
	if (s->type != IBV_QPT_RC)
		return 0;
	s->max_dest_rd = attr->max_dest_rd_atomic;
	s->min_rnr = attr->min_rnr_timer;
	return 0;
}

static int to_rts(struct fake_qp *q, const struct ibv_qp_attr *attr)
{
	bool reliable = q->verbs.qp_type == IBV_QPT_RC;

	if (reliable && (attr->timeout > 31 || attr->retry_cnt > 7 || attr->rnr_retry > 7 ||
			 attr->max_rd_atomic > script.max_rd_atomic))
		return EINVAL;
	if (reliable) {
		q->timeout = attr->timeout;
		q->retry_cnt = attr->retry_cnt;
		q->rnr_retry = q->rnr_retries = attr->rnr_retry;
		q->max_rd_atomic = attr->max_rd_atomic;
	}
	q->shared->sq_psn = attr->sq_psn;
	time_stands(); /* a program reads the clock before it posts */
	return 0;
}

static int take_step(struct fake_qp *q, const struct ibv_qp_attr *attr, int mask)
{
	uint32_t state = atomic_load(&q->shared->state);

	for (size_t i = 0; i < sizeof(steps) / sizeof(steps[0]); i++) {
		int rc = 0;

		if (steps[i].type != q->verbs.qp_type || steps[i].from != state ||
		    steps[i].to != attr->qp_state)
			continue;
		if (mask != steps[i].mask)
			return EINVAL;
		if (attr->qp_state == IBV_QPS_INIT) {
			if (attr->port_num != 1 || !device_pkey(attr->pkey_index))
				return EINVAL;
			q->pkey_index = attr->pkey_index;
			q->shared->pkey = device_pkey(attr->pkey_index);
			if (mask & IBV_QP_ACCESS_FLAGS)
				q->shared->access = attr->qp_access_flags;
			if (mask & IBV_QP_QKEY)
				q->shared->qkey = attr->qkey;
		} else {
			rc = attr->qp_state == IBV_QPS_RTR ? to_rtr(q, attr) : to_rts(q, attr);
		}
		if (!rc)
			atomic_store(&q->shared->state, attr->qp_state);
		return rc;
	}
	return EINVAL;
}

int ibv_modify_qp(struct ibv_qp *verbs, struct ibv_qp_attr *attr, int mask)
{
	struct fake_qp *q = (struct fake_qp *)verbs;
	int error = fault_call(CALL_modify_qp);

	if (error || !(mask & IBV_QP_STATE)) {
		errno = error ? error : EINVAL;
		return errno;
	}
	fabric_lock();
	if (attr->qp_state == IBV_QPS_ERR) {
		null_leave(q);
		qp_fail(own, q->shared);
		work_progress();
	} else {
		error = take_step(q, attr, mask);
	}
	verbs->state = atomic_load(&q->shared->state);
	fabric_unlock();
	errno = error;
	return error;
}

int ibv_query_qp(struct ibv_qp *verbs, struct ibv_qp_attr *attr, int mask,
		 struct ibv_qp_init_attr *init)
{
	const struct fake_qp *q = (const struct fake_qp *)verbs;
	int error = fault_call(CALL_query_qp);

	(void)mask;
	if (error)
		return error;
	*attr = (struct ibv_qp_attr){
		.qp_state = atomic_load(&q->shared->state), .path_mtu = q->shared->path_mtu,
		.rq_psn = q->shared->rq_psn, .sq_psn = q->shared->sq_psn,
		.qkey = q->shared->qkey, .dest_qp_num = q->shared->dest_qpn,
		.qp_access_flags = q->shared->access, .port_num = 1,
		.timeout = (uint8_t)q->timeout, .retry_cnt = (uint8_t)q->retry_cnt,
		.rnr_retry = (uint8_t)q->rnr_retry, .max_rd_atomic = (uint8_t)q->max_rd_atomic,
		.max_dest_rd_atomic = (uint8_t)q->shared->max_dest_rd,
		.min_rnr_timer = (uint8_t)q->shared->min_rnr,
		.pkey_index = (uint16_t)q->pkey_index, .ah_attr = q->ah,
		.cap = {
			.max_send_wr = q->sq_size, .max_recv_wr = q->shared->rq_size,
			.max_send_sge = q->max_sge, .max_recv_sge = q->max_recv_sge,
			.max_inline_data = q->max_inline,
		},
	};
	*init = (struct ibv_qp_init_attr){
		.send_cq = verbs->send_cq, .recv_cq = verbs->recv_cq, .qp_type = verbs->qp_type,
		.cap = attr->cap, .sq_sig_all = q->sq_sig_all,
	};
	return 0;
}
