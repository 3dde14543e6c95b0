/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Memory regions. The pages of one are moved into files at registration, in place, and stay there;
 * what another region has moved already is shared with it. The other process maps the files. The
 * pages of a region must not be written by anybody while it is being registered.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

#define BUCKETS 1024

/* Of this process: runs of pages that lie in files, in order of address. */
struct piece {
	struct shared_piece shared;
	uint32_t regions;
	struct piece *next;
};

/* Of other processes: their pieces, mapped here. */
struct map {
	uint32_t node;
	uint64_t serial, file, length;
	unsigned char *at;
	struct map *next;
};

static struct piece *pieces;
static uint64_t files;
static struct map *maps[BUCKETS];
static uint32_t next_mr;

static void piece_path(char *out, size_t size, uint32_t node, uint64_t serial, uint64_t file)
{
	fabric_path(out, size, "/mr.%u.%llu.%llu", node, (unsigned long long)serial,
		    (unsigned long long)file);
}

static uint64_t page_size(void)
{
	return (uint64_t)sysconf(_SC_PAGESIZE);
}

/* Moves [from, to) into a file of its own. */
static struct piece *make_piece(uint64_t from, uint64_t to)
{
	struct piece *p = calloc(1, sizeof(*p));
	uint64_t length = to - from, done = 0;
	char path[300];
	int fd;

	if (!p)
		return NULL;
	p->shared = (struct shared_piece){ .address = from, .length = length, .file = ++files };
	piece_path(path, sizeof(path), own->number, own->serial, p->shared.file);
	fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd >= 0 && !ftruncate(fd, (off_t)length))
		while (done < length) {
			ssize_t n = pwrite(fd, (void *)(uintptr_t)(from + done), length - done,
					   (off_t)done);
			if (n <= 0)
				break;
			done += (uint64_t)n;
		}
	if (done == length && mmap((void *)(uintptr_t)from, length, PROT_READ | PROT_WRITE,
				   MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED) {
		close(fd);
		return p;
	}
	if (fd >= 0)
		close(fd);
	unlink(path);
	free(p);
	errno = EFAULT;
	return NULL;
}

static void put_piece(struct piece *gone)
{
	char path[300];

	if (--gone->regions)
		return;
	for (struct piece **p = &pieces; *p; p = &(*p)->next)
		if (*p == gone) {
			*p = gone->next;
			break;
		}
	piece_path(path, sizeof(path), own->number, own->serial, gone->shared.file);
	unlink(path);
	free(gone);
}

/* Every page of [from, to) becomes part of a piece; returns how many cover it, or 0. */
static uint32_t cover(uint64_t from, uint64_t to, struct piece **first)
{
	struct piece **p = &pieces;
	uint32_t count = 0;

	while (*p && (*p)->shared.address + (*p)->shared.length <= from)
		p = &(*p)->next;
	while (from < to) {
		uint64_t end = *p && (*p)->shared.address < to ? (*p)->shared.address : to;

		if (!*p || from < (*p)->shared.address) {
			struct piece *fresh = make_piece(from, end);

			if (!fresh)
				return 0;
			fresh->next = *p;
			*p = fresh;
		}
		(*p)->regions++;
		if (!count++)
			*first = *p;
		from = (*p)->shared.address + (*p)->shared.length;
		p = &(*p)->next;
	}
	return count;
}

