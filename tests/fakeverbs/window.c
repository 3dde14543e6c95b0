/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory windows. One takes a place among the memory regions, of which it has nothing but a key
 * until it is bound; then it has the pieces of a region, and its own bounds and access.
 */
#include "fake.h"

#include <errno.h>
#include <stdlib.h>

struct ibv_mw *window_alloc(struct ibv_pd *pd, enum ibv_mw_type type)
{
	int error = fault_call(CALL_alloc_mw);
	struct ibv_mw *mw;
	struct shared_mr *s;
	uint32_t index;

	if (!error && (type < IBV_MW_TYPE_1 || type > IBV_MW_TYPE_2 ||
		       !(script.windows & (1U << (type - 1)))))
		error = EOPNOTSUPP;
	mw = error ? NULL : calloc(1, sizeof(*mw));
	if (!mw) {
		errno = error ? error : ENOMEM;
		return NULL;
	}
	fabric_lock();
	s = memory_free_slot(&index);
	if (s) {
		*s = (struct shared_mr){
			.used = true, .window = type, .pd = ((struct fake_pd *)pd)->number,
			.generation = (s->generation + 1) % (1U << FAKE_GENERATION_BITS),
		};
		s->key = own->number << FAKE_NODE_SHIFT | index << FAKE_GENERATION_BITS |
			 s->generation;
		*mw = (struct ibv_mw){
			.context = pd->context, .pd = pd, .rkey = s->key, .handle = index,
			.type = type,
		};
		fake_context_of(pd->context)->mws++;
	}
	fabric_unlock();
	if (s)
		return mw;
	free(mw);
	errno = ENOMEM;
	return NULL;
}

static void unbind(struct shared_mr *s)
{
	if (s->bound)
		own->shared->mr[s->region].windows--;
	s->bound = false;
}

int window_dealloc(struct ibv_mw *mw)
{
	int error = fault_call(CALL_dealloc_mw);
	struct shared_mr *s = &own->shared->mr[mw->handle];

	if (error) {
		errno = error;
		return error;
	}
	fabric_lock();
	unbind(s);
	s->used = false;
	fabric_unlock();
	fake_context_of(mw->context)->mws--;
	free(mw);
	return 0;
}

/* As providers do: the request gets another key, and the window has it at once. */
int window_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
	struct ibv_send_wr wr = {
		.wr_id = bind->wr_id, .opcode = IBV_WR_BIND_MW, .send_flags = bind->send_flags,
		.bind_mw = {
			.mw = mw, .rkey = ibv_inc_rkey(mw->rkey), .bind_info = bind->bind_info,
		},
	};
	int error = fault_call(CALL_bind_mw);

	if (!error && mw->type != IBV_MW_TYPE_1)
		error = EINVAL;
	if (!error)
		error = work_post_window(qp, &wr);
	if (!error)
		mw->rkey = wr.bind_mw.rkey;
	return error;
}

/* Whether the region may be opened in that way: its access and its bounds. */
static bool may_open(const struct ibv_mw_bind_info *b, const struct shared_mr *region, uint32_t pd)
{
	unsigned int writes = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

	return region->used && !region->window && region->pd == pd &&
	       region->access & IBV_ACCESS_MW_BIND &&
	       !(b->mw_access_flags & writes && !(region->access & IBV_ACCESS_LOCAL_WRITE)) &&
	       !(b->mw_access_flags & ~(writes | IBV_ACCESS_REMOTE_READ)) &&
	       b->addr >= region->address && b->length <= region->length &&
	       b->addr - region->address <= region->length - b->length;
}

static enum ibv_wc_status bind(const struct fake_qp *q, const struct fake_wqe *w)
{
	const struct ibv_mw_bind_info *b = &w->bind;
	struct shared_mr *s = &own->shared->mr[w->window->handle], *region;
	bool second = w->window->type == IBV_MW_TYPE_2;

	if (s->pd != q->shared->pd || !(q->shared->access & IBV_ACCESS_MW_BIND) ||
	    (w->rkey ^ s->key) >> FAKE_GENERATION_BITS)
		return IBV_WC_MW_BIND_ERR;
	if (second && (s->bound || !b->length || w->rkey == s->key))
		return IBV_WC_MW_BIND_ERR;
	region = b->mr ? &own->shared->mr[b->mr->handle] : NULL;
	if (b->length && (!region || !may_open(b, region, s->pd)))
		return IBV_WC_MW_BIND_ERR;
	unbind(s);
	s->key = w->rkey;
	if (!b->length)
		return IBV_WC_SUCCESS;
	s->access = b->mw_access_flags;
	s->address = b->addr;
	s->length = b->length;
	s->piece = region->piece;
	s->pieces = region->pieces;
	s->region = b->mr->handle;
	s->qpn = second ? q->shared->qpn : 0;
	s->bound = true;
	region->windows++;
	return IBV_WC_SUCCESS;
}

/* Only what is bound can be invalidated, and only where it was. */
static enum ibv_wc_status invalidate(const struct fake_qp *q, const struct fake_wqe *w)
{
	struct shared_mr *s = &own->shared->mr[w->rkey >> FAKE_GENERATION_BITS & (FAKE_MRS - 1)];

	if (w->rkey >> FAKE_NODE_SHIFT != own->number || !s->used || s->key != w->rkey ||
	    s->window != IBV_MW_TYPE_2 || !s->bound || s->qpn != q->shared->qpn)
		return IBV_WC_LOC_QP_OP_ERR;
	unbind(s);
	return IBV_WC_SUCCESS;
}

enum ibv_wc_status window_execute(const struct fake_qp *q, const struct fake_wqe *w)
{
	return w->opcode == IBV_WR_BIND_MW ? bind(q, w) : invalidate(q, w);
}
