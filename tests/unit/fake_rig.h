/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the tests of the fake device share: scenes, each a process of its own with its own settings
 * of the device (they are read when it is loaded), and two queue pairs that talk to each other.
 */
#ifndef TESTS_FAKE_RIG_H
#define TESTS_FAKE_RIG_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#define RIG_QKEY 0x2222
#define MEMORY 65536 /* bytes of a rig */
#define MS UINT64_C(1000000)

struct scene {
	const char *name;
	const char *settings; /* FAKEVERBS; the current directory has a file "lates" */
	void (*run)(void);
};

/* Runs each scene in a child; TAP. With a scene's name as argument that one, here. */
int scenes_main(int argc, char **argv, const struct scene *scenes, int count);

void check_equal(const char *file, int line, const char *what, uint64_t got, uint64_t want);

/* The scene ends when it does not hold. */
#define CHECK(got, want) check_equal(__FILE__, __LINE__, #got, (uint64_t)(got), (uint64_t)(want))

struct end {
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
};

struct rig {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr; /* all of memory, with every access */
	unsigned char *memory;
	union ibv_gid gid;
	struct ibv_comp_channel *channel; /* of the queues of what is opened from now on, or NULL */
	struct ibv_srq *srq; /* of what is opened from now on, or NULL */
	struct end a, b;
};

/* How queue pairs are made and connected; what a scene changes before it opens one. */
struct shape {
	enum ibv_qp_type type;
	uint32_t depth, rx_depth, inline_size, send_cqe;
	int access; /* of b */
	uint8_t rd_atomic, timeout, retry_cnt, rnr_retry, min_rnr;
	uint64_t calls; /* IBV_QP_EX_WITH_*: queue pairs can be posted to by these */
	uint32_t pkey_a, pkey_b, wrong_psn, wrong_qpn; /* added to what a is told of b */
};

extern struct shape shape;

void rig_open(struct rig *r); /* device, memory, no queue pairs */
void rig_close(struct rig *r);
void end_open(struct rig *r, struct end *e);
void end_close(struct end *e);
void pair_open(struct rig *r); /* a and b, connected */
void pair_close(struct rig *r);

/* Attributes of a step that is in order, and their mask. */
struct step {
	struct ibv_qp_attr attr;
	int mask;
};

struct step step_to(const struct rig *r, enum ibv_qp_state state, uint32_t dest_qpn);
int take(struct end *e, const struct step *s);

/* A request: from `local` of the memory, to `remote` of it. */
struct request {
	uint64_t id;
	enum ibv_wr_opcode op;
	uint32_t local, remote, length;
	unsigned int flags;
	uint32_t lkey, rkey; /* 0: the rig's */
	uint32_t imm;
	uint64_t add, swap;
	struct ibv_ah *ah;       /* of a datagram, with whom it is for */
	uint32_t to_qpn, to_qkey;
	uint64_t far; /* instead of `remote`: an address of another process */
};

int post(struct rig *r, struct end *e, struct request q);
int receive(struct rig *r, struct end *e, uint64_t id, uint32_t at, uint32_t length);

/* The next completion, waited for at most some seconds. */
struct ibv_wc next(struct ibv_cq *cq);
void expect_at(const char *file, int line, struct ibv_cq *cq, uint64_t id,
	       enum ibv_wc_status status);
#define expect(cq, id, status) expect_at(__FILE__, __LINE__, cq, id, status)
void expect_none(struct ibv_cq *cq);
void expect_event(struct rig *r, enum ibv_event_type type);

uint64_t now_ns(void); /* CLOCK_MONOTONIC_RAW, which the device's virtual clock is */

#endif
