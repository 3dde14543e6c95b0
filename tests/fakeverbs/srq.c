/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Shared receive queues. What the peer sees of one is the receive queue of a queue pair that has
 * nothing else, which the queue pairs that share it refer to.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <errno.h>
#include <stdlib.h>

struct fake_srq {
	struct ibv_srq verbs;
	uint64_t offset; /* of its shared part */
	struct shared_qp *shared;
	uint32_t max_sge, qps;
};

static size_t ring_bytes(uint32_t size)
{
	return size * sizeof(struct shared_recv);
}

static int check_attr(const struct ibv_srq_attr *attr)
{
	if (!script.max_srq_wr || script.null)
		return EOPNOTSUPP;
	return attr->max_wr < 1 || attr->max_wr > script.max_srq_wr ||
	       attr->max_sge > script.max_sge ? EINVAL : 0;
}

static bool share(struct fake_srq *s, const struct ibv_srq_attr *attr)
{
	s->offset = heap_alloc(sizeof(struct shared_qp));
	if (!s->offset)
		return false;
	s->shared = node_at(own, s->offset);
	s->shared->rq_size = attr->max_wr;
	s->shared->rq = heap_alloc(ring_bytes(attr->max_wr));
	if (s->shared->rq)
		return true;
	heap_free(s->offset, sizeof(struct shared_qp));
	return false;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
	int error = fault_call(CALL_create_srq);
	struct fake_srq *s = NULL;

	if (!error)
		error = check_attr(&init->attr);
	if (!error) {
		s = calloc(1, sizeof(*s));
		error = s ? 0 : ENOMEM;
	}
	if (!error) {
		fabric_lock();
		error = share(s, &init->attr) ? 0 : ENOMEM;
		fabric_unlock();
	}
	if (error) {
		free(s);
		errno = error;
		return NULL;
	}
	s->verbs.context = pd->context;
	s->verbs.pd = pd;
	s->max_sge = init->attr.max_sge;
	fake_context_of(pd->context)->srqs++;
	return &s->verbs;
}

int ibv_destroy_srq(struct ibv_srq *verbs)
{
	struct fake_srq *s = (struct fake_srq *)verbs;
	int error = fault_call(CALL_destroy_srq);

	if (!error && s->qps)
		error = EBUSY;
	if (error) {
		errno = error;
		return error;
	}
	report_line("srq size=%u most=%llu posted=%llu least=%llu", s->shared->rq_size,
		    (unsigned long long)s->shared->rq_most,
		    (unsigned long long)s->shared->rq_tail,
		    (unsigned long long)s->shared->rq_least);
	fabric_lock();
	heap_free(s->shared->rq, ring_bytes(s->shared->rq_size));
	heap_free(s->offset, sizeof(struct shared_qp));
	fabric_unlock();
	fake_context_of(verbs->context)->srqs--;
	free(s);
	return 0;
}

uint64_t srq_share(struct ibv_srq *verbs)
{
	struct fake_srq *s = (struct fake_srq *)verbs;

	if (!s)
		return 0;
	s->qps++;
	return s->offset;
}

void srq_leave(struct ibv_srq *verbs)
{
	if (verbs)
		((struct fake_srq *)verbs)->qps--;
}

int srq_post(struct ibv_srq *verbs, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct fake_srq *s = (struct fake_srq *)verbs;
	int error = fault_call(CALL_post_recv);

	*bad = wr;
	if (error)
		return error;
	fabric_lock();
	error = recv_post_list(s->shared, s->max_sge, wr, bad);
	fabric_unlock();
	return error;
}
