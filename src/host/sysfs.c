/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "host/sysfs.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *sysfs_root = "/sys";

static bool format_path(char path[PATH_MAX], const char *fmt, va_list ap)
{
	int root = snprintf(path, PATH_MAX, "%s/class/", sysfs_root);
	size_t used = root > 0 && root < PATH_MAX ? (size_t)root : 0;
	int n = vsnprintf(path + used, PATH_MAX - used, fmt, ap);

	return used && n >= 0 && (size_t)n < PATH_MAX - used;
}

static bool read_line(char *out, size_t size, const char *fmt, va_list ap)
{
	char path[PATH_MAX];
	FILE *f = format_path(path, fmt, ap) ? fopen(path, "re") : NULL;

	out[0] = '\0';
	if (!f)
		return false;
	if (!fgets(out, (int)size, f))
		out[0] = '\0';
	fclose(f);
	out[strcspn(out, "\n")] = '\0';
	return out[0] != '\0';
}

bool sysfs_text(char *out, size_t size, const char *fmt, ...)
{
	va_list ap;
	bool found;

	va_start(ap, fmt);
	found = read_line(out, size, fmt, ap);
	va_end(ap);
	return found;
}

bool sysfs_path(char *path, size_t size, const char *fmt, ...)
{
	char whole[PATH_MAX];
	va_list ap;
	bool fits;

	va_start(ap, fmt);
	fits = format_path(whole, fmt, ap) && strlen(whole) < size;
	va_end(ap);
	if (fits)
		strcpy(path, whole);
	return fits;
}

uint32_t sysfs_number(const char *fmt, ...)
{
	char text[32];
	va_list ap;
	bool found;

	va_start(ap, fmt);
	found = read_line(text, sizeof(text), fmt, ap);
	va_end(ap);
	return found ? (uint32_t)strtoul(text, NULL, 0) : 0;
}

bool sysfs_link(char *out, size_t size, const char *fmt, ...)
{
	char path[PATH_MAX], target[PATH_MAX];
	const char *slash;
	ssize_t n = -1;
	va_list ap;

	va_start(ap, fmt);
	if (format_path(path, fmt, ap))
		n = readlink(path, target, sizeof(target) - 1);
	va_end(ap);
	out[0] = '\0';
	if (n <= 0)
		return false;
	target[n] = '\0';
	slash = strrchr(target, '/');
	snprintf(out, size, "%s", slash ? slash + 1 : target);
	return out[0] != '\0';
}
