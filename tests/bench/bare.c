/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The reference that `make bench` holds rdmeter against: the least that a program can do to keep
 * the same window full. Same operation, depth, lists, signaling and size, and so the same bursts;
 * requests are linked and flagged beforehand, a completion says how many it retires, and there is
 * no stamp, no stop word, no histogram and no failure but one that ends everything. Latency loops
 * read the clock as rdmeter's do.
 *
 *     bare OP bw|calls|both|lat DEPTH BATCH SIGNAL SIZE MESSAGES
 *     bare clock
 *
 * "calls" is bw posted by ibv_wr_* calls, for writes. The second prints what reads of the clock
 * take: "plain NS ordered NS".
 * Starts its peer by itself, as a process of its own with the same arguments and "peer" behind
 * them. Each prints, where it has a loop: "messages N ns T cpu_ns C peer 0|1", and the asking side
 * of a latency test "p50_ns P" too. It is a test program: what fails, fails with a word and a number.
 */
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <infiniband/verbs.h>

#include "engine/clock.h"

#define always_inline static inline __attribute__((always_inline))
#define POLL 16
#define WARMUP 16384 /* messages: more than the null device's checked ones */
#define SAMPLES (1U << 16)
#define GID_INDEX 1
#define PEER_FD 3
#define CLOCK_BATCHES 100
#define CLOCK_READS 1000

enum touch { PLAIN, IMMEDIATE, COMPARE, CALLS };

static const struct op {
	const char *name;
	enum ibv_wr_opcode opcode;
	bool receives, atomic;
	enum touch touch;
} ops[] = {
	{ "send", IBV_WR_SEND, true, false, PLAIN },
	{ "send_imm", IBV_WR_SEND_WITH_IMM, true, false, IMMEDIATE },
	{ "write", IBV_WR_RDMA_WRITE, false, false, PLAIN },
	{ "write_imm", IBV_WR_RDMA_WRITE_WITH_IMM, true, false, IMMEDIATE },
	{ "read", IBV_WR_RDMA_READ, false, false, PLAIN },
	{ "cas", IBV_WR_ATOMIC_CMP_AND_SWP, false, true, COMPARE },
	{ "fadd", IBV_WR_ATOMIC_FETCH_AND_ADD, false, true, PLAIN },
};

static const struct op *op;
static uint32_t depth, batch, sig, size, rx_depth;
static uint64_t messages;

static struct ibv_cq *send_cq, *recv_cq;
static struct ibv_qp *qp;
static struct ibv_qp_ex *by_calls;
static struct ibv_mr *mr;
static unsigned char *memory; /* what is sent, then what is received into */
static struct ibv_send_wr *sends;
static struct ibv_recv_wr *recvs;
static uint64_t posted, done, received;
static uint32_t send_at, recv_at;

static uint64_t samples[SAMPLES], sampled; /* ticks; the newest */

struct endpoint {
	uint32_t qpn, rkey;
	uint64_t address;
	union ibv_gid gid;
};

static void __attribute__((noinline, cold)) quit(const char *what, int number)
{
	fprintf(stderr, "bare: %s: %d\n", what, number);
	exit(1);
}

static void need(bool fine, const char *what)
{
	if (!fine)
		quit(what, 0);
}

/* ---- the resources ---- */

/* The attributes without the extension are those that it begins with. */
static struct ibv_qp *create_by_calls(struct ibv_pd *pd, const struct ibv_qp_init_attr *attr)
{
	struct ibv_qp_init_attr_ex ex = {
		.send_cq = attr->send_cq, .recv_cq = attr->recv_cq, .cap = attr->cap,
		.qp_type = attr->qp_type, .pd = pd, .send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	struct ibv_qp *made = ibv_create_qp_ex(pd->context, &ex);

