/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How a loop sleeps until something completes, in the instances that do. It asks each completion
 * queue that it waits for to tell of the next completion, looks once more, and only then sleeps:
 * what came before the asking makes no event. A deadline and the stop word's descriptor end the
 * sleep too.
 */
#ifndef RDMETER_ENGINE_REST_H
#define RDMETER_ENGINE_REST_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct lane;

/* A completion queue that is waited for. */
struct rest_cq {
	struct ibv_cq *cq;
	bool asked;       /* it will tell, or has told and nobody has listened yet */
	uint32_t unacked; /* events that were taken */
};

struct lane_rest {
	struct ibv_comp_channel *channel; /* of all of them; its descriptor does not block */
	int wake_fd; /* an eventfd that is written to when the stop word changes */
	int most_ms; /* a sleep without a completion ends after that, to tell of itself */
	uint32_t cqs;
	struct rest_cq *cq;
};

enum rest {
	REST_LOOK,   /* look once more: something may have come before it was asked for */
	REST_EVENT,  /* something has completed */
	REST_LEFT,   /* no completion, but the time or the stop word ended the sleep */
	REST_FAILED, /* the lane has failed */
};

/*
 * Call when every queue has just been found empty and there is nothing to post: asks, or sleeps if
 * that has been done.
 */
enum rest lane_rest(struct lane *l);

/* For the control thread: the stop word has changed. */
void lane_rest_wake(const struct lane_rest *r);

/* Acknowledges what has been taken: before the completion queues can be destroyed. */
void lane_rest_end(struct lane_rest *r);

#endif
