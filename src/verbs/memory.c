/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "verbs/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/udmabuf.h>

#include "base/fail.h"
#include "base/round.h"
#include "cli/options.h"
#include "cli/units.h"
#include "host/facts.h"
#include "host/numa.h"

#define KIB 1024UL
#define GIB (1024UL * 1024 * KIB)
#define HUGE_SHIFT 26 /* of a huge page's size in mmap's flags */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

/*
 * What memory can be: how it comes and goes, whether the device is given a descriptor of it, and
 * how bytes are moved into and out of it. allocate() sets mapping, and dmabuf if there is one.
 */
struct memory_type {
	const char *name;
	int (*allocate)(struct buffer *b, const struct buffer_shape *shape);
	size_t page; /* sizes are multiples of it; 0: the system's */
	bool huge;   /* out of a pool of its own */
	bool cpu_visible;
	void (*copy)(void *to, const void *from, size_t n);
};

static void copy_here(void *to, const void *from, size_t n)
{
	memcpy(to, from, n);
}

static int map(struct buffer *b, int flags, int fd)
{
	void *at = mmap(NULL, b->mapping_size, PROT_READ | PROT_WRITE, flags, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	b->mapping = at;
	return 0;
}

static int told_not_mapped(const struct buffer *b, int error)
{
	return fail(FAIL_SETUP, error, "allocating %zu bytes: %s; lower --size",
		    b->mapping_size, strerror(error));
}

static int allocate_malloc(struct buffer *b, const struct buffer_shape *shape)
{
	int rc = map(b, MAP_PRIVATE | MAP_ANONYMOUS, -1);

	(void)shape;
	return rc ? told_not_mapped(b, -rc) : 0;
}

static uint64_t read_pool(size_t page, const char *what)
{
	char path[128];
	uint64_t n = UINT64_MAX;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/kernel/mm/hugepages/hugepages-%zukB/%s", page / KIB,
		 what);
	f = fopen(path, "re");
	if (f && fscanf(f, "%" SCNu64, &n) != 1)
		n = UINT64_MAX;
	if (f)
		fclose(f);
	return n;
}

static int allocate_huge(struct buffer *b, const struct buffer_shape *shape)
{
	size_t page = b->type->page, need = b->mapping_size / page;
	uint64_t total = read_pool(page, "nr_hugepages"), idle = read_pool(page, "free_hugepages");
	int rc = map(b, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB |
		     __builtin_ctzl(page) << HUGE_SHIFT, -1);

	(void)shape;
	if (!rc)
		return 0;
	if (total == UINT64_MAX || idle == UINT64_MAX)
		return fail(FAIL_SETUP, -rc, "--memory %s: this kernel has no such pages (%s); use "
			    "another --memory", b->type->name, strerror(-rc));
	return fail(FAIL_SETUP, -rc, "--memory %s: it takes %zu of these pages, and of %" PRIu64
		    " there are %" PRIu64 " free: %s; reserve more: echo %" PRIu64
		    " >/sys/kernel/mm/hugepages/hugepages-%zukB/nr_hugepages", b->type->name,
		    need, total, idle, strerror(-rc),
		    total + need - (idle < need ? idle : 0), page / KIB);
}

/* Blocks for all of it, or a page without one would end the process when it is touched. */
static int map_file(struct buffer *b, int fd)
{
	int rc = posix_fallocate(fd, 0, (off_t)b->mapping_size);

	return rc ? -rc : map(b, MAP_SHARED, fd);
}