	by_calls = made ? ibv_qp_to_qp_ex(made) : NULL;
	need(by_calls, "a queue pair that is posted to by calls");
	return made;
}

static void open_queues(bool calls)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = list && list[0] ? ibv_open_device(list[0]) : NULL;
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = depth, .max_recv_wr = rx_depth, .max_send_sge = 1,
			 .max_recv_sge = 1 },
	};
	struct ibv_pd *pd = c ? ibv_alloc_pd(c) : NULL;
	size_t bytes = (size_t)size * (depth + rx_depth) + 8;

	need(pd, "no device");
	bytes = (bytes + 4095) / 4096 * 4096;
	memory = aligned_alloc(4096, bytes);
	need(memory, "memory");
	memset(memory, 0, bytes);
	mr = ibv_reg_mr(pd, memory, bytes, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	attr.send_cq = send_cq = ibv_create_cq(c, (int)(depth + rx_depth), NULL, NULL, 0);
	attr.recv_cq = recv_cq = ibv_create_cq(c, (int)(depth + rx_depth), NULL, NULL, 0);
	need(mr && send_cq && recv_cq, "memory region, completion queues");
	qp = calls ? create_by_calls(pd, &attr) : ibv_create_qp(pd, &attr);
	need(qp, "queue pair");
}

static void connect_queues(const struct endpoint *to)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT, .port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_ATOMIC,
		.path_mtu = IBV_MTU_1024, .dest_qp_num = to->qpn,
		.max_dest_rd_atomic = 16, .min_rnr_timer = 1, .max_rd_atomic = 16, .timeout = 14,
		.retry_cnt = 7, .rnr_retry = 7,
		.ah_attr = { .port_num = 1, .is_global = 1,
			     .grh = { .dgid = to->gid, .sgid_index = GID_INDEX, .hop_limit = 64 } },
	};

	need(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			    IBV_QP_ACCESS_FLAGS), "INIT");
	a.qp_state = IBV_QPS_RTR;
	need(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
	     "RTR");
	a.qp_state = IBV_QPS_RTS;
	need(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			    IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC), "RTS");
}

/*
 * A ring of one window. The signaling interval begins anew with each window, as rdmeter's does
 * when it fills one: its last request asks for a completion too.
 */
static void build_sends(const struct endpoint *to, bool one_place)
{
	uint32_t since = 0;

	sends = calloc(depth, sizeof(*sends) + sizeof(struct ibv_sge));
	need(sends, "memory");
	for (uint32_t i = 0; i < depth; i++) {
		struct ibv_sge *sge = (struct ibv_sge *)(sends + depth) + i;
		bool last = i % batch == batch - 1;

		*sge = (struct ibv_sge){
			.addr = (uintptr_t)memory + (size_t)i * size, .length = size,
			.lkey = mr->lkey,
		};
		sends[i] = (struct ibv_send_wr){
			.opcode = op->opcode, .sg_list = sge, .num_sge = 1,
			.next = last ? NULL : &sends[i + 1],
		};
		if (op->atomic) {
			sends[i].wr.atomic.remote_addr = to->address + (size_t)depth * size;
			sends[i].wr.atomic.rkey = to->rkey;
			sends[i].wr.atomic.compare_add = 1;
		} else {
			sends[i].wr.rdma.remote_addr =
				to->address + (size_t)(depth + (one_place ? 0 : i % rx_depth)) * size;
			sends[i].wr.rdma.rkey = to->rkey;
		}
		if (++since == sig || i == depth - 1) {
			sends[i].send_flags = IBV_SEND_SIGNALED;
			sends[i].wr_id = since;
			since = 0;
		}
	}
}

static void build_receives(void)
{
	recvs = calloc(rx_depth, sizeof(*recvs) + sizeof(struct ibv_sge));
	need(recvs, "memory");
	for (uint32_t i = 0; i < rx_depth; i++) {
		struct ibv_sge *sge = (struct ibv_sge *)(recvs + rx_depth) + i;

		*sge = (struct ibv_sge){
			.addr = (uintptr_t)memory + (size_t)(depth + i) * size, .length = size,
			.lkey = mr->lkey,
		};
		recvs[i] = (struct ibv_recv_wr){
			.sg_list = sge, .num_sge = 1, .next = &recvs[(i + 1) % rx_depth],
		};
	}
}

/* ---- the loops ---- */

