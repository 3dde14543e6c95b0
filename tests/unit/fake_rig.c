/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "fake_rig.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PATIENCE_POLLS 400000000ULL /* the alarm of a scene comes first */
#define SCENE_SECONDS 20
#define PSN 0x123456

struct shape shape = {
	.type = IBV_QPT_RC,
	.depth = 16, .rx_depth = 16, .inline_size = 64, .send_cqe = 64,
	.access = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	.rd_atomic = 4, .timeout = 8, .retry_cnt = 2, .rnr_retry = 7, .min_rnr = 12,
};

/* ---- scenes ---- */

void check_equal(const char *file, int line, const char *what, uint64_t got, uint64_t want)
{
	if (got == want)
		return;
	fprintf(stderr, "%s:%d: %s is %" PRIu64 " (0x%" PRIx64 "), not %" PRIu64 " (0x%" PRIx64
		")\n", file, line, what, got, got, want, want);
	_exit(1);
}

static void empty_directory(const char *path)
{
	DIR *dir = opendir(path);
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		unlinkat(dirfd(dir), e->d_name, 0);
	if (dir)
		closedir(dir);
}

static void become(const struct scene *s, const char *dir, const char *device)
{
	static const char lates[] = "3000000\n1000000\n2000000\n";
	int log = open("log", O_RDWR | O_CREAT | O_TRUNC, 0600);
	int file = open("lates", O_RDWR | O_CREAT | O_TRUNC, 0600);

	if (log < 0 || file < 0 || write(file, lates, sizeof(lates) - 1) < 0)
		_exit(1);
	dup2(log, 1);
	dup2(log, 2);
	setenv("FAKEVERBS_DIR", dir, 1);
	setenv("FAKEVERBS", s->settings, 1);
	setenv("LD_PRELOAD", device, 1);
	alarm(SCENE_SECONDS);
	execl("/proc/self/exe", "scene", s->name, (char *)NULL);
	_exit(1);
}

static void show_log(void)
{
	FILE *f = fopen("log", "r");
	char line[400];

	while (f && fgets(line, sizeof(line), f))
		printf("# %s", line);
	if (f)
		fclose(f);
}

int scenes_main(int argc, char **argv, const struct scene *scenes, int count)
{
	const char *device = getenv("FAKEVERBS_SO");
	char dir[] = "/tmp/fakeverbs.XXXXXX";
	int bad = 0;

	for (int i = 0; argc > 1 && i < count; i++)
		if (!strcmp(scenes[i].name, argv[1])) {
			scenes[i].run();
			return 0;
		}
	if (!device || !mkdtemp(dir) || chdir(dir)) {
		printf("Bail out! FAKEVERBS_SO has to name tests/fakeverbs/fakeverbs.so\n");
		return 1;
	}
	printf("1..%d\n", count);
	for (int i = 0; i < count; i++) {
		int status;
		pid_t pid;

		fflush(stdout);
		pid = fork();
		if (!pid)
			become(&scenes[i], dir, device);
		waitpid(pid, &status, 0);
		bad += status != 0;
		printf("%s %d - %s\n", status ? "not ok" : "ok", i + 1, scenes[i].name);
		if (status) {
			printf("# wait status 0x%x with FAKEVERBS='%s'\n", (unsigned int)status,
			       scenes[i].settings);
			show_log();
		}
		empty_directory(dir);
	}
	rmdir(dir);
	return bad != 0;
}

/* ---- a device and two queue pairs ---- */

void rig_open(struct rig *r)
{
	struct ibv_device **list = ibv_get_device_list(NULL);

	memset(r, 0, sizeof(*r));
	r->context = ibv_open_device(list[0]);
	ibv_free_device_list(list);
	r->pd = ibv_alloc_pd(r->context);
	r->memory = mmap(NULL, MEMORY, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r->mr = ibv_reg_mr(r->pd, r->memory, MEMORY, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(r->mr != NULL, true);
	CHECK(ibv_query_gid(r->context, 1, 1, &r->gid), 0);
}

void rig_close(struct rig *r)
{
	pair_close(r);
	CHECK(ibv_dereg_mr(r->mr), 0);
	CHECK(ibv_dealloc_pd(r->pd), 0);
	CHECK(ibv_close_device(r->context), 0);
	munmap(r->memory, MEMORY);
}

void end_open(struct rig *r, struct end *e)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = shape.type, .pd = r->pd, .comp_mask = IBV_QP_INIT_ATTR_PD,
		.send_ops_flags = shape.calls,
		.cap = {
			.max_send_wr = shape.depth, .max_recv_wr = shape.rx_depth,
			.max_send_sge = 1, .max_recv_sge = 1,
			.max_inline_data = shape.inline_size,
		},
	};

	e->scq = ibv_create_cq(r->context, (int)shape.send_cqe, NULL, r->channel, 0);
	e->rcq = ibv_create_cq(r->context, (int)shape.rx_depth, NULL, r->channel, 0);
	init.send_cq = e->scq;
	init.recv_cq = e->rcq;
	init.srq = r->srq;
	if (shape.calls)
		init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
	e->qp = ibv_create_qp_ex(r->context, &init);
	CHECK(e->qp != NULL, true);
}

