/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Single values of the kernel's /sys. */
#ifndef RDMETER_HOST_SYSFS_H
#define RDMETER_HOST_SYSFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where sysfs is mounted: "/sys", but for tests that bring one of their own. */
extern const char *sysfs_root;

/* sysfs_root, "/class/" and the path in fmt; false when that is longer than path has room for. */
bool sysfs_path(char *path, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* The first line of "/sys/class/" and the path in fmt; "" and false when there is none. */
bool sysfs_text(char *out, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

/* A number there; 0 when there is none. */
uint32_t sysfs_number(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* The last part of what a symbolic link there points to; "" and false when there is none. */
bool sysfs_link(char *out, size_t size, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

#endif
