/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "session/keep.h"

static void move_buffer(struct buffer *from, struct buffer *to)
{
	*to = *from;
	*from = (struct buffer){ 0 };
}

int keep_take_buffer(struct buffer *kept, struct buffer *b, struct ibv_pd *pd,
		     const struct buffer_shape *shape)
{
	if (buffer_reuse(kept, shape)) {
		move_buffer(kept, b);
		return 0;
	}
	buffer_free(kept);
	return buffer_alloc(b, pd, shape);
}

void keep_buffer(struct buffer *kept, struct buffer *b)
{
	if (!b->base)
		return;
	buffer_free(kept);
	move_buffer(b, kept);
}

static bool same_shape(const struct queues_shape *a, const struct queues_shape *b)
{
	return a->transport == b->transport && a->count == b->count && a->threads == b->threads &&
	       a->depth == b->depth && a->rx_depth == b->rx_depth && a->sges == b->sges &&
	       a->srq == b->srq && a->events == b->events && a->calls == b->calls &&
	       a->inline_size == b->inline_size && a->inline_exact == b->inline_exact;
}

static bool same_path(const struct connect_path *a, const struct connect_path *b)
{
	return a->mtu == b->mtu && a->begins == b->begins && a->accepts == b->accepts &&
	       a->tos == b->tos && a->sl == b->sl && a->tclass == b->tclass &&
	       a->flow_label == b->flow_label &&
	       a->hop_limit == b->hop_limit && a->pkey_index == b->pkey_index &&
	       a->timeout == b->timeout && a->retry == b->retry &&
	       a->rnr_retry == b->rnr_retry && a->min_rnr == b->min_rnr;
}

/* A completion that nobody took would be taken for one of the next row's. */
static bool all_empty(const struct queues *q)
{
	struct ibv_wc wc;

	for (uint32_t i = 0; i < q->groups; i++)
		if (ibv_poll_cq(q->group[i].send_cq, 1, &wc) ||
		    ibv_poll_cq(q->group[i].recv_cq, 1, &wc))
			return false;
	return true;
}

bool keep_take_queues(struct kept *k, struct queues *q, const struct queues_shape *shape,
		      const struct connect_path *path, bool wanted)
{
	if (!k->queues.count)
		return false;
	if (!wanted || !same_shape(&k->shape, shape) || !same_path(&k->path, path) ||
	    !all_empty(&k->queues)) {
		queues_destroy(&k->queues);
		return false;
	}
	*q = k->queues;
	k->queues = (struct queues){ 0 };
	return true;
}

void keep_free(struct kept *k)
{
	queues_destroy(&k->queues);
	buffer_free(&k->local);
	buffer_free(&k->target);
}
