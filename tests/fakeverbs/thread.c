/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Threads that cannot be made. A program that is built with a sanitizer has a pthread_create() of
 * its own, which comes before this one.
 */
#define _GNU_SOURCE
#include "fake.h"

#include <dlfcn.h>

typedef int (*create_function)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*start)(void *), void *arg)
{
	create_function next;
	int error = fault_call(CALL_thread);

	*(void **)&next = dlsym(RTLD_NEXT, "pthread_create");
	return error ? error : next(thread, attr, start, arg);
}
