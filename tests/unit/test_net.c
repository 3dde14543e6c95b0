/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What a client tells of a name service and of a server that does not answer. getaddrinfo() is
 * this file's: the one of the C library cannot be made to fail at will.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fail.h"
#include "session/net.h"

#include <cmocka.h>

#define SECOND UINT64_C(1000000000)
#define BACKLOG_FULL 4 /* connections, to a socket that keeps one waiting */

struct service {
	int rc, error;
	useconds_t takes;
	struct sockaddr_in address;
};

static struct service service;
static pthread_mutex_t service_lock = PTHREAD_MUTEX_INITIALIZER;

/* The service as it is when it is asked: it may answer long after. */
static struct service service_now(void)
{
	struct service s;

	pthread_mutex_lock(&service_lock);
	s = service;
	pthread_mutex_unlock(&service_lock);
	return s;
}

static void answers(int rc, int error, useconds_t takes)
{
	pthread_mutex_lock(&service_lock);
	service.rc = rc;
	service.error = error;
	service.takes = takes;
	pthread_mutex_unlock(&service_lock);
}

int getaddrinfo(const char *host, const char *port, const struct addrinfo *hints,
		struct addrinfo **list)
{
	const struct service s = service_now();
	struct answer {
		struct addrinfo info;
		struct sockaddr_in address;
	} *a;

	(void)host;
	(void)port;
	if (hints->ai_flags & AI_NUMERICHOST)
		return EAI_NONAME;
	usleep(s.takes);
	errno = s.error;
	if (s.rc)
		return s.rc;
	a = calloc(1, sizeof(*a));
	a->address = s.address;
	a->info = (struct addrinfo){
		.ai_family = AF_INET, .ai_socktype = SOCK_STREAM,
		.ai_addr = (struct sockaddr *)&a->address, .ai_addrlen = sizeof(a->address),
	};
	*list = &a->info;
	return 0;
}

void freeaddrinfo(struct addrinfo *list)
{
	free(list);
}

/* A socket of 127.0.0.1 that listens, or would if it did; service.address becomes its. */
static int listener(int backlog)
{
	struct sockaddr_in address = {
		.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
	};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	if (backlog >= 0)
		assert_int_equal(listen(fd, backlog), 0);
	pthread_mutex_lock(&service_lock);
	service.address = address;
	pthread_mutex_unlock(&service_lock);
	return fd;
}

static int connect_within(uint64_t connect_ns, uint64_t stall_ns)
{
	static char host[] = "somewhere";
	struct options opt;
	struct watch watch;
	int rc;

	assert_int_equal(options_default(&opt), 0);
	assert_int_equal(watch_open(&watch), 0);
	opt.host = host;
	opt.connect_timeout.num = connect_ns;
	opt.stall_timeout.num = stall_ns;
	fail_clear();
	rc = net_connect(&opt, &watch, watch_now() + connect_ns);
	watch_close(&watch);
	return rc;
}

static void expect_told(const char *words)
{
	if (!strstr(fail_last()->text, words))
		fail_msg("no '%s' in: %s", words, fail_last()->text);
	assert_int_equal(fail_last()->class, FAIL_SETUP);
}

/* The look-up runs in a thread of its own, and so does its errno. */
static void cause_of_a_failed_lookup(void **state)
{
	(void)state;
	answers(EAI_SYSTEM, EMFILE, 0);
	assert_true(connect_within(SECOND, SECOND) < 0);
	expect_told("'somewhere': Too many open files; check the name");
	answers(EAI_AGAIN, 0, 0);
	assert_true(connect_within(SECOND, SECOND) < 0);
	expect_told("'somewhere': Temporary failure in name resolution; check the name");
}

/* --connect-timeout 0: not again, but once, and as long as anything may take. */
static void one_attempt(void **state)
{
	int fd = listener(1), connected;

	(void)state;
	answers(0, 0, 50000);
	connected = connect_within(0, 10 * SECOND);
	assert_true(connected >= 0);
	close(connected);
	close(fd);

	fd = listener(-1);
	assert_true(connect_within(0, 10 * SECOND) < 0);
	expect_told("Connection refused, tried once; start rdmeter there");
	close(fd);
}

static void a_name_service_that_hangs(void **state)
{
	(void)state;
	answers(0, 0, 300000);
	assert_true(connect_within(0, SECOND / 20) < 0);
	expect_told("'somewhere': no answer from the name service");
	assert_true(connect_within(SECOND / 20, 10 * SECOND) < 0);
	expect_told("'somewhere': no answer from the name service");
	usleep(600000); /* the threads left behind end before what they use */
}

/* A host that drops what it gets: an attempt hangs, but no longer than it may. */
static void a_server_that_does_not_answer(void **state)
{
	int fd = listener(0), waiting[BACKLOG_FULL];

	(void)state;
	answers(0, 0, 0);
	for (int i = 0; i < BACKLOG_FULL; i++) {
		waiting[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		connect(waiting[i], (struct sockaddr *)&service.address, sizeof(service.address));
	}
	assert_true(connect_within(0, SECOND / 5) < 0);
	expect_told("Connection timed out, tried once");
	assert_true(connect_within(SECOND / 5, 10 * SECOND) < 0);
	expect_told("Connection timed out, for 200 ms");
	for (int i = 0; i < BACKLOG_FULL; i++)
		close(waiting[i]);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cause_of_a_failed_lookup),
		cmocka_unit_test(one_attempt),
		cmocka_unit_test(a_name_service_that_hangs),
		cmocka_unit_test(a_server_that_does_not_answer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
