/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the processes share: the directory, the lock, the nodes, their memory and their events. */
#define _GNU_SOURCE
#include "fake.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define NODE_BYTES (1ULL << 31)   /* sparse: what is not used takes no memory */
#define LOCK_PATIENCE_NS 2000000000ULL /* a holder that is stopped for longer is passed by */
#define CHECK_NS 1000000          /* how often another process is looked for */
#define SMALLEST_BITS 6
#define GIVE_EVERY 64
#define GIVE_YIELDS 1000

struct fabric *fabric;

static struct node own_node = { .fd = -1, .events_fd = -1 };
static struct node *nodes[FAKE_NODES + 1];
static bool locked; /* not when the lock was passed by */
static bool passed; /* the last time it was: its holder is not waited for again and again */

/*
 * Held around the fabric's: the threads of a process exclude each other when that is passed by too.
 * One that posts and polls without a pause would keep the others out of it for as long as it likes,
 * so now and then it waits a little for one of them to get it.
 */
static pthread_mutex_t threads = PTHREAD_MUTEX_INITIALIZER;
static _Atomic uint32_t waiting, taken;

/*
 * ThreadSanitizer does not look at locks that are taken while a program is inside poll(2), which
 * this device has a part in: there it is told of the order by this.
 */
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
void __tsan_acquire(void *lock);
void __tsan_release(void *lock);
#define TELL_ACQUIRED(lock) __tsan_acquire(lock)
#define TELL_RELEASED(lock) __tsan_release(lock)
#endif
#endif
#ifndef TELL_ACQUIRED
#define TELL_ACQUIRED(lock) (void)(lock)
#define TELL_RELEASED(lock) (void)(lock)
#endif

static void lock_threads(void)
{
	atomic_fetch_add(&waiting, 1);
	pthread_mutex_lock(&threads);
	TELL_ACQUIRED(&threads);
	atomic_fetch_sub(&waiting, 1);
	atomic_fetch_add(&taken, 1);
}

static void unlock_threads(void)
{
	static _Thread_local uint32_t turns;
	uint32_t mine = atomic_load(&taken);
	bool gives = atomic_load(&waiting) && ++turns % GIVE_EVERY == 0;

	TELL_RELEASED(&threads);
	pthread_mutex_unlock(&threads);
	for (int i = 0; gives && i < GIVE_YIELDS && atomic_load(&taken) == mine; i++)
		sched_yield();
}

struct node *const own = &own_node;

void fabric_path(char *out, size_t size, const char *fmt, ...)
{
	const char *dir = getenv("FAKEVERBS_DIR");
	size_t used;
	va_list ap;

	if (dir)
		snprintf(out, size, "%s", dir);
	else
		snprintf(out, size, "/dev/shm/fakeverbs.%u", (unsigned int)getuid());
	used = strlen(out);
	va_start(ap, fmt);
	vsnprintf(out + used, size - used, fmt, ap);
	va_end(ap);
}

static void *map_file(int fd, size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);

	return at == MAP_FAILED ? NULL : at;
}

/* The fabric appears whole, by a link, or not at all. */
static int make_fabric(const char *path)
{
	pthread_mutexattr_t attr;
	char fresh[300];
	struct fabric *f;
	int fd, rc;

	snprintf(fresh, sizeof(fresh), "%s.%d", path, (int)getpid());
	fd = open(fresh, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0)
		return errno;
	f = ftruncate(fd, sizeof(*f)) ? NULL : map_file(fd, sizeof(*f));
	close(fd);
	if (!f)
		return ENOMEM;
	pthread_mutexattr_init(&attr);
	pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&f->lock, &attr);
	pthread_mutexattr_destroy(&attr);
	munmap(f, sizeof(*f));
	rc = link(fresh, path) && errno != EEXIST ? errno : 0;
	unlink(fresh);
	return rc;
}