void end_close(struct end *e)
{
	if (!e->qp)
		return;
	CHECK(ibv_destroy_qp(e->qp), 0);
	CHECK(ibv_destroy_cq(e->scq), 0);
	CHECK(ibv_destroy_cq(e->rcq), 0);
	*e = (struct end){ NULL, NULL, NULL };
}

struct step step_to(const struct rig *r, enum ibv_qp_state state, uint32_t dest_qpn)
{
	static const int masks[][IBV_QPS_ERR + 1] = {
		[IBV_QPT_RC] = {
			[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					IBV_QP_MIN_RNR_TIMER,
			[IBV_QPS_RTS] = IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
					IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC,
		},
		[IBV_QPT_UC] = {
			[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
			[IBV_QPS_RTR] = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					IBV_QP_RQ_PSN,
			[IBV_QPS_RTS] = IBV_QP_SQ_PSN,
		},
		[IBV_QPT_UD] = {
			[IBV_QPS_INIT] = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
			[IBV_QPS_RTS] = IBV_QP_SQ_PSN,
		},
	};

	return (struct step){
		.attr = {
			.qp_state = state, .port_num = 1, .qkey = RIG_QKEY,
			 .qp_access_flags = (unsigned)shape.access,
			.path_mtu = IBV_MTU_4096, .dest_qp_num = dest_qpn, .rq_psn = PSN,
			.sq_psn = PSN, .max_dest_rd_atomic = shape.rd_atomic,
			.max_rd_atomic = shape.rd_atomic, .min_rnr_timer = shape.min_rnr,
			.timeout = shape.timeout, .retry_cnt = shape.retry_cnt,
			.rnr_retry = shape.rnr_retry,
			.ah_attr = {
				.is_global = 1, .port_num = 1,
				.grh = { .dgid = r->gid, .sgid_index = 1, .hop_limit = 64 },
			},
		},
		.mask = masks[shape.type][state] | IBV_QP_STATE,
	};
}

int take(struct end *e, const struct step *s)
{
	struct ibv_qp_attr attr = s->attr;

	return ibv_modify_qp(e->qp, &attr, s->mask);
}

void pair_open(struct rig *r)
{
	static const enum ibv_qp_state states[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };

	end_open(r, &r->a);
	end_open(r, &r->b);
	for (int i = 0; i < 3; i++) {
		struct step a = step_to(r, states[i], r->b.qp->qp_num + shape.wrong_qpn);
		struct step b = step_to(r, states[i], r->a.qp->qp_num);

		a.attr.sq_psn += shape.wrong_psn;
		CHECK(take(&r->a, &a), 0);
		CHECK(take(&r->b, &b), 0);
	}
}

void pair_close(struct rig *r)
{
	end_close(&r->a);
	end_close(&r->b);
}

/* ---- requests ---- */

int post(struct rig *r, struct end *e, struct request q)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)r->memory + q.local, .length = q.length,
		.lkey = q.lkey ? q.lkey : r->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = q.id, .opcode = q.op, .sg_list = &sge, .num_sge = q.length != 0,
		.send_flags = q.flags, .imm_data = q.imm,
	}, *bad;
	uint32_t rkey = q.rkey ? q.rkey : r->mr->rkey;
	uint64_t remote = q.far ? q.far : (uintptr_t)r->memory + q.remote;

	if (q.ah) {
		wr.wr.ud.ah = q.ah;
		wr.wr.ud.remote_qpn = q.to_qpn;
		wr.wr.ud.remote_qkey = q.to_qkey;
	} else if (q.op >= IBV_WR_ATOMIC_CMP_AND_SWP) {
		wr.wr.atomic.remote_addr = remote;
		wr.wr.atomic.rkey = rkey;
		wr.wr.atomic.compare_add = q.add;
		wr.wr.atomic.swap = q.swap;
	} else {
		wr.wr.rdma.remote_addr = remote;
		wr.wr.rdma.rkey = rkey;
	}
	return ibv_post_send(e->qp, &wr, &bad);
}

int receive(struct rig *r, struct end *e, uint64_t id, uint32_t at, uint32_t length)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)r->memory + at, .length = length, .lkey = r->mr->lkey,
	};
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = length != 0 }, *bad;

	return ibv_post_recv(e->qp, &wr, &bad);
}

struct ibv_wc next(struct ibv_cq *cq)
{
	struct ibv_wc wc = { 0 };

	for (uint64_t i = 0; i < PATIENCE_POLLS; i++)
		if (ibv_poll_cq(cq, 1, &wc))
			return wc;
	CHECK("no completion came", 0);
	return wc;
}

void expect_at(const char *file, int line, struct ibv_cq *cq, uint64_t id,
	       enum ibv_wc_status status)
{
	struct ibv_wc wc = next(cq);

	check_equal(file, line, "the completion's wr_id", wc.wr_id, id);
	check_equal(file, line, "its status", wc.status, status);
}

void expect_none(struct ibv_cq *cq)
{
	struct ibv_wc wc = { 0 };

	CHECK(ibv_poll_cq(cq, 1, &wc), 0);
}

void expect_event(struct rig *r, enum ibv_event_type type)
{
	struct pollfd fd = { .fd = r->context->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	CHECK(poll(&fd, 1, 5000), 1);
	CHECK(ibv_get_async_event(r->context, &event), 0);
	CHECK(event.event_type, type);
	ibv_ack_async_event(&event);
}

uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}
