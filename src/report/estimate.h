/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * How long the rest of a run will take. A row that lasts a time costs its duration and warm-up, and
 * beside these what the rows so far cost on the average. A row that counts messages costs what the
 * rows of its test so far took for as many.
 */
#ifndef RDMETER_REPORT_ESTIMATE_H
#define RDMETER_REPORT_ESTIMATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/point.h"

enum estimate_kind {
	ESTIMATE_NOTHING, /* it cannot be measured: it is over as soon as it begins */
	ESTIMATE_TIME,
	ESTIMATE_COUNT,
	ESTIMATE_ENDLESS, /* until interrupted */
};

struct estimate_row {
	enum estimate_kind kind;
	uint64_t amount; /* nanoseconds, or messages */
	unsigned int test;
};

struct estimate {
	struct estimate_row *rows;
	size_t count, room, done;
	uint64_t most;              /* ns: no row begins later; 0 for no bound */
	double beside;              /* ns: what the timed rows so far took beside their time... */
	size_t timed;               /* ...and how many they were */
	double took[2], messages[2]; /* counted rows so far, by test: ns, messages */
};

/* One more row to come. 0, or -ENOMEM: there is no estimate then. */
int estimate_add(struct estimate *e, const struct point *p, bool refused);

/* The next row is over, and the time since the one before was over. */
void estimate_done(struct estimate *e, uint64_t took);

/*
 * What is left when the run has lasted `elapsed`, and the present row `into` of it. False when
 * that cannot be known.
 */
bool estimate_left(const struct estimate *e, uint64_t elapsed, uint64_t into, uint64_t *left);

void estimate_free(struct estimate *e);

#endif
