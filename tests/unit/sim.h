/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A simulated device with its peer, in the thread of the loop under test: requests are taken up
 * when they are posted and executed in order, some at each poll; the peer answers, or sends. It is
 * as strict as a NIC: the slot of a request is free again when the completion of a signalled one
 * that was posted with it or later has been polled, and not before.
 */
#ifndef TESTS_SIM_H
#define TESTS_SIM_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "engine/lane.h"

#define SIM_QPS 8
#define SIM_DEPTH 64
#define SIM_RING 256 /* of send requests, of receives */
#define SIM_ENTRIES (SIM_QPS * 2 * SIM_DEPTH)

/* What the peer does. */
enum sim_peer {
	SIM_IDLE,   /* a target */
	SIM_SENDER, /* sends `arrivals` messages on each queue pair */
	SIM_ECHO,   /* answers each message */
	SIM_ASKER,  /* asks `arrivals` times, each time after the answer */
};

/* One draw: what is run, and how. */
struct sim_plan {
	uint64_t iters, warmup, arrivals; /* for each queue pair */
	uint32_t depth, batch, signal, rx_depth, qps, groups, stamp, eager;
	bool timed;     /* ended by the stop word after `polls` polls, not by a count */
	uint32_t polls;
	uint64_t rate; /* messages in 10^9 s, with a schedule */
	uint32_t burst_size;
	bool sends, receives, immediate, memory, predicts, shared;
	bool sampled;     /* samples are kept one by one */
	bool common;      /* one receive queue for all queue pairs */
	uint32_t recv_batch;
	bool calls;       /* requests are posted by calls */
	bool sleeps;      /* events are waited for */
	bool misnumbered; /* the peer's immediate data are wrong */
	enum sim_peer peer;
};

struct sim_request {
	uint64_t wr_id;
	uint64_t compare, swap;
	volatile uint64_t *result;
	bool signalled, flush;
};

struct sim_qp {
	union {
		struct ibv_qp verbs;
		struct ibv_qp_ex ex; /* begins with the same */
	};
	struct sim_request sq[SIM_RING]; /* by running number */
	uint64_t posted, executed, freed; /* requests, flushes included */
	uint64_t messages, signalled, flushes;
	uint64_t to_answer;
	uint64_t receives, arrived; /* posted by the lane, used by the peer */
	uint64_t counter;
	uint32_t unsignalled; /* since the last signalled one */
};

struct sim_cqe {
	struct ibv_wc wc;
	uint64_t frees; /* requests of its queue pair up to which slots become free */
};

struct sim_cq {
	struct ibv_cq verbs;
	struct sim_cqe entry[SIM_ENTRIES];
	uint32_t head, tail, most;
	uint32_t first, qps; /* the group's queue pairs */
	bool receive;
	bool asked;             /* to tell of the next completion */
	uint32_t told, unacked; /* events not taken yet; taken */
};

struct sim {
	struct sim_plan plan;
	uint64_t random, polls;
	uint64_t since_poll; /* messages posted */
	struct ibv_context context;
	struct sim_qp qp[SIM_QPS];
	struct sim_cq send_cq[SIM_QPS], recv_cq[SIM_QPS];
	uint64_t shared_counter;
	char wrong[160]; /* the first rule that was broken */

	struct lane lane;
	struct lane_control control;
	struct lane_report report;
	struct lane_group group[SIM_QPS];
	struct lane_qp lane_qp[SIM_QPS];
	struct lane_rest rest;
	struct rest_cq rest_cq[2 * SIM_QPS];
	struct lane_shared common;
	struct ibv_srq srq;
	uint32_t srq_ring[SIM_RING]; /* numbers of receives, as they were posted */
	uint64_t srq_posted, srq_used;
	bool srq_there[SIM_RING]; /* by number: posted and not used */
	uint64_t slept; /* without a reason to be awake */
	struct measure measure;
	struct histogram spare;
	struct samples samples;
	struct ibv_send_wr wr[SIM_QPS][SIM_RING];
	struct ibv_sge sge[SIM_QPS][SIM_RING];
	struct ibv_recv_wr recv[SIM_QPS][SIM_RING];
	uint64_t results[SIM_QPS][SIM_RING];
	uint64_t stamps[SIM_QPS][2 * SIM_DEPTH];
	uint64_t intended[SIM_QPS][2 * SIM_DEPTH];
	unsigned char marker_in, marker_out;
};

/* splitmix64 */
uint64_t sim_random(uint64_t *state);

/* A number from low to high. */
uint64_t sim_draw(uint64_t *state, uint64_t low, uint64_t high);

/* The calls of a queue pair (sim_calls.c). */
void sim_set_calls(struct ibv_qp_ex *ex);

/* Everything for one draw; the lane has had lane_begin(). */
void sim_open(struct sim *s, const struct sim_plan *plan, uint64_t seed);

#endif
