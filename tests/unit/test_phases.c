/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The phases of a row whose side has no loop, against a peer whose words are there already. */
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control/messages.h"
#include "session/phases.h"

#include <cmocka.h>

struct scene {
	struct ibv_context context;
	struct watch watch;
	struct session session;
	struct measure measure;
	struct row row;
	struct channel far;
	char heard[100];
};

static int open_scene(void **state)
{
	struct scene *s = calloc(1, sizeof(*s));
	int fds[2];

	if (!s || watch_open(&s->watch) || socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		return -1;
	channel_open(&s->session.channel, fds[0], 1000000000);
	channel_open(&s->far, fds[1], 1000000000);
	s->session.channel.greeted = s->far.greeted = true;
	s->context.async_fd = -1;
	s->session.watch = &s->watch;
	s->session.client = true;
	s->session.stall_ns = 3000000000;
	s->session.device.context = &s->context;
	s->watch.channel = &s->session.channel;
	s->row.session = &s->session;
	s->row.measure = &s->measure;
	s->row.event_fd = -1;
	s->row.queues.count = 1;
	*state = s;
	return 0;
}

static int close_scene(void **state)
{
	struct scene *s = *state;

	channel_close(&s->session.channel);
	channel_close(&s->far);
	watch_close(&s->watch);
	free(s);
	return 0;
}

static void far_says(struct scene *s, json_t *message)
{
	channel_send(&s->far, message);
	json_decref(message);
}

/* A server that answers OPEN and DRAIN, and writes down what it hears until SENT. */
static void *far_side(void *arg)
{
	struct scene *s = arg;
	uint64_t total = 7;
	struct message_sent sent = { .count = 1, .total = &total };
	json_t *message = NULL;
	bool over = false;

	while (!over) {
		struct pollfd ready = { .fd = s->far.fd, .events = POLLIN };

		if (poll(&ready, 1, 5000) < 1 || channel_fill(&s->far))
			break;
		while (!over && channel_next(&s->far, &message) == 1) {
			const char *type = message_type(message);
			size_t used = strlen(s->heard);

			snprintf(s->heard + used, sizeof(s->heard) - used, " %s", type);
			if (!strcmp(type, "OPEN"))
				far_says(s, message_simple("CLOSED"));
			if (!strcmp(type, "DRAIN"))
				far_says(s, message_sent(&sent));
			over = !strcmp(type, "SENT");
			json_decref(message);
		}
	}
	return NULL;
}

/* WARM came with the message before the phases: it is heard without waiting until a beat. */
static void words_that_came_early(void **state)
{
	struct scene *s = *state;
	struct phases_end end;
	pthread_t far;

	far_says(s, message_simple("WARM"));
	assert_int_equal(channel_fill(&s->session.channel), 0);
	assert_int_equal(pthread_create(&far, NULL, far_side, s), 0);
	assert_int_equal(phases_run(&s->row, &end), 0);
	pthread_join(far, NULL);
	assert_string_equal(s->heard, " WARM OPEN DRAIN SENT");
	assert_int_equal(end.peer.count, 1);
	assert_int_equal(end.peer.total[0], 7);
	free(end.peer.total);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(words_that_came_early, open_scene, close_scene),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
