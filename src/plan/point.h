/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A point: one measurement, fully resolved. Its settings are the PUSH rows of the option table,
 * each with the value that both sides use and the reason for it.
 */
#ifndef RDMETER_PLAN_POINT_H
#define RDMETER_PLAN_POINT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/options.h"
#include "engine/ops.h"

struct setting {
	uint64_t value;
	char why[64]; /* "given", "default for 8 B"... */
};

struct point {
#define POINT_LOCAL(field)
#define POINT_SERVER(field)
#define POINT_PEER(field)
#define POINT_PUSH(field) struct setting field;
#define OPTION(field, kind, name, letter, aliases, words, min, max, dfl, scope, ...) \
	POINT_##scope(field)
#include "cli/options.def"
#undef OPTION
#undef POINT_LOCAL
#undef POINT_SERVER
#undef POINT_PEER
#undef POINT_PUSH
};

/* A resolved point's op setting holds the operation's index in ops[]. */
static inline const struct op *point_op(const struct point *p)
{
	return &ops[p->op.value];
}

/*
 * Whether an option means anything to an operation that needs no peer: those of queues, of the
 * path and of the connection do not.
 */
bool point_row_is_local(const struct option_row *row);

/* The setting of a PUSH row inside p; NULL for rows of another scope. */
struct setting *point_setting(struct point *p, const struct option_row *row);
const struct setting *point_setting_const(const struct point *p, const struct option_row *row);

/* Messages are counted (--iters), not timed. */
static inline bool point_counts(const struct point *p)
{
	return p->iters.value != 0;
}

/*
 * Bytes between slots of a buffer, and slots of a queue pair (design section 5, Buffers). For an
 * atomic the slot is its counter.
 */
uint64_t point_stride_of(uint64_t bytes); /* of slots that hold so many */
uint64_t point_stride(const struct point *p);
uint32_t point_slots(const struct point *p);

/* Pages of its kind of memory that a message, or what is registered, lies in. */
uint64_t point_pages(const struct point *p);

/* Bytes of a buffer that the messages of all queue pairs go through. */
uint64_t point_working_set(const struct point *p);

/* FNV-1a over "name=value;" of every setting that decides the traffic: equal ids, equal rows. */
uint64_t point_config_id(const struct point *p);

#endif