static void give_receives(uint32_t n)
{
	struct ibv_recv_wr *first = &recvs[recv_at], *last, *next, *bad;
	int rc;

	recv_at = (recv_at + n) % rx_depth;
	last = &recvs[(recv_at + rx_depth - 1) % rx_depth];
	next = last->next;
	last->next = NULL;
	rc = ibv_post_recv(qp, first, &bad);
	last->next = next;
	if (rc)
		quit("post_recv", rc);
}

static int post_by_calls(const struct ibv_send_wr *wr)
{
	ibv_wr_start(by_calls);
	for (; wr; wr = wr->next) {
		by_calls->wr_id = wr->wr_id;
		by_calls->wr_flags = wr->send_flags;
		ibv_wr_rdma_write(by_calls, wr->wr.rdma.rkey, wr->wr.rdma.remote_addr);
		ibv_wr_set_sge(by_calls, wr->sg_list->lkey, wr->sg_list->addr,
			       wr->sg_list->length);
	}
	return ibv_wr_complete(by_calls);
}

always_inline void fill_window(uint64_t end, const enum touch touch)
{
	struct ibv_send_wr *bad;

	while (posted < end && posted - done + batch <= depth) {
		struct ibv_send_wr *wr = &sends[send_at];
		int rc;

		for (uint32_t i = 0; touch != PLAIN && i < batch; i++) {
			if (touch == IMMEDIATE)
				wr[i].imm_data = __builtin_bswap32((uint32_t)(posted + i));
			if (touch == COMPARE) {
				wr[i].wr.atomic.compare_add = posted + i;
				wr[i].wr.atomic.swap = posted + i + 1;
			}
		}
		send_at = send_at + batch == depth ? 0 : send_at + batch;
		posted += batch;
		rc = touch == CALLS ? post_by_calls(wr) : ibv_post_send(qp, wr, &bad);
		if (__builtin_expect(rc, 0))
			quit("post_send", rc);
	}
}

always_inline void poll_sends(void)
{
	struct ibv_wc wc[POLL];
	int n = ibv_poll_cq(send_cq, POLL, wc);

	if (__builtin_expect(n < 0, 0))
		quit("poll", n);
	for (int i = 0; i < n; i++) {
		if (__builtin_expect(wc[i].status, 0))
			quit("send", (int)wc[i].status);
		done += wc[i].wr_id;
	}
}

always_inline void poll_receives(void)
{
	struct ibv_wc wc[POLL];
	int n = ibv_poll_cq(recv_cq, POLL, wc);

	if (__builtin_expect(n < 0, 0))
		quit("poll", n);
	for (int i = 0; i < n; i++)
		if (__builtin_expect(wc[i].status, 0))
			quit("receive", (int)wc[i].status);
	if (n) {
		received += (uint64_t)n;
		give_receives((uint32_t)n);
	}
}

/* Both are counts from the beginning; one that is reached already asks for nothing. */
always_inline void stream(uint64_t sent_end, uint64_t received_end, const enum touch touch)
{
	while (done < sent_end || received < received_end) {
		if (received_end)
			poll_receives();
		if (sent_end) {
			fill_window(sent_end, touch);
			poll_sends();
		}
	}
}

static void stream_sends(uint64_t end)
{
	if (by_calls)
		stream(end, 0, CALLS);
	else if (op->touch == PLAIN)
		stream(end, 0, PLAIN);
	else if (op->touch == IMMEDIATE)
		stream(end, 0, IMMEDIATE);
	else
		stream(end, 0, COMPARE);
}

static void stream_receives(uint64_t end)
{
	stream(0, end, PLAIN);
}

static void stream_both(uint64_t end)
{
	stream(end, end, PLAIN);
}

always_inline void post_one(void)
{
	struct ibv_send_wr *wr = &sends[send_at], *bad;
	int rc;

	if (op->touch == COMPARE) {
		wr->wr.atomic.compare_add = posted;
		wr->wr.atomic.swap = posted + 1;
	}
	send_at = send_at + 1 == depth ? 0 : send_at + 1;
	posted++;
	rc = ibv_post_send(qp, wr, &bad);
	if (__builtin_expect(rc, 0))
		quit("post_send", rc);
}

