/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The messages of the control connection (design section 4). Every message is an object whose
 * "type" names it; each has one encoder, which returns a new reference (NULL: out of memory), and
 * one decoder, which returns 0 or -EBADMSG with *key the key that is missing or wrong.
 */
#ifndef RDMETER_CONTROL_MESSAGES_H
#define RDMETER_CONTROL_MESSAGES_H

#include <stdbool.h>
#include <stdint.h>

#include <jansson.h>

#include "host/facts.h"
#include "plan/point.h"
#include "stats/measure.h"
#include "verbs/caps.h"
#include "verbs/inventory.h"

/*
 * Another major cannot be talked to; a new minor only adds keys.
 * 1.1: settings of path, memory, content and rdma_cm; rkey by queue pair, cm_port.
 */
enum { PROTOCOL_MAJOR = 1, PROTOCOL_MINOR = 1 };

/*
 * Times of a clock are below this, 73 years: the sums and differences that are made of some of
 * them, of both sides, have a sign and do not overflow.
 */
#define MESSAGE_CLOCK_MAX (UINT64_C(1) << 61)

struct message_greeting {
	uint32_t major, minor;
	bool busy; /* another session is being served; the connection ends here */
	char version[24];
	char auth[16]; /* "none" */
};

struct message_facts {
	struct host_facts host;
	struct device_facts device;
	/* What the client asks of the server; empty, 0 and -1 for nothing. */
	char asked_device[64];
	uint32_t asked_port;
	int32_t asked_gid_index;
};

struct message_point {
	bool plan_only; /* nothing is to be run: the answer is what was asked for */
	/* The part of the side that gets this: it sends or begins, it is sent to; or both. */
	bool sends, takes;
	bool keep; /* the last row's queue pairs may be gone on with; absent is no */
	struct point point;
};

struct message_accept {
	uint32_t inline_size; /* what the server's queue pairs can send inline */
	uint64_t stall_ns;    /* the stall timeout that both sides use: at most what was asked */
	bool kept; /* they are the last row's; absent is no */
};

/*
 * Those of many queue pairs come in as many messages as it takes, in order, each of which but the
 * last has ENDPOINTS_MOST of them and all of which have the same buffer.
 */
#define ENDPOINTS_MOST 2048

struct message_endpoints {
	uint32_t count; /* in this message */
	const uint32_t *qpn, *psn, *rkey; /* when encoding */
	uint32_t *qpn_out, *psn_out, *rkey_out; /* when decoding: room for `count` */
	uint64_t address;
	uint32_t lid;
	uint32_t cm_port; /* where rdma_cm listens; 0: nowhere */
	char gid[48];
};

struct message_beat {
	char phase[16];
	uint64_t posted, completed, received;
};

/* What a side posted over the whole run, by queue pair; none at all for a side that only takes. */
struct message_sent {
	uint32_t count;  /* when decoding: how many total has room for, then how many there are */
	uint64_t *total; /* borrowed */
	uint64_t missed; /* compare-and-swaps that did not find what they expected */
};

/* The sentence that a side gives up with, and the exit code it stands for. */
struct message_abort {
	uint32_t class;
	bool row; /* only the row is over: see dialog_end_row(); absent is no */
	char text[512];
};

json_t *message_simple(const char *type);
const char *message_type(const json_t *message);

json_t *message_greeting(const char *type, const struct message_greeting *m);
int message_get_greeting(const json_t *json, struct message_greeting *m, const char **key);

json_t *message_facts(const struct message_facts *m);
int message_get_facts(const json_t *json, struct message_facts *m, const char **key);

/*
 * A client asks by the type alone, before it sends FACTS; this is the answer. After decoding,
 * also in vain, the inventory is to be given to inventory_free().
 */
json_t *message_devices(const struct inventory *inventory);
int message_get_devices(const json_t *json, struct inventory *inventory, const char **key);

json_t *message_point(const struct message_point *m);
int message_get_point(const json_t *json, struct message_point *m, const char **key);

/* A side may be reached from now on; its CLOCK_MONOTONIC_RAW goes along. */
json_t *message_ready(uint64_t clock_ns);
int message_get_ready(const json_t *json, uint64_t *clock_ns, const char **key);

json_t *message_accept(const struct message_accept *m);
int message_get_accept(const json_t *json, struct message_accept *m, const char **key);

json_t *message_endpoints(const struct message_endpoints *m);
int message_get_endpoints(const json_t *json, struct message_endpoints *m, const char **key);

json_t *message_beat(const struct message_beat *m);
int message_get_beat(const json_t *json, struct message_beat *m, const char **key);

json_t *message_sent(const struct message_sent *m);
int message_get_sent(const json_t *json, struct message_sent *m, const char **key);

json_t *message_abort(const char *type, const struct message_abort *m);
int message_get_abort(const json_t *json, struct message_abort *m, const char **key);

json_t *message_result(const struct measure *m);
int message_get_result(const json_t *json, struct measure *m, const char **key);

#endif
