/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * DMA buffers of ordinary memory where the kernel has none: with dmabuf= in the script, what stands
 * for /dev/udmabuf makes a second descriptor of the memory that it is given.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <linux/udmabuf.h>

typedef int (*open_function)(const char *path, int flags, ...);
typedef int (*ioctl_function)(int fd, unsigned long request, void *argument);

static int device = -1;

static int open_any(const char *symbol, const char *path, int flags, mode_t mode)
{
	open_function next = (open_function)dlsym(RTLD_NEXT, symbol);
	bool wanted = script.dmabuf && !strcmp(path, "/dev/udmabuf");
	int fd = next(wanted ? "/dev/null" : path, flags, mode);

	if (wanted)
		device = fd;
	return fd;
}

int open(const char *path, int flags, ...)
{
	va_list ap;
	mode_t mode;

	va_start(ap, flags);
	mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return open_any("open", path, flags, mode);
}

/* What the kernel asks: whole pages of a memfd that cannot shrink. */
static int create(const struct udmabuf_create *c)
{
	int seals = fcntl((int)c->memfd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || !(seals & F_SEAL_SHRINK) || seals & F_SEAL_WRITE ||
	    fstat((int)c->memfd, &st) || c->offset % 4096 || !c->size || c->size % 4096 ||
	    c->offset + c->size > (uint64_t)st.st_size) {
		errno = EINVAL;
		return -1;
	}
	return fcntl((int)c->memfd, F_DUPFD_CLOEXEC, 0);
}

int ioctl(int fd, unsigned long request, ...)
{
	ioctl_function next = (ioctl_function)dlsym(RTLD_NEXT, "ioctl");
	void *argument;
	va_list ap;

	va_start(ap, request);
	argument = va_arg(ap, void *);
	va_end(ap);
	return request == UDMABUF_CREATE && fd == device ? create(argument) :
							   next(fd, request, argument);
}
