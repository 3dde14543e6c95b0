/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The counters that the kernel keeps for a port: every file of counters/ and hw_counters/. They
 * are those of the whole port, whoever uses it.
 */
#ifndef RDMETER_HOST_COUNTERS_H
#define RDMETER_HOST_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COUNTER_NAME 40

struct counter {
	char name[COUNTER_NAME];
	uint64_t value;
};

/* All of a port's counters at one time, in the order of their names. */
struct counters {
	struct counter *list;
	size_t count;
};

/*
 * A port whose counters are taken. The kernel answers from a cache that it renews only when the
 * last answer is older than `lifespan` of hw_counters/, 10 or 12 ms as a rule: of two readings
 * closer than that, the second says what the first did.
 */
struct counters_port {
	char device[64];
	uint32_t port;
	uint64_t lifespan_ns; /* 0: there is no cache */
	uint64_t taken_ns;    /* when the last reading ended, by CLOCK_MONOTONIC; 0: none yet */
};

void counters_open(struct counters_port *p, const char *device, uint32_t port);

/*
 * Reads them all, after a pause if the last reading is too near for this one to be news. Not for
 * a thread that measures. Returns 0 or -errno; -ENOENT when the port has none, -ESTALE when the
 * cache is kept for so long (COUNTERS_PATIENCE_NS) that no pause is worth it. To be given to
 * counters_free() in either case.
 */
#define COUNTERS_PATIENCE_NS 50000000
int counters_take(struct counters_port *p, struct counters *c);
void counters_free(struct counters *c);

/*
 * Walks the counters that both have and that changed: moves *i to the first one of `after` at or
 * behind it, and sets *before to what it was. False when there is none.
 *
 *	for (size_t i = 0; counters_next_moved(&a, &b, &i, &before); i++)
 *		use(b.list[i].name, before, b.list[i].value);
 */
bool counters_next_moved(const struct counters *before, const struct counters *after, size_t *i,
			 uint64_t *value);

/* What it means that a counter grew; TROUBLE_NONE for most of them. */
enum trouble {
	TROUBLE_NONE,
	TROUBLE_RETRANSMIT,
	TROUBLE_RNR,
	TROUBLE_SEQUENCE,
	TROUBLE_CONGESTION,
	TROUBLE_DISCARD,
	TROUBLE_PAUSE,
	TROUBLE_LINK,
};

enum trouble counter_trouble(const char *name);

#endif
