/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What rdmeter knows of each operation: one row of ops.def. */
#ifndef RDMETER_ENGINE_OPS_H
#define RDMETER_ENGINE_OPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

enum op_reply {
	ECHO_RECV,
	ECHO_MEMORY,
};

struct op {
	const char *name;
	const char *summary;
	const char *latency_is;
	enum ibv_wr_opcode opcode;
	enum op_reply reply;
	unsigned int divisor;
	uint64_t min_size;
	bool receives;
	bool inlines;
};

extern const struct op ops[];
extern const size_t op_count;

/* The row of that name, or NULL. */
const struct op *op_find(const char *name);

/* The names, separated by ", ", for a message; out holds at least a byte. */
void op_names(char *out, size_t size);

#endif