struct shared_mr *memory_free_slot(uint32_t *index)
{
	for (uint32_t i = 0; i < FAKE_MRS; i++) {
		*index = ++next_mr % FAKE_MRS;
		if (!own->shared->mr[*index].used)
			return &own->shared->mr[*index];
	}
	return NULL;
}

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
			     unsigned int access)
{
	uint64_t page = page_size(), from = (uintptr_t)addr / page * page;
	uint64_t to = ((uintptr_t)addr + length + page - 1) / page * page;
	struct ibv_mr *mr = calloc(1, sizeof(*mr));
	struct piece *first = NULL;
	struct shared_piece *list;
	struct shared_mr *s;
	uint32_t index, count;

	if (!mr)
		return NULL;
	fabric_lock();
	s = memory_free_slot(&index);
	count = s ? cover(from, to, &first) : 0;
	if (!count) {
		fabric_unlock();
		free(mr);
		errno = s ? EFAULT : ENOMEM;
		return NULL;
	}
	*s = (struct shared_mr){
		.used = true, .access = access, .pd = ((struct fake_pd *)pd)->number,
		.pieces = count, .address = iova, .length = length,
		.generation = (s->generation + 1) % (1U << FAKE_GENERATION_BITS),
		.piece = heap_alloc(count * sizeof(*list)),
	};
	s->key = own->number << FAKE_NODE_SHIFT | index << FAKE_GENERATION_BITS | s->generation;
	list = node_at(own, s->piece);
	for (uint32_t i = 0; i < count; i++, first = first->next)
		list[i] = first->shared;
	fabric_unlock();
	*mr = (struct ibv_mr){
		.context = pd->context, .pd = pd, .addr = addr, .length = length, .handle = index,
		.lkey = s->key | FAKE_LKEY, .rkey = s->key,
	};
	fake_context_of(pd->context)->mrs++;
	return mr;
}

/* On the virtual clock a registration takes its time, for itself and for each of its pages. */
static void take_time(uint64_t ns)
{
	time_stands();
	if (script.virtual_clock)
		atomic_fetch_add(&fabric->virtual_now, ns);
}

static uint64_t pages_of(const void *addr, size_t length)
{
	uint64_t page = page_size(), from = (uintptr_t)addr / page;

	return ((uintptr_t)addr + length + page - 1) / page - from;
}

static struct ibv_mr *register_checked(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				       unsigned int access)
{
	int error = fault_call(CALL_reg_mr);

	if (!error && (!length || iova != (uintptr_t)addr || length > script.max_mr_size))
		error = EINVAL;
	if (!error && access & IBV_ACCESS_ON_DEMAND && !script.odp)
		error = EOPNOTSUPP;
	if (!error && access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC) &&
	    !(access & IBV_ACCESS_LOCAL_WRITE))
		error = EINVAL;
	if (!error && script.reg)
		take_time(script.reg + script.reg_page * pages_of(addr, length));
	if (!error)
		return reg_mr(pd, addr, length, iova, access);
	errno = error;
	return NULL;
}

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	return register_checked(pd, addr, length, (uintptr_t)addr, (unsigned int)access);
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova,
				unsigned int access)
{
	return register_checked(pd, addr, length, iova, access);
}

/* The descriptor is checked; the memory is the pages that the caller has mapped of it at iova. */
struct ibv_mr *ibv_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length, uint64_t iova,
				 int fd, int access)
{
	int error = fault_call(CALL_reg_dmabuf_mr);
	struct stat st;

	if (!error && script.dmabuf != 1)
		error = EOPNOTSUPP;
	if (!error && fstat(fd, &st))
		error = errno;
	if (!error && (offset % page_size() != iova % page_size() || !length ||
		       offset + length > (uint64_t)st.st_size))
		error = EINVAL;
	if (!error)
		return reg_mr(pd, (void *)(uintptr_t)iova, length, iova, (unsigned int)access);
	errno = error;
	return NULL;
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
	int error = fault_call(CALL_dereg_mr);
	struct shared_mr *s;
	struct shared_piece *list;

	s = &own->shared->mr[mr->handle];
	if (!error && s->windows) {
		report_violation("a memory region goes while %u windows are bound to it",
				 s->windows);
		error = EBUSY;
	}
	if (error) {
		errno = error;
		return error;
	}
	if (script.dereg)
		take_time(script.dereg);
	fabric_lock();
	report_line("mr length=%llu relaxed=%u odp=%u", (unsigned long long)s->length,
		    !!(s->access & IBV_ACCESS_RELAXED_ORDERING),
		    !!(s->access & IBV_ACCESS_ON_DEMAND));
	list = node_at(own, s->piece);
	for (uint32_t i = 0; i < s->pieces; i++)
		for (struct piece *p = pieces; p; p = p->next)
			if (p->shared.file == list[i].file) {
				put_piece(p);
				break;
			}
	heap_free(s->piece, s->pieces * sizeof(*list));
	s->used = false;
	fabric_unlock();
	fake_context_of(mr->context)->mrs--;
	free(mr);
	return 0;
}

