/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#define _GNU_SOURCE
#include "report/target.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fail.h"

static bool same(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* By its names, since descriptor 1 is standard error by now, or by being the same file. */
static bool is_standard(const char *name, FILE *out)
{
	static const char *const names[] = { "-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1" };
	struct stat ours, theirs;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return !stat(name, &theirs) && !fstat(fileno(out), &ours) && same(&ours, &theirs);
}

/*
 * One name for each file. A symbolic link stays one: what it points to is replaced. Of what is not
 * there yet the folder is.
 */
static char *real_name(const char *name, bool exists)
{
	const char *slash = strrchr(name, '/');
	char *folder, *path = NULL, folder_path[PATH_MAX];

	if (exists)
		return realpath(name, NULL);
	folder = slash ? strndup(name, (size_t)(slash - name) + 1) : strdup(".");
	if (folder && realpath(folder, folder_path) &&
	    asprintf(&path, "%s/%s", folder_path, slash ? slash + 1 : name) < 0)
		path = NULL;
	free(folder);
	return path;
}

/* "dir/.name.XXXXXX" beside "dir/name" */
static int name_beside(struct target *t)
{
	const char *slash = strrchr(t->path, '/');
	int dir = slash ? (int)(slash - t->path) + 1 : 0;

	return asprintf(&t->beside, "%.*s.%s.XXXXXX", dir, t->path, t->path + dir) < 0 ? -ENOMEM :
											  0;
}

static int open_beside(struct target *t, const struct stat *old)
{
	mode_t mask = umask(0);
	mode_t mode = old ? old->st_mode & 07777 : 0666 & ~mask;
	int fd;

	umask(mask);
	if (old && access(t->path, W_OK))
		return -errno;
	if (name_beside(t)) {
		t->beside = NULL;
		return -ENOMEM;
	}
	fd = mkostemp(t->beside, O_CLOEXEC);
	if (fd < 0) {
		int error = errno;

		free(t->beside);
		t->beside = NULL;
		return -error;
	}
	fchmod(fd, mode);
	t->file = fdopen(fd, "w");
	if (t->file)
		return 0;
	close(fd);
	return -ENOMEM;
}

static int open_through(struct target *t)
{
	int fd = open(t->name, O_WRONLY | O_CLOEXEC | O_NOCTTY);

	t->file = fd < 0 ? NULL : fdopen(fd, "w");
	return t->file ? 0 : -errno;
}

static int open_file(struct target *t)
{
	struct stat old;
	bool exists = !stat(t->name, &old);

	if (!exists && errno != ENOENT)
		return -errno;
	if (exists && S_ISDIR(old.st_mode))
		return -EISDIR;
	if (exists && !S_ISREG(old.st_mode))
		return open_through(t);
	t->path = real_name(t->name, exists);
	return t->path ? open_beside(t, exists ? &old : NULL) : -errno;
}

int target_open(struct target *t, const char *option, const char *name, FILE *out)
{
	int rc;

	*t = (struct target){ .name = name };
	if (is_standard(name, out)) {
		t->standard = true;
		t->name = "standard output";
		t->file = out;
		return 0;
	}
	rc = open_file(t);
	if (!rc)
		return 0;
	target_abandon(t);
	return fail(FAIL_SETUP, -rc, "--%s '%s': cannot be written: %s; name a file in a folder "
		    "that can be written to", option, name, strerror(-rc));
}

static void forget(struct target *t)
{
	free(t->path);
	free(t->beside);
	*t = (struct target){ 0 };
}

void target_flush(struct target *t)
{
	errno = 0;
	if (fflush(t->file) && !t->error)
		t->error = errno;
	else if (ferror(t->file) && !t->error)
		t->error = EIO;
}

/* What a file holds is on its disk before its name is. */
static int finish(struct target *t)
{
	int error;

	target_flush(t);
	error = t->error;
	if (!error && t->beside && fsync(fileno(t->file)))
		error = errno;
	if (fclose(t->file) && !error)
		error = errno;
	t->file = NULL;
	if (!error && t->beside && rename(t->beside, t->path))
		error = errno;
	return error;
}

int target_commit(struct target *t)
{
	int error = 0;

	if (t->standard)
		target_flush(t);
	else if (t->file)
		error = finish(t);
	if (error && t->beside)
		unlink(t->beside);
	/* A reader of a pipe that has seen enough is no failure, as on standard output. */
	if (error && error != EPIPE)
		fail(FAIL_RUN, error, "writing '%s': %s",
		     t->name, strerror(error));
	forget(t);
	return -error;
}

void target_abandon(struct target *t)
{
	if (t->file && !t->standard)
		fclose(t->file);
	if (t->beside)
		unlink(t->beside);
	forget(t);
}
