/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* A sysfs of a test's own, in a temporary directory. Include it after cmocka.h. */
#ifndef TESTS_TREE_H
#define TESTS_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/sysfs.h"

static char tree_root[64];

static inline int tree_open(void **state)
{
	(void)state;
	snprintf(tree_root, sizeof(tree_root), "/tmp/rdmeter-sysfs-XXXXXX");
	if (!mkdtemp(tree_root))
		return -1;
	sysfs_root = tree_root;
	return 0;
}

static inline int tree_close(void **state)
{
	char command[96];

	(void)state;
	sysfs_root = "/sys";
	snprintf(command, sizeof(command), "rm -r %s", tree_root);
	return system(command);
}

/* The directories above it, too. */
static inline void tree_path(char *path, size_t size, const char *file)
{
	snprintf(path, size, "%s/%s", tree_root, file);
	for (char *slash = path + strlen(tree_root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0700);
		*slash = '/';
	}
}

static inline void tree_write(const char *file, const char *text)
{
	char path[512];
	FILE *f;

	tree_path(path, sizeof(path), file);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

static inline void tree_link(const char *file, const char *target)
{
	char path[512];

	tree_path(path, sizeof(path), file);
	assert_int_equal(symlink(target, path), 0);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, tree_open, tree_close)

#endif