/* Until the one outstanding operation, or the next message, is there. */
always_inline void wait_completion(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	while (!(n = ibv_poll_cq(cq, 1, &wc)))
		;
	if (__builtin_expect(n < 0 || wc.status, 0))
		quit("completion", n < 0 ? n : (int)wc.status);
}

static void roundtrip(uint64_t end)
{
	while (posted < end) {
		uint64_t begin = counter_read();

		post_one();
		wait_completion(send_cq);
		samples[sampled++ % SAMPLES] = counter_read_ordered() - begin;
	}
}

static unsigned char marker_of(uint64_t message)
{
	return (unsigned char)(message % 255 + 1);
}

always_inline void ping(const bool memory_marker)
{
	if (memory_marker) /* the byte that the next request will carry */
		memory[(size_t)send_at * size + size - 1] = marker_of(posted);
	post_one();
}

always_inline void pong(const bool memory_marker)
{
	volatile unsigned char *in = memory + (size_t)(depth + 1) * size - 1;

	if (memory_marker) {
		unsigned char marker = marker_of(received);

		while (__atomic_load_n(in, __ATOMIC_ACQUIRE) != marker)
			;
	} else {
		wait_completion(recv_cq);
	}
	received++;
}

/* What is owed after each message, outside of the samples. */
always_inline void tidy(const bool memory_marker)
{
	if (!memory_marker)
		give_receives(1);
	if (sends[send_at ? send_at - 1 : depth - 1].wr_id)
		poll_sends();
	while (posted - done >= depth)
		poll_sends();
}

always_inline void initiate(uint64_t end, const bool memory_marker)
{
	while (posted < end) {
		uint64_t begin = counter_read();

		ping(memory_marker);
		pong(memory_marker);
		samples[sampled++ % SAMPLES] = counter_read_ordered() - begin;
		tidy(memory_marker);
	}
}

always_inline void respond(uint64_t end, const bool memory_marker)
{
	while (posted < end) {
		pong(memory_marker);
		ping(memory_marker);
		tidy(memory_marker);
	}
}

static void initiate_memory(uint64_t end) { initiate(end, true); }
static void initiate_recv(uint64_t end) { initiate(end, false); }
static void respond_memory(uint64_t end) { respond(end, true); }
static void respond_recv(uint64_t end) { respond(end, false); }

typedef void (*loop)(uint64_t end);

static loop choose(const char *test, bool peer)
{
	if (!strcmp(test, "both"))
		return stream_both;
	if (!strcmp(test, "bw") || !strcmp(test, "calls"))
		return !peer ? stream_sends : op->receives ? stream_receives : NULL;
	if (op->opcode == IBV_WR_RDMA_READ || op->atomic)
		return peer ? NULL : roundtrip;
	if (op->receives)
		return peer ? respond_recv : initiate_recv;
	return peer ? respond_memory : initiate_memory;
}

/* ---- the run ---- */

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Warm-up and measured part end at a full window, where nothing is outstanding. */
static void measure(loop run, bool samples_too, bool peer)
{
	uint64_t warm = (WARMUP + depth - 1) / depth * depth;
	uint64_t n = (messages + depth - 1) / depth * depth, ns, cpu, ticks;

	run(warm);
	sampled = 0;
	ns = clock_raw_ns();
	cpu = cpu_ns();
	ticks = counter_read();
	run(warm + n);
	ticks = counter_read_ordered() - ticks;
	cpu = cpu_ns() - cpu;
	ns = clock_raw_ns() - ns;
	printf("messages %llu ns %llu cpu_ns %llu peer %d", (unsigned long long)n,
	       (unsigned long long)ns, (unsigned long long)cpu, peer);
	if (samples_too) {
		uint64_t kept = n < SAMPLES ? n : SAMPLES;

		qsort(samples, kept, sizeof(samples[0]), by_value);
		printf(" p50_ns %.2f", (double)samples[(kept - 1) / 2] * (double)ns /
			       (double)ticks);
	}
	printf("\n");
	fflush(stdout);
}

