/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * fakeverbs, from inside; what it is and how to use it is in the README beside.
 *
 * Whatever two processes share lies in files that both map, at different addresses: a fabric (one
 * lock, who is there), and for each process a node with its queue pairs, completion queues and
 * memory regions. Offsets in a node take the place of pointers. Everything shared is changed under
 * the fabric's lock; a poll looks without it whether there is anything to do.
 */
#ifndef TESTS_FAKEVERBS_FAKE_H
#define TESTS_FAKEVERBS_FAKE_H

#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <infiniband/verbs.h>

#define FAKE_DEVICES 4
#define FAKE_NODES 126
#define FAKE_QPS 16383 /* of a node; a QPN is node << 14 | index */
#define FAKE_QP_BITS 14
#define FAKE_MRS 16384 /* a key is node << 22 | index << 8 | generation; windows have one too */
#define FAKE_GENERATION_BITS 8 /* as many as ibv_inc_rkey() changes */
#define FAKE_NODE_SHIFT 22
#define FAKE_LKEY (1U << 31)
#define FAKE_GIDS 16
#define FAKE_SGE 4
#define FAKE_CHANNELS 64 /* of another process, whose pipes are open here */
#define FAKE_LISTENERS 64 /* of rdma_cm, of a process */
#define FAKE_NEVER UINT64_MAX

/* ---- script.c: the settings ---- */

enum fake_call {
#define CALL(name) CALL_##name,
#include "calls.def"
#undef CALL
	CALLS
};

struct fake_fault {
	uint32_t call; /* or CALLS: control, CALLS + 1: data */
	uint64_t n;
	int error; /* 0: it never returns */
};

struct fake_script {
	uint64_t devices, max_qp, max_qp_wr, max_cqe, max_sge, max_inline, max_msg_sz, max_mr_size;
	uint64_t max_rd_atomic, max_dest_rd_atomic, atomics, mtu, lmc, odp, drop, seed;
	uint64_t status, status_at, recv_status, recv_status_at, lose, duplicate;
	uint64_t wr_api, max_srq_wr;
	uint64_t dmabuf, late, stall_at, stall, pace, wire, tick, port_down, corrupt, refuse, overrun;
	uint64_t windows, reg, reg_page, dereg, checked;
	uint64_t cm_reject, cm_reject_at, cm_address, cm_address_at, cm_route, cm_route_at;
	uint64_t cm_unreachable, cm_lose, cm_garble, cm_device, cm_gid, cm_disconnect;
	bool down, infiniband, talk, virtual_clock, null, null_marker, null_ahead;
	uint64_t *late_list;
	size_t lates;
	struct fake_fault fault[16];
	size_t faults;
	char gids[512], pkeys[128], report[256], trace[256];
};

extern struct fake_script script;

void script_read(void);

/* Counts a call; the errno with which it is to fail, or 0. Does not return from one that hangs. */
int fault_call(enum fake_call call);