static int open_fabric(void)
{
	char path[256];
	int fd, rc = 0;

	fabric_path(path, sizeof(path), "%s", "");
	if (mkdir(path, 0700) && errno != EEXIST)
		return errno;
	fabric_path(path, sizeof(path), "/fabric");
	if (access(path, F_OK))
		rc = make_fabric(path);
	if (rc)
		return rc;
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno;
	fabric = map_file(fd, sizeof(*fabric));
	close(fd);
	return fabric ? 0 : ENOMEM;
}

/*
 * Tried again and again, not waited for: pthread_mutex_timedlock() would do, but ThreadSanitizer
 * does not know that it can take a dead process's lock over.
 */
void fabric_lock(void)
{
	uint64_t began = 0, patience;
	int rc;

	lock_threads();
	patience = passed ? 0 : LOCK_PATIENCE_NS;
	while ((rc = pthread_mutex_trylock(&fabric->lock)) == EBUSY) {
		uint64_t now = fake_real_now();

		began = began ? began : now;
		if (now - began >= patience)
			break;
		sched_yield();
	}
	if (rc == EOWNERDEAD)
		pthread_mutex_consistent(&fabric->lock);
	locked = rc == 0 || rc == EOWNERDEAD;
	passed = !locked;
}

void fabric_unlock(void)
{
	if (locked)
		pthread_mutex_unlock(&fabric->lock);
	unlock_threads();
}

static void node_path(char *out, size_t size, uint32_t number, uint64_t serial, const char *what)
{
	fabric_path(out, size, "/%s.%u.%llu", what, number, (unsigned long long)serial);
}

/* A process holds a lock on its node's file as long as it lives, a zombie no longer. */
static bool node_lives(int fd)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* What a process that was killed has left. */
static void clean_up(uint32_t number, uint64_t serial)
{
	char path[600], prefix[64];
	struct dirent *e;
	DIR *dir;

	snprintf(prefix, sizeof(prefix), ".%u.%llu", number, (unsigned long long)serial);
	fabric_path(path, sizeof(path), "%s", "");
	dir = opendir(path);
	while (dir && (e = readdir(dir))) {
		const char *dot = strchr(e->d_name, '.');
		size_t length = strlen(prefix);

		if (!dot || strncmp(dot, prefix, length) || (dot[length] && dot[length] != '.'))
			continue;
		fabric_path(path, sizeof(path), "/%s", e->d_name);
		unlink(path);
	}
	if (dir)
		closedir(dir);
}

static bool slot_is_free(uint32_t number)
{
	char path[300];
	bool lives;
	int fd;

	if (!fabric->node[number].pid)
		return true;
	node_path(path, sizeof(path), number, fabric->node[number].serial, "node");
	fd = open(path, O_RDWR | O_CLOEXEC);
	lives = fd >= 0 && node_lives(fd);
	if (fd >= 0)
		close(fd);
	if (!lives)
		clean_up(number, fabric->node[number].serial);
	return !lives;
}

static int make_node(uint32_t number)
{
	struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	char path[300];

	own->number = number;
	own->serial = ++fabric->node[number].serial;
	node_path(path, sizeof(path), number, own->serial, "node");
	own->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (own->fd < 0 || ftruncate(own->fd, NODE_BYTES) ||
	    fcntl(own->fd, F_OFD_SETLK, &lock))
		return errno;
	own->shared = map_file(own->fd, NODE_BYTES);
	if (!own->shared)
		return ENOMEM;
	own->shared->heap_used = (sizeof(*own->shared) + 63) / 64 * 64;
	own->shared->link_up = !script.down;
	own->shared->virtual_clock = script.virtual_clock;
	device_publish_gids();
	atomic_store(&own->shared->next_event, FAKE_NEVER);
	node_path(path, sizeof(path), number, own->serial, "events");
	if (mkfifo(path, 0600))
		return errno;
	own->events_fd = open(path, O_RDWR | O_CLOEXEC);
	if (own->events_fd < 0)
		return errno;
	fabric->node[number].pid = getpid();
	return 0;
}

