/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Plants a wrong byte: preloaded into a client, it changes byte CORRUPT_AT of the first buffer
 * registered, when the queue pair becomes ready to send, after rdmeter has filled the buffer.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>

#include <infiniband/verbs.h>

#undef ibv_reg_mr

static unsigned char *first;

typedef struct ibv_mr *(*reg_mr_function)(struct ibv_pd *, void *, size_t, int);
typedef struct ibv_mr *(*reg_mr_iova2_function)(struct ibv_pd *, void *, size_t, uint64_t,
						unsigned int);
typedef int (*modify_qp_function)(struct ibv_qp *, struct ibv_qp_attr *, int);

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	reg_mr_function next = (reg_mr_function)dlsym(RTLD_NEXT, "ibv_reg_mr");

	first = first ? first : addr;
	return next(pd, addr, length, access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	reg_mr_iova2_function next =
		(reg_mr_iova2_function)dlsym(RTLD_NEXT, "ibv_reg_mr_iova2");

	first = first ? first : addr;
	return next(pd, addr, length, iova, access);
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	modify_qp_function next = (modify_qp_function)dlsym(RTLD_NEXT, "ibv_modify_qp");

	if (mask & IBV_QP_STATE && attr->qp_state == IBV_QPS_RTS && first)
		first[strtoul(getenv("CORRUPT_AT"), NULL, 10)] ^= 1;
	return next(qp, attr, mask);
}