static void exchange(int fd, void *mine, void *theirs, size_t bytes)
{
	need(write(fd, mine, bytes) == (ssize_t)bytes, "write to the peer");
	need(recv(fd, theirs, bytes, MSG_WAITALL) == (ssize_t)bytes, "read from the peer");
}

static pid_t start_peer(char **argv, int argc, int *fd)
{
	char *args[16], word[] = "peer";
	posix_spawn_file_actions_t actions;
	extern char **environ;
	int pair[2];
	pid_t pid;

	need(argc < 15 && !socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), "socketpair");
	memcpy(args, argv, (size_t)argc * sizeof(*args));
	args[argc] = word;
	args[argc + 1] = NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, pair[1], PEER_FD);
	need(!posix_spawn(&pid, argv[0], &actions, NULL, args, environ), "start the peer");
	posix_spawn_file_actions_destroy(&actions);
	close(pair[1]);
	*fd = pair[0];
	return pid;
}

static void read_arguments(char **argv)
{
	for (uint32_t i = 0; i < sizeof(ops) / sizeof(ops[0]); i++)
		if (!strcmp(argv[1], ops[i].name))
			op = &ops[i];
	depth = (uint32_t)atol(argv[3]);
	batch = (uint32_t)atol(argv[4]);
	sig = (uint32_t)atol(argv[5]);
	size = (uint32_t)atol(argv[6]);
	messages = strtoull(argv[7], NULL, 10);
	need(op && depth && batch && sig && size && messages, "arguments");
	need(depth % batch == 0, "the depth is to be a multiple of the batch");
	need(batch == 1 || strcmp(argv[2], "lat"), "one message at a time has no lists");
	rx_depth = 2 * depth < 512 ? 2 * depth : 512;
}

/* The least of many batches of reads, each of which has to wait for the one before. */
static void print_clock(void)
{
	double least[2] = { 1e9, 1e9 };

	for (int round = 0; round < 2 * CLOCK_BATCHES; round++) {
		bool ordered = round % 2;
		uint64_t begin = clock_raw_ns(), sum = 0;
		double ns;

		for (int i = 0; i < CLOCK_READS; i++)
			sum += ordered ? counter_read_ordered() : counter_read();
		__asm__ volatile("" : : "r"(sum));
		ns = (double)(clock_raw_ns() - begin) / CLOCK_READS;
		least[ordered] = ns < least[ordered] ? ns : least[ordered];
	}
	printf("plain %.2f ordered %.2f\n", least[0], least[1]);
}

int main(int argc, char **argv)
{
	bool peer = argc == 9, lat = argc > 2 && !strcmp(argv[2], "lat");
	struct endpoint mine = { 0 }, theirs;
	int fd = PEER_FD, status = 0;
	pid_t pid = 0;
	loop run;
	char byte = 0;

	if (argc == 2 && !strcmp(argv[1], "clock")) {
		print_clock();
		return 0;
	}
	need(argc == 8 || peer,
	     "usage: bare OP bw|calls|both|lat DEPTH BATCH SIGNAL SIZE MESSAGES, or bare clock");
	read_arguments(argv);
	if (!peer)
		pid = start_peer(argv, argc, &fd);
	open_queues(!strcmp(argv[2], "calls"));
	mine.qpn = qp->qp_num;
	mine.rkey = mr->rkey;
	mine.address = (uintptr_t)memory;
	need(!ibv_query_gid(qp->context, 1, GID_INDEX, &mine.gid), "GID");
	exchange(fd, &mine, &theirs, sizeof(mine));
	connect_queues(&theirs);
	build_sends(&theirs, lat);
	build_receives();
	if (op->receives)
		give_receives(rx_depth - 1);
	exchange(fd, &byte, &byte, 1); /* ready */
	run = choose(argv[2], peer);
	if (run)
		measure(run, !peer && lat, peer);
	exchange(fd, &byte, &byte, 1); /* done */
	if (pid)
		need(waitpid(pid, &status, 0) == pid && !status, "the peer's exit");
	return 0;
}
