/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Preloaded beside fakeverbs, whose devices sysfs does not know: what a program opens below
 * /sys/class/infiniband lies in the directory that FAKE_SYSFS names instead.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FROM "/sys/class/infiniband/"

static const char *moved(const char *path, char *room)
{
	const char *to = getenv("FAKE_SYSFS");

	if (!to || strncmp(path, FROM, strlen(FROM)))
		return path;
	snprintf(room, PATH_MAX, "%s/%s", to, path + strlen(FROM));
	return room;
}

FILE *fopen(const char *path, const char *mode)
{
	FILE *(*real)(const char *, const char *);
	char room[PATH_MAX];

	*(void **)&real = dlsym(RTLD_NEXT, "fopen");
	return real(moved(path, room), mode);
}

DIR *opendir(const char *path)
{
	DIR *(*real)(const char *);
	char room[PATH_MAX];

	*(void **)&real = dlsym(RTLD_NEXT, "opendir");
	return real(moved(path, room));
}
