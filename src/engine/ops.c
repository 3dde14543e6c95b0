/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
#include "engine/ops.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

const struct op ops[] = {
#define OP(id_, name_, opcode_, flow_, receives_, reply_, divisor_, min_, max_, transports_,       \
	   traits_, summary_, is_)                                                                \
	{                                                                                         \
		.name = name_, .summary = summary_, .latency_is = is_, .opcode = opcode_,         \
		.flow = flow_, .reply = reply_, .divisor = divisor_, .min_size = min_,            \
		.max_size = max_, .receives = receives_, .transports = transports_,               \
		.traits = traits_,                                                                \
	},
#define OP_LOCAL(id_, name_, opcode_, min_, max_, traits_, summary_, is_, make_, undo_)            \
	{                                                                                         \
		.name = name_, .summary = summary_, .latency_is = is_, .opcode = opcode_,         \
		.flow = FLOW_LOCAL, .reply = COMPLETION, .divisor = 1, .min_size = min_,          \
		.max_size = max_, .traits = traits_, .make = make_, .undo = undo_,                \
	},
#include "engine/ops.def"
#undef OP
#undef OP_LOCAL
};

const size_t op_count = sizeof(ops) / sizeof(ops[0]);

const struct op *op_find(const char *name)
{
	for (size_t i = 0; i < op_count; i++)
		if (!strcasecmp(ops[i].name, name))
			return &ops[i];
	return NULL;
}

static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = list; at; at = strchr(at, ',')) {
		at += *at == ',';
		if (!strncasecmp(at, name, n) && (!at[n] || at[n] == ','))
			return true;
	}
	return false;
}

const struct op *op_list_find(const char *list, bool local)
{
	for (size_t i = 0; i < op_count; i++)
		if (op_is_local(&ops[i]) == local && is_listed(list, ops[i].name))
			return &ops[i];
	return NULL;
}

static void list_names(unsigned int transports, char *out, size_t size)
{
	out[0] = '\0';
	for (size_t i = 0; i < op_count; i++) {
		size_t used = strlen(out);

		if (ops[i].transports & transports)
			snprintf(out + used, size - used, "%s%s", used ? ", " : "", ops[i].name);
	}
}

void op_names(char *out, size_t size)
{
	list_names(~0U, out, size);
}

void op_names_on(uint64_t transport, char *out, size_t size)
{
	list_names(1U << transport, out, size);
}
