/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * When a program did what, to take set-up apart: preloaded before libibverbs, or before the fake
 * device, it notes when each verbs call began and ended, but for posts and polls, the first
 * connect() to a network address, and the first request posted. With its last breath it appends
 * all that to the file that TIMES names, in nanoseconds of CLOCK_MONOTONIC, and the most memory
 * that was resident. From the first post on it costs nothing: the device's own function is put
 * back. A library of its own, so that any device can be looked at, and none pays for it.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>

#include <infiniband/verbs.h>

#undef ibv_query_port
#undef ibv_reg_mr

#define CALLS (1U << 17) /* more are counted, and not noted */

static struct call {
	const char *name;
	uint64_t begin, end;
} *calls;
static _Atomic uint32_t called;
static _Atomic uint64_t connected, posted;
static int (*real_post)(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);

static uint64_t now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000 + (uint64_t)ts.tv_nsec;
}

static void __attribute__((constructor)) begin(void)
{
	if (getenv("TIMES"))
		calls = calloc(CALLS, sizeof(*calls));
}

static void note(const char *name, uint64_t since)
{
	uint32_t i = atomic_fetch_add(&called, 1);

	if (calls && i < CALLS)
		calls[i] = (struct call){ name, since, now() };
}

static void *real(const char *name)
{
	void *f = dlsym(RTLD_NEXT, name);

	if (!f) {
		fprintf(stderr, "times: no %s\n", name);
		exit(99);
	}
	return f;
}

/* A verb that does what the next library does, and is noted. */
#define VERB(type, name, parameters, arguments)                                                   \
	type name parameters                                                                      \
	{                                                                                         \
		static type(*next) parameters;                                                    \
		uint64_t since = now();                                                           \
		type result;                                                                      \
                                                                                                  \
		if (!next)                                                                        \
			*(void **)&next = real(#name);                                            \
		result = next arguments;                                                          \
		note(#name, since);                                                               \
		return result;                                                                    \
	}

VERB(struct ibv_device **, ibv_get_device_list, (int *count), (count))
VERB(int, ibv_close_device, (struct ibv_context *c), (c))
VERB(int, ibv_query_device, (struct ibv_context *c, struct ibv_device_attr *a), (c, a))
VERB(int, ibv_query_port, (struct ibv_context *c, uint8_t port, struct _compat_ibv_port_attr *a),
     (c, port, a))
VERB(int, ibv_query_gid, (struct ibv_context *c, uint8_t port, int i, union ibv_gid *gid),
     (c, port, i, gid))
VERB(int, _ibv_query_gid_ex, (struct ibv_context *c, uint32_t port, uint32_t i,
     struct ibv_gid_entry *e, uint32_t flags, size_t size), (c, port, i, e, flags, size))
VERB(ssize_t, _ibv_query_gid_table, (struct ibv_context *c, struct ibv_gid_entry *e, size_t room,
     uint32_t flags, size_t size), (c, e, room, flags, size))
VERB(int, ibv_query_pkey, (struct ibv_context *c, uint8_t port, int i, __be16 *key),
     (c, port, i, key))
VERB(struct ibv_pd *, ibv_alloc_pd, (struct ibv_context *c), (c))
VERB(int, ibv_dealloc_pd, (struct ibv_pd *pd), (pd))
VERB(struct ibv_mr *, ibv_reg_mr, (struct ibv_pd *pd, void *at, size_t size, int access),
     (pd, at, size, access))
VERB(struct ibv_mr *, ibv_reg_mr_iova2, (struct ibv_pd *pd, void *at, size_t size, uint64_t iova,
     unsigned int access), (pd, at, size, iova, access))
VERB(int, ibv_dereg_mr, (struct ibv_mr *mr), (mr))
VERB(struct ibv_cq *, ibv_create_cq, (struct ibv_context *c, int cqe, void *context,
     struct ibv_comp_channel *channel, int vector), (c, cqe, context, channel, vector))
VERB(int, ibv_destroy_cq, (struct ibv_cq *cq), (cq))
VERB(struct ibv_qp *, ibv_create_qp, (struct ibv_pd *pd, struct ibv_qp_init_attr *a), (pd, a))
VERB(int, ibv_modify_qp, (struct ibv_qp *qp, struct ibv_qp_attr *a, int mask), (qp, a, mask))
VERB(int, ibv_query_qp, (struct ibv_qp *qp, struct ibv_qp_attr *a, int mask,
     struct ibv_qp_init_attr *init), (qp, a, mask, init))
VERB(int, ibv_destroy_qp, (struct ibv_qp *qp), (qp))

static int first_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	uint64_t never = 0;

	atomic_compare_exchange_strong(&posted, &never, now());
	qp->context->ops.post_send = real_post;
	return real_post(qp, wr, bad);
}

/* All devices of one kind: one function to post with. */
struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *(*next)(struct ibv_device *device);
	uint64_t since = now();
	struct ibv_context *c;

	*(void **)&next = real("ibv_open_device");
	c = next(device);
	note("ibv_open_device", since);
	if (c && calls && !atomic_load(&posted)) {
		real_post = c->ops.post_send;
		c->ops.post_send = first_post;
	}
	return c;
}

int connect(int fd, const struct sockaddr *to, socklen_t size)
{
	static int (*next)(int fd, const struct sockaddr *to, socklen_t size);
	uint64_t never = 0;

	if (to && (to->sa_family == AF_INET || to->sa_family == AF_INET6))
		atomic_compare_exchange_strong(&connected, &never, now());
	if (!next)
		*(void **)&next = real("connect");
	return next(fd, to, size);
}

static unsigned long long most_resident_kb(void)
{
	FILE *f = fopen("/proc/self/status", "re");
	unsigned long long kb = 0;
	char line[256];

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, "VmHWM:", 6))
			kb = strtoull(line + 6, NULL, 10);
	if (f)
		fclose(f);
	return kb;
}

static void __attribute__((destructor)) tell(void)
{
	unsigned long long kb = most_resident_kb();
	FILE *f = calls ? fopen(getenv("TIMES"), "ae") : NULL;
	uint32_t n = atomic_load(&called);

	if (!f)
		return;
	fprintf(f, "connect %llu\npost %llu\nresident_kb %llu\ncalls %u\n",
		(unsigned long long)connected, (unsigned long long)posted, kb, n);
	for (uint32_t i = 0; i < n && i < CALLS; i++)
		fprintf(f, "%s %llu %llu\n", calls[i].name, (unsigned long long)calls[i].begin,
			(unsigned long long)calls[i].end);
	fclose(f);
	free(calls);
	calls = NULL;
}