static int allocate_file(struct buffer *b, const struct buffer_shape *shape)
{
	struct stat st;
	int fd, rc;

	if (!shape->path)
		return fail(FAIL_SETUP, ENOENT, "--memory file: the client asks for it, and this "
			    "server was given no place; start it with --memory file:PATH");
	if (!stat(shape->path, &st) && S_ISDIR(st.st_mode)) {
		fd = open(shape->path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	} else {
		fd = open(shape->path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
		if (fd >= 0)
			unlink(shape->path); /* it lives as long as its mapping */
	}
	if (fd < 0)
		return fail(FAIL_SETUP, errno, "--memory file: %s: %s; name a directory that can "
			    "be written to, or a file that is not there yet", shape->path,
			    strerror(errno));
	rc = map_file(b, fd);
	close(fd);
	if (!rc)
		return 0;
	return fail(FAIL_SETUP, -rc, "--memory file: %zu bytes of a file at %s: %s; make room "
		    "there or lower --size", b->mapping_size, shape->path, strerror(-rc));
}

static int allocate_shm(struct buffer *b, const struct buffer_shape *shape)
{
	int fd = memfd_create("rdmeter", MFD_CLOEXEC);
	int rc = fd < 0 ? -errno : map_file(b, fd);

	(void)shape;
	if (fd >= 0)
		close(fd);
	if (!rc)
		return 0;
	return fail(FAIL_SETUP, -rc, "--memory shm: %zu bytes: %s; lower --size", b->mapping_size,
		    strerror(-rc));
}

/* The kernel makes a DMA buffer of pages that cannot be cut off from under it. */
static int export(struct buffer *b, int memory)
{
	struct udmabuf_create create = {
		.memfd = (uint32_t)memory, .flags = UDMABUF_FLAGS_CLOEXEC, .size = b->mapping_size,
	};
	int device = open("/dev/udmabuf", O_RDWR | O_CLOEXEC), error;

	if (device < 0)
		return fail(FAIL_SETUP, errno, "--memory udmabuf: /dev/udmabuf: %s; load it with "
			    "modprobe udmabuf (CONFIG_UDMABUF), or be allowed to open it",
			    strerror(errno));
	b->dmabuf = ioctl(device, UDMABUF_CREATE, &create);
	error = errno;
	close(device);
	if (b->dmabuf >= 0)
		return 0;
	return fail(FAIL_SETUP, error, "--memory udmabuf: %zu bytes: %s; lower --size, or raise "
		    "/sys/module/udmabuf/parameters/size_limit_mb", b->mapping_size,
		    strerror(error));
}

static int allocate_udmabuf(struct buffer *b, const struct buffer_shape *shape)
{
	int fd = memfd_create("rdmeter", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int rc = fd < 0 ? -errno : map_file(b, fd);

	(void)shape;
	if (!rc && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK))
		rc = -errno;
	if (rc)
		rc = fail(FAIL_SETUP, -rc, "--memory udmabuf: %zu bytes: %s; lower --size",
			  b->mapping_size, strerror(-rc));
	else
		rc = export(b, fd);
	if (fd >= 0)
		close(fd);
	return rc;
}

static const struct memory_type types[] = {
	[MEMORY_MALLOC] = { "malloc", allocate_malloc, 0, false, true, copy_here },
	[MEMORY_HUGE2M] = { "huge2m", allocate_huge, 2048 * KIB, true, true, copy_here },
	[MEMORY_HUGE1G] = { "huge1g", allocate_huge, GIB, true, true, copy_here },
	[MEMORY_FILE] = { "file", allocate_file, 0, false, true, copy_here },
	[MEMORY_SHM] = { "shm", allocate_shm, 0, false, true, copy_here },
	[MEMORY_UDMABUF] = { "udmabuf", allocate_udmabuf, 0, false, true, copy_here },
};

bool memory_is_visible(uint32_t memory)
{
	return types[memory].cpu_visible;
}

/* The most common cause first: a limit on locked memory is what containers and users have. */
static int told_unregistered(size_t size, int error)
{
	char want[UNITS_TEXT_SIZE], have[UNITS_TEXT_SIZE];
	struct rlimit limit;

	units_size(want, sizeof(want), size);
	if (error == ENOMEM && !getrlimit(RLIMIT_MEMLOCK, &limit) &&
	    limit.rlim_cur != RLIM_INFINITY) {
		units_size(have, sizeof(have), limit.rlim_cur);
		return fail(FAIL_SETUP, error,
			    "registering a buffer of %s: %s; the limit of locked memory is %s: "
			    "raise it with ulimit -l, or lower --size", want, strerror(error),
			    have);
	}
	return fail(FAIL_SETUP, error, "registering a buffer of %s: %s; lower --size", want,
		    strerror(error));
}

/* Every page is there before the clock starts, on its node. */
static int populate(struct buffer *b, int node)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	int rc = numa_place_memory(b->mapping, b->mapping_size, node);

	if (rc)
		note("placing a buffer on NUMA node %d: %s", node, strerror(-rc));
	if (!madvise(b->mapping, b->mapping_size, MADV_POPULATE_WRITE))
		return 0;
	if (errno != EINVAL)
		return told_not_mapped(b, errno);
	for (size_t i = 0; i < b->mapping_size; i += page)
		((volatile unsigned char *)b->mapping)[i] = 0;
	return 0;
}

static int told_too_large(const struct buffer *b)
{
	char want[UNITS_TEXT_SIZE], have[UNITS_TEXT_SIZE];

	units_size(want, sizeof(want), b->stride * b->slots);
	units_size(have, sizeof(have), facts_available_memory() >> 20 << 20);
	return fail(FAIL_SETUP, ENOMEM, "a buffer of %s would take more than half of the memory "
		    "that is available (%s); lower --size, --slots or --qp", want, have);
}

static int told_no_dmabuf(const struct ibv_pd *pd, int error)
{
	return fail(FAIL_SETUP, error, "--memory udmabuf: %s does not register DMA buffers: %s; "
		    "use another --memory or device", ibv_get_device_name(pd->context->device),
		    strerror(error));
}

static struct ibv_mr *register_part(struct buffer *b, struct ibv_pd *pd, unsigned char *at,
				    size_t length, int access)
{
	if (b->dmabuf < 0)
		return ibv_reg_mr(pd, at, length, access);
	return ibv_reg_dmabuf_mr(pd, (uint64_t)(at - (unsigned char *)b->mapping), length,
				 (uintptr_t)at, b->dmabuf, access);
}

static int register_parts(struct buffer *b, struct ibv_pd *pd, const struct buffer_shape *shape)
{
	size_t length;

	if (!shape->regions)
		return 0;
	length = shape->stride * (shape->slots / shape->regions);
	b->mr = calloc(shape->regions, sizeof(struct ibv_mr *));
	if (!b->mr)
		return fail(FAIL_SETUP, ENOMEM, "out of memory for %u memory regions",
			    shape->regions);
	for (; b->regions < shape->regions; b->regions++) {
		b->mr[b->regions] = register_part(b, pd, b->base + b->regions * length, length,
						  shape->access);
		if (b->mr[b->regions])
			continue;
		return b->dmabuf < 0 ? told_unregistered(length, errno) : told_no_dmabuf(pd, errno);
	}
	return 0;
}

struct ibv_mr *buffer_register(struct buffer *b, uint32_t slot)
{
	return register_part(b, b->pd, b->base + slot * b->stride, b->size, b->access);
}

int buffer_told_unregistered(const struct buffer *b, int error)
{
	return b->dmabuf < 0 ? told_unregistered(b->size, error) : told_no_dmabuf(b->pd, error);
}

static int fill_mapping(struct buffer *b, struct ibv_pd *pd, const struct buffer_shape *shape)
{
	uintptr_t start;
	int rc;

	if (!b->type->huge && b->mapping_size > facts_available_memory() / 2)
		return told_too_large(b);
	rc = b->type->allocate(b, shape);
	if (!rc)
		rc = populate(b, shape->node);
	if (rc)
		return rc;
	start = round_up((uintptr_t)b->mapping, shape->align);
	b->base = (unsigned char *)start + shape->offset;
	return register_parts(b, pd, shape);
}

int buffer_alloc(struct buffer *b, struct ibv_pd *pd, const struct buffer_shape *shape)
{
	const struct memory_type *type = &types[shape->memory];
	size_t page = type->page ? type->page : (size_t)sysconf(_SC_PAGESIZE);
	size_t needed = shape->stride * shape->slots + shape->align + shape->offset;
	int rc;

	*b = (struct buffer){
		.stride = shape->stride, .size = shape->size, .header = shape->header,
		.slots = shape->slots,
		.align = shape->align, .offset = shape->offset, .access = shape->access,
		.node = shape->node, .memory = shape->memory,
		.mapping_size = round_up(needed, page), .type = type,
		.copy = type->copy, .dmabuf = -1, .pd = pd,
	};
	rc = fill_mapping(b, pd, shape);
	if (rc)
		buffer_free(b);
	return rc;
}

/* Parts that are registered on their own lie where the other shape's would not. */
bool buffer_reuse(struct buffer *b, const struct buffer_shape *shape)
{
	size_t length = shape->stride * shape->slots;

	if (b->regions != 1 || shape->regions != 1 || b->mr[0]->length < length ||
	    b->align != shape->align || b->offset != shape->offset ||
	    b->access != shape->access || b->node != shape->node ||
	    b->memory != shape->memory || !types[b->memory].cpu_visible)
		return false;
	b->stride = shape->stride;
	b->size = shape->size;
	b->header = shape->header;
	b->slots = shape->slots;
	memset(b->base, 0, length);
	return true;
}

void buffer_free(struct buffer *b)
{
	for (uint32_t i = 0; i < b->regions; i++)
		if (ibv_dereg_mr(b->mr[i]))
			note("deregistering a buffer: %s", strerror(errno));
	free(b->mr);
	if (b->mapping)
		munmap(b->mapping, b->mapping_size);
	if (b->type && b->dmabuf >= 0)
		close(b->dmabuf);
	*b = (struct buffer){ 0 };
}