int fabric_attach(void)
{
	uint32_t number = 1;
	int rc;

	if (own->shared)
		return 0;
	rc = open_fabric();
	if (rc)
		return rc;
	fabric_lock();
	while (number <= FAKE_NODES && !slot_is_free(number))
		number++;
	rc = number > FAKE_NODES ? EMFILE : make_node(number);
	fabric_unlock();
	return rc;
}

static void close_node(struct node *n)
{
	if (n->shared)
		munmap(n->shared, NODE_BYTES);
	if (n->fd >= 0)
		close(n->fd);
	if (n->events_fd >= 0)
		close(n->events_fd);
	for (uint32_t i = 0; i < FAKE_CHANNELS; i++)
		if (n->channel[i].number)
			close(n->channel[i].fd);
}

static void __attribute__((destructor)) fabric_detach(void)
{
	char path[300];

	if (!own->shared)
		return;
	memory_forget();
	fabric_lock();
	fabric->node[own->number].pid = 0;
	node_path(path, sizeof(path), own->number, own->serial, "node");
	unlink(path);
	node_path(path, sizeof(path), own->number, own->serial, "events");
	unlink(path);
	fabric_unlock();
	for (uint32_t i = 1; i <= FAKE_NODES; i++)
		if (nodes[i] && nodes[i] != own) {
			close_node(nodes[i]);
			free(nodes[i]);
		}
	close_node(own);
	own->shared = NULL;
}

static struct node *map_node(uint32_t number)
{
	struct node *n = calloc(1, sizeof(*n));
	char path[300];

	if (!n)
		return NULL;
	*n = (struct node){
		.number = number, .serial = fabric->node[number].serial, .events_fd = -1,
	};
	node_path(path, sizeof(path), number, n->serial, "node");
	n->fd = open(path, O_RDWR | O_CLOEXEC);
	n->shared = n->fd < 0 ? NULL : map_file(n->fd, NODE_BYTES);
	node_path(path, sizeof(path), number, n->serial, "events");
	n->events_fd = open(path, O_WRONLY | O_NONBLOCK | O_CLOEXEC);
	if (n->shared)
		return n;
	close_node(n);
	free(n);
	return NULL;
}

/* Under the lock. */
struct node *fabric_node(uint32_t number)
{
	struct node *n;
	uint64_t now;

	if (number == own->number)
		return own;
	if (!number || number > FAKE_NODES || !fabric->node[number].pid)
		return NULL;
	n = nodes[number];
	if (n && n->serial != fabric->node[number].serial) {
		close_node(n);
		free(n);
		n = nodes[number] = NULL;
	}
	if (!n)
		n = nodes[number] = map_node(number);
	if (!n)
		return NULL;
	now = fake_now();
	if (!n->gone && (now < n->checked || now - n->checked > CHECK_NS)) {
		n->checked = now;
		n->gone = !node_lives(n->fd);
	}
	return n->gone ? NULL : n;
}

/* Powers of two from 64 bytes; freed ones are kept by size, their first word the next one. */
static uint32_t size_class(size_t size)
{
	uint32_t bits = SMALLEST_BITS;

	while ((1ULL << bits) < size)
		bits++;
	return bits;
}

uint64_t heap_alloc(size_t size)
{
	uint32_t bits = size_class(size);
	uint64_t at = own->shared->free_list[bits];

	if (at) {
		own->shared->free_list[bits] = *(uint64_t *)node_at(own, at);
	} else {
		at = own->shared->heap_used;
		if (at + (1ULL << bits) > NODE_BYTES)
			return 0;
		own->shared->heap_used += 1ULL << bits;
	}
	memset(node_at(own, at), 0, size);
	return at;
}

void heap_free(uint64_t offset, size_t size)
{
	uint32_t bits = size_class(size);

	if (!offset)
		return;
	*(uint64_t *)node_at(own, offset) = own->shared->free_list[bits];
	own->shared->free_list[bits] = offset;
}

void fabric_event(struct node *n, enum ibv_event_type type, uint64_t cookie)
{
	struct { uint64_t type, cookie; } event = { type, cookie };

	if (write(n->events_fd, &event, sizeof(event)) < 0)
		return; /* nobody is there any more */
}