/* One line into report= or trace=. */
void report_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void trace_line(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
#define report_violation(...) report_line("violation " __VA_ARGS__)

/* A number below n. */
uint64_t script_draw(uint64_t n);

/* ---- time.c ---- */

uint64_t fake_now(void);
uint64_t fake_real_now(void);

/* From now on this process lives by the fabric's virtual clock. */
void time_stands(void);

/* ---- fabric.c: what processes share ---- */

struct shared_recv {
	uint64_t wr_id;
	uint32_t num_sge;
	struct ibv_sge sge[FAKE_SGE];
};

struct shared_cqe {
	struct ibv_wc wc;
	uint32_t qp; /* index of the queue pair in its node */
	bool send;
	uint64_t frees; /* requests of its send queue up to which slots become free */
};

struct shared_cq {
	uint32_t cqe, dead;
	uint64_t cookie; /* the owner's struct ibv_cq */
	_Atomic uint64_t head, tail;
	uint64_t most, overruns;
	uint32_t channel; /* its number in its node; 0: none */
	bool armed;       /* the next completion makes an event */
	uint64_t notified;
	struct shared_cqe entry[];
};

struct shared_qp {
	bool used;
	uint32_t type, qkey, device; /* enum ibv_qp_type; Q_Key and device of one for datagrams */
	uint32_t qpn, dest_qpn, sq_psn, rq_psn, access, path_mtu, max_dest_rd, min_rnr, pd;
	uint32_t lid, dlid; /* 0 on Ethernet */
	uint32_t pkey;
	_Atomic uint32_t state;
	union ibv_gid sgid, dgid;
	uint64_t cookie;                    /* the owner's struct ibv_qp */
	uint64_t rq, recv_cq;               /* offsets in the node */
	uint32_t rq_size, recvs_completed;
	uint64_t rq_head, rq_tail, rq_most; /* used by the peer, posted by the owner */
	uint64_t rq_least; /* the shortest list of receives once in use; 0: none */
	uint64_t srq;      /* offset of what has its receives instead; 0: it has its own */
	uint64_t received;                  /* messages that used a receive */
	/* Null mode: messages sent to this one and taken from it; immediate data on their way. */
	_Alignas(64) _Atomic uint64_t sent;
	_Alignas(64) _Atomic uint64_t taken;
	uint64_t imm_ring; /* offset */
};

/* A run of pages that lies in a file; memory regions consist of such. */
struct shared_piece {
	uint64_t address, length, file; /* in the owner's address space; file: number, never again */
};

struct shared_mr {
	bool used;
	uint32_t key, access, pd, pieces, generation;
	uint64_t address, length, piece; /* piece: offset of the pieces */
	uint32_t windows; /* that are bound to it */
	/* A memory window, which opens onto the pieces of a region while it is bound. */
	uint32_t window;  /* its type; 0: this is a region */
	uint32_t region;  /* index of the region; with bound */
	bool bound;
	uint32_t qpn;     /* of type 2: the only one that reaches it */
};

/* Where rdma_cm listens: the number and the identifier of an event channel of that process. */
struct shared_listener {
	bool used;
	uint32_t port, channel;
	uint64_t handle;
	union ibv_gid gid;
};

struct shared_node {
	uint64_t heap_used, free_list[40];
	bool link_up;
	union ibv_gid gid[FAKE_DEVICES][FAKE_GIDS]; /* for datagrams to be sent to */
	/* Virtual time passes only when nobody has anything to do now. */
	bool virtual_clock, busy;    /* busy: took a completion, and has not polled in vain since */
	uint64_t unpolled;           /* completions */
	_Atomic uint64_t polled_at;  /* real time */
	_Atomic uint64_t next_event; /* when something may happen to one of its requests */
	struct shared_qp qp[FAKE_QPS + 1]; /* index 0 is not used */
	struct shared_mr mr[FAKE_MRS];
	struct shared_listener listener[FAKE_LISTENERS];
};

struct fabric {
	pthread_mutex_t lock;
	_Atomic uint64_t virtual_now; /* 0: has not begun */
	struct {
		int32_t pid;
		uint64_t serial;
	} node[FAKE_NODES + 1]; /* number 0 is not used */
};

struct node_channel {
	uint32_t number; /* 0: not open */
	int fd;
};

/* This process's view of a node: its own, or another that it has mapped. */
struct node {
	uint32_t number;
	uint64_t serial, checked;
	int fd, events_fd;
	bool gone;
	struct node_channel channel[FAKE_CHANNELS];
	struct shared_node *shared;
};

extern struct node *const own; /* NULL fields until fabric_attach() */

extern struct fabric *fabric;

int fabric_attach(void); /* 0 or an errno; once a process */
void fabric_lock(void);
void fabric_unlock(void);

/* NULL when there is no such process (any more). */
struct node *fabric_node(uint32_t number);

/* A path of the fabric's directory. */
void fabric_path(char *out, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* Zeroed memory in the own node; 0 when there is none left. */
uint64_t heap_alloc(size_t size);
void heap_free(uint64_t offset, size_t size);
static inline void *node_at(const struct node *n, uint64_t offset)
{
	return (char *)n->shared + offset;
}

/* An asynchronous event for the owner of a node. */
void fabric_event(struct node *n, enum ibv_event_type type, uint64_t cookie);

/* ---- device.c ---- */

struct fake_device {
	struct ibv_device verbs;
	struct ibv_gid_entry gid[FAKE_GIDS];
	uint32_t gids;
};

struct fake_context {
	uint32_t pds, qps, cqs, mrs, mws, channels, srqs, ahs;
	struct verbs_context ex; /* its last member is what programs have */
};

struct fake_pd {
	struct ibv_pd verbs;
	uint32_t number;
};

struct fake_ah {
	struct ibv_ah verbs;
	struct ibv_ah_attr attr;
	union ibv_gid sgid;
};

static inline struct fake_context *fake_context_of(struct ibv_context *c)
{
	return (struct fake_context *)(void *)((char *)c - offsetof(struct fake_context, ex.context));
}

bool device_link_up(void);
void device_publish_gids(void); /* of all devices, in the own node */

/* Whether a path out of that port can be: its port, its GID. */
bool device_has_path(struct ibv_context *c, const struct ibv_ah_attr *attr);
uint16_t device_lid(struct ibv_context *c);
uint32_t device_pkey(uint32_t index); /* 0: no such entry */
struct ibv_device *device_at(uint32_t index); /* NULL: there is none */
/* The device that has that GID, and where in its table; of two versions RoCE v2. NULL: none. */
struct ibv_device *device_of_gid(const union ibv_gid *gid, uint32_t *index);
const struct ibv_gid_entry *device_gid(const struct ibv_context *c, uint32_t index);

/* ---- memory.c ---- */

/* Where `length` bytes at `address` are in this process, by an lkey or rkey; NULL: not allowed. */
struct fake_access {
	struct node *node;
	uint32_t key, pd, access, qpn; /* qpn: who is reached */
	uint64_t address, length;
};

bool memory_allowed(const struct fake_access *a);

/* Copies between a node's memory and here; allowed before. */
void memory_write(const struct fake_access *a, const void *from);
void memory_read(const struct fake_access *a, void *to);

/* A region or window that is not used yet; NULL: all are. Under the lock. */
struct shared_mr *memory_free_slot(uint32_t *index);

/* A place of at most a page in a node's memory. */
void *memory_at(const struct fake_access *a);

/* The verbs of memory windows, and what their requests do. */
struct fake_wqe;
struct fake_qp;
struct ibv_mw *window_alloc(struct ibv_pd *pd, enum ibv_mw_type type);
int window_dealloc(struct ibv_mw *mw);
int window_bind(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
enum ibv_wc_status window_execute(const struct fake_qp *q, const struct fake_wqe *w);

void memory_forget(void); /* maps of other processes' memory */

/* ---- queues.c ---- */

struct fake_cq {
	struct ibv_cq verbs;
	struct shared_cq *shared;
	uint64_t offset;
	struct null_ring *null;
	int asked_most;   /* completions, by a poll */
	uint64_t taken;   /* events */
	uint32_t unacked; /* of them */
	bool asked;       /* for an event, ever */
	struct fake_cq *next;
};

struct fake_wqe {
	uint64_t wr_id, remote, compare, swap, due, execute_at;
	enum ibv_wr_opcode opcode;
	unsigned int flags;
	uint32_t num_sge, rkey, imm, length;
	enum ibv_wc_status status;
	struct ibv_mw *window; /* what is bound */
	struct ibv_mw_bind_info bind;
	bool waited; /* for a read before it */
	const struct fake_ah *ah; /* of a datagram, with whom it is for */
	uint32_t remote_qpn, remote_qkey;
	struct ibv_sge sge[FAKE_SGE];
};

/* Of a queue pair in null mode: what every post needs fills one line, and it needs nothing else. */
struct null_state {
	_Alignas(64) struct null_ring *ring; /* NULL: not that mode */
	bool fast, all_signalled;
	uint32_t imm_mask;
	uint64_t sent, taken;
	struct shared_qp *peer;
	uint32_t *imm_out; /* the peer's ring */
	struct node *node;
	unsigned char *base;
	uint32_t rkey; /* of the memory that base is for */
	uint64_t taken_here;
};

struct fake_qp {
	union {
		struct ibv_qp verbs;
		struct ibv_qp_ex ex; /* begins with the same */
	};
	struct null_state null;
	struct shared_qp *shared;
	bool sq_sig_all, active;
	uint32_t index, sq_size, max_inline, max_sge, max_recv_sge, sge_most, max_rd_atomic, timeout, retry_cnt, rnr_retry;
	struct ibv_ah_attr ah;
	uint32_t pkey_index;
	struct fake_wqe *sq;
	unsigned char *inline_data; /* max_inline bytes for each slot */
	uint64_t posted, executed, retired, freed; /* requests */
	uint64_t signalled, completions, messages, sq_most;
	uint64_t retry_at, last_due;
	uint32_t unanswered, rnr_retries;
	struct fake_qp *next_active;
	struct fake_calls *calls; /* NULL: not made for that */
	uint64_t by_calls;        /* requests */
};

struct fake_qp *qp_by_index(uint32_t index);

/* A queue pair of a node to ERR: what it had in its receive queue is flushed. */
void qp_fail(struct node *n, struct shared_qp *q);

/* ---- work.c ---- */

int work_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int work_post_window(struct ibv_qp *qp, struct ibv_send_wr *wr); /* of type 1, by its verb */
int work_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int work_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int work_take(struct ibv_cq *cq, int n, struct ibv_wc *wc); /* a poll, without its faults */
void work_forget(struct fake_qp *q);                        /* it is about to be destroyed */
void work_progress(void);                                   /* under the lock */
bool work_pass_time(void); /* the virtual clock moves on, if nobody has anything to do now */

/* A completion into a node's queue. */
void cq_push(struct node *n, struct shared_cq *cq, const struct shared_cqe *e);

/* Where q's receives are, in its node. */
static inline struct shared_qp *receives_of(const struct node *n, struct shared_qp *q)
{
	return q->srq ? node_at(n, q->srq) : q;
}

/* A receive of q, gone with that status. */
void recv_complete(struct node *n, struct shared_qp *q, const struct ibv_wc *wc);

/* Puts receives into a queue; what was not taken is *bad. */
int recv_post_list(struct shared_qp *s, uint32_t max_sge, struct ibv_recv_wr *wr,
		   struct ibv_recv_wr **bad);

/* ---- srq.c ---- */

/* Another queue pair has its receives there; its offset, 0 without one. And no longer. */
uint64_t srq_share(struct ibv_srq *srq);
void srq_leave(struct ibv_srq *srq);
int srq_post(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* ---- events.c ---- */

/* What becomes of a queue with a channel, at its beginning and its end. */
void events_attach(struct fake_cq *cq, struct ibv_comp_channel *channel);
void events_detach(struct fake_cq *cq);

/* A completion has come into a queue of n's. */
void events_notify(struct node *n, struct shared_cq *cq);

int events_request(struct ibv_cq *cq, int solicited_only);

/* A list that is taken as a whole, or not at all. */
int work_post_all(struct fake_qp *q, struct ibv_send_wr *wr);

/* ---- calls.c ---- */

struct ibv_qp *calls_create_qp(struct ibv_context *context, struct ibv_qp_init_attr_ex *attr);
bool calls_create(struct fake_qp *q);
void calls_destroy(struct fake_qp *q);

/* ---- execute.c ---- */

/* Carries one request out: true, with its status; or false: later, at q->retry_at. */
bool wqe_execute(struct fake_qp *q, struct fake_wqe *w, uint64_t now);

/* ---- cm.c ---- */

/* The peers of whatever rdma_cm has connected here are told that it is over. */
void cm_disconnect_all(void);

/* ---- null.c ---- */

int null_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int null_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
int null_poll(struct ibv_cq *cq, int n, struct ibv_wc *wc);
bool null_create_cq(struct fake_cq *cq);
bool null_create_qp(struct fake_qp *q);
void null_destroy_cq(struct fake_cq *cq);
void null_destroy_qp(struct fake_qp *q);
void null_leave(struct fake_qp *q); /* back to the checked way */

#endif
