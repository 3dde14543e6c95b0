/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The fake device between two processes: the memory of one is reached from the other. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "fake_rig.h"

struct offer {
	union ibv_gid gid;
	uint32_t qpn, rkey[3];
	uint64_t address;
};

#define PAGES 5

/* Regions that share pages and begin inside them: [0,100), [50, 3 pages), [10, 5 pages). */
static void offer_memory(struct rig *r, struct offer *o, struct ibv_mr *mr[3])
{
	static const struct { size_t at, length; } part[] = {
		{ 0, 100 }, { 50, 3 * 4096 }, { 10, PAGES * 4096 - 10 },
	};
	unsigned char *memory = aligned_alloc(4096, PAGES * 4096);

	memset(memory, 1, PAGES * 4096);
	for (int i = 0; i < 3; i++) {
		mr[i] = ibv_reg_mr(r->pd, memory + part[i].at, part[i].length,
				   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
		CHECK(mr[i] != NULL, true);
		o->rkey[i] = mr[i]->rkey;
	}
	o->address = (uintptr_t)memory;
	for (int i = 0; i < PAGES * 4096; i++)
		CHECK(memory[i], 1); /* registering does not change it */
}

static void connect_end(struct rig *r, struct offer *mine, int from, int to)
{
	static const enum ibv_qp_state steps[] = { IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS };
	struct offer theirs;

	mine->gid = r->gid;
	mine->qpn = r->a.qp->qp_num;
	CHECK(write(to, mine, sizeof(*mine)), sizeof(*mine));
	CHECK(read(from, &theirs, sizeof(theirs)), sizeof(theirs));
	for (int i = 0; i < 3; i++) {
		struct step s = step_to(r, steps[i], theirs.qpn);

		CHECK(take(&r->a, &s), 0);
	}
	CHECK(write(to, "", 1), 1); /* ready */
	CHECK(read(from, &(char){ 0 }, 1), 1);
	*mine = theirs;
}

static void remote_side(int from, int to)
{
	struct offer o = { .qpn = 0 };
	unsigned char *memory;
	struct ibv_mr *mr[3];
	uint64_t counter;
	struct rig r;

	rig_open(&r);
	end_open(&r, &r.a);
	offer_memory(&r, &o, mr);
	memory = (unsigned char *)(uintptr_t)o.address;
	connect_end(&r, &o, from, to);
	CHECK(read(from, &(char){ 0 }, 1), 1); /* it has written */
	for (int i = 0; i < PAGES * 4096; i++)
		if (i < 16 || i >= 24) /* the counter */
			CHECK(memory[i], i >= 4090 && i < 4090 + 12288 ? 2 : i == 70 ? 3 : 1);
	memcpy(&counter, memory + 16, 8);
	CHECK(counter, UINT64_C(0x0101010101010101) + 5);
	ibv_dereg_mr(mr[0]);
	memory[60] = 4;
	CHECK(write(to, "", 1), 1);
	CHECK(read(from, &(char){ 0 }, 1), 1); /* it has read */
	ibv_dereg_mr(mr[1]);
	ibv_dereg_mr(mr[2]);
	rig_close(&r);
	free(memory);
}

static void one_far(struct rig *r, struct request q, const struct offer *o, int key, uint64_t at,
		    enum ibv_wc_status status)
{
	q.rkey = o->rkey[key];
	q.far = o->address + at;
	CHECK(post(r, &r->a, q), 0);
	expect(r->a.scq, q.id, status);
}

static void other_process(void)
{
	struct request w = { .id = 1, .op = IBV_WR_RDMA_WRITE, .flags = IBV_SEND_SIGNALED };
	struct request f = {
		.id = 2, .op = IBV_WR_ATOMIC_FETCH_AND_ADD, .length = 8,
		.flags = IBV_SEND_SIGNALED, .add = 5,
	};
	struct offer o = { .qpn = 0 };
	int there[2], back[2], status;
	struct rig r;
	pid_t pid;

	CHECK(pipe(there) | pipe(back), 0);
	pid = fork();
	if (!pid) {
		remote_side(there[0], back[1]);
		exit(0);
	}
	rig_open(&r);
	end_open(&r, &r.a);
	connect_end(&r, &o, back[0], there[1]);
	memset(r.memory, 2, 12288);
	w.length = 12288;
	one_far(&r, w, &o, 2, 4090, IBV_WC_SUCCESS); /* over four pages and two pieces */
	r.memory[0] = 3;
	w.length = 1;
	one_far(&r, w, &o, 0, 70, IBV_WC_SUCCESS);
	one_far(&r, f, &o, 2, 16, IBV_WC_SUCCESS);
	CHECK(write(there[1], "", 1), 1);
	CHECK(read(back[0], &(char){ 0 }, 1), 1);
	w.op = IBV_WR_RDMA_READ; /* a page that another region has left is still this one's */
	w.length = 4096;
	one_far(&r, w, &o, 1, 60, IBV_WC_SUCCESS);
	CHECK(r.memory[0], 4);
	CHECK(r.memory[10], 3);
	CHECK(r.memory[4090 - 60], 2);
	w.length = 1;
	one_far(&r, w, &o, 0, 70, IBV_WC_REM_ACCESS_ERR);
	CHECK(write(there[1], "", 1), 1);
	CHECK(waitpid(pid, &status, 0), pid);
	CHECK(status, 0);
	rig_close(&r);
}

int main(int argc, char **argv)
{
	static const struct scene scenes[] = {
		{ "other_process", "", other_process },
	};

	return scenes_main(argc, argv, scenes, 1);
}
