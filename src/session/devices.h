/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* `rdmeter devices [HOST]`, and the server's part in it. */
#ifndef RDMETER_SESSION_DEVICES_H
#define RDMETER_SESSION_DEVICES_H

#include <stdio.h>

#include <jansson.h>

#include "session/session.h"
#include "verbs/inventory.h"

/* Prints this host's devices, or those of opt's host. 0, or -errno told; -EINTR for a signal. */
int devices_run(const struct options *opt, struct watch *watch, FILE *out,
		void (*print)(FILE *out, const struct inventory *inventory));

/*
 * A server after HELLO: answers DEVICES until a client goes on with FACTS, which is to be
 * released, or says BYE: then *facts is NULL. 0, or -errno told.
 */
int devices_answer(struct session *s, json_t **facts);

#endif