static const struct shared_mr *find_mr(const struct fake_access *a)
{
	uint32_t key = a->key & ~FAKE_LKEY;
	const struct shared_mr *s;

	if (key >> FAKE_NODE_SHIFT != a->node->number)
		return NULL;
	s = &a->node->shared->mr[key >> FAKE_GENERATION_BITS & (FAKE_MRS - 1)];
	if (s->window && (a->key & FAKE_LKEY || !s->bound || (s->qpn && s->qpn != a->qpn)))
		return NULL; /* a window is for others, and those of type 2 for one queue pair */
	return s->used && s->key == key ? s : NULL;
}

bool memory_allowed(const struct fake_access *a)
{
	const struct shared_mr *s = find_mr(a);

	return s && s->pd == a->pd && (s->access & a->access) == a->access &&
	       a->address >= s->address && a->length <= s->length &&
	       a->address - s->address <= s->length - a->length;
}

static unsigned char *map_piece(const struct node *n, const struct shared_piece *p)
{
	struct map **bucket = &maps[(p->file * 31 + n->number) % BUCKETS], *m;
	char path[300];
	int fd;

	for (m = *bucket; m; m = m->next)
		if (m->node == n->number && m->serial == n->serial && m->file == p->file)
			return m->at;
	piece_path(path, sizeof(path), n->number, n->serial, p->file);
	fd = open(path, O_RDWR | O_CLOEXEC);
	m = fd < 0 ? NULL : calloc(1, sizeof(*m));
	if (!m) {
		if (fd >= 0)
			close(fd);
		return NULL;
	}
	*m = (struct map){
		.node = n->number, .serial = n->serial, .file = p->file, .length = p->length,
		.at = mmap(NULL, p->length, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0),
		.next = *bucket,
	};
	close(fd);
	*bucket = m;
	return m->at == MAP_FAILED ? NULL : m->at;
}

void memory_forget(void)
{
	for (size_t i = 0; i < BUCKETS; i++)
		for (struct map *m = maps[i], *next; m; m = next) {
			next = m->next;
			if (m->at != MAP_FAILED)
				munmap(m->at, m->length);
			free(m);
			maps[i] = NULL;
		}
}

/* The first part of an access that lies in one piece: where, and how long. */
static unsigned char *part(const struct fake_access *a, uint64_t offset, uint64_t *length)
{
	const struct shared_mr *s = find_mr(a);
	const struct shared_piece *p = node_at(a->node, s->piece);
	uint64_t address = a->address + offset;
	unsigned char *at;

	*length = a->length - offset;
	if (a->node == own)
		return (unsigned char *)(uintptr_t)address;
	while (address - p->address >= p->length)
		p++;
	if (*length > p->address + p->length - address)
		*length = p->address + p->length - address;
	at = map_piece(a->node, p);
	return at ? at + (address - p->address) : NULL;
}

void *memory_at(const struct fake_access *a)
{
	uint64_t length;

	return part(a, 0, &length);
}

/* The last byte goes last: somebody may be waiting for it. */
void memory_write(const struct fake_access *a, const void *from)
{
	for (uint64_t done = 0, length; done < a->length; done += length) {
		unsigned char *at = part(a, done, &length);
		const unsigned char *source = (const unsigned char *)from + done;

		if (!at)
			return;
		memcpy(at, source, length - 1);
		__atomic_store_n(at + length - 1, source[length - 1], __ATOMIC_RELEASE);
	}
}

void memory_read(const struct fake_access *a, void *to)
{
	for (uint64_t done = 0, length; done < a->length; done += length) {
		const unsigned char *at = part(a, done, &length);

		if (!at)
			return;
		memcpy((unsigned char *)to + done, at, length);
	}
}
