/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rdmeter knows of each operation: one row of ops.def. */
#ifndef RDMETER_ENGINE_OPS_H
#define RDMETER_ENGINE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "base/transports.h"

enum op_flow {
	FLOW_OUT,
	FLOW_IN,
	FLOW_COUNTER,
	FLOW_LOCAL, /* nowhere: the operation needs no peer */
};

enum op_reply {
	ECHO_RECV,
	ECHO_MEMORY,
	COMPLETION,
};

/* Traits, see ops.def. */
enum {
	TRAIT_INLINES = 1,
	TRAIT_REMOTE = 2,
	TRAIT_IMMEDIATE = 4,
	TRAIT_READS = 8,
	TRAIT_PREDICTS = 16,
	TRAIT_WINDOWS = 32,
};

struct op {
	const char *name;
	const char *summary;
	const char *latency_is;
	enum ibv_wr_opcode opcode;
	enum op_flow flow;
	enum op_reply reply;
	unsigned int divisor;
	unsigned int traits;
	unsigned int transports; /* ON_* */
	uint64_t min_size, max_size;
	bool receives;
	const char *make, *undo; /* halves of one that needs no peer; else NULL */
};

static inline bool op_has(const struct op *op, unsigned int trait)
{
	return op->traits & trait;
}

static inline bool op_is_local(const struct op *op)
{
	return op->flow == FLOW_LOCAL;
}

static inline bool op_runs_on(const struct op *op, uint64_t transport)
{
	return op->transports >> transport & 1;
}

extern const struct op ops[];
extern const size_t op_count;

/* The row of that name, or NULL. */
const struct op *op_find(const char *name);

/* The row of one of the names in a list, between commas, that needs a peer or does not; or NULL. */
const struct op *op_list_find(const char *list, bool local);

/* The names, separated by ", ", for a message; out holds at least a byte. */
void op_names(char *out, size_t size);

/* The same of those that a transport has. */
void op_names_on(uint64_t transport, char *out, size_t size);

#endif
